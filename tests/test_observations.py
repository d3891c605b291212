"""How many observations rows stand for: weights, rows that are alike, copies."""

from itertools import combinations

import numpy as np
import pytest
from scipy import sparse
from sklearn.utils import resample

from sknatgrad import RiemannianAutoEncoder, RiemannianMLPClassifier, RiemannianMLPRegressor
from sknatgrad.training.data.dataset import Data
from sknatgrad.training.data.observations import (
    agreement,
    digest,
    digests,
    effective_sample_size,
    overdetermined,
)
from sknatgrad.training.data.rows import SlicedRows

ALIKE, APART = np.zeros((6, 1)), np.arange(6.0)[:, None] * [1, 1]


@pytest.mark.parametrize(
    ("X", "weight", "counts", "want"),
    [
        # Of one kind with another target each, so independent.
        (ALIKE, None, None, 6),
        (ALIKE, [1, 2, 3, 0, 1, 1], None, 8),
        (ALIKE, [0.3] * 6, None, 6),
        (ALIKE, [1e200] * 6, None, 6),
        (ALIKE, [0.5, 1.0, 1.5, 0, 0.5, 0.5], None, 4),
        (ALIKE, [10, 10, 1, 1, 1, 1], [1] * 6, 24**2 / 204),
        (ALIKE, [20, 10, 1, 2, 1, 1], [2, 1, 1, 2, 1, 1], 35**2 / 305),
        (ALIKE, [0] * 6, None, 0),
        # Each of its own kind: counts are copies.
        (APART, None, None, 6),
        (APART, [3] * 6, None, 6),
        (APART, [1, 2, 3, 0, 1, 1], None, 5),
        (APART, [2, 2, 2, 1, 4, 1], [2, 1, 1, 1, 2, 1], 9**2 / 15),
        (APART, [0.5, 1.0, 1.5, 0, 0.5, 0.5], None, 4),
    ],
)
def test_observations_that_rows_stand_for(X, weight, counts, want):
    """Where weights per observation differ there are fewer; however the rows are divided."""

    def part(rows):
        own = (None if a is None else np.array(a, float)[rows] for a in (weight, counts))
        return Data(X[rows], APART.T[:1, rows], *own)

    assert part(slice(None)).n_observed() == pytest.approx(want)
    pieces = [part(slice(0, 2)), part(slice(2, 3)), part(slice(3, 6))]
    assert effective_sample_size(
        [piece.census(np.arange(X.shape[1])) for piece in pieces]
    ) == pytest.approx(want)
    if X is ALIKE:
        independent = [piece.census(None) for piece in pieces]
        assert all(len(census.weight) <= 1 for census in independent)
        assert effective_sample_size(independent, copies=False) == pytest.approx(want)


def test_agreement_is_that_of_pairs():
    """By the definition: each kind counts by its rows beyond the first."""
    rng = np.random.default_rng(0)
    kinds, targets = np.arange(60) % 17, rng.integers(0, 3, 60)
    counts = rng.integers(1, 3, 60)
    kinds_of, targets_of = np.repeat(kinds, counts), np.repeat(targets, counts)

    def different(rows):
        return np.mean([targets_of[i] != targets_of[j] for i, j in combinations(rows, 2)])

    members = [np.flatnonzero(kinds_of == kind) for kind in range(17)]
    spare = [len(rows) - 1 for rows in members]
    within = np.average([different(rows) for rows in members], weights=spare)
    want = 1 - within / different(range(len(kinds_of)))
    assert agreement(kinds, targets, counts) == pytest.approx(max(0.0, want))
    assert agreement(kinds, kinds % 2, counts) == 1
    assert 0.2 < agreement(kinds, np.where(np.arange(60) < 40, kinds % 2, targets), counts) < 0.9


def test_chance_is_told_from_copies():
    """By how many kinds a quarter of the features tells apart."""
    kinds, counts = np.arange(8) % 4, np.ones(8)
    parts = np.column_stack([kinds, kinds // 2, kinds // 4, kinds * 0])
    assert overdetermined(kinds, parts, counts) == 1
    # Two of four are not told apart, as four of eight are not the first of their kind.
    assert overdetermined(kinds, parts[:, 1:], counts) == 0
    assert overdetermined(kinds, parts[:, 1:], 3 * counts) == pytest.approx(1 - 0.5 / (5 / 6))


@pytest.mark.parametrize("n_columns, n_parts", [(7, 2), (9, 4)])
def test_equal_rows_have_equal_digests(n_columns, n_parts, tmp_path):
    """In any form; zeros have no sign."""
    X = np.random.default_rng(0).integers(0, 2, (300, n_columns)) * 0.5
    X[7], X[8] = 0.0, -0.0
    backwards = sparse.csr_array(X)[:, ::-1][:, ::-1]
    backwards.data[:2] = 0.0
    backwards.has_sorted_indices = backwards.has_canonical_format = False
    X[:1] = backwards[:1].toarray()
    np.save(tmp_path / "X.npy", X)
    on_disk = SlicedRows(np.load(tmp_path / "X.npy", mmap_mode="r"))
    kinds = np.unique(X + 0, axis=0, return_inverse=True)[1].ravel()
    for form in (X, np.asfortranarray(X), X.astype(np.float32), on_disk, backwards):
        found = np.unique(digest(form), return_inverse=True)[1]
        assert len(np.unique(np.column_stack([kinds, found]), axis=0)) == kinds.max() + 1
        assert found.max() == kinds.max()
        empty = SlicedRows(form[:0]) if form is on_disk else form[:0]
        assert digests(empty).shape == (0, n_parts)
        for i, part in enumerate(digests(form).T):
            assert len(np.unique(part)) == len(np.unique(X[:, i::n_parts] + 0, axis=0))


def noisy(task, n_samples=100, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_samples, 20))
    y = X[:, 0] + X[:, 1] + 1.5 * rng.normal(size=n_samples)
    return X, (y > 0).astype(int) if task is RiemannianMLPClassifier else y


ESTIMATORS = [RiemannianMLPClassifier, RiemannianMLPRegressor]


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_copies_are_one_observation(estimator, form):
    """Every row three times, or with weight 3: the same fit."""
    X, y = noisy(estimator)
    model = estimator(hidden_layer_sizes=(10,), random_state=0)
    once = model.fit(form(X), y)
    alpha, values = once.alpha_, once.coefs_[0]
    assert alpha > 3
    thrice = model.fit(form(np.tile(X, (3, 1))), np.tile(y, 3))
    np.testing.assert_allclose(thrice.alpha_, alpha, rtol=1e-5)
    np.testing.assert_allclose(thrice.coefs_[0], values, atol=1e-5)
    weighing = model.fit(form(X), y, sample_weight=np.full(100, 3.0))
    np.testing.assert_allclose(weighing.alpha_, alpha, rtol=1e-5)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_bootstrapped_rows_are_not_learnt_by_heart(estimator):
    """Where they counted as new ones, half of the fits were worse than a constant."""
    X, y = noisy(estimator, 2300)
    for seed in range(3):
        sample = resample(np.arange(300), random_state=seed)
        model = estimator(random_state=seed).fit(X[sample], y[sample])
        if estimator is RiemannianMLPRegressor:
            assert model.score(X[300:], y[300:]) > 0.3
        else:
            assert model.loss(X[300:], y[300:]) < 0.65


def test_oversampling_makes_no_observations():
    """Of the rare class, so that classes are equal."""
    X, y = noisy(RiemannianMLPClassifier, 400)
    rare = np.flatnonzero((y == 1) & (X[:, 0] > 1.2))
    rows = np.r_[np.flatnonzero(y == 0), np.resize(rare, np.sum(y == 0))]
    assert len(np.unique(rows)) < 0.7 * len(rows)
    assert Data(X[rows], y[rows]).n_observed() == len(np.unique(rows))


def test_rows_that_are_alike_by_chance_are_observations():
    """Few values of many features, and labels that are certain for most; or of few and not."""
    rng = np.random.default_rng(0)
    X = (rng.random((1000, 12)) < 0.15).astype(float)
    assert len(np.unique(X, axis=0)) < 400
    assert Data(X, (X[:, :6].sum(axis=1) > 0).astype(int)).n_observed() == 1000
    X = rng.integers(0, 2, (1000, 3)).astype(float)
    for y in (rng.random(1000) < 0.3 + 0.2 * X[:, 0]).astype(int), rng.normal(size=(1, 1000)):
        assert Data(X, y).n_observed() > 900


def test_settings_of_an_experiment_are_no_copies():
    """Whose repetitions give other targets: as many observations as there are repetitions."""
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(50, 6)), 4, axis=0)
    assert Data(X, rng.normal(size=(1, 200))).n_observed() == 200
    assert Data(X, X[:, :1].T).n_observed() == 50


def test_the_values_of_a_grid_are_no_copies():
    """A single feature, constant ones beside it or not: functions of it are learnt."""
    x = np.arange(800.0) % 20
    for X in (x[:, None], np.column_stack([x, np.ones(800)])):
        assert Data(X, np.sin(x)[None]).n_observed() == 800
        assert RiemannianMLPRegressor(random_state=0).fit(X, np.sin(x)).score(X, np.sin(x)) > 0.95


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_constant_features_change_no_copies(form):
    """Wherever they stand."""
    X, y = noisy(RiemannianMLPRegressor)
    X = np.round(np.tile(X[:, :7], (2, 1)), 1)
    want = Data(form(X), np.tile(y, 2)[None]).n_observed()
    for place in (0, 3, 7):
        more = np.insert(X, place, 1.0, axis=1)
        assert Data(form(more), np.tile(y, 2)[None]).n_observed() == want


def test_rows_that_are_their_own_targets_count():
    """Those of an auto-encoder agree whatever they are."""
    X = np.tile(np.random.default_rng(0).normal(size=(20, 4)), (2, 1))
    assert Data(X, X.T, reconstructs=True).n_observed() == 40
    network = RiemannianAutoEncoder((2,), alpha="auto", tol=0.01, random_state=0)
    assert network.fit(X).alpha_ > 0

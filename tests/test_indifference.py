"""Whole trainings with the defaults: how data and units are written down does not matter."""

import itertools
from functools import cache

import numpy as np
import pytest
from engine import scale_of
from scipy import sparse
from selection import slow_but, spread
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine
from sklearn.neural_network import MLPClassifier

from sknatgrad import (
    Network,
    RiemannianAutoEncoder,
    RiemannianMLPClassifier,
    RiemannianMLPRegressor,
    Topology,
    initialize,
    reparametrize,
)
from sknatgrad.outputs import get_output
from sknatgrad.training import Coordinates, Data, Model
from sknatgrad.training.data.scaling import OutputScale
from sknatgrad.training.orientation import _covariances


def many_rows(kind):
    """Rows for mini-batches: long tails, features that go together, and noise."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(2500, 8)) @ rng.normal(size=(8, 8))
    X[:, :3] = np.exp(X[:, :3] / 2)
    y = np.sin(X[:, 3]) + X[:, 4] / 3 + np.log1p(X[:, 0]) + 0.3 * rng.normal(size=2500)
    return X, y if kind == "numbers" else np.digitize(y, [0.5, 2.0])


DATA = {
    "many numbers": lambda return_X_y: many_rows("numbers"),
    "many classes": lambda return_X_y: many_rows("classes"),
    "iris": load_iris,
    "wine": load_wine,
    "breast_cancer": load_breast_cancer,
    "digits": load_digits,
    "diabetes": load_diabetes,
}
LONG = ["digits", "many numbers", "many classes"]
QUICK = [name for name in DATA if name not in LONG]
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def columns(X):
    """Each feature in a unit of its own."""
    return X * 10 ** np.random.default_rng(0).uniform(-6, 6, size=X.shape[1])


def among_constants(X):
    """With features that never vary between the others and before them."""
    n = len(X)
    return np.hstack([np.full((n, 3), 7.0), X[:, :2], np.zeros((n, 4)), X[:, 2:]])


CHANGES = {
    "larger": lambda X: 1000 * X,
    "shifted": lambda X: X + 1e3,
    "exchanged": lambda X: 1 - X,
    "columns": columns,
    "constants": among_constants,
}


@cache
def trained(name, change=None, **parameters):
    """Probabilities, or predictions in units of the target's deviation, of a whole fit."""
    X, y = DATA[name](return_X_y=True)
    X = X if change is None else CHANGES[change](X)
    parameters = {"random_state": 0, **parameters}
    if name in ("diabetes", "many numbers"):
        return RiemannianMLPRegressor(**parameters).fit(X, y).predict(X) / y.std()
    return RiemannianMLPClassifier(**parameters).fit(X, y).predict_proba(X)


@pytest.mark.parametrize(
    ("name", "change"), [*itertools.product(QUICK, CHANGES), *spread(LONG, CHANGES)]
)
def test_units_of_features_do_not_matter(name, change):
    """Defaults, until training stops by itself or after 200 passes, to 1e-6."""
    assert np.abs(trained(name, change) - trained(name)).max() < 1e-6


@pytest.mark.parametrize(
    ("hidden", "change"), spread([(100, 100), (30, 30, 30)], ["larger", "exchanged", "columns"])
)
@pytest.mark.parametrize("name", slow_but(["wine", "diabetes", "breast_cancer"], "wine"))
def test_nor_do_they_in_deep_networks(name, hidden, change):
    """Where single units have less to say, and rounding errors more steps to grow.

    From the second start: from one in eighteen they grow too far (doc/training.md).
    """
    settings = {"hidden_layer_sizes": hidden, "random_state": 1}
    known = trained(name, **settings)
    assert np.abs(trained(name, change, **settings) - known).max() < 1e-6


def test_a_far_origin_costs_no_digits():
    """Where no row is rounded, not even the first pass is: rare events, counted from 2^30."""
    rng = np.random.default_rng(0)
    X = (rng.random((400, 6)) < 0.02) + 1.0 * (rng.random((400, 6)) < 0.5)
    y = X.sum(axis=1) + 0.1 * rng.normal(size=400)
    near, far = (
        RiemannianMLPRegressor(max_iter=1, random_state=0).fit(rows, y) for rows in (X, X + 2**30)
    )
    assert abs(near.loss_ - far.loss_) < 1e-10 * near.loss_


def test_a_linear_model_starts_at_the_mean_wherever_features_are():
    """Links straight to an output start at nothing, and leave nothing in its bias."""
    rng = np.random.default_rng(0)
    X, y = (rng.random((400, 6)) < 0.02) + 2.0**30, rng.normal(size=400)
    linear = RiemannianMLPRegressor(hidden_layer_sizes=(), max_iter=0, random_state=0)
    np.testing.assert_allclose(linear.fit(X, y).predict(X), y.mean(), rtol=0, atol=1e-14)


@pytest.mark.parametrize("change", ["larger", "exchanged", "columns"])
@pytest.mark.parametrize("activation", ["log_relu", "tanh"])
def test_mini_batches_see_the_same_bits(activation, change):
    """Not a single loss of the training differs, so no rounding error can grow."""
    X, y = load_digits(return_X_y=True)
    one, other = (
        RiemannianMLPClassifier(activation=activation, max_iter=5, random_state=0).fit(Z, y)
        for Z in (X, CHANGES[change](X))
    )
    assert one.loss_curve_ == other.loss_curve_


@pytest.mark.parametrize(("name", "rows"), [("digits", 100), ("digits", 30), ("many numbers", 100)])
def test_nor_do_constants_in_mini_batches_of_any_size(name, rows):
    """They are no sources: how noisy batches are does not depend on them."""
    known = trained(name, batch_size=rows)
    assert np.abs(trained(name, "constants", batch_size=rows) - known).max() < 1e-6


@pytest.mark.parametrize("name", slow_but(DATA, *QUICK, "digits"))
def test_sigmoid_and_tanh_units_learn_the_same(name):
    """The paper's correspondence of units holds over whole trainings."""
    difference = trained(name, activation="logistic") - trained(name, activation="tanh")
    assert np.abs(difference).max() < 1e-6


@pytest.mark.parametrize("metric", ["euclidean", "diag_bp", "adagrad"])
@pytest.mark.parametrize("change", ["shifted", "exchanged"])
def test_other_metrics_do_depend_on_them(metric, change):
    """Without the entries between bias and weights, or without a metric, shifts matter."""
    settings = {"metric": metric, "max_iter": 30, "damping": 1e-3}
    difference = trained("iris", change, **settings) - trained("iris", **settings)
    assert np.abs(difference).max() > 1e-2


def test_backpropagation_with_adam_depends_on_them():
    """The control from elsewhere."""
    X, y = load_iris(return_X_y=True)
    known = MLPClassifier(random_state=0).fit(X, y).predict_proba(X)
    for change in CHANGES.values():
        Z = change(X)
        assert np.abs(MLPClassifier(random_state=0).fit(Z, y).predict_proba(Z) - known).max() > 1e-2


@pytest.mark.parametrize("activation", ["logistic", "tanh"])
@pytest.mark.parametrize("change", [None, "larger", "shifted"])
def test_a_curved_border_is_learnt_on_any_scale(activation, change):
    """500 points, label = side of a curve: scikit-learn's defaults reach 0.61 to 0.77 (#31235)."""
    X = np.random.default_rng(0).uniform(-1, 1, size=(500, 2))
    y = X[:, 1] > 0.5 * np.sin(3 * X[:, 0])
    X = X if change is None else CHANGES[change](X)
    clf = RiemannianMLPClassifier((20, 20), activation=activation, random_state=0)
    assert clf.fit(X, y).score(X, y) >= 0.99


# ---------------------------------------------------------------- rows at the mean of all features
DESIGN = np.array(list(itertools.product([-1.0, 0.0, 1.0], repeat=3)))
WRITTEN = {
    "tenths": lambda X: X / 10,
    "shifted": lambda X: X / 10 + 0.7,
    "thousands": lambda X: 1000 * X + 300,
    "sparse": lambda X: sparse.csr_array(X + 1),
}


def response(X):
    return X[:, 0] * X[:, 1] + X[:, 2] ** 2 + 0.1 * np.random.default_rng(0).normal(size=len(X))


@pytest.mark.parametrize("hidden", [(20,), (20, 10)])
@pytest.mark.parametrize("activation", ["log_relu", "relu"])
@pytest.mark.parametrize("change", WRITTEN)
def test_a_row_at_the_mean_is_on_no_kink(change, activation, hidden):
    """Where all rectified units would start at theirs: which side, rounding errors would say."""
    X, y = DESIGN, response(DESIGN)

    def predicted(X):
        reg = RiemannianMLPRegressor(
            hidden_layer_sizes=hidden, activation=activation, random_state=0
        )
        return reg.fit(X, y).predict(X)

    np.testing.assert_allclose(predicted(WRITTEN[change](X)), predicted(X), atol=1e-8)


@pytest.mark.parametrize("change", WRITTEN)
def test_nor_is_it_on_mini_batches(change):
    X, y = DESIGN, response(DESIGN)

    def predicted(X):
        reg = RiemannianMLPRegressor(hidden_layer_sizes=(20,), batch_size=9, random_state=0)
        return reg.fit(X, y).predict(X)

    np.testing.assert_allclose(predicted(WRITTEN[change](X)), predicted(X), atol=1e-8)


def test_nor_is_it_with_weights_or_in_another_order():
    X, y = DESIGN / 10 + 0.7, response(DESIGN)
    order = np.random.default_rng(1).permutation(len(X))
    reg = RiemannianMLPRegressor(hidden_layer_sizes=(20,), random_state=0)
    expected = reg.fit(X, y).predict(X)
    np.testing.assert_allclose(reg.fit(X[order], y[order]).predict(X), expected, atol=1e-8)
    tripled = reg.fit(np.repeat(X, 3, axis=0), np.repeat(y, 3)).predict(X)
    weighted = reg.fit(X, y, sample_weight=np.full(len(X), 3)).predict(X)
    np.testing.assert_allclose(weighted, tripled, atol=1e-8)


def test_symmetric_features_far_from_0_keep_their_signs():
    """The rounding error of their skewness, 1e-7 here, says nothing of it."""
    levels = np.repeat(np.arange(-1.0, 2.0)[:, None], 11, axis=1) / 8
    for n_copies in (333, 3333):
        tiled = np.repeat(levels, n_copies, axis=0) + np.linspace(0.9e5, 1.1e5, 11).round()
        assert (scale_of(tiled).scale > 0).all()
    rng = np.random.default_rng(5)
    x = np.linspace(-1, 1, 100)
    X = np.column_stack([rng.permutation(x), rng.permutation(x), rng.permutation(x**3)])
    far = scale_of(1e-4 * X + 1e3)
    assert (far.scale > 0).all() and (scale_of(X).scale > 0).all()
    assert (scale_of(1e-4 * np.exp(X) + 1e3).scale > 0).all()
    assert (scale_of(1e3 - 1e-4 * np.exp(X)).scale < 0).all()


# ---------------------------------------------------------------------- rows as their own targets
@pytest.mark.parametrize("size", [None, 50])
def test_exchanging_0_and_1_changes_no_auto_encoder(size):
    rng = np.random.default_rng(0)
    X = (rng.random((200, 12)) < 0.3).astype(float)
    X[:, 6:] = X[:, :6] * (rng.random((200, 6)) < 0.9)
    one, other = (RiemannianAutoEncoder((6, 2, 6), random_state=0) for _ in range(2))
    for rows in [X] if size is None else np.array_split(X, 200 // size):
        for network, seen in ((one, rows), (other, 1 - rows)):
            network.fit(seen) if size is None else network.partial_fit(seen)
    np.testing.assert_allclose(other.predict(1 - X), 1 - one.predict(X), atol=1e-8)
    np.testing.assert_allclose(other.transform(1 - X), one.transform(X), atol=1e-8)


@pytest.mark.parametrize("n_rows", [200, 1500])
def test_nor_does_another_unit_or_sign_of_numbers(n_rows):
    X = np.random.default_rng(0).gamma(2.0, size=(n_rows, 6)) @ np.ones((6, 6))
    X += np.random.default_rng(1).gamma(2.0, size=X.shape)
    factor, shift = np.array([1.0, -1.0, 3.0, -0.5, 10.0, -2.0]), 5.0
    settings = {"output": "square", "max_iter": 15, "random_state": 0}
    one = RiemannianAutoEncoder((4, 2, 4), **settings).fit(X)
    other = RiemannianAutoEncoder((4, 2, 4), **settings).fit(factor * X + shift)
    expected = factor * one.predict(X) + shift
    np.testing.assert_allclose(other.predict(factor * X + shift), expected, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("settings", [{}, {"batch_size": 50}, {"hidden_layer_sizes": (20, 10)}])
@pytest.mark.parametrize("unit, level", [(-1.0, 0.0), (-1e3, 7.0)])
def test_nor_does_the_sign_of_targets(unit, level, settings):
    """Of one, and of several, each on its own."""
    X, y = load_diabetes(return_X_y=True)
    settings = {"random_state": 1, "max_iter": 60, **settings}
    for target, change in [(y, unit), (np.column_stack([y, -(y**2)]), np.array([unit, 1.0]))]:
        reg = RiemannianMLPRegressor(**settings).fit(X, target)
        other = RiemannianMLPRegressor(**settings).fit(X, change * target + level)
        apart = other.predict(X) - (change * reg.predict(X) + level)
        assert np.abs(apart / (change * target.std(axis=0))).max() < 1e-6


@pytest.mark.parametrize("settings", [{}, {"batch_size": 50}])
def test_nor_does_what_is_called_1_and_0(settings):
    """Of two classes, and of the labels of a row."""
    X, y = load_breast_cancer(return_X_y=True)
    settings = {"random_state": 0, "max_iter": 60, **settings}
    both = np.column_stack([y, X[:, 0] > 12]).astype(int)
    for target, exchanged in [(y, 1 - y), (both, np.column_stack([both[:, 0], 1 - both[:, 1]]))]:
        p, q = (
            RiemannianMLPClassifier(**settings).fit(X, t).predict_proba(X)
            for t in (target, exchanged)
        )
        if target.ndim == 1:
            np.testing.assert_allclose(p, q[:, ::-1], atol=1e-6)
        else:
            np.testing.assert_allclose(p, np.column_stack([q[:, 0], 1 - q[:, 1]]), atol=1e-6)
    softmax = RiemannianMLPClassifier(output="softmax", **settings)
    p, q = (softmax.fit(X, t).predict_proba(X)[:, 1] for t in (y, 1 - y))
    assert np.abs(p + q - 1).max() > 1e-3


# ------------------------------------------------------------ columns without skewness
def as_many_ones_as_zeros(n_rows, n_columns=8):
    rng = np.random.default_rng(0)
    columns = [rng.permutation(np.arange(n_rows) % 2.0) for _ in range(n_columns)]
    return np.column_stack(columns)


def interaction(X):
    rng = np.random.default_rng(1)
    return X @ rng.normal(size=X.shape[1]) + 2 * X[:, 0] * X[:, 1] + 0.1 * rng.normal(size=len(X))


TARGETS = {
    "numbers": interaction,
    "several numbers": lambda X: np.column_stack([interaction(X), np.sin(3 * interaction(X))]),
    "counts": lambda X: np.floor(np.exp(interaction(X) / 2 + 2)),
    "three classes": lambda X: np.digitize(interaction(X), [-0.5, 0.7]),
    "two classes": lambda X: interaction(X) > 0.3,
}


def predicted(X, y, name, **settings):
    settings = {"random_state": 0, "max_iter": 40, **settings}
    if "classes" in name:
        return RiemannianMLPClassifier(**settings).fit(X, y).predict_proba(X)
    loss = "poisson" if name == "counts" else "squared_error"
    predictions = RiemannianMLPRegressor(loss=loss, **settings).fit(X, y).predict(X)
    return predictions / np.std(y, axis=0)


@pytest.mark.parametrize("form", [lambda X: X, lambda X: sparse.csr_array(2 * X - 1)])
@pytest.mark.parametrize("n_rows", [200, 1500])
@pytest.mark.parametrize("name", TARGETS)
def test_exchanging_0_and_1_changes_nothing_where_there_are_as_many_of_both(name, n_rows, form):
    """They have no skewness; what goes together with the target tells them apart."""
    X = as_many_ones_as_zeros(n_rows)
    y = TARGETS[name](X)
    known, other = (predicted(form(Z), y, name) for Z in (X, 1 - X))
    assert np.abs(other - known).max() < 1e-6


@pytest.mark.parametrize(
    "settings",
    [{}, {"class_weight": "balanced"}, {"batch_size": 50}, {"early_stopping": True}],
)
@pytest.mark.parametrize("share", [0.3, 0.5])
def test_nor_does_exchanging_classes_of_the_same_weight(share, settings):
    X = np.random.default_rng(0).gamma(2.0, size=(200, 4))
    y = np.argsort(np.argsort(X[:, 0] + np.sin(X[:, 1]))) < share * len(X)
    p, q = (predicted(X, t, "classes", **settings) for t in (y, ~y))
    np.testing.assert_allclose(p, q[:, ::-1], atol=1e-6)


def test_nor_does_a_grid_read_backwards():
    """With targets that have a skewness, or none but that of another feature."""
    x = np.linspace(-1, 1, 81)[:, None]
    y = np.sin(4 * x[:, 0]) + x[:, 0] ** 2
    assert np.abs(predicted(-x, y, "numbers") - predicted(x, y, "numbers")).max() < 1e-6
    X, odd = np.column_stack([x, np.exp(x)]), np.sin(4 * x[:, 0])
    for other, target, sign in [(X * [-1, 1], odd, 1), (X, -odd, -1), (X * [-1, -1], -odd, -1)]:
        known = predicted(X, odd, "numbers")
        assert np.abs(sign * predicted(other, target, "numbers") - known).max() < 1e-6


@pytest.mark.parametrize("output", ["bernoulli", "square"])
def test_nor_does_it_change_auto_encoders(output):
    rng = np.random.default_rng(0)
    X = as_many_ones_as_zeros(200, 4)
    X = np.hstack([X, X * (rng.random(X.shape) < 0.9)])
    ours = RiemannianAutoEncoder((6, 2, 6), output=output, max_iter=40, random_state=0)
    expected = ours.fit(X).predict(X)
    np.testing.assert_allclose(1 - ours.fit(1 - X).predict(1 - X), expected, atol=1e-6)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("output", ["square", "bernoulli"])
def test_what_goes_together_is_told_by_covariances(output, form):
    """Of standardised inputs and residuals, weighted; a linear network's gradient is the same."""
    rng = np.random.default_rng(0)
    X = rng.gamma(2.0, size=(60, 3)) * [1, 10, 0.1] * (rng.random((60, 3)) < 0.7)
    weight = rng.uniform(0.5, 2, size=60)
    target = (
        rng.integers(2, size=(2, 60)).astype(float) if output == "bernoulli" else X[:, :2].T ** 2
    )
    data = Data(form(X), target, weight)
    model = Model(Network.build(Topology.layered([3, 4, 2])), get_output(output))
    moments = data.target_moments
    free = output == "square"
    scale = OutputScale(moments.mean, moments.deviation) if free else None
    found = _covariances(model, Coordinates(model.network, data.scale, scale), data)
    share = weight / weight.sum()
    z = (X - share @ X) / np.sqrt(share @ (X - share @ X) ** 2)
    residual = (target.T - share @ target.T) / (moments.deviation if free else 1)
    np.testing.assert_allclose(found, (share * residual.T) @ z, rtol=1e-9, atol=1e-12)


def test_nothing_tells_signs_where_all_is_symmetric():
    """The control: parity of all strings of bits is the same the other way round."""
    X = np.array(list(itertools.product([0.0, 1.0], repeat=6)))
    y = X.sum(axis=1) % 2
    apart = predicted(1 - X, y, "two classes") - predicted(X, y, "two classes")
    assert np.abs(apart).max() > 1e-2


def test_rewritten_units_start_as_what_they_rewrite():
    """Opposite pairs, biases and all: initial networks are equal functions."""
    network = Network.build(Topology.layered([3, 4, 4, 1]), ["relu", "log_relu"], "identity")
    rng = np.random.default_rng(0)
    alpha, gamma = rng.uniform(0.5, 2, size=(2, 9)) * rng.choice([-1, 1], size=(2, 9))
    beta = rng.normal(size=9)
    theta = initialize(network, np.random.RandomState(0), bias_scale=1.0)
    rewritten, expected = reparametrize(network, theta, alpha, beta, gamma)
    found = initialize(rewritten, np.random.RandomState(0), bias_scale=1.0)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)

"""The penalty that the data ask for, and the solver for matrices with a common ridge."""

import numpy as np
import pytest
from sklearn.datasets import make_classification, make_regression
from sklearn.model_selection import train_test_split

from sknatgrad import RiemannianMLPClassifier, RiemannianMLPRegressor
from sknatgrad.metrics.ridge import SharedRidgeFactor
from sknatgrad.network import Network, Topology
from sknatgrad.outputs import get_output
from sknatgrad.training import evidence
from sknatgrad.training.coordinates import OutputScale
from sknatgrad.training.evidence import LEAST_STRENGTH, Evidence, sample
from sknatgrad.training.objective import Objective
from sknatgrad.training.start import target_factor


def noisy_classes(n_samples=300, flip_y=0.4):
    return make_classification(n_samples, 12, n_informative=4, flip_y=flip_y, random_state=0)


def noisy_numbers(n_samples=200):
    return make_regression(n_samples, 10, n_informative=3, noise=80.0, random_state=0)


# ------------------------------------------------------------------------- the common ridge
@pytest.mark.parametrize("relative", [0.0, 0.3])
@pytest.mark.parametrize("n_rows", [3, 40])
def test_shared_ridge_solves_each_system(relative, n_rows):
    """Against dense solves, with a dead column, a unit without metric, singular moments."""
    rng = np.random.default_rng(0)
    rows = np.column_stack([np.ones(n_rows), 5 + rng.normal(size=(n_rows, 6))])
    rows[:, 3] = 2.0
    block = rows.T @ rows / n_rows
    strength = np.array([1e-3, 0.5, 1.0, 40.0, 0.0])
    ridge = rng.uniform(0.1, 1, size=6)
    factor = SharedRidgeFactor(block, strength, ridge, relative)
    rhs = rng.normal(size=(5, 7, 2))
    rhs[:, 3] = 2 * rhs[:, 0]  # a gradient's: the column is twice the constant
    rhs[4, 0] = 0.0
    solution = factor.solve(rhs)
    variance = block.diagonal() - block[0] ** 2
    alive = np.arange(7) != 3
    for k, s in enumerate(strength):
        matrix = s * block + np.diag(relative * s * variance + np.append(0.0, ridge))
        matrix[0, 0] += s == 0
        want = np.linalg.solve(matrix[np.ix_(alive, alive)], rhs[k][alive])
        np.testing.assert_allclose(solution[k][alive], want, rtol=1e-9, atol=1e-12)
    assert not solution[:, 3].any()


@pytest.mark.parametrize("ridge", [0.0, 5e-324, 1e-300, np.nan])
def test_shared_ridge_says_when_it_is_not_to_be_relied_on(ridge):
    """Without ridge, or with one below rounding errors."""
    block = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.5], [0.0, 0.5, 1.0]])
    assert not SharedRidgeFactor(block, np.array([1.0, 2.0]), np.array([1.0, ridge])).sound


# ------------------------------------------------------------------------------ the estimate
def an_objective(output, n_samples=30):
    rng = np.random.default_rng(1)
    network = Network.build(Topology.layered((4, 5, 2)))
    X = rng.normal(size=(n_samples, 4)) * [1, 2, 3, 0.5] + 1
    target = rng.integers(2, size=(2, n_samples)).astype(float)
    penalty = np.where(network.topology.is_weight, rng.uniform(0.5, 2, 37), 0.0)
    objective = Objective(network, get_output(output), X, target, None, penalty)
    objective.alpha = 0.7
    return objective, rng.normal(size=37)


def slow_spectrum(objective, theta):
    """Eigenvalues by unit, from the network's own formulas written out (two layers)."""
    first, second = theta[:25].reshape(5, 5), theta[25:].reshape(2, 6)
    X, n = objective.X, objective.n_samples
    hidden = np.tanh(X @ first[:, 1:].T + first[:, 0])
    out = hidden @ second[:, 1:].T + second[:, 0]
    if objective.output.name == "square":
        at_output = np.ones_like(out)
    else:
        p = 1 / (1 + np.exp(-out))
        at_output = p * (1 - p)
    at_hidden = (at_output @ second[:, 1:] ** 2) * (1 - hidden**2) ** 2
    values = []
    for rows, modulus, start in ((X, at_hidden, 0), (hidden, at_output, 25)):
        for k, c in enumerate(modulus.mean(axis=0)):
            scale = objective.penalty[start + k * (1 + rows.shape[1]) :][1 : 1 + rows.shape[1]]
            covariance = np.cov(rows.T, bias=True) / np.sqrt(np.outer(scale, scale))
            values.append(n * c * np.linalg.eigvalsh(covariance))
    return np.concatenate(values)


@pytest.mark.parametrize("output", ["bernoulli", "square"])
def test_strength_maximises_the_evidence(output):
    """From a slow reference: the gradient of the log evidence in the strength is zero.

    After enough rounds, at temperature 1, for the curvature at hand; the noise variance
    of a square loss maximises it too.
    """
    objective, theta = an_objective(output)
    # Units of one layer must share their penalties, as those of `fit` do.
    first = objective.penalty[:25].reshape(5, 5)
    first[:] = first[0]
    second = objective.penalty[25:].reshape(2, 6)
    second[:] = second[0]
    evaluation = objective.evaluate(theta)
    evidence = Evidence(temperature=1.0)
    strength = objective.alpha
    for _ in range(60):
        objective.alpha = strength
        strength = evidence._estimate(objective, evaluation)
    curvature, size = slow_spectrum(objective, theta), objective.penalty @ theta**2
    n = objective.n_samples

    def log_evidence(log_strength, log_noise):
        a, noise = np.exp(log_strength), np.exp(log_noise)
        # Prior precision a / noise, curvature l / noise.
        value = 0.5 * np.sum(np.log(a) - np.log(curvature + a)) - 0.5 * a * size / noise
        if output == "square":
            value -= n * evaluation.data_loss / noise + n * np.log(noise)
        return value

    free = np.sum(curvature / (curvature + strength))
    noise = 1.0 if output == "bernoulli" else 2 * n * evaluation.data_loss / (2 * n - free)
    at, h = np.array([np.log(strength), np.log(noise)]), 1e-5
    slope = (log_evidence(at[0] + h, at[1]) - log_evidence(at[0] - h, at[1])) / (2 * h)
    assert strength > LEAST_STRENGTH * noise
    assert slope == pytest.approx(0, abs=1e-6 * free)


def test_large_data_are_sampled_evenly():
    """The same penalty per observation, from some of the rows."""
    objective, theta = an_objective("bernoulli", 5000)
    part = sample(objective)
    assert part.n_samples == 2000 and part.penalty_weight == 5000
    whole = Evidence()._estimate(objective, objective.evaluate(theta))
    assert Evidence()._estimate(part, part.evaluate(theta)) == pytest.approx(whole, rel=0.05)
    assert sample(part) is part


@pytest.mark.parametrize("n_units, kronecker", [(5, True), (40, False)])
def test_units_with_sources_of_their_own_share_the_cost(monkeypatch, n_units, kronecker):
    """Each has a matrix to diagonalise: many of them are taken quasi-diagonal."""
    monkeypatch.setattr(evidence, "LARGEST_SPECTRUM", 60)
    rng = np.random.default_rng(0)
    topology = Topology.random_links((40, n_units, 1), 20, random_state=0)
    network = Network.build(topology)
    penalty = topology.is_weight.astype(float)
    X, target = rng.normal(size=(50, 40)), rng.normal(size=(1, 50))
    objective = Objective(network, get_output("square"), X, target, None, penalty)
    at = objective.evaluate(rng.normal(size=topology.n_parameters))
    own = Evidence()
    wanted = own._kronecker_spectrum if kronecker else evidence._diagonal_spectrum
    parts = np.concatenate([part.ravel() for part in wanted(objective, at)])
    for _ in range(2):  # what is known of the inputs changes nothing
        np.testing.assert_array_equal(own._spectrum(objective, at), parts)


# ------------------------------------------------------------------------------- estimators
@pytest.mark.parametrize("flip_y", [0.0, 0.4, 0.8])
def test_noise_is_not_learnt_by_heart(flip_y):
    """Shares of the labels at random: a much better held-out loss than without penalty."""
    X, y = noisy_classes(500, flip_y)
    X, X_test, y, y_test = train_test_split(X, y, random_state=0)
    clf = RiemannianMLPClassifier((20,), random_state=0, max_iter=100).fit(X, y)
    free = RiemannianMLPClassifier((20,), random_state=0, max_iter=100, alpha=0.0).fit(X, y)
    assert clf.alpha_ > 1
    assert clf.loss(X_test, y_test) < 0.4 * free.loss(X_test, y_test)


@pytest.mark.parametrize("batch_size", ["auto", 50])
def test_strength_does_not_depend_on_units(batch_size):
    """Of features, and of a regression's target; shifts included."""
    X, y = noisy_numbers()
    scale = np.geomspace(1e-5, 1e5, X.shape[1])
    models = [
        RiemannianMLPRegressor(
            hidden_layer_sizes=(8,), random_state=0, batch_size=batch_size, max_iter=30
        )
        for _ in range(2)
    ]
    models[0].fit(X, y)
    models[1].fit(scale * (X + 3), 1e4 * y - 7)
    assert models[1].alpha_ == pytest.approx(models[0].alpha_, rel=1e-6)
    assert models[0].alpha_ > 0
    want = 1e4 * models[0].predict(X) - 7
    np.testing.assert_allclose(models[1].predict(scale * (X + 3)), want, rtol=1e-6, atol=1)


@pytest.mark.parametrize("alpha", ["auto", 3.0])
@pytest.mark.parametrize(
    "settings", [{"metric": "euclidean"}, {"metric": "adagrad"}, {"damping_mode": "absolute"}]
)
def test_penalty_does_not_grow_with_targets(settings, alpha):
    """Where steps depend on the units of a target, the penalty still does not.

    Were weights of outputs penalised as they are, large targets would be fitted by a
    constant.
    """
    X, y = noisy_numbers()
    X, y = X / X.std(axis=0), y / y.std()
    scores, strengths = [], []
    for unit in (1.0, 1e3):
        model = RiemannianMLPRegressor(
            hidden_layer_sizes=(8,), random_state=0, max_iter=60, alpha=alpha, **settings
        )
        scores.append(model.fit(X, unit * y).score(X, unit * y))
        strengths.append(model.alpha_)
    assert min(scores) > 0.7 * max(scores) > 0.2
    assert 0.2 < strengths[1] / strengths[0] < 5


def test_penalty_of_outputs_that_feed_units():
    """The first output's activity is a signal in the target's unit, too."""
    X, y = noisy_numbers()
    links = np.zeros((15, 15))
    links[:10, 10:12] = links[10:12, 12] = links[[0, 12], 13] = links[13, 14] = 1
    graph = Topology.from_sparse(links, n_inputs=10, outputs=[12, 14])
    # The same network for targets in units of 7 and 30.
    told = links * np.arange(1, 16)[:, None]
    told[:, 12], told[:, 14], told[12] = 7 * told[:, 12], 30 * told[:, 14], told[12] / 7
    factor = target_factor(graph, OutputScale(np.zeros(2), np.array([7.0, 30.0])))
    source, unit = graph.source, graph.owner + 10
    for k in np.flatnonzero(graph.is_weight):
        i, j = np.append(np.arange(10), graph.order)[[source[k], unit[k]]]
        assert factor[k] * told[i, j] == pytest.approx(links[i, j] * (i + 1))
    strengths = [
        RiemannianMLPRegressor(connectivity=graph, random_state=0, max_iter=100)
        .fit(X, unit * np.column_stack([y, y + X[:, 0]]))
        .alpha_
        for unit in (1.0, 1e4)
    ]
    assert 0 < min(strengths) and max(strengths) < 10


def test_whole_number_weights_are_repetitions():
    """Zeros among them; other weights matter relative to each other only."""
    X, y = noisy_classes(120)
    count = np.random.default_rng(0).integers(0, 4, size=120)
    settings = {"hidden_layer_sizes": (6,), "random_state": 0, "max_iter": 20}
    weighted = RiemannianMLPClassifier(**settings).fit(X, y, sample_weight=count)
    repeated = RiemannianMLPClassifier(**settings).fit(
        np.repeat(X, count, axis=0), np.repeat(y, count)
    )
    assert weighted.alpha_ == pytest.approx(repeated.alpha_, rel=1e-8)
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-7)
    share = np.random.default_rng(1).uniform(0.5, 1.5, size=120)
    one = RiemannianMLPClassifier(**settings).fit(X, y, sample_weight=share)
    other = RiemannianMLPClassifier(**settings).fit(X, y, sample_weight=share / 7)
    assert other.alpha_ == pytest.approx(one.alpha_, rel=1e-8)


def test_where_there_is_none():
    """partial_fit, networks without hidden units, and alpha=0."""
    X, y = noisy_classes(100)
    assert (
        RiemannianMLPClassifier((5,), random_state=0).partial_fit(X, y, classes=[0, 1]).alpha_ == 0
    )
    assert RiemannianMLPClassifier((), random_state=0).fit(X, y).alpha_ == 0
    assert (
        RiemannianMLPClassifier((5,), alpha=0.0, random_state=0, max_iter=3).fit(X, y).alpha_ == 0
    )


def test_warm_fits_go_on():
    """Passes one by one are the passes of one fit, the strength included."""
    X, y = noisy_classes(100)
    settings = {"hidden_layer_sizes": (5,), "random_state": 0, "n_iter_no_change": np.inf}
    whole = RiemannianMLPClassifier(max_iter=12, **settings).fit(X, y)
    single = RiemannianMLPClassifier(max_iter=1, warm_start=True, **settings)
    strengths = [single.fit(X, y).alpha_ for _ in range(12)]
    assert len(set(strengths)) == 3
    assert strengths[-1] == pytest.approx(whole.alpha_, rel=0.2)


@pytest.mark.parametrize("metric", ["qd_bp", "kron_fisher", "unitwise_op", "euclidean", "adagrad"])
def test_every_metric_takes_it(metric):
    """The strength is the same notion for all; the loss stays finite."""
    X, y = noisy_classes(150)
    clf = RiemannianMLPClassifier((8,), metric=metric, random_state=0, max_iter=30).fit(X, y)
    assert 0.05 < clf.alpha_ < 1e3 and np.isfinite(clf.loss_)


def test_odd_data_leave_it_finite():
    """Constant features, constant targets, separable classes, one row a class."""
    rng = np.random.default_rng(0)
    X = np.column_stack([np.ones(20), np.zeros(20), rng.normal(size=20)])
    settings = {"hidden_layer_sizes": (4,), "random_state": 0, "max_iter": 40}
    for y in (np.zeros(20), X[:, 2], 1e-200 * X[:, 2], 1e150 * X[:, 2]):
        model = RiemannianMLPRegressor(**settings).fit(X, y)
        assert np.isfinite(model.alpha_) and np.isfinite(model.predict(X)).all()
    for X_few, y in ((X, X[:, 2] > 0), (X[:2], [0, 1])):
        clf = RiemannianMLPClassifier(**settings).fit(X_few, y)
        assert np.isfinite(clf.alpha_) and clf.score(X_few, y) == 1.0

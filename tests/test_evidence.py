"""The penalty that the data ask for, and the solver for matrices with a common ridge."""

import itertools
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from engine import objective_on
from scipy import sparse
from selection import spread
from sklearn.base import clone
from sklearn.datasets import load_diabetes, make_classification, make_friedman1, make_regression
from sklearn.metrics import log_loss, r2_score
from sklearn.model_selection import train_test_split

from sknatgrad import RiemannianMLPClassifier, RiemannianMLPRegressor
from sknatgrad.metrics import get_metric
from sknatgrad.metrics.ridge import shared_ridge_factor
from sknatgrad.network import Network, Topology
from sknatgrad.outputs import get_output
from sknatgrad.training import assembly, trials
from sknatgrad.training.data.rows import spread_rows
from sknatgrad.training.data.scaling import InputScale, OutputScale
from sknatgrad.training.history import History
from sknatgrad.training.penalty import curvature as curvature_module
from sknatgrad.training.penalty import evidence
from sknatgrad.training.penalty import noise as noise_module
from sknatgrad.training.penalty.curvature import Curvature
from sknatgrad.training.penalty.evidence import LEAST_STRENGTH, Evidence, _crossing
from sknatgrad.training.penalty.l2 import Penalty, Strength
from sknatgrad.training.penalty.noise import _of_free_scale
from sknatgrad.training.penalty.surprise import surprise
from sknatgrad.training.start import target_factor


def noisy_classes(n_samples=300, flip_y=0.4):
    return make_classification(n_samples, 12, n_informative=4, flip_y=flip_y, random_state=0)


def noisy_numbers(n_samples=200):
    return make_regression(n_samples, 10, n_informative=3, noise=80.0, random_state=0)


def texts(n_samples, n_words, length, n_topics):
    """Counts of words whose frequencies follow Zipf's law, and the topics."""
    rng = np.random.default_rng(0)
    frequency = rng.lognormal(sigma=0.5, size=(n_topics, n_words)) / np.arange(2, n_words + 2)
    frequency /= frequency.sum(axis=1, keepdims=True)
    topic = rng.integers(0, n_topics, size=n_samples)
    return sparse.csr_array(rng.multinomial(length, frequency[topic]).astype(float)), topic


# ------------------------------------------------------------------------- the common ridge
@pytest.mark.parametrize("relative", [0.0, 0.3])
@pytest.mark.parametrize("n_rows", [3, 40])
@pytest.mark.parametrize("of_bias", [0.0, 0.2])
def test_shared_ridge_solves_each_system(of_bias, relative, n_rows):
    """Against dense solves, with a constant column, a unit without metric, singular moments."""
    rng = np.random.default_rng(0)
    rows = np.column_stack([np.ones(n_rows), 5 + rng.normal(size=(n_rows, 6))])
    rows[:, 3] = 2.0
    block = rows.T @ rows / n_rows
    strength = np.array([1e-3, 0.5, 1.0, 40.0, 0.0])
    ridge = np.append(of_bias, rng.uniform(0.1, 1, size=6))
    factor = shared_ridge_factor(block, strength, ridge, relative)
    rhs = rng.normal(size=(5, 7, 2))
    rhs[4, 0] *= of_bias  # nothing says where a bias without metric or ridge should go
    solution = factor.solve(rhs)
    variance = block.diagonal() - block[0] ** 2
    for k, s in enumerate(strength):
        matrix = s * block + np.diag(relative * s * variance + ridge)
        matrix[0, 0] += matrix[0, 0] == 0
        want = np.linalg.solve(matrix, rhs[k])
        np.testing.assert_allclose(solution[k], want, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("ridge", [0.0, 5e-324, 1e-300, np.nan])
def test_shared_ridge_says_when_it_is_not_to_be_relied_on(ridge):
    """Without ridge, or with one below rounding errors."""
    block = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.5], [0.0, 0.5, 1.0]])
    strength = np.array([1.0, 2.0])
    assert not shared_ridge_factor(block, strength, np.array([0.0, 1.0, ridge])).sound
    assert not shared_ridge_factor(block, strength, np.array([1.0, 1.0, ridge])).sound


# ------------------------------------------------------------------------------ the estimate
def an_objective(output, n_samples=30):
    """Four inputs, five hidden units, two outputs; parameters to look at it from."""
    rng = np.random.default_rng(1)
    topology = Topology.layered((4, 5, 2))
    X = rng.normal(size=(n_samples, 4)) * [1, 2, 3, 0.5] + 1
    target = rng.integers(2, size=(2, n_samples)).astype(float)
    target[1, ::2] = target[0, ::2]
    # Units of one level share their penalties, as those of `fit` do.
    rows = [np.tile(rng.uniform(0.5, 2, n), k) for n, k in ((5, 5), (6, 2))]
    standard = np.where(topology.is_weight, np.concatenate(rows), 0.0)
    penalty = Penalty(topology, standard, float(n_samples), Strength(0.7))
    network = Network.build(topology)
    objective = objective_on(network, get_output(output), X, target, penalty=penalty)
    return objective, rng.normal(size=37)


class Slow:
    """The network's own formulas written out (two layers, relative to `an_objective`)."""

    def __init__(self, objective, theta):
        self.objective, self.theta = objective, theta
        first, second = theta[:25].reshape(5, 5), theta[25:].reshape(2, 6)
        X = objective.data.X
        hidden = np.tanh(X @ first[:, 1:].T + first[:, 0])
        out = hidden @ second[:, 1:].T + second[:, 0]
        mean, self.variance = {
            "square": lambda v: (v, np.ones_like(v)),
            "bernoulli": lambda v: (1 / (1 + np.exp(-v)), 1 / (2 + np.exp(v) + np.exp(-v))),
            "poisson": lambda v: (np.exp(v), np.exp(v)),
        }[objective.output.name](out)
        self.knows_noise = objective.output.name == "bernoulli"
        self.residuals = objective.data.target.T - mean
        at_hidden = (self.variance @ second[:, 1:] ** 2) * (1 - hidden**2) ** 2
        self.layers = [(X, at_hidden, 0), (hidden, self.variance, 25)]

    def matrices(self, penalty):
        """Curvature and penalty at strength 1 of the weights of each unit."""
        for rows, modulus, start in self.layers:
            size = rows.shape[1]
            common = np.cov(rows.T, bias=True, aweights=modulus.sum(axis=1))
            for k, c in enumerate(modulus.sum(axis=0)):
                own = slice(start + k * (1 + size) + 1, start + (k + 1) * (1 + size))
                yield c * common, np.diag(penalty[own])

    def log_evidence(self, alpha, penalty, noise):
        """Of data whose log-likelihood is divided by the noise variance."""
        value = -0.5 * alpha * penalty @ self.theta**2 / noise
        for curvature, own in self.matrices(penalty):
            prior = alpha * own
            value += 0.5 * np.linalg.slogdet(prior)[1]
            value -= 0.5 * np.linalg.slogdet(curvature + prior)[1]
        return value

    def noise(self, free):
        """By the residuals, and how far the outputs go together."""
        n = len(self.residuals)
        relative = self.residuals / np.sqrt(self.variance.mean(axis=0))
        told = self.objective.data.target.T if self.knows_noise else relative
        spread = np.cov(told.T, bias=True)
        size, trace = np.sum(spread**2), np.trace(spread)
        if not self.knows_noise:
            seen = size / trace
        else:
            seen = np.sum(self.residuals**2) / np.sum(self.variance)
            seen *= size / np.sum(np.diag(spread) ** 2)
        return seen / (1 - free / (n * trace**2 / size))


@pytest.mark.parametrize("output", ["bernoulli", "square", "poisson"])
@pytest.mark.parametrize("alpha", [0.1, 5.0])
def test_surprise_is_minus_the_log_evidence(output, alpha):
    """Minus the logarithm of the slow reference's, with the likelihood of the targets."""
    objective, theta = an_objective(output)
    objective = objective.with_penalty(objective.penalty.of(Strength(alpha)))
    slow, standard = Slow(objective, theta), objective.penalty.standard
    free = sum(np.trace(np.linalg.solve(c + alpha * p, c)) for c, p in slow.matrices(standard))
    noise = 1.0 if slow.knows_noise else slow.noise(free)
    evaluation = objective.evaluate(theta)
    want = 30 * evaluation.data_loss / noise + 30 * np.log(noise)
    want -= slow.log_evidence(alpha, standard, noise)
    assert surprise(objective, evaluation) == pytest.approx(want, rel=1e-9)


@pytest.mark.parametrize("output", ["bernoulli", "square", "poisson"])
def test_strength_maximises_the_evidence(output):
    """The slow reference's gradient of the log evidence in the strength is zero.

    At temperature 1, for the curvature at hand.
    """
    objective, theta = an_objective(output)
    penalty = objective.penalty
    curvature = Curvature(objective, objective.evaluate(theta))
    alpha = Evidence()._most_probable(penalty, curvature)
    slow, h = Slow(objective, theta), 1e-5
    free = sum(
        np.trace(np.linalg.solve(c + alpha * own, c)) for c, own in slow.matrices(penalty.standard)
    )
    noise = slow.noise(free)
    up, down = (slow.log_evidence(alpha * np.exp(d), penalty.standard, noise) for d in (h, -h))
    assert alpha > LEAST_STRENGTH * curvature.noise.unit(free)
    assert (up - down) / (2 * h) == pytest.approx(0, abs=1e-6 * free)
    assert noise != pytest.approx(1, rel=0.05)


def weighed(matrix, weights, strength, power):
    """What `Curvature.weighed` says of one unit, whose penalty is the identity."""
    values, vectors = np.linalg.eigh(matrix)
    # The zeros among them are rounding errors, of which small powers would make something.
    values[values < 1e-12 * values.max()] = 0.0
    degree = values / (values + strength)
    along = (weights @ vectors) ** 2
    return np.sum([degree, degree ** (power + 1), degree**power * along], axis=1)


@pytest.mark.parametrize("power", [0.0, 0.5, 0.8])
@pytest.mark.parametrize("n_samples", [5, 30])
def test_weights_count_as_far_as_data_determine_them(power, n_samples):
    """By the eigenvectors of the slow reference's matrices, few rows and many."""
    objective, theta = an_objective("bernoulli", n_samples)
    found = Curvature(objective, objective.evaluate(theta)).weighed(0.7, power)
    slow, want = Slow(objective, theta), np.zeros(3)
    matrices = slow.matrices(objective.penalty.standard)
    weights = [*theta[:25].reshape(5, 5)[:, 1:], *theta[25:].reshape(2, 6)[:, 1:]]
    for own, (matrix, penalty) in zip(weights, matrices, strict=True):
        root = np.sqrt(penalty.diagonal())
        want += weighed(matrix / root / root[:, None], own * root, 0.7, power)
    np.testing.assert_allclose(found, want, rtol=1e-6)


@pytest.mark.parametrize("rate", [-0.5, 0.0, 0.9])
def test_a_strength_is_found_where_more_is_asked_for_of_stronger_ones(rate):
    """Until at some strength it is not."""
    assert _crossing(lambda alpha: 3 * alpha**rate, 0.01) == pytest.approx(3 ** (1 / (1 - rate)))
    assert _crossing(lambda alpha: 2 * alpha, 0.01) == np.inf
    assert _crossing(lambda alpha: 0.01, 0.01) == 0.01


@pytest.mark.parametrize("likeness", [0.01, 0.5])
@pytest.mark.parametrize("expected", [np.ones(4), np.array([0.3, 1.0, 2.0, 9.0])])
def test_factors_of_features_maximise_it(likeness, expected, monkeypatch):
    """At a given strength of all, up to the factor that leaves the penalty as it is."""
    objective, theta = an_objective("bernoulli")
    penalty, alpha = objective.penalty, 0.7
    monkeypatch.setattr(evidence, "LIKENESS", likeness)
    found = Evidence(features=expected)
    before = objective.penalty_at(theta)
    for _ in range(100):
        curvature = Curvature(objective, objective.evaluate(theta))
        factors = found._of_features(penalty, curvature, alpha)
        penalty = penalty.of(Strength(alpha, factors))
        objective = objective.with_penalty(penalty)
    assert objective.penalty_at(theta) == pytest.approx(before, rel=1e-12)
    noise = curvature.noise.variance(float(curvature.determined(alpha).sum()))
    slow, h, ratios = Slow(objective, theta), 1e-5, []
    assert noise == pytest.approx(slow.noise(float(curvature.determined(alpha).sum())))
    for i in range(4):
        relative, own = penalty.relative, penalty.feature == i
        up, down = (
            slow.log_evidence(alpha, np.where(own, np.exp(d) * relative, relative), noise)
            for d in (h, -h)
        )
        # The slope without the factor's own share: s_i (alpha z^2 / noise + prior / expected) / 2.
        held = 0.5 * alpha * relative[own] @ theta[own] ** 2 / noise
        prior = 0.5 * 5 * likeness
        wanted = (up - down) / (2 * h) + held + prior
        ratios.append(wanted / (held + prior * factors[i] / expected[i]))
    np.testing.assert_allclose(ratios, ratios[0], rtol=1e-5)
    assert factors.max() > 2 * factors.min()


def temperature_on(topology, numbers, n_rows, scale, n_targets=1.0):
    """T in a network of that topology."""
    objective = SimpleNamespace(
        network=SimpleNamespace(topology=topology),
        output=SimpleNamespace(free_dispersion=numbers),
    )
    data = SimpleNamespace(scale=InputScale(np.zeros(len(scale)), scale, rarity=1.0 + scale))
    state = SimpleNamespace(strength=Strength(), history=History())
    found = assembly.make_evidence(data, state, SimpleNamespace(n_steps=1, objective=objective))
    noise = SimpleNamespace(scale_is_free=numbers, n_targets=n_targets)
    return found.temperature(noise, n_rows)


@pytest.mark.parametrize("n_sources, want", [(3, 1 / 1.3), (5, 1 / 1.5), (40, 1 / 2)])
def test_temperature_is_lower_where_rows_are_few_for_the_weights(n_sources, want, monkeypatch):
    """Halved at most; targets count as rows, weights of sources that never vary do not count."""
    monkeypatch.setattr(evidence, "CROWDING", 0.5)
    monkeypatch.setattr(evidence, "CROWDING_OF_LABELS", 0.05)
    for n_constants, numbers in itertools.product((0, 6), (False, True)):
        topology = Topology.layered((n_sources + n_constants, 4))
        scale = np.arange(topology.n_inputs) < n_sources
        of_labels = max(0.5, 1 / (1 + 0.01 * n_sources))
        for n_rows, n_targets in ((20.0, 1.0), (5.0, 4.0)):
            found = temperature_on(topology, numbers, n_rows, scale, n_targets)
            assert found == pytest.approx(want if numbers else of_labels)


@pytest.mark.parametrize("hidden, power, twice", [((4,), 1.0, 1), ((4, 3), 0.75, 2)])
def test_deep_networks_see_less_noise(hidden, power, twice):
    """Labels count by a power of their dispersion there; numbers have twice the temperature."""
    rng = np.random.default_rng(0)
    topology = Topology.layered((3, *hidden, 1))
    penalty = Penalty(topology, topology.is_weight * 1.0, 40.0, Strength(0.1))
    X, target = rng.normal(size=(40, 3)), rng.integers(2, size=(1, 40)).astype(float)
    network, output = Network.build(topology), get_output("bernoulli")
    objective = objective_on(network, output, X, target, penalty=penalty)
    theta = rng.normal(size=topology.n_parameters)
    p = 1 / (1 + np.exp(-objective.output_values(theta)))
    dispersion = np.sum((target - p) ** 2) / np.sum(p * (1 - p))
    noise, _ = noise_module.Noise.measured(objective, objective.evaluate(theta))
    assert noise.dispersion == pytest.approx(dispersion**power)
    found = [temperature_on(topology, numbers, np.inf, np.ones(3)) for numbers in (False, True)]
    assert found == [1, twice]


def test_constant_features_do_not_weaken_the_penalty():
    """They are no sources, nor do they change the start."""
    X, y = noisy_classes(100)
    clf = RiemannianMLPClassifier(random_state=0)
    alone = clf.fit(X, y).alpha_
    with_constants = clf.fit(np.hstack([X, np.ones((100, 60))]), y).alpha_
    assert with_constants == pytest.approx(alone, rel=1e-6)


@pytest.mark.parametrize("output, most", [("bernoulli", 2), ("square", 10)])
def test_noise_is_bounded_where_more_is_counted_than_observed(output, most):
    """Blocks of a penalty without strength count a direction a weight."""
    objective, theta = an_objective(output)
    curvature = Curvature(objective, objective.evaluate(theta))
    noise = curvature.noise
    crowded = noise.variance(5 * noise.n_observed)
    assert crowded == pytest.approx(most * noise.variance(0.0))
    assert noise.variance(0.25 * noise.n_observed) == pytest.approx(4 / 3 * crowded / most)


@pytest.mark.parametrize("output", ["bernoulli", "square"])
def test_many_outputs_count_as_independent(monkeypatch, output):
    """Where products between them would take too much memory."""
    objective, theta = an_objective(output)
    joint = Curvature(objective, objective.evaluate(theta))
    monkeypatch.setattr(noise_module, "LARGEST_COVARIANCE", 1)
    single = Curvature(objective, objective.evaluate(theta))
    assert joint.noise.n_observed < single.noise.n_observed <= 60
    assert single.noise.variance(0.0) > 0


def test_noise_of_several_targets():
    """Copies of a target are one target; those without noise change nothing."""
    rng = np.random.default_rng(0)
    residual, other = rng.normal(size=(2, 400))

    def told(*rows):
        rows = np.array(rows)
        signals = np.vstack([np.ones(400), rows])
        moments = signals @ signals.T / 400
        return _of_free_scale((rows**2).mean(axis=1), np.ones(len(rows)), moments)

    noise, count = told(residual)
    assert noise == pytest.approx(np.var(residual)) and count == pytest.approx(1)
    assert told(residual, residual) == pytest.approx((2 * noise, 1))
    assert told(residual, 0 * residual, 0 * residual) == pytest.approx((noise, 1))
    pair = told(residual, other)
    assert pair[1] == pytest.approx(2, rel=0.05) and pair[0] == pytest.approx(noise, rel=0.1)
    assert told(0 * residual) == (0.0, 1.0)


def test_large_data_are_sampled_evenly():
    """The same penalty per observation, from some of the rows."""
    objective, theta = an_objective("bernoulli", 5000)
    part = objective.sampled()
    assert part.n_samples == 2000 and part.penalty is objective.penalty
    found = [
        Evidence()._most_probable(o.penalty, Curvature(o, o.evaluate(theta)))
        for o in (objective, part)
    ]
    assert found[1] == pytest.approx(found[0], rel=0.05)
    assert part.sampled() is part


@pytest.mark.parametrize("period", [5, 10])
def test_rows_that_come_by_turns_are_all_seen(period):
    """Every so many rows are of another kind: a sample has its share of them."""
    kinds = spread_rows(2000 * period, 2000) % period
    assert np.all(np.abs(np.bincount(kinds) - 2000 / period) < 0.2 * 2000 / period)
    assert np.all(np.diff(spread_rows(2001, 2000)) > 0) and spread_rows(10**6, 2000)[-1] < 10**6


@pytest.mark.parametrize("n_units, blocks", [(5, True), (40, False)])
def test_units_with_sources_of_their_own_share_the_cost(monkeypatch, n_units, blocks):
    """Each has a matrix to diagonalise: many of them are taken quasi-diagonal."""
    monkeypatch.setattr(curvature_module, "LARGEST_SPECTRUM", 60)
    rng = np.random.default_rng(0)
    topology = Topology.random_links((40, n_units, 1), 20, random_state=0)
    penalty = Penalty(topology, topology.is_weight * 1.0, 50.0, Strength(0.3))
    X, target = rng.normal(size=(50, 40)), rng.normal(size=(1, 50))
    network, output = Network.build(topology), get_output("square")
    objective = objective_on(network, output, X, target, penalty=penalty)
    theta, counted = rng.normal(size=topology.n_parameters), np.zeros(3)
    evaluation = objective.evaluate(theta)
    found = Curvature(objective, evaluation)
    spectra = {isinstance(spectrum, curvature_module._Spectrum) for spectrum in found._spectra}
    assert spectra == {blocks}
    degrees, metric = found.determined(0.3), get_metric("bp" if blocks else "qd_bp")
    _, (statistics, _) = objective.differentiate(evaluation, metric)
    for unit in range(n_units + 1):
        row = topology.row(unit)
        block = 50 * metric.reduction.block(topology, statistics, unit)
        matrix = block[1:, 1:]
        if block[0, 0] > 0:  # some unit may feed no output
            matrix = matrix - np.outer(block[0, 1:], block[0, 1:]) / block[0, 0]
        want = np.diag(np.linalg.solve(matrix + 0.3 * np.eye(len(matrix)), matrix))
        np.testing.assert_allclose(degrees[row], np.append(0, want), atol=1e-9)
        counted += weighed(matrix, theta[row][1:], 0.3, 0.5)
    np.testing.assert_allclose(found.weighed(0.3, 0.5), counted, rtol=1e-6)


@pytest.mark.parametrize("n_samples", [1, 2, 20, 200])
def test_few_rows_determine_few_directions(n_samples):
    """A curvature of low rank is diagonalised as such, with the same result; of one row it is 0."""
    rng = np.random.default_rng(0)
    topology = Topology.layered((60, 3, 2))
    penalty = Penalty(topology, topology.is_weight * 1.0, n_samples, Strength(0.3))
    X = rng.normal(size=(n_samples, 60)) * np.exp(rng.normal(size=60))
    target, theta = rng.normal(size=(2, n_samples)), 0.1 * rng.normal(size=topology.n_parameters)
    network, output = Network.build(topology), get_output("square")
    objective = objective_on(network, output, X, target, penalty=penalty)
    found = Curvature(objective, objective.evaluate(theta))
    first, second = theta[:183].reshape(3, 61), theta[183:].reshape(2, 4)
    slope = 1 - np.tanh(X @ first[:, 1:].T + first[:, 0]) ** 2
    modulus = slope**2 * np.square(second[:, 1:]).sum(axis=0)
    common = np.cov(X.T, bias=True, aweights=modulus.sum(axis=1)).reshape(60, 60)
    matrices = [c * common for c in modulus.sum(axis=0)]
    values = found._spectra[0].values
    _, vectors = found._spectra[0]._decomposed
    rank = 60 if n_samples == 200 else n_samples - 1
    # Of one row rounding errors remain.
    assert values.max(initial=0.0) < 1e-10 if n_samples == 1 else values.shape == (3, rank)
    assert vectors.shape == (1, 60, values.shape[1])
    degrees = found.determined(0.3)
    for unit, matrix in enumerate(matrices):
        want = np.diag(np.linalg.solve(matrix + 0.3 * np.eye(60), matrix))
        np.testing.assert_allclose(degrees[topology.row(unit)], np.append(0, want), atol=1e-9)
    volume = sum(np.linalg.slogdet(np.eye(60) + matrix / 0.3)[1] for matrix in matrices) / 2
    assert np.log1p(values / 0.3).sum() / 2 == pytest.approx(volume, abs=1e-9)


@pytest.mark.parametrize("with_vectors", [False, True])
@pytest.mark.parametrize("lost", [np.nan, np.inf])
def test_spectra(with_vectors, lost):
    """The same whether eigenvectors are asked for or not; of what has overflowed there is none."""
    rng = np.random.default_rng(0)
    matrices = np.array([A @ A.T for A in rng.normal(size=(3, 5, 5))])
    scale = rng.uniform(0.5, 2, (3, 1))
    found = curvature_module._Spectrum(matrices, scale, with_vectors)
    np.testing.assert_allclose(found.values, scale * np.linalg.eigvalsh(matrices), rtol=1e-12)
    wanted = [np.diag(A) * s for A, s in zip(matrices, scale, strict=True)]
    np.testing.assert_allclose(found.back(found.values), wanted, rtol=1e-12)
    matrices[0, 0, 0] = lost
    assert not np.isfinite(curvature_module._Spectrum(matrices, scale, with_vectors).values).all()


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
    np.testing.assert_allclose(models[1].feature_alpha_, models[0].feature_alpha_, rtol=1e-5)
    assert models[0].alpha_ > 0
    want = 1e4 * models[0].predict(X) - 7
    np.testing.assert_allclose(models[1].predict(scale * (X + 3)), want, rtol=1e-6, atol=1)


@pytest.mark.parametrize(("kind", "n_more"), spread(["copies", "constants", "exact"], [4, 15]))
def test_more_targets_do_not_weaken_the_penalty(kind, n_more):
    """Copies of a target, and targets without noise, leave what is learnt of it as it is."""
    X, y = load_diabetes(return_X_y=True)
    more = {
        "copies": np.repeat(y[:, None], n_more, axis=1),
        "constants": np.full((len(y), n_more), 7.0),
        "exact": X @ np.random.default_rng(1).normal(size=(10, n_more)),
    }
    X, X_test, Y, Y_test = train_test_split(X, np.column_stack([y, more[kind]]), random_state=0)
    one = RiemannianMLPRegressor(hidden_layer_sizes=(30,), random_state=0, max_iter=80)
    want = one.fit(X, Y[:, 0]).score(X_test, Y_test[:, 0])
    several = clone(one).fit(X, Y)
    assert r2_score(Y_test[:, 0], several.predict(X_test)[:, 0]) > want - 0.06


def test_labels_that_never_vary_change_nothing():
    """Neither the strength, but for the start, nor with warnings."""
    rng = np.random.default_rng(0)
    X, noise = rng.normal(size=(150, 6)), rng.normal(size=(150, 2))
    Y = (X[:, :2] + noise > 0).astype(int)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        strengths = [
            RiemannianMLPClassifier((8,), random_state=0, max_iter=30)
            .fit(X, np.column_stack([Y, np.zeros((150, n), int)]))
            .alpha_
            for n in (0, 1, 9)
        ]
        RiemannianMLPClassifier((8,), random_state=0, max_iter=30).fit(X, np.zeros(150))
    assert max(strengths) < 2 * min(strengths)


def test_no_fit_ends_before_the_penalty_is_found():
    """Wide data are learnt by heart in a few passes, and then forgotten."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(160, 1000))
    y = (X[:, :5].sum(axis=1) > 0).astype(int)
    clf = RiemannianMLPClassifier((20,), random_state=0).fit(X[:60], y[:60])
    assert clf.n_iter_ >= 28 and clf.loss(X[60:], y[60:]) < 0.8
    free = [
        RiemannianMLPClassifier((20,), alpha=0.0, random_state=seed).fit(X[:60], y[:60])
        for seed in range(3)
    ]
    assert np.mean([clf.loss(X[60:], y[60:]) for clf in free]) > 1.5


def test_a_signal_is_learnt_before_it_is_looked_for():
    """A strength found too soon says that there is nothing, and holds it down."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(900, 2))
    y = (np.floor(2 * X).sum(axis=1) % 2).astype(int)
    clf = RiemannianMLPClassifier(random_state=0).fit(X[:450], y[:450])
    assert clf.score(X[450:], y[450:]) > 0.75


def test_a_strength_set_by_hand_is_no_estimate():
    """A warm fit looks for one anew, from what has been learnt."""
    X, y = noisy_classes()
    settings = {"hidden_layer_sizes": (10,), "random_state": 0, "warm_start": True}
    for alpha in (1e-3, 1e3):
        clf = RiemannianMLPClassifier(**settings, max_iter=30, alpha=alpha).fit(X, y)
        clf.set_params(alpha="auto", max_iter=60).fit(X, y)
        assert 0.3 <= clf.alpha_ < 30


@pytest.mark.parametrize("settings", [{"metric": "euclidean"}, {"damping_mode": "absolute"}])
def test_a_strength_follows_the_units_of_targets(settings):
    """Where training takes targets as given, a warm fit in other units goes on with it."""
    X, y = noisy_numbers()
    settings = {"warm_start": True, "max_iter": 35, "random_state": 0, **settings}
    reg = RiemannianMLPRegressor(hidden_layer_sizes=(5,), **settings)
    reg.fit(X, y)
    before, factors = reg.alpha_, (1.0, 1000.0)
    coefs, intercepts = (
        [f * p for f, p in zip(factors, of_layers, strict=True)]
        for of_layers in (reg.coefs_, reg.intercepts_)
    )
    reg.set_coefs(coefs, intercepts).fit(X, 1000 * y)
    assert before / 3 < reg.alpha_ < 3 * before


@pytest.mark.parametrize("links", [None, 12])
def test_features_without_use_are_forgotten(links):
    """Their weights are held back; also where units hear different features."""
    X, y = make_friedman1(800, 20, noise=1.0, random_state=0)
    model = RiemannianMLPRegressor(
        hidden_layer_sizes=(30,), connectivity=links, random_state=0, max_iter=60
    )
    assert model.fit(X[:500], y[:500]).feature_alpha_.shape == (20,)
    needed, others = model.feature_alpha_[[0, 1, 3]], model.feature_alpha_[5:]
    if links is None:
        assert others.min() > max(1.2 * needed.max(), 2 * needed.mean())
    # Where few units hear a feature, less is known of it.
    assert np.median(others) > needed.max() and others.mean() > 2 * needed.mean()
    fixed = RiemannianMLPRegressor(hidden_layer_sizes=(30,), alpha=3.0, random_state=0)
    np.testing.assert_array_equal(fixed.fit(X[:50], y[:50]).feature_alpha_, 3.0)


@pytest.mark.parametrize("batch_size", ["auto", 100])
def test_rare_words_are_not_learnt_by_heart(monkeypatch, batch_size):
    """A word of one text tells it from all others, and says nothing."""
    X, y = texts(900, 800, length=40, n_topics=3)
    clf = RiemannianMLPClassifier((20,), batch_size=batch_size, random_state=0, max_iter=40)

    def held_out():
        clf.fit(X[:400], y[:400])
        return log_loss(y[400:], clf.predict_proba(X[400:]))

    ours = held_out()
    monkeypatch.setattr(InputScale, "prior_precision", property(lambda s: np.ones(len(s.scale))))
    assert ours < 0.9 * held_out()


def test_few_texts_leave_something_to_be_learnt(monkeypatch):
    """Fewer rows than words: what is counted twice is not held against them."""
    X, y = texts(800, 1500, length=50, n_topics=4)
    clf = RiemannianMLPClassifier((50,), random_state=0)

    def held_out():
        return clf.fit(X[:200], y[:200]).loss(X[200:], y[200:])

    ours = held_out()
    monkeypatch.setattr(evidence, "CROWDING_OF_LABELS", 0.0)
    monkeypatch.setattr(noise_module, "FEWEST_LEFT_OF_LABELS", 0.1)
    assert ours < 0.85 * held_out()


@pytest.mark.parametrize("shape", [(3000, 100), (1001, 200), (1000, 50)])
def test_weak_signals_are_no_worse_than_a_constant(shape):
    """Labels of which features tell little, in whole batches and mini-batches."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(shape[0] + 3000, shape[1]))
    y = rng.random(len(X)) < 1 / (1 + np.exp(-X[:, 0] / 2))
    clf = RiemannianMLPClassifier(random_state=0).fit(X[: shape[0]], y[: shape[0]])
    assert clf.loss(X[shape[0] :], y[shape[0] :]) < 1.04 * np.log(2)


@pytest.mark.parametrize("output, labels", [("softmax", True), ("bernoulli", False)])
def test_the_first_strength_grows_with_targets_of_a_row(output, labels):
    """Of K classes with K - 2; that of two is as it is of one label."""
    rng, pulls = np.random.default_rng(0), []
    for n_outputs in (2, 3, 9):
        topology = Topology.layered((3, 4, n_outputs))
        penalty = Penalty(topology, topology.is_weight * 1.0, 9000.0, Strength())
        X, drawn = rng.normal(size=(9000, 3)), rng.integers(n_outputs, size=9000)
        target = drawn if labels else rng.integers(2, size=(n_outputs, 9000)).astype(float)
        network = Network.build(topology)
        objective = objective_on(network, get_output(output), X, target, penalty=penalty)
        evaluation = objective.evaluate(np.zeros(topology.n_parameters))
        pulls.append(Evidence().strength(objective, evaluation).alpha / evidence.START)
    assert pulls == pytest.approx([1, 1, 7] if labels else [2, 3, 9], rel=0.02)


@pytest.mark.parametrize("n_rows, n_classes, strength", [(1000, 50, 2.0), (1000, 20, 1.0)])
def test_weak_labels_of_many_classes_are_no_worse_than_frequencies(n_rows, n_classes, strength):
    rng = np.random.RandomState(0)
    X = rng.normal(size=(n_rows + 3000, 20))
    v = strength / np.sqrt(20) * X @ rng.normal(size=(20, n_classes))
    y = (v + rng.gumbel(size=v.shape)).argmax(axis=1)
    clf = RiemannianMLPClassifier(random_state=0).fit(X[:n_rows], y[:n_rows])
    frequency = np.bincount(y[:n_rows], minlength=n_classes) / n_rows
    assert clf.loss(X[n_rows:], y[n_rows:]) < -np.log(frequency[y[n_rows:]]).mean()


def test_many_labels_a_row_are_learnt_as_well_as_single_ones():
    """Ten that have nothing in common, of weak signals: none is learnt by heart."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 100))
    Y = rng.random((1500, 10)) < 1 / (1 + np.exp(-X[:, :10]))
    clf = RiemannianMLPClassifier(random_state=0).fit(X[:1000], Y[:1000].astype(int))
    assert clf.loss(X[1000:], Y[1000:].astype(int)) / 10 < 0.66


@pytest.mark.parametrize("loss", ["squared_error", "poisson"])
def test_mini_batches_do_not_learn_noise_by_heart(loss):
    """Weak signals: what is learnt comes close to the truth."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5000, 50))
    mean = 0.5 * X @ rng.normal(size=50) / np.sqrt(50)
    counted = loss == "poisson"
    y = rng.poisson(np.exp(mean)) if counted else mean + 0.9 * rng.normal(size=5000)
    truth = np.exp(mean) if counted else mean
    reg = RiemannianMLPRegressor(loss, random_state=0).fit(X[:3000], y[:3000])
    assert r2_score(truth[3000:], reg.predict(X[3000:])) > 0.8


def test_noise_of_numbers_is_not_learnt_by_heart():
    """A line through noise of its own size, from rows enough for mini-batches."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5000, 50))
    y = X[:, 0] + rng.normal(size=5000)
    reg = RiemannianMLPRegressor(random_state=0).fit(X[:3000], y[:3000])
    assert reg.score(X[3000:], X[3000:, 0]) > 0.9


@pytest.mark.parametrize("n_rows, least", [(300, 0.5), (3000, 0.9)])
def test_nor_is_it_by_two_levels(n_rows, least):
    """Not where eight steps could learn all rows exactly, and no noise would be seen."""
    scores = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(n_rows + 2000, 20))
        y = X[:, 0] + rng.normal(size=len(X))
        reg = RiemannianMLPRegressor(hidden_layer_sizes=(50, 50), random_state=seed)
        reg.fit(X[:n_rows], y[:n_rows])
        scores.append(reg.score(X[n_rows:], X[n_rows:, 0]))
    assert np.mean(scores) > least


def test_two_levels_do_not_learn_noise_by_heart(monkeypatch):
    """Weights that the data do not determine still are what they were at the start.

    Evidence knows of it without trials.
    """
    monkeypatch.setattr(trials, "_has_settled", lambda *arguments: False)
    clf = RiemannianMLPClassifier((60, 60), random_state=0)

    def held_out():
        losses = []
        for seed in (1, 2):
            X, y = make_classification(900, 20, n_informative=5, flip_y=0.3, random_state=seed)
            losses.append(clf.fit(X[:300], y[:300]).loss(X[300:], y[300:]))
        return np.mean(losses)

    ours = held_out()
    monkeypatch.setattr(evidence, "selectivity", lambda n_levels: 0.0)
    assert ours < 0.95 * held_out()


@pytest.mark.parametrize(
    ("settings", "alpha"),
    spread(
        [{"metric": "euclidean"}, {"metric": "adagrad"}, {"damping_mode": "absolute"}],
        ["auto", 3.0],
    ),
)
def test_penalty_does_not_grow_with_targets(settings, alpha):
    """Where steps depend on the units of a target, the penalty still does not.

    Were weights of outputs penalised as they are, large targets would be fitted by a
    constant.
    """
    X, y = noisy_numbers()
    X, y = X / X.std(axis=0), y / y.std()
    scores, strengths = [], []
    for seed, unit in itertools.product(range(5), (1.0, 1e3)):
        model = RiemannianMLPRegressor(
            hidden_layer_sizes=(8,),
            activation="tanh",
            random_state=seed,
            max_iter=60,
            alpha=alpha,
            **settings,
        )
        scores.append(model.fit(X, unit * y).score(X, unit * y))
        strengths.append(model.alpha_)
    assert min(scores) > 0.25
    # The fits differ, so single strengths do.
    assert 0.2 < np.median(np.divide(strengths[1::2], strengths[::2])) < 5


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


def test_weights_of_rare_classes_are_no_evidence():
    """Balanced classes ask for no weaker a penalty: the rare rows are as few as they were."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 8))
    y = (X[:, 0] + X[:, 1] + rng.normal(size=600) > 2.8).astype(int)
    assert 0.03 < y.mean() < 0.1
    settings = {"hidden_layer_sizes": (30,), "random_state": 0}
    plain = RiemannianMLPClassifier(**settings).fit(X, y)
    balanced = RiemannianMLPClassifier(class_weight="balanced", **settings).fit(X, y)
    assert balanced.alpha_ > 0.5 * plain.alpha_


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
    """Passes one by one are the passes of one fit, the strength included.

    With a rule that remembers nothing, whole batches, estimates and what follows them.
    """
    X, y = noisy_classes(100)
    settings = {"learning_rate": "constant", "random_state": 0, "n_iter_no_change": np.inf}
    whole = RiemannianMLPClassifier((5,), max_iter=30, **settings).fit(X, y)
    single = RiemannianMLPClassifier((5,), max_iter=1, warm_start=True, **settings)
    strengths = [single.fit(X, y).alpha_ for _ in range(30)]
    assert len(set(strengths)) == 12  # later, only the features' own go on changing
    assert strengths[-1] == pytest.approx(whole.alpha_, rel=1e-9)
    np.testing.assert_allclose(single.feature_alpha_, whole.feature_alpha_, rtol=1e-7)


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

"""What holds for every network, metric and data, however small, large, or degenerate."""

import warnings

import numpy as np
import pytest
from engine import PAIRS, Problem, assert_close, make_output, parts_of
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from sknatgrad.metrics import METRICS, get_metric
from sknatgrad.network import ACTIVATIONS, Network, Topology

BOUNDED = [name for name in ACTIVATIONS if ACTIVATIONS[name].logistic_gain is not None]
EXPONENTS = (-150, -10, 0, 10, 150)


KINDS = [*PAIRS, ("mixed", "several")]


@st.composite
def topologies(draw, min_layers=2):
    """Layers of one to four units, full or of one or two links a unit."""
    sizes = draw(st.lists(st.integers(1, 4), min_size=min_layers, max_size=4))
    if draw(st.booleans()):
        return Topology.layered(sizes)
    by = draw(st.sampled_from(["target", "source"]))
    return Topology.random_links(sizes, draw(st.integers(1, 2)), by=by, random_state=0)


@st.composite
def problems(
    draw, hidden=tuple(ACTIVATIONS), exponents=(0,), min_layers=2, theta_scales=(1, 0, 30)
):
    """Random data, one to twelve samples, some of weight 0 or repeated; weights of all sizes.

    Scores and Fisher matrices of the outputs themselves are below 1e50.
    """
    topology = draw(topologies(min_layers))
    output = make_output(*draw(st.sampled_from(KINDS)), topology.n_outputs)
    n_hidden = sum(outputs is None for outputs in topology.level_outputs)
    names = draw(st.lists(st.sampled_from(hidden), min_size=n_hidden, max_size=n_hidden))
    network = Network.build(topology, names, output.activation)
    rng = np.random.RandomState(draw(st.integers(0, 1000)))
    n_samples = draw(st.integers(1, 12))
    X = rng.standard_normal((n_samples, topology.n_inputs))
    if draw(st.booleans()):
        X = np.round(X)
    X[rng.uniform(size=n_samples) < 0.2] = X[0]
    X *= [10.0 ** draw(st.sampled_from(exponents)) for _ in range(topology.n_inputs)]
    weights = rng.randint(0, 3, size=n_samples).astype(float)
    weights[0] = 1.0
    theta = rng.standard_normal(topology.n_parameters) * draw(st.sampled_from(theta_scales))
    v = network.linearize(theta, X).output_preactivations
    with np.errstate(over="ignore"):
        assume(output.fisher_diagonal(v).max() < 1e50)
    target = output.sample(v, rng)
    assume(np.abs(output.score(v, target)).max() < 1e50)
    return Problem(network, output, theta, X, target, weights)


over_metrics = pytest.mark.parametrize("name", METRICS)
dampings = st.sampled_from([(0.0, "relative"), (1e-4, "relative"), (1e-4, "absolute")])


def direction(problem, name, damping):
    """The gradient and the direction of a metric."""
    metric, point = get_metric(name), problem.point()
    gradient = point.gradient()
    statistics = metric.statistics(point, np.random.RandomState(0))
    return gradient, metric.solve(problem.topology, statistics, gradient, *damping)


@over_metrics
@settings(max_examples=40)
@given(problem=problems(), damping=dampings)
def test_directions_are_finite_and_of_ascent(name, problem, damping):
    """No NaN, no warning, and G . d >= 0: whatever is singular, saturated or empty."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gradient, d = direction(problem, name, damping)
    assert d.shape == gradient.shape and np.isfinite(d).all()
    assert gradient @ d >= -1e-9 * np.abs(gradient) @ np.abs(d)


@over_metrics
@settings(max_examples=40)
@given(problem=problems(hidden=BOUNDED, exponents=EXPONENTS, min_layers=3), damping=dampings)
def test_huge_and_tiny_inputs(name, problem, damping):
    """Inputs of size 1e150 or 1e-150, each its own: directions stay finite and of ascent."""
    with np.errstate(all="ignore"):
        gradient, d = direction(problem, name, damping)
        gain = gradient * d
    assert np.isfinite(gradient).all() and np.isfinite(d).all()
    assert np.isfinite(gain).all()
    assert gain.sum() >= -1e-9 * np.abs(gain).sum()


@over_metrics
@settings(max_examples=40)
@given(problem=problems())
def test_matrices_are_positive(name, problem):
    """Every metric's matrix, and the output's own, is symmetric and positive semi-definite."""
    metric = get_metric(name)
    statistics = metric.statistics(problem.point(), np.random.RandomState(0))
    for matrix in (metric.reduction.to_dense(problem.topology, statistics[0]), statistics[1]):
        diagonal = np.diag(matrix)
        assert np.isfinite(matrix).all() and (diagonal >= 0).all()
        root = np.sqrt(diagonal)
        scale = np.divide(1, root, out=np.zeros_like(root), where=root > 1e-100)
        correlation = scale * matrix * scale[:, None]
        np.testing.assert_allclose(correlation, correlation.T, atol=1e-14)
        assert np.linalg.eigvalsh(correlation).min(initial=0) >= -1e-12


@pytest.mark.parametrize("name", [name for name in METRICS if parts_of(name)[0] != "mc_fisher"])
@settings(max_examples=20)
@given(problem=problems(theta_scales=(1, 0)))
def test_weights_of_zero_are_absence(name, problem):
    """Samples of weight 0 enter neither loss nor direction."""
    chosen = np.flatnonzero(problem.weights)
    parts = {"X": problem.X[chosen], "weights": problem.weights[chosen]}
    other = Problem(**{**vars(problem), **parts, "target": problem.target[..., chosen]})
    assert_close(problem.point().loss(), other.point().loss(), 1e-9)
    steps = [direction(p, name, (1e-2, "absolute"))[1] for p in (problem, other)]
    np.testing.assert_allclose(*steps, rtol=0, atol=1e-8 * np.abs(steps[0]).max() + 1e-15)

"""Unitwise metrics whose blocks are not formed: the same matrices and directions."""

import pickle
import tracemalloc

import numpy as np
import pytest
import test_metrics
from engine import KNOWN_OUTPUTS, OUTPUTS, assert_close, damped, metrics, problem_of
from sklearn.datasets import make_classification

from sknatgrad import RiemannianMLPClassifier
from sknatgrad.metrics import Metric, get_metric, sampled_blocks
from sknatgrad.metrics.reductions import unitwise
from sknatgrad.metrics.sampled_blocks import SMALLEST_FAN_IN, SampledBlocks, keep_as_samples
from sknatgrad.network import Inputs, Topology

UNITWISE = metrics("unitwise")


@pytest.fixture
def everywhere(monkeypatch):
    """Leaves the blocks of all groups with shared sources as samples, whatever their size."""

    def always(group, n_samples):
        return group.shared and group.fan_in > 0

    monkeypatch.setattr(sampled_blocks, "keep_as_samples", always)
    monkeypatch.setattr(unitwise, "keep_as_samples", always)


@pytest.fixture(params=UNITWISE)
def name(request):
    return request.param


def statistics_of(problem, metric):
    return metric.statistics(problem.point(), np.random.RandomState(0))


@pytest.mark.usefixtures("everywhere")
@pytest.mark.parametrize("output", KNOWN_OUTPUTS)
def test_the_slow_reference_agrees(name, output):
    for kind in ("layered", "skip"):
        case = (output, "tanh", kind)
        test_metrics.test_matrix_is_the_definition(name, case)
        test_metrics.test_direction_is_the_solution(name, case)


@pytest.mark.usefixtures("everywhere")
@pytest.mark.parametrize("situation", test_metrics.SITUATIONS, ids=lambda s: s.__name__)
def test_singular_metrics(name, situation):
    for output in OUTPUTS:
        for n_samples in (1, 4, 40):
            test_metrics.test_singular_metrics(name, output, situation, n_samples)


@pytest.mark.usefixtures("everywhere")
def test_damping_and_penalty(name):
    for mode in ("relative", "absolute"):
        test_metrics.test_ridge_is_added_to_the_diagonal(name, "layered", mode)
        for strength in (0.0, 5e-324, 1e-310, 1e-200):
            test_metrics.test_units_without_influence(name, mode, strength)


@pytest.mark.usefixtures("everywhere")
@pytest.mark.parametrize("widening", [0.0, 0.1])
def test_share_of_the_kronecker_form(name, widening):
    problem = problem_of("bernoulli", n_samples=40)
    base = get_metric(name)
    metric = Metric(base.modulus, base.reduction.with_kronecker(0.3, widening))
    statistics = statistics_of(problem, metric)
    assert any(isinstance(part, SampledBlocks) for part in statistics[0])
    A = metric.reduction.to_dense(problem.topology, statistics[0])
    formed = metric.reduction.to_dense(problem.topology, metric.condensed(statistics)[0])
    assert_close(A, formed, 1e-13)
    G = problem.point().gradient()
    for mode, damping in (("relative", 0.1), ("absolute", 0.1)):
        d = metric.solve(problem.topology, statistics, G, damping, mode)
        D = damped(problem.topology, "unitwise", A, **{mode: damping})
        assert_close(d, np.linalg.solve(D, G), 1e-8)


def wide(n_samples=150):
    """A problem with two levels that are wide enough."""
    topology = Topology.layered([SMALLEST_FAN_IN + 2, SMALLEST_FAN_IN, 3])
    return problem_of("softmax", topology, n_samples=n_samples)


def test_choice_by_sizes(name):
    """Fan-ins above the bound, and no more samples than fit into the memory of the blocks."""
    problem = wide()
    first, second = problem.topology.groups
    largest = sampled_blocks._SMALL // (1 + second.fan_in + 3)
    assert keep_as_samples(first, 1) and keep_as_samples(second, largest)
    assert not keep_as_samples(second, largest + 1)
    large = Topology.layered([1000, 500, 2]).groups[0]
    most = 500 * 1001**2 // 1501
    assert keep_as_samples(large, most) and not keep_as_samples(large, most + 1)
    sparse = Topology.random_links([1000, 500, 2], 100, random_state=0).groups[0]
    assert not keep_as_samples(sparse, 10)
    narrow = Topology.layered([SMALLEST_FAN_IN - 1, 60])
    assert not keep_as_samples(narrow.groups[0], 10)
    statistics = statistics_of(problem, get_metric(name))[0]
    assert all(isinstance(part, SampledBlocks) for part in statistics)


@pytest.mark.parametrize(
    ("damping", "n_samples"),
    [
        (0.0, 400),
        (1e-2, 40),
        pytest.param(0.0, 40, marks=pytest.mark.slow),
        pytest.param(1e-2, 400, marks=pytest.mark.slow),
    ],
)
def test_stated_tolerance(name, damping, n_samples):
    """The error at every unit, in the norm of the metric, is about the tolerance at most."""
    problem = wide(n_samples)
    topology, metric = problem.topology, get_metric(name)
    statistics, G = statistics_of(problem, metric), problem.point().gradient()
    formed = metric.condensed(statistics)
    expected = metric.solve(topology, formed, G, damping)
    group, blocks = topology.groups[0], formed[0][0]
    for tolerance in (1e-2, 1e-4, 1e-10):
        d = metric.inexact(tolerance).solve(topology, statistics, G, damping)
        error, exact = group.take(d - expected), group.take(expected)
        norms = [np.einsum("ni,nij,nj->n", v, blocks, v) for v in (error, exact)]
        ratio = np.sqrt(norms[0] / norms[1])
        # The estimate is close where there are more samples than weights.
        assert ratio.max() <= (1.5 if n_samples > 1 + group.fan_in else 6) * tolerance


def test_sums_and_averages(name):
    """Parts add up to the whole; what is too large becomes an array of blocks."""
    problem, metric = wide(), get_metric("bp" if "mc" in name else name)
    whole = statistics_of(problem, metric)
    parts = []
    for rows in (slice(0, 70), slice(70, None)):
        point = problem.point(rows=rows)
        share = point.weight / problem.weights.sum()
        parts.append((share, metric.statistics(point, np.random.RandomState(0))))
    combined = metric.combine(parts)
    assert len(combined[0][0].parts) == 2
    expected = metric.condensed(whole)[0][0]
    assert_close(combined[0][0].formed(), expected, 1e-12)
    assert_close(combined[0][0].mean_modulus(), expected[:, 0, 0], 1e-12)
    for first, second in ((metric.condensed(parts[0][1]), parts[1][1]), (parts[0][1],) * 2):
        total = metric.combine([(0.25, first), (0.75, second)])[0][0]
        arrays = [metric.condensed(s)[0][0] for s in (first, second)]
        assert_close(metric.condensed(([total], 0.0))[0][0], arrays[0] / 4 + 3 * arrays[1] / 4)


def test_what_is_too_large_becomes_blocks(name, monkeypatch):
    problem, metric = wide(), get_metric(name)
    whole = statistics_of(problem, metric)
    monkeypatch.setattr(sampled_blocks, "_SMALL", 0)
    total = metric.combine([(0.25, whole)] * 30)[0][1]
    assert isinstance(total, np.ndarray)
    assert_close(total, 7.5 * metric.condensed(whole)[0][1], 1e-12)


def test_single_precision(name):
    problem = wide(200)
    metric, theta = get_metric(name), problem.theta
    lin = problem.network.linearize(theta, Inputs(problem.X, np.float32), problem.weights)
    point = type(problem.point())(lin, problem.output, problem.target)
    statistics = metric.statistics(point, np.random.RandomState(0))
    assert statistics[0][0].dtype == np.float32
    d = metric.solve(problem.topology, statistics, point.gradient(), 1e-2)
    expected = metric.solve(
        problem.topology, statistics_of(problem, metric), problem.point().gradient(), 1e-2
    )
    assert_close(d, expected, 1e-3)


def test_hopeless_units_are_solved_with_their_blocks(name, monkeypatch):
    problem, metric = wide(), get_metric(name)
    statistics, G = statistics_of(problem, metric), problem.point().gradient()
    expected = metric.solve(problem.topology, metric.condensed(statistics), G, 1e-2)
    monkeypatch.setattr(
        sampled_blocks,
        "conjugate_gradients",
        lambda system, rhs, *_: (np.full_like(rhs, np.nan), np.zeros(len(rhs), bool)),
    )
    d = metric.solve(problem.topology, statistics, G, 1e-2)
    assert_close(d, expected, 1e-9)


def test_units_that_are_on_in_one_row_of_few(monkeypatch):
    """Relative damping leaves them a singular system: no step along what rounding makes of it."""
    X, y = make_classification(120, 150, n_informative=20, random_state=0)
    # Not to the end: where rounding leads a long fit depends on the processor.
    clf = RiemannianMLPClassifier((20,), max_iter=10, tol=0.0, random_state=0).fit(X + 30, y)
    batches = [slice(i, i + 2) for i in range(0, 120, 2)]

    def steps():
        return [clf.direction(X[rows] + 30, y[rows], metric="bp")[0][0] for rows in batches]

    ours = steps()
    monkeypatch.setattr(sampled_blocks, "SMALLEST_FAN_IN", 151)
    for step, of_blocks in zip(ours, steps(), strict=True):
        assert np.abs(step).max() < 2 * np.abs(of_blocks).max()


def test_memory_and_size():
    """A fit needs no (1 + fan_in)^2 numbers a unit, and a fitted estimator keeps no rows."""
    X, y = make_classification(300, 500, n_informative=20, random_state=0)
    estimator = RiemannianMLPClassifier((200,), metric="bp", max_iter=2, random_state=0, tol=0)
    tracemalloc.start()
    with pytest.warns(UserWarning, match="converged"):
        estimator.fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 200 * 501**2 * 8 / 5
    assert len(pickle.dumps(estimator._state.running)) < 10_000


def test_shared_activities():
    """Those of `incoming`, as views of consecutive sources, copies of others."""
    masks = [np.array([[1, 0, 1], [1, 1, 1], [1, 1, 0]]), np.ones((3, 2))]
    adjacency = np.triu(np.ones((6, 6)), 1)
    adjacency[:, :2] = 0
    for topology, view in (
        (Topology.layered([3, 4, 2]), True),
        (Topology.from_sparse(masks), False),
        (Topology.from_sparse(adjacency, n_inputs=2), False),
        (Topology.random_links([3, 1, 1], 3, replace=True, random_state=1, merge=False), False),
    ):
        lin = problem_of("square", topology).point().lin
        for group in topology.groups:
            if group.shared and group.fan_in:
                activities = lin.shared_activities(group)
                np.testing.assert_array_equal(activities, lin.incoming(group)[0, 1:])
                shares = [np.shares_memory(activities, a) for a in (lin.a, lin.inputs.values)]
                assert any(shares) or not view

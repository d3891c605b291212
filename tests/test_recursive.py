"""Online unitwise metrics: inverses that follow single samples."""

from copy import copy

import numpy as np
import pytest
from engine import assert_close
from scipy.sparse import csr_array

from sknatgrad import Network, Topology, get_metric, get_output, initialize
from sknatgrad.metrics import LossPoint, Metric
from sknatgrad.training import RunningMetric
from sknatgrad.training.steps import running_metric
from sknatgrad.training.steps.safeguards import safeguarded

DECAY = 0.02
TOPOLOGIES = {
    "full": Topology.layered([4, 3, 2]),
    "sparse": Topology.random_links([6, 5, 4, 2], 2, random_state=0),
    "by source": Topology.random_links([6, 5, 4, 2], 2, by="source", random_state=0),
}


def stream(topology, seed=0, n=120, form=np.asarray):
    """Forward passes of single samples and of one first batch of 60."""
    rng = np.random.RandomState(seed)
    network = Network.build(topology)
    theta = initialize(network, rng)
    X, y = rng.standard_normal((60 + n, topology.n_inputs)), rng.randint(2, size=60 + n)
    output = get_output("softmax")
    rows = [slice(0, 60), *(slice(60 + i, 61 + i) for i in range(n))]
    return [LossPoint(network.linearize(theta, form(X[r])), output, y[r]) for r in rows]


@pytest.mark.parametrize("name", ["bp", "unitwise_fisher", "unitwise_op"])
@pytest.mark.parametrize("graph", TOPOLOGIES)
def test_recursion_is_the_inverse_of_the_average(name, graph):
    """Sherman-Morrison after 120 samples = direct inverse of ``(1 - g) A + g A(x)``."""
    topology, metric = TOPOLOGIES[graph], get_metric(name)
    first, *samples = stream(topology)
    A = metric.statistics(first, None)[0]
    eps = 1e-2 * np.ones(topology.n_parameters)
    inverse = metric.reduction.recursive_inverse(topology, A, absolute=eps)
    dense = metric.reduction.to_dense(topology, A) + np.diag(eps)
    for point in samples:
        values = point.values(metric.modulus)
        inverse.update(point.lin, values, DECAY)
        one = metric.statistics(point, None)[0]
        dense = (1 - DECAY) * dense + DECAY * metric.reduction.to_dense(topology, one)
    gradient = first.gradient()
    assert_close(inverse.solve(gradient), np.linalg.solve(dense, gradient), 1e-10)


def test_share_of_the_kronecker_form():
    """With a share s, samples weigh ``c + s E[c]``: the running metric plus s of its own K."""
    topology = TOPOLOGIES["full"]
    base = get_metric("bp")
    metric = Metric(base.modulus, base.reduction.with_kronecker(0.5))
    first, *samples = stream(topology, n=1)
    (point,) = samples
    statistics = metric.statistics(first, None)[0]
    inverse = metric.reduction.recursive_inverse(topology, statistics, absolute=np.full(23, 0.1))
    assert_close(inverse.mean, first.mean(first.values(base.modulus)), 1e-12)
    mean = (1 - DECAY) * inverse.mean + DECAY * point.values(base.modulus)[:, 0]
    dense = (1 - DECAY) * (metric.reduction.to_dense(topology, statistics) + 0.1 * np.eye(23))
    weights = point.values(base.modulus)[:, 0] + 0.5 * mean
    for unit, weight in enumerate(weights):
        row = topology.row(unit)
        group = next(g for g in topology.groups if unit in g.units)
        a = point.lin.incoming(group)[0, :, 0]
        dense[row, row] += DECAY * weight * np.outer(a, a)
    inverse.update(point.lin, point.values(base.modulus), DECAY)
    assert_close(inverse.mean, mean, 1e-14)
    gradient = first.gradient()
    assert_close(inverse.solve(gradient), np.linalg.solve(dense, gradient), 1e-10)


@pytest.mark.parametrize("form", [np.asarray, csr_array])
@pytest.mark.parametrize("name", ["bp", "unitwise_op", "qd_bp", "kron_bp"])
def test_postponed_batches_count_as_those_at_once(name, form, monkeypatch):
    """Statistics computed together are those computed one by one, whoever asks for them."""
    monkeypatch.setattr(running_metric, "_LONGEST_WAIT", 7)
    metric = safeguarded(get_metric(name))
    topology = TOPOLOGIES["by source"]
    points = stream(topology, n=20, form=form)
    sizes = [1.0, 2.5, 0.5]
    at_once, later = RunningMetric(metric, 10.0), RunningMetric(metric, 10.0)
    for i, point in enumerate(points):
        weight = sizes[i % 3]
        at_once.update(metric.statistics(point, None), weight)
        if i % 6 == 5:
            later.update(metric.statistics(point, None), weight)
        else:
            later.postpone(point, None, weight)
        assert later.last_share == at_once.last_share
        if i == 12:
            later = copy(later)
            assert not later._pending
    for a, b in zip(later.statistics[0], at_once.statistics[0], strict=True):
        assert_close(a, b, 1e-12)


@pytest.mark.parametrize("weights", [[1.0], [2.0, 3.0, 0.5]])
def test_running_metric_is_the_average(weights):
    """Even at first, then ``(1 - g) A + g A(x)`` with g = weight / window."""
    metric = get_metric("qd_bp")
    samples = stream(TOPOLOGIES["full"], n=40)[1:]
    running, window = RunningMetric(metric, 10.0), 10.0
    expected, seen = 0.0, 0.0
    for i, point in enumerate(samples):
        weight = weights[i % len(weights)]
        seen += weight
        g = weight / min(window, seen)
        one = np.array(metric.statistics(point, None)[0])
        expected = (1 - g) * expected + g * one
        assert_close(
            np.array(running.update(metric.statistics(point, None), weight)[0]), expected, 1e-12
        )
        assert running.last_share == pytest.approx(g)

"""The differential of a network against loops over units, links and samples."""

import inspect
from fractions import Fraction
from functools import cached_property

import numpy as np
import pytest
import reference as ref
from engine import (
    KINDS,
    KNOWN_ACTIVATIONS,
    assert_close,
    away_from_kinks,
    case_of,
    derivative,
    graphs,
    jacobian,
    problem_of,
)
from scipy import sparse

from sknatgrad.metrics import LossPoint
from sknatgrad.network import ACTIVATIONS, Inputs, Network, as_inputs
from sknatgrad.network import means as means_module
from sknatgrad.network.means import SampleMeans
from sknatgrad.numerics.buffers import BufferPool
from sknatgrad.numerics.moments import weighted_moments
from sknatgrad.outputs import OUTPUTS

GRAPHS = graphs()
FORMS = [np.asarray, sparse.csr_array, sparse.csr_matrix, sparse.coo_array]
N_SAMPLES = 7


@pytest.fixture(params=GRAPHS)
def lin(request):
    """A tanh network with logistic outputs on weighted samples."""
    return linearize(GRAPHS[request.param])


def linearize(topology, rows=slice(None), form=np.asarray, **options):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_SAMPLES, topology.n_inputs)) * rng.integers(
        0, 2, size=(N_SAMPLES, topology.n_inputs)
    )
    weights = rng.uniform(0.2, 3, size=N_SAMPLES)
    theta = rng.normal(size=topology.n_parameters)
    network = Network.build(topology, "tanh", "logistic")
    return network.linearize(theta, form(X[rows]), options.get("weights", weights[rows]))


def theta_of(topology):
    rng = np.random.default_rng(0)
    rng.normal(size=(N_SAMPLES, topology.n_inputs))
    rng.integers(0, 2, size=(N_SAMPLES, topology.n_inputs))
    rng.uniform(size=N_SAMPLES)
    return rng.normal(size=topology.n_parameters)


def random_like(lin, *shape):
    return np.random.default_rng(1).uniform(size=(*shape, lin.n_samples))


def incoming(lin, unit):
    """(1, (a_i)_{i -> k}) as an array (1 + fan_in, n_samples)."""
    sources = lin.topology.source[lin.topology.row(unit)][1:]
    signals = np.concatenate([lin.inputs.dense(slice(None)), lin.a])
    return np.concatenate([np.ones((1, lin.n_samples)), signals[sources]])


def naive_pull(topology, theta, r, seed):
    """b_k = seed_k + r_k sum_{k -> j} w_kj b_j."""
    b = np.zeros((topology.n_units, *seed.shape[1:]))
    outputs = topology.outputs.tolist()
    for k in reversed(range(topology.n_units)):
        for p in np.flatnonzero(topology.source == topology.n_inputs + k):
            b[k] += theta[p] * r[k] * b[topology.owner[p]]
        if k in outputs:
            b[k] += seed[outputs.index(k)]
    return b


# ---------------------------------------------------------------------- forward
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("activation", KNOWN_ACTIVATIONS)
def test_forward_pass(activation, kind):
    """v, a and r of every unit are those of the reference."""
    case = case_of("square", activation, kind)
    lin = case.network.linearize(case.theta, case.X)
    units = lin.topology.order - case.net.n_inputs
    for n, x in enumerate(case.X):
        a, v = ref.forward(case.net, case.reference_theta, x)
        assert_close(lin.v[:, n], v[units], 1e-13)
        assert_close(lin.a[:, n], a[case.net.n_inputs :][units], 1e-13)
        r = ref.unit_derivatives(case.net, case.reference_theta, x)
        assert_close(lin.r[:, n], r[units], 1e-13)
        outputs = ref.output_activities(case.net, case.reference_theta, x)
        assert_close(lin.a[lin.topology.outputs, n], outputs, 1e-13)


@pytest.mark.parametrize("form", FORMS)
def test_sparse_inputs_are_the_same_as_dense_ones(lin, form):
    other = linearize(lin.topology, form=form)
    values = random_like(lin, lin.topology.n_units)
    for name in ("v", "a", "r"):
        assert_close(getattr(other, name), getattr(lin, name), 1e-14)
    for power in (1, 2):
        assert_close(other.edge_mean(values, power), lin.edge_mean(values, power), 1e-14)
    for given in (values, None):
        for a, b in zip(other.unit_gram(given), lin.unit_gram(given), strict=True):
            assert_close(a, b, 1e-14)


def test_inputs_are_converted_once():
    inputs = as_inputs([[1, 2], [3, 4], [5, 6]])
    assert as_inputs(inputs) is inputs
    assert inputs.n_samples == 3 and inputs.values.dtype == float
    np.testing.assert_array_equal(inputs.squares, [[1, 9, 25], [4, 16, 36]])


def test_network_needs_one_activation_a_hidden_level():
    topology = GRAPHS["layered"]
    network = Network.build(topology, ["tanh", "relu"], "logistic")
    names = [ACTIVATIONS[name] for name in ("tanh", "relu", "logistic")]
    assert list(network.activations) == names
    with pytest.raises(ValueError, match=r"activation has 1 entries.*2 hidden"):
        Network.build(topology, ["tanh"])
    with pytest.raises(ValueError, match="activation"):
        Network.build(topology, "nonsense")


# ---------------------------------------------------------------------- transport
def test_pull(lin):
    """The transposed differential, as a loop over links."""
    seed = random_like(lin, lin.topology.n_outputs)
    expected = naive_pull(lin.topology, theta_of(lin.topology), lin.r, seed)
    assert_close(lin.pull(seed), expected, 1e-13)


def test_pull_squared(lin):
    """The same with w^2 and r^2."""
    seed = random_like(lin, lin.topology.n_outputs)
    expected = naive_pull(lin.topology, theta_of(lin.topology) ** 2, lin.r**2, seed)
    assert_close(lin.pull_squared(seed), expected, 1e-13)


def test_pull_is_linear_and_takes_many_seeds(lin):
    """pull(3 s - 2 t) = 3 pull(s) - 2 pull(t); stacked seeds are pulled one by one."""
    seeds = random_like(lin, lin.topology.n_outputs, 2)
    s, t = seeds[:, 0], seeds[:, 1]
    assert_close(lin.pull(3 * s - 2 * t), 3 * lin.pull(s) - 2 * lin.pull(t), 1e-13)
    assert_close(lin.pull(seeds), np.stack([lin.pull(s), lin.pull(t)], axis=1), 1e-14)
    squared = lin.pull_squared
    assert_close(squared(3 * s + 2 * t), 3 * squared(s) + 2 * squared(t), 1e-13)


def test_repeated_pulls_are_independent(lin):
    seed = random_like(lin, lin.topology.n_outputs)
    first, kept = lin.pull(seed), seed.copy()
    lin.pull(2 * seed)
    np.testing.assert_array_equal(lin.pull(seed), first)
    np.testing.assert_array_equal(seed, kept)


def test_pull_gives_derivatives_with_respect_to_preactivations():
    """A change of the bias of k is one of v_k."""
    for topology in GRAPHS.values():
        theta, X = theta_of(topology), np.random.default_rng(0).normal(size=(1, topology.n_inputs))
        network = Network.build(topology, "tanh", "logistic")

        def outputs(theta, network=network, X=X):
            return network.linearize(theta, X).output_preactivations[:, 0]

        lin = network.linearize(theta, X)
        seeds = np.eye(topology.n_outputs)[:, :, None]
        expected = jacobian(outputs, theta)[:, topology.bias]
        assert_close(lin.pull(seeds)[:, :, 0].T, expected, 1e-9)


def test_softened_slopes(lin):
    """sqrt(r^2 + share * largest slope^2) at hidden units; all other numbers are kept."""
    softened, before = lin.softened(0.3), lin.r.copy()
    parts = lin.topology.levels, lin.network.activations, lin.topology.level_outputs
    for level, activation, outputs in zip(*parts, strict=True):
        extra = 0.3 * activation.largest_slope**2 if outputs is None else 0.0
        expected = np.sqrt(lin.r[level.units] ** 2 + extra)
        assert_close(softened.r[level.units], expected, 1e-14)
    seed = random_like(lin, lin.topology.n_outputs)
    theta = theta_of(lin.topology)
    assert_close(softened.pull(seed), naive_pull(lin.topology, theta, softened.r, seed), 1e-13)
    expected = naive_pull(lin.topology, theta**2, softened.r**2, seed)
    assert_close(softened.pull_squared(seed), expected, 1e-13)
    np.testing.assert_array_equal(lin.r, before)
    for name in ("v", "a", "weight"):
        assert getattr(softened, name) is getattr(lin, name)


def remembered(thing):
    """All that it computes once and keeps, computed."""
    cls = type(thing)
    return {
        name: getattr(thing, name)
        for name in dir(cls)
        if isinstance(inspect.getattr_static(cls, name), cached_property)
    }


@pytest.mark.parametrize("output", ["softmax", "scaled_softmax", "bernoulli"])
def test_what_is_remembered_of_a_batch_is_of_no_other(output):
    """Points and linearizations made of others compute all they have anew, or rightly share it."""
    problem = problem_of(output, n_samples=6)
    known, fresh = problem.point(), problem.point()
    assert {"backpropagated", "losses"} <= set(remembered(known))
    assert "a_squared" in remembered(known.lin) and "squares" in remembered(known.lin.inputs)
    pairs = [
        (known.softened(0.3), fresh.softened(0.3)),
        (known.lin.softened(0.3), fresh.lin.softened(0.3)),
        (SampleMeans.joined([known.lin] * 2, [1, 3]), SampleMeans.joined([fresh.lin] * 2, [1, 3])),
        (Inputs.joined([known.lin.inputs] * 2), Inputs.joined([fresh.lin.inputs] * 2)),
    ]
    for one, other in pairs:
        found, expected = remembered(one), remembered(other)
        assert set(found) == set(expected) > set()
        for name in found:
            np.testing.assert_array_equal(found[name], expected[name])


# ---------------------------------------------------------------------- means
def test_edge_mean(lin):
    """E_x a_i^power f_k at every link, E_x f_k at the bias."""
    values = random_like(lin, lin.topology.n_units)
    for power in (1, 2):
        means = lin.edge_mean(values, power)
        for unit in range(lin.topology.n_units):
            terms = incoming(lin, unit) ** power * values[unit]
            assert_close(means[lin.topology.row(unit)], terms @ lin.weight, 1e-13)
    expected = lin.edge_mean(values), lin.edge_mean(values, power=2)
    assert_close(lin.edge_moments(values), expected, 1e-14)


def test_unit_gram(lin):
    """E_x a_i a_j f_k for all pairs of links into k."""
    values = random_like(lin, lin.topology.n_units)
    for group, blocks in zip(lin.topology.groups, lin.unit_gram(values), strict=True):
        assert blocks.shape == (len(group.units), 1 + group.fan_in, 1 + group.fan_in)
        for unit, n, block in zip(group.units, group.lengths, blocks, strict=True):
            a = incoming(lin, unit)
            assert_close(block[:n, :n], a * (values[unit] * lin.weight) @ a.T, 1e-13)
            assert not block[n:].any() and not block[:, n:].any()


def test_unit_gram_without_values(lin):
    """E_x a_i a_j; units that share all sources share one block."""
    ones = lin.unit_gram(np.ones((lin.topology.n_units, lin.n_samples)))
    for group, shared, blocks in zip(lin.topology.groups, lin.unit_gram(), ones, strict=True):
        assert len(shared) == (1 if group.shared else len(group.units))
        assert_close(np.broadcast_to(shared, blocks.shape), blocks, 1e-13)
    assert {True} == {group.shared for group in GRAPHS["layered"].groups}
    assert False in {group.shared for group in GRAPHS["by_source"].groups}


def test_jacobian(lin):
    """Rows sqrt(weight) a_i b_k, one a seed and sample; rows^T rows is a mean over samples."""
    pulled = random_like(lin, lin.topology.n_units, 3)
    rows = lin.jacobian(pulled)
    assert rows.shape == (3 * lin.n_samples, lin.topology.n_parameters)
    for unit in range(lin.topology.n_units):
        a, root = incoming(lin, unit), np.sqrt(lin.weight)
        expected = np.concatenate([(root * f * a).T for f in pulled[unit]])
        assert_close(rows[:, lin.topology.row(unit)], expected, 1e-13)


def test_jacobian_of_the_outputs_is_a_finite_difference():
    """With unit seeds: d v_o / d theta."""
    for topology in GRAPHS.values():
        theta, X = theta_of(topology), np.random.default_rng(0).normal(size=(1, topology.n_inputs))
        network = Network.build(topology, "tanh", "logistic")

        def outputs(theta, network=network, X=X):
            return network.linearize(theta, X).output_preactivations[:, 0]

        lin = network.linearize(theta, X)
        rows = lin.jacobian(lin.pull(np.eye(topology.n_outputs)[:, :, None]))
        assert_close(rows, jacobian(outputs, theta), 1e-9)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_source_moments(lin, form):
    """E_x a_i and E_x a_i^2 of all sources; the last one is the constant 1."""
    signals = np.concatenate([lin.inputs.dense(slice(None)), lin.a, np.ones((1, lin.n_samples))])
    moments = linearize(lin.topology, form=form).source_moments()
    assert_close(moments, [signals @ lin.weight, signals**2 @ lin.weight], 1e-13)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("scale", [1.0, 1e-120, 1e120])
def test_moments_of_columns(form, scale):
    """Weighted mean, standard and absolute deviation, skewness; weights are repetition."""
    rng = np.random.default_rng(0)
    X = scale * np.exp(rng.normal(size=(50, 4))) * rng.integers(0, 2, size=(50, 4))
    X[:, 2] = 0
    weights = rng.integers(0, 3, size=50)
    repeated = np.repeat(X, weights, axis=0)
    for given, sample_weight, rows in ((X, weights, repeated), (X, None, X)):
        unit = rows[:, [0, 1, 3]] / scale
        mean, deviation, skewness, absolute, _ = weighted_moments(form(given), sample_weight)
        centred = unit - unit.mean(axis=0)
        assert_close(mean[[0, 1, 3]] / scale, unit.mean(axis=0), 1e-13)
        assert_close(deviation[[0, 1, 3]] / scale, unit.std(axis=0), 1e-13)
        third = (centred**3).mean(axis=0) / unit.std(axis=0) ** 3
        assert_close(skewness[[0, 1, 3]], third, 1e-12)
        assert_close(absolute[[0, 1, 3]] / scale, np.abs(centred).mean(axis=0), 1e-13)
        assert mean[2] == deviation[2] == skewness[2] == absolute[2] == 0


def test_rest_of_the_mean():
    """The rounding error of means far from 0, to digits that the means do not have."""
    X = (np.random.default_rng(0).random((700, 5)) < 0.01) + 1e6
    moments = weighted_moments(X)
    exact = [
        float(Fraction(int(column.sum())) / 700 - Fraction(mean))
        for column, mean in zip(X.T, moments.mean, strict=True)
    ]
    assert_close(moments.rest, exact, 1e-5)
    assert np.abs(exact).max() > 1e-12


def means_of(lin):
    """All means over samples, as functions of the samples alone."""
    values = np.concatenate([lin.a, lin.r])[: lin.topology.n_units] ** 2
    values = values + lin.inputs.dense(slice(0, 1)) ** 2
    rows = lin.jacobian(np.stack([values, values**2], axis=1))
    blocks = [block.ravel() for given in (values, None) for block in lin.unit_gram(given)]
    return [lin.edge_mean(values), lin.edge_mean(values, 2), rows.T @ rows, *blocks]


def test_integer_weights_are_repetition(lin):
    """Weight 0 is absence, weight 2 the same sample twice."""
    weights = np.array([1.0, 0, 2, 3, 1, 0, 1])
    weighted = linearize(lin.topology, weights=weights)
    rows = np.repeat(np.arange(N_SAMPLES), weights.astype(int))
    repeated = linearize(lin.topology, rows, weights=None)
    assert weighted.total_weight == repeated.total_weight == 8
    for a, b in zip(means_of(weighted), means_of(repeated), strict=True):
        assert_close(a, b, 1e-13)


def test_means_of_a_batch_are_weighted_means_of_its_parts(lin):
    """E = (W_1 E_1 + W_2 E_2) / (W_1 + W_2)."""
    parts = [linearize(lin.topology, rows) for rows in (slice(0, 2), slice(2, None))]
    total = sum(part.total_weight for part in parts)
    assert np.isclose(total, lin.total_weight)
    for whole, *halves in zip(means_of(lin), *map(means_of, parts), strict=True):
        combined = sum(p.total_weight * h for p, h in zip(parts, halves, strict=True)) / total
        assert_close(combined, whole, 1e-13)


def test_common_factor_of_the_weights_does_not_matter(lin):
    other = linearize(lin.topology, weights=1e-3 * lin.weight)
    for a, b in zip(means_of(other), means_of(lin), strict=True):
        assert_close(a, b, 1e-13)


def test_weights_that_sum_to_zero_give_finite_means(lin):
    empty = linearize(lin.topology, weights=np.zeros(N_SAMPLES))
    assert empty.total_weight == 0
    assert all(np.isfinite(mean).all() for mean in means_of(empty))


def test_blocks_of_bounded_memory_change_nothing(lin, monkeypatch):
    expected = means_of(lin)
    monkeypatch.setattr(means_module, "_GRAM_SIZE", 1)
    for a, b in zip(means_of(lin), expected, strict=True):
        assert_close(a, b, 1e-15)


# ---------------------------------------------------------------------- precision and memory
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_single_precision(lin, form):
    """Inputs in float32 make everything float32, and the same up to its rounding."""
    X, theta = lin.inputs.dense(slice(None)).T, theta_of(lin.topology)
    single = lin.network.linearize(theta, Inputs(form(X), np.float32), lin.weight)
    seed = random_like(lin, lin.topology.n_outputs)
    values = random_like(lin, lin.topology.n_units).astype(np.float32)
    for a, b in [
        (single.v, lin.v),
        (single.r, lin.r),
        (single.pull(seed.astype(np.float32)), lin.pull(seed)),
        (single.pull_squared(seed.astype(np.float32)), lin.pull_squared(seed)),
        (single.edge_mean(values), lin.edge_mean(values)),
        (single.unit_gram(values)[0], lin.unit_gram(values)[0]),
    ]:
        assert a.dtype == np.float32 and b.dtype == np.float64
        assert_close(a, b, 1e-5)


def test_memory_is_used_again_but_never_under_a_living_array(lin):
    """Linearizations from one pool are right, and stay so while others are made."""
    theta, X = theta_of(lin.topology), lin.inputs.dense(slice(None)).T
    pool, seed = BufferPool(), random_like(lin, lin.topology.n_outputs)
    kept = []
    for factor in (1.0, 2.0, 1.0, 3.0, 1.0):
        arguments = factor * theta, X, lin.weight
        pooled = lin.network.linearize(*arguments, empty=pool.empty)
        fresh = lin.network.linearize(*arguments)
        kept.append((pooled.pull(seed), fresh.pull(seed)))
        kept.append((pooled.softened(0.1).r, fresh.softened(0.1).r))
        kept.append((pooled.a_squared[: lin.topology.n_units // 2], fresh.a_squared))
    for pooled, fresh in kept:
        np.testing.assert_array_equal(pooled, fresh[: len(pooled)])


# ---------------------------------------------------------------------- loss and gradient
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("activation", KNOWN_ACTIVATIONS)
@pytest.mark.parametrize("output", ref.OUTPUTS)
def test_loss_and_gradient(output, activation, kind):
    """The mean loss and minus its gradient, by complex steps."""
    case = case_of(output, activation, kind)
    arguments = output, case.net, case.reference_theta, case.X, case.y
    point = case.point()
    assert_close(point.loss(), ref.mean_loss(*arguments, **case.options), 1e-13)
    expected = case.reordered(ref.gradient(*arguments, **case.options))
    assert_close(point.gradient()[: len(expected)], expected, 1e-12)


@pytest.mark.parametrize("hidden", ACTIVATIONS)
@pytest.mark.parametrize("output", OUTPUTS)
def test_gradient_is_a_finite_difference(output, hidden):
    """For every output and activation, the output's own parameters included."""
    problem = away_from_kinks(output, GRAPHS["dag"], hidden, n_samples=6)
    own = problem.output.start(problem.topology.n_outputs)
    both = np.concatenate([problem.theta, own])

    def loss(both):
        theta, own = np.split(both, [problem.topology.n_parameters])
        output = problem.output.with_parameters(own) if len(own) else problem.output
        return np.array([problem.point(theta, output).loss()])

    output = problem.output.with_parameters(own) if len(own) else problem.output
    gradient = problem.point(output=output).gradient()
    assert_close(-gradient, jacobian(loss, both, step=1e-3)[0], 1e-9)


@pytest.mark.parametrize("output", OUTPUTS)
def test_weights_of_the_loss_are_repetition(output):
    problem = problem_of(output, n_samples=5)
    weights = np.array([1.0, 0, 2, 3, 1])
    rows = np.repeat(np.arange(5), weights.astype(int))
    weighted = problem.network.linearize(problem.theta, problem.X, weights)
    repeated = problem.network.linearize(problem.theta, problem.X[rows])
    one = LossPoint(weighted, problem.output, problem.target)
    other = LossPoint(repeated, problem.output, problem.target[..., rows])
    assert one.weight == other.weight == 7
    assert_close(one.loss(), other.loss(), 1e-14)
    assert_close(one.gradient(), other.gradient(), 1e-13)
    assert_close(one.output_metric(), other.output_metric(), 1e-13)


def test_derivative_of_a_known_function():
    """The finite differences of these tests are exact to about 1e-12."""
    x = np.linspace(-2, 2, 9)
    assert_close(derivative(np.sin, x), np.cos(x), 1e-11)
    assert_close(
        jacobian(lambda x: np.array([x[0] * x[1], x[1] ** 3]), np.array([2.0, 3])),
        [[3, 2], [0, 27]],
        1e-11,
    )

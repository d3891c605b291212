"""Which metrics make equivalent networks stay equivalent: the table of invariances, both ways."""

import functools

import numpy as np
import pytest
import reference as ref
from engine import (
    KINDS,
    Problem,
    assert_close,
    case_of,
    encode,
    network_of,
    parts_of,
    problem_of,
)

from sknatgrad.metrics import METRICS, LossPoint, get_metric
from sknatgrad.network import (
    Network,
    Topology,
    convert_sigmoids,
    get_activation,
    initialize,
    parameters,
    reparametrize,
    rescale_inputs,
)
from sknatgrad.outputs import OUTPUTS, get_output

# By reduction: is a step invariant under scaling of activities, under shifts of them as well,
# and under affine recombination of the signals into a unit?
INVARIANT = {
    "": {"scale": True, "shift": True, "mix": True},
    "unitwise": {"scale": True, "shift": True, "mix": True},
    "kron": {"scale": True, "shift": True, "mix": True},
    "qd": {"scale": True, "shift": True, "mix": False},
    "diag": {"scale": True, "shift": False, "mix": False},
    "root_diag": {"scale": False, "shift": False, "mix": False},
    "euclidean": {"scale": False, "shift": False, "mix": False},
}
TABLE = {name: INVARIANT.get(parts_of(name)[1], {}) for name in METRICS}


# ---------------------------------------------------------------------- transformations
def signed(rng, n):
    """Factors between 1/2 and 2 in size, of both signs."""
    return rng.choice([-1.0, 1.0], size=n) * rng.uniform(0.5, 2, size=n)


def change_units(problem, rng, beta=0.0):
    n = problem.topology.n_units
    alpha, gamma = signed(rng, n), signed(rng, n)
    network, theta = reparametrize(problem.network, problem.theta, alpha, beta, gamma)
    return changed(problem, network=network, theta=theta)


def change_inputs(problem, scale, shift=0.0):
    theta = rescale_inputs(problem.network, problem.theta, scale, shift)
    return changed(problem, theta=theta, X=problem.X * scale + shift)


def changed(problem, **parts):
    return Problem(**{**vars(problem), **parts})


def unit_scaling(problem, rng):
    """a -> alpha a at hidden units, theta_k -> theta_k / gamma."""
    return change_units(problem, rng)


def input_scaling(problem, rng):
    return change_inputs(problem, signed(rng, problem.topology.n_inputs))


def unit_shift(problem, rng):
    """a -> alpha a + beta at hidden units."""
    return change_units(problem, rng, rng.normal(size=problem.topology.n_units))


def input_shift(problem, rng):
    n = problem.topology.n_inputs
    return change_inputs(problem, signed(rng, n), rng.normal(size=n))


def exchange_of_0_and_1(problem, rng):
    return change_inputs(problem, -1.0, 1.0)


def other_sigmoid(problem, rng):
    """Logistic units become tanh units: with a Bernoulli output all of them, else hidden ones."""
    if problem.output.name == "bernoulli":
        network, theta = convert_sigmoids(problem.network, problem.theta, "tanh")
        output = get_output("bernoulli", "tanh")
        return changed(problem, network=network, theta=theta, output=output)
    network, theta = reparametrize(problem.network, problem.theta, 2.0, -1.0, 2.0)
    hidden = Network.build(problem.topology, "tanh", problem.output.activation)
    return changed(problem, network=hidden, theta=theta)


def recombination(problem, rng):
    """x -> x B + t, the first layer's weights adapted."""
    n = problem.topology.n_inputs
    B, t = rng.normal(size=(n, n)) + 2 * np.eye(n), rng.normal(size=n)
    coefs, intercepts = parameters.split(problem.topology, problem.theta)
    coefs[0] = np.linalg.solve(B, coefs[0])
    intercepts[0] = intercepts[0] - t @ coefs[0]
    theta = parameters.join(problem.topology, coefs, intercepts)
    return changed(problem, theta=theta, X=problem.X @ B + t)


TRANSFORMATIONS = {
    "scale": [unit_scaling, input_scaling],
    "shift": [unit_shift, input_shift, exchange_of_0_and_1, other_sigmoid],
    "mix": [recombination],
}
CHANGES = [(column, change) for column, changes in TRANSFORMATIONS.items() for change in changes]
over_changes = pytest.mark.parametrize(
    ("column", "change"), CHANGES, ids=[change.__name__ for _, change in CHANGES]
)


@functools.cache
def base_problem(output):
    """A logistic network on inputs near 0 and 1: of 20 random ones that of the best condition.

    With more samples than parameters, so that the full metrics are as regular as they can be.
    """
    problems = []
    for seed in range(20):
        problem = problem_of(output, (2, 3, 2), "logistic", seed=seed, n_samples=200)
        problems.append(changed(problem, X=0.5 + 0.5 * problem.X, theta=2 * problem.theta))
    return max(problems, key=lambda problem: min(smallest(problem, m) for m in ("fisher", "op")))


def spectrum(problem, name):
    metric = get_metric(name, 2)
    statistics = metric.statistics(problem.point(), np.random.RandomState(0))
    return np.linalg.eigvalsh(metric.reduction.to_dense(problem.topology, statistics[0]))


def smallest(problem, name):
    """The smallest eigenvalue of a metric; directions without any effect are left out."""
    values = spectrum(problem, name)
    return values[values > 1e-13 * values[-1]][0]


def dampings(problem, name, column):
    """Those that should not matter: none, intrinsic ones, and absolute ones that are negligible."""
    choice = [("relative", 0.0)]
    if column != "mix":
        choice.append(("relative", 1e-3))
    if spectrum(problem, name)[0] > 1e-5:
        choice.append(("absolute", 1e-14))
    return choice


def predictions(problem):
    """Expected targets: activities, probabilities of ones, or probabilities of classes."""
    return problem.output.mean(problem.point().v)


def step(problem, name, mode, damping, rate):
    """The problem after one step, with the draws of a generator of a given seed."""
    metric, point = get_metric(name, 2), problem.point()
    statistics = metric.statistics(point, np.random.RandomState(0))
    d = metric.solve(problem.topology, statistics, point.gradient(), damping, mode)
    theta, own = np.split(rate * d, [problem.topology.n_parameters])
    output = problem.output
    if len(own):
        output = output.with_parameters(output.coefficients + own)
    return changed(problem, theta=problem.theta + theta, output=output)


# ---------------------------------------------------------------------- the table
@pytest.mark.parametrize("name", METRICS)
def test_reductions_know_their_invariance(name):
    row = TABLE[name]
    if row:
        assert get_metric(name).reduction.invariant == (row["scale"] and row["shift"])


@over_changes
@pytest.mark.parametrize("output", OUTPUTS)
def test_changes_keep_the_function(output, column, change):
    problem = base_problem(output)
    other = change(problem, np.random.default_rng(1))
    assert_close(predictions(other), predictions(problem), 1e-12)
    assert_close(other.point().loss(), problem.point().loss(), 1e-12)


@over_changes
@pytest.mark.parametrize("output", OUTPUTS)
@pytest.mark.parametrize("name", METRICS)
def test_invariance(name, output, column, change):
    """After one step both networks predict the same where the table says so, else they differ."""
    problem = base_problem(output)
    other = change(problem, np.random.default_rng(1))
    if column not in TABLE[name]:
        pytest.skip("the table does not know the reduction")
    for mode, damping in dampings(problem, name, column):
        for rate in (0.1, 1.0):
            one, two = (predictions(step(p, name, mode, damping, rate)) for p in (problem, other))
            difference = np.abs(one - two).max()
            if TABLE[name][column]:
                assert difference < 1e-8 * np.abs(one).max()
            elif rate == 1:
                assert difference > 1e-4


@pytest.mark.parametrize("name", [name for name in METRICS if TABLE[name].get("shift")])
def test_trajectories_are_invariant(name):
    """Logistic units on x, and tanh units on 1 - x: ten steps with intrinsic damping."""
    problem = base_problem("bernoulli")
    other = exchange_of_0_and_1(other_sigmoid(problem, None), None)
    start = problem.point().loss()
    for _ in range(10):
        problem, other = (step(p, name, "relative", 1e-2, 0.1) for p in (problem, other))
    assert_close(predictions(other), predictions(problem), 1e-8)
    assert problem.point().loss() < start


# ---------------------------------------------------------------------- the transformations
def reparametrized(case, seed=0):
    """The same random reparametrization of all hidden units, of the library and the reference."""
    rng, net, topology = np.random.default_rng(seed), case.net, case.topology
    hidden = [k for k in ref.computed_units(net) if k not in net.outputs]
    triples = {
        k: (signed(rng, 1)[0], rng.normal(), abs(signed(rng, 1)[0]))
        for k in ref.computed_units(net)
    }
    alpha, beta, gamma = np.array([triples[k] for k in topology.order]).T
    mine = reparametrize(case.network, case.theta, alpha, beta, gamma)
    theirs = ref.reparametrize(net, case.reference_theta, {k: triples[k] for k in hidden})
    return mine, theirs


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("output", ref.OUTPUTS)
def test_reparametrization(output, kind):
    """(alpha, beta, gamma)-affine reparametrization of hidden units: theta, and the metrics."""
    case = case_of(output, "tanh", kind)
    (network, theta), (net, reference_theta) = reparametrized(case)
    assert_close(theta, reference_theta[case.order], 1e-14)
    lin = network.linearize(theta, case.X, case.weights)
    before = case.network.linearize(case.theta, case.X)
    assert_close(lin.output_preactivations, before.output_preactivations, 1e-12)
    point = LossPoint(lin, case.output, encode(case.output, case.y))
    for name, function in [("fisher", ref.fisher_by_formula), ("bp", ref.bp_matrix)]:
        metric = get_metric(name)
        expected = function(output, net, reference_theta, case.X, **case.options)
        statistics = metric.statistics(point, None)
        actual = metric.reduction.to_dense(case.topology, statistics[0])
        assert_close(actual, case.reordered(expected), 1e-11)
    other = network_of(net).linearize(theta, case.X)
    assert_close(other.a, lin.a, 1e-13)


def test_reparametrizations_compose():
    """Two of them are one with the products of the factors."""
    case = case_of("square", "logistic", "skip")
    once = reparametrize(case.network, case.theta, 14.0, 32.0, 65.0)
    twice = reparametrize(*reparametrize(case.network, case.theta, 2.0, 3.0, 5.0), 7.0, 11.0, 13.0)
    assert_close(twice[1], once[1], 1e-13)
    values = [network.linearize(theta, case.X).a for network, theta in (once, twice)]
    assert_close(*values, 1e-13)


@pytest.mark.parametrize("kind", KINDS)
def test_rescaled_inputs(kind):
    case = case_of("softmax", "tanh", kind)
    rng = np.random.default_rng(0)
    scale, shift = signed(rng, case.net.n_inputs), rng.normal(size=case.net.n_inputs)
    expected = ref.rescale_inputs(case.net, case.reference_theta, scale, shift)[case.order]
    assert_close(rescale_inputs(case.network, case.theta, scale, shift), expected, 1e-14)


@pytest.mark.parametrize("kind", KINDS)
def test_converted_sigmoids(kind):
    """The paper's equations from sigmoid to tanh; and back is the identity."""
    case = case_of("bernoulli", "logistic", kind)
    network, theta = convert_sigmoids(case.network, case.theta, "tanh")
    net, reference_theta = ref.logistic_to_tanh(case.net, case.reference_theta)
    assert_close(theta, reference_theta[case.order], 1e-14)
    assert set(network.activations) == {get_activation("tanh")}
    assert set(net.activations) == {"tanh"}
    for name in ("scaled_tanh", "logistic"):
        network, theta = convert_sigmoids(network, theta, name)
    assert_close(theta, case.theta, 1e-13)
    assert network.activations == case.network.activations


def test_other_units_are_not_converted():
    problem = problem_of("square", hidden="relu")
    network, theta = convert_sigmoids(problem.network, problem.theta, "tanh")
    assert network.activations == problem.network.activations
    np.testing.assert_array_equal(theta, problem.theta)


def test_transformations_are_checked_and_make_copies():
    problem = problem_of("square")
    network, theta, kept = problem.network, problem.theta, problem.theta.copy()
    for alpha, gamma in ((0.0, 1.0), (1.0, 0.0)):
        with pytest.raises(ValueError, match="alpha and gamma must not be 0"):
            reparametrize(network, theta, alpha, 0.0, gamma)
    with pytest.raises(ValueError, match="scale must not be 0"):
        rescale_inputs(network, theta, [1.0, 0.0, 1.0])
    for wrong in ("relu", "identity"):
        with pytest.raises(ValueError, match=f"'{wrong}' is not a sigmoid"):
            convert_sigmoids(network, theta, wrong)
    reparametrize(network, theta, 2.0, 1.0, 3.0)[1][:] = 0
    rescale_inputs(network, theta, 2.0, 1.0)[:] = 0
    np.testing.assert_array_equal(theta, kept)


# ---------------------------------------------------------------------- corresponding starts
def first_parameters(activation, seed=0, topology=None, **signals):
    topology = topology or Topology.random_links([9, 8, 6, 5], 4, random_state=0)
    network = Network.build(topology, activation, activation)
    return network, initialize(network, np.random.RandomState(seed), **signals)


def test_initial_weights_of_tanh_networks():
    """Zero biases, standard deviation 1 / sqrt(fan-in): paper, "Initialization"."""
    topology = Topology.layered([400, 50, 50])
    _, theta = first_parameters("tanh", topology=topology)
    assert not theta[topology.bias].any()
    for level, fan_in in zip(topology.levels, (400, 50), strict=True):
        weights = theta[level.link_params] * np.sqrt(fan_in)
        assert abs(weights.std() - 1) < 5 / np.sqrt(2 * len(weights))
        assert abs(weights.mean()) < 5 / np.sqrt(len(weights))


@pytest.mark.parametrize("activation", ["tanh", "logistic", "relu"])
def test_initial_biases_are_drawn_like_weights(activation):
    """Those of units that listen to inputs, for a signal of 1; the weights stay what they are."""
    topology = Topology.layered([4, 3000, 500, 2])
    network, theta = first_parameters(activation, topology=topology)
    spread = first_parameters(activation, topology=topology, bias_scale=1.0)[1] - theta
    assert not spread[topology.is_weight].any()
    biases, others = np.split(spread[topology.bias], [3000])
    assert not others.any()
    unit = biases * network.activations[0].input_gain / 2 * np.sqrt(4)
    assert abs(unit.std() - 1) < 5 / np.sqrt(2 * len(unit))
    assert abs(unit.mean()) < 5 / np.sqrt(len(unit))
    if activation == "relu":
        np.testing.assert_array_equal(biases[1::2], -biases[::2])


def test_initial_weights_of_logistic_networks():
    """The same network as the tanh one on inputs 2 x - 1: w = 4 w', w_0 = -sum w / 2."""
    logistic, theta = first_parameters("logistic", centre=0.5, scale=0.5)
    tanh, tanh_theta = first_parameters("tanh")
    network, converted = convert_sigmoids(logistic, theta, "tanh")
    assert network.activations == tanh.activations
    assert_close(rescale_inputs(network, converted, 2.0, -1.0), tanh_theta, 1e-14)
    is_weight = logistic.topology.is_weight
    assert_close(theta[is_weight], 4 * tanh_theta[is_weight], 1e-14)
    sums = np.bincount(logistic.topology.owner[is_weight], theta[is_weight])
    assert_close(theta[logistic.topology.bias], -sums / 2, 1e-14)


def test_initial_function_does_not_depend_on_the_units_of_features():
    """Centre and scale that follow the data give the same function on shifted, scaled inputs."""
    rng = np.random.default_rng(0)
    centre, scale, factor, shift = rng.uniform(0.5, 2, size=(4, 9))
    network, theta = first_parameters("tanh", centre=centre, scale=scale)
    other = first_parameters("tanh", centre=factor * centre + shift, scale=factor * scale)[1]
    assert_close(rescale_inputs(network, theta, factor, shift), other, 1e-13)


def test_initial_weights_of_constant_inputs_are_zero():
    scale = np.ones(9)
    scale[2] = 0
    network, theta = first_parameters("tanh", centre=7.0, scale=scale)
    chosen = network.topology.source == 2
    assert chosen.any() and not theta[chosen].any() and np.isfinite(theta).all()


def test_initial_parameters_follow_the_generator():
    first, again, other = (first_parameters("relu", seed)[1] for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


@pytest.mark.parametrize("activation", ["relu", "log_relu"])
def test_rectified_units_below_hidden_ones_start_in_opposite_pairs(activation):
    """Hidden pre-activations are odd, those of outputs are not: units below these stand alone."""
    topology = Topology.layered([4, 6, 8, 5, 3])
    network, theta = first_parameters(activation, topology=topology)
    X = np.random.default_rng(0).standard_normal((20, 4))
    v, mirrored = (network.linearize(theta, sign * X).v for sign in (1, -1))
    hidden = slice(0, 6 + 8 + 5)
    assert_close(mirrored[hidden], -v[hidden], 1e-13)
    assert np.abs(v[hidden]).max(axis=1).min() > 0.1
    assert np.abs(mirrored + v)[hidden.stop :].max() > 0.1


def test_signals_reach_deep_rectified_units():
    """ReLU pairs are linear: samples stay apart, those of units drawn one by one do not."""
    network, theta = first_parameters("relu", topology=Topology.layered([10] + [40] * 30 + [2]))
    lin = network.linearize(theta, np.random.default_rng(0).standard_normal((50, 10)))
    v = lin.v[network.topology.levels[-2].units]
    own, common = v.var(axis=1).mean(), (v.mean(axis=1) ** 2).mean()
    assert own > 5 * common
    assert 0.05 < own < 20


def test_units_of_a_pair_share_what_links_they_both_have():
    topology = Topology.random_links([9, 9, 8, 6, 3], 5, random_state=0)
    theta = first_parameters("relu", topology=topology)[1]
    first, second, *_ = (coefs.toarray() for coefs in parameters.split(topology, theta)[0])
    for one, other in ((first[:, 0:8:2], first[:, 1:8:2]), (second[0:8:2], second[1:8:2])):
        both = (one != 0) & (other != 0)
        assert 0 < both.sum() < both.size
        np.testing.assert_array_equal(one[both], -other[both])


@pytest.mark.parametrize(
    "activation, topology",
    [
        ("relu", Topology.layered([4, 6, 3])),
        ("tanh", Topology.layered([4, 6, 6, 3])),
        ("relu", Topology.random_links([4, 6, 6, 3], 5, replace=True, merge=False)),
    ],
    ids=["one level", "odd units", "parallel links"],
)
def test_other_units_start_alone(activation, topology):
    """Pairs of odd units, and parallel links that are drawn together, would stay copies."""
    network, theta = first_parameters(activation, topology=topology)
    weights = np.abs(theta[network.topology.is_weight])
    assert len(np.unique(weights)) == len(weights)

"""Every metric against its definition, and the paper's propositions about the directions."""

import functools
import warnings

import numpy as np
import pytest
import reference as ref
from engine import (
    KINDS,
    KNOWN_ACTIVATIONS,
    KNOWN_OUTPUTS,
    KNOWN_PAIRS,
    PAIRS,
    Recorder,
    Replayer,
    allowed_activations,
    assert_close,
    away_from_kinks,
    case_of,
    damped,
    enumerate_targets,
    graphs,
    jacobian,
    metrics,
    parts_of,
    problem_of,
    quasi_diagonal_block,
)
from selection import slow

from sknatgrad.metrics import (
    ALIASES,
    METRICS,
    Backpropagated,
    Fisher,
    Full,
    Kronecker,
    LossPoint,
    Metric,
    MonteCarlo,
    QuasiDiagonal,
    Safeguarded,
    get_metric,
)
from sknatgrad.metrics.moduli import _base as moduli_base
from sknatgrad.metrics.reductions import full
from sknatgrad.network import ACTIVATIONS, Inputs, Network, Topology
from sknatgrad.outputs import OUTPUTS, get_output

N_DRAWS = 2
DAMPINGS = [("absolute", 1e-2), ("relative", 0.1), ("relative", 0.0)]


# ---------------------------------------------------------------- definitions by the reference
def targets_by_sample(case, modulus):
    """The targets whose scores make a modulus: (n_samples, ...) or (n_samples, n_draws, ...)."""
    if modulus == "op":
        return (case.y,)
    if modulus == "mc_fisher":
        recorder = Recorder(case.output)
        MonteCarlo(N_DRAWS).values(case.point(recorder), np.random.RandomState(0))
        return (np.moveaxis(np.stack(recorder.draws), -1, 0),)
    return ()


FULL_MATRICES = {
    "fisher": ref.fisher_by_enumeration,
    "bp": ref.bp_matrix,
    "op": ref.op_matrix,
    "mc_fisher": ref.monte_carlo_matrix,
}


@functools.cache
def full_matrix(case, modulus):
    """The matrix of a modulus before any reduction."""
    targets = targets_by_sample(case, modulus)
    arguments = case.name, case.net, case.reference_theta, case.X, *targets
    return FULL_MATRICES[modulus](*arguments, **case.options)


@functools.cache
def modulus_values(case, modulus):
    """c_k(x) = r_k^2 times the modulus: (n_units, n_samples)."""
    columns = []
    targets = (*targets_by_sample(case, modulus), [None] * len(case.X))[0]
    for x, target in zip(case.X, targets, strict=True):
        arguments = case.name, case.net, case.reference_theta, x
        if modulus == "fisher":
            values = ref.fisher_modulus(*arguments, case.vartheta)
        elif modulus == "bp":
            values = ref.backpropagated_modulus(*arguments, case.vartheta)
        else:
            draws = target if modulus == "mc_fisher" else [target]
            b = [ref.backpropagated_values(*arguments, y, case.vartheta) for y in draws]
            values = np.mean(np.square(b), axis=0)
        columns.append(ref.unit_derivatives(case.net, case.reference_theta, x) ** 2 * values)
    return np.array(columns).T


@functools.cache
def kron_matrix(case, modulus):
    c = modulus_values(case, modulus)
    return ref.kron_matrix(case.net, case.reference_theta, case.X, c, case.weights)


REDUCTIONS = {
    "": lambda net, A: A,
    "unitwise": ref.unitwise,
    "kron": ref.unitwise,
    "qd": ref.quasi_diagonal,
    "diag": lambda net, A: ref.diagonal(A),
    "root_diag": lambda net, A: np.sqrt(ref.diagonal(A)),
    "euclidean": lambda net, A: np.eye(len(A)),
}


def system(case, name, mode="absolute", damping=0.0):
    """The damped matrix of a metric: first damped, then reduced."""
    modulus, prefix = parts_of(name)
    A = (kron_matrix if prefix == "kron" else full_matrix)(case, modulus)
    if mode == "absolute":
        A = ref.absolute_damping(A, damping)
    elif "diag" in prefix:
        A = A + damping * ref.diagonal(A)
    else:
        A = ref.relative_damping(case.net, A, damping)
    return case.reordered(REDUCTIONS[prefix](case.net, A))


KNOWN_METRICS = [
    name
    for name in METRICS
    if parts_of(name)[0] in FULL_MATRICES and parts_of(name)[1] in REDUCTIONS
]
# By default every output meets every activation of the hidden units on one kind of network.
CASES = [
    case if (i + j + k) % len(KINDS) == 0 else slow(case)
    for i, output in enumerate(KNOWN_OUTPUTS)
    for j, activation in enumerate(KNOWN_ACTIVATIONS)
    for k, kind in enumerate(KINDS)
    for case in [(output, activation, kind)]
]
CASES += [(output, "tanh", "skip", last) for output, last in KNOWN_PAIRS]
over_cases = pytest.mark.parametrize("case", CASES, ids="-".join)
over_metrics = pytest.mark.parametrize("name", KNOWN_METRICS)


def statistics_of(case, name):
    metric = get_metric(name, N_DRAWS)
    return metric, metric.statistics(case.point(), np.random.RandomState(0))


@over_cases
@over_metrics
def test_matrix_is_the_definition(name, case):
    """The undamped matrix: E_x of the modulus times a_i a_j, reduced."""
    case = case_of(*case)
    metric, statistics = statistics_of(case, name)
    expected = system(case, name)
    actual = metric.reduction.to_dense(case.topology, statistics[0])
    assert_close(actual, expected, 1e-11)
    for unit in range(case.topology.n_units):
        row = case.topology.row(unit)
        block = metric.reduction.block(case.topology, statistics[0], unit)
        assert_close(block, actual[row, row], 1e-14)


@over_cases
@over_metrics
def test_direction_is_the_solution(name, case):
    """(A + damping) d = G; singular systems, where only A d is defined, included."""
    case = case_of(*case)
    metric, statistics = statistics_of(case, name)
    gradient = case.point().gradient()
    G = gradient[: case.topology.n_parameters]
    for mode, damping in DAMPINGS:
        A = system(case, name, mode, damping)
        d = metric.solve(case.topology, statistics, gradient, damping, mode)[: len(G)]
        assert np.isfinite(d).all()
        condition = np.linalg.cond(A)
        # Drawn scores need not span the gradient.
        if condition < 1e10 or parts_of(name) != ("mc_fisher", ""):
            assert_close(A @ d, G, 1e-8)
        if condition < 1e6:
            assert_close(d, np.linalg.solve(A, G), 1e-8)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("output", KNOWN_OUTPUTS)
@pytest.mark.parametrize("modulus", FULL_MATRICES)
def test_modulus(modulus, output, kind):
    """c_k = r_k^2 Phi_k, r_k^2 m_k, (r_k b_k)^2, or the mean of the latter over drawn targets."""
    case = case_of(output, "tanh", kind)
    names = [name for name in KNOWN_METRICS if parts_of(name)[0] == modulus]
    metric = get_metric(names[0], N_DRAWS)
    actual = metric.modulus.values(case.point(), np.random.RandomState(0))
    units = case.topology.order - case.net.n_inputs
    assert_close(actual, modulus_values(case, modulus)[units], 1e-11)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mode", ["relative", "absolute"])
def test_direction_of_the_output_parameters(mode, kind):
    """They move in their own metric, damped alike, whatever the metric of the network."""
    case = case_of("scaled_softmax", "tanh", kind)
    arguments = case.net, case.reference_theta, case.X, case.vartheta, case.weights
    own = ref.output_parameter_metric(*arguments)
    own += 0.1 * (np.diag(np.diag(own)) if mode == "relative" else np.eye(len(own)))
    gradient = case.point().gradient()
    for name in METRICS:
        metric, statistics = statistics_of(case, name)
        d = metric.solve(case.topology, statistics, gradient, 0.1, mode)
        expected = np.linalg.solve(own, gradient[case.topology.n_parameters :])
        assert_close(d[case.topology.n_parameters :], expected, 1e-10)


# ---------------------------------------------------------------- all entries of the registries
@pytest.mark.parametrize("hidden", ACTIVATIONS)
@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_full_fisher_matrix_is_the_outputs_one_pulled_back(pair, hidden):
    """F = E_x J^T F_v J with F_v = E_y[score score^T] and J = d v / d theta by differences."""
    problem = away_from_kinks(pair[0], (2, 2, 2), hidden, pair[1], n_samples=3)
    point = problem.point()

    def outputs(theta):
        return problem.point(theta).v.ravel()

    J = jacobian(outputs, problem.theta, 2e-3).reshape(2, 3, -1)
    S = problem.output.fisher_factor(point.v)
    F = np.einsum("oni,ofn,pfn,pnj,n->ij", J, S, S, J, problem.weights / problem.weights.sum())
    metric = get_metric("fisher")
    statistics = metric.statistics(point, None)
    assert_close(metric.reduction.to_dense(problem.topology, statistics[0]), F, 1e-8)


@pytest.mark.parametrize("output", OUTPUTS)
@pytest.mark.parametrize("graph", graphs())
@pytest.mark.parametrize("name", METRICS)
def test_blocks_come_from_the_modulus(name, graph, output):
    """Whatever the reduction keeps of E_x[a_i a_j c_k] is right, on graphs of all kinds."""
    problem = problem_of(output, graphs()[graph], "logistic")
    metric, point = get_metric(name), problem.point()
    topology, prefix = problem.topology, metric.reduction.prefix
    c = metric.modulus.values(point, np.random.RandomState(0))
    statistics = metric.statistics(point, np.random.RandomState(0))
    signals = np.concatenate([point.lin.inputs.values, point.lin.a])
    for unit in range(topology.n_units):
        incoming = signals[topology.source[topology.row(unit)][1:]]
        a = np.concatenate([np.ones((1, point.lin.n_samples)), incoming])
        block = metric.reduction.block(topology, statistics[0], unit)
        A = a * (point.lin.weight * c[unit]) @ a.T
        if prefix in ("", "unitwise"):
            assert_close(block, A, 1e-12)
        elif prefix == "qd":
            assert_close(block, quasi_diagonal_block(A), 1e-12)
        elif prefix == "diag":
            assert_close(block, np.diag(np.diag(A)), 1e-12)
        elif prefix == "root_diag":
            assert_close(block**2, np.diag(np.diag(A)), 1e-12)
        elif prefix == "kron":
            assert_close(block, (a * point.lin.weight) @ a.T * (c[unit] @ point.lin.weight), 1e-12)


@pytest.mark.parametrize("mode", ["relative", "absolute"])
@pytest.mark.parametrize("graph", graphs())
@pytest.mark.parametrize("name", METRICS)
def test_ridge_is_added_to_the_diagonal(name, graph, mode):
    """Second derivatives of a penalty, on top of the damping and before a reduction."""
    problem = problem_of("bernoulli", graphs()[graph])
    metric, topology = get_metric(name), problem.topology
    statistics = metric.statistics(problem.point(), np.random.RandomState(0))
    ridge = np.random.default_rng(0).uniform(0.1, 1, size=topology.n_parameters)
    options = {"relative": 0.1} if mode == "relative" else {"relative": 0.0}
    options["absolute"] = ridge + (0.1 if mode == "absolute" else 0.0)
    dense = metric.reduction.to_dense(topology, statistics[0])
    A = damped(topology, metric.reduction.prefix, dense, **options)
    G = problem.point().gradient()
    d = metric.solve(topology, statistics, G, 0.1, mode, ridge=ridge)
    assert_close(d, np.linalg.solve(A, G), 1e-9)


@pytest.mark.parametrize("n_samples", [5, 12, 40, 60])
@pytest.mark.parametrize("output", OUTPUTS)
@pytest.mark.parametrize("name", METRICS)
def test_statistics_of_a_batch_combine_those_of_its_parts(name, output, n_samples):
    """All statistics are means: A = (W_1 A_1 + W_2 A_2) / (W_1 + W_2), with the same draws.

    For the full metrics the numbers of samples are such that rows stay rows, become a matrix, or
    meet one. One metric is nearly singular (its condition number is 4e8), and its solution
    uncertain to 1e-9 on some processors: of that one, what it solves is compared.
    """
    problem = problem_of(output, n_samples=n_samples)
    metric = get_metric(name, N_DRAWS)
    recorder = Recorder(problem.output)
    whole = problem.point(output=recorder)
    statistics = metric.statistics(whole, np.random.RandomState(0))
    parts = []
    for rows in (slice(0, n_samples // 3), slice(n_samples // 3, None)):
        replayer = Replayer(problem.output, [draw[..., rows] for draw in recorder.draws])
        part = problem.point(output=replayer, rows=rows)
        parts.append((part.weight / whole.weight, metric.statistics(part, None)))
    combined = metric.combine(parts)
    topology = problem.topology
    dense = [metric.reduction.to_dense(topology, s[0]) for s in (combined, statistics)]
    assert_close(*dense, 1e-13)
    assert_close(combined[1], statistics[1], 1e-13)
    assert [np.shape(part) for part in combined[0]] == [np.shape(part) for part in statistics[0]]
    G = whole.gradient()
    A, size = damped(topology, metric.reduction.prefix, dense[1], relative=0.1), len(dense[1])
    steps = [metric.solve(topology, s, G, 0.1) for s in (combined, statistics)]
    assert_close(*(A @ step[:size] for step in steps), 1e-9)
    uncertain = (name, output, n_samples) == ("mc_fisher", "spherical", 5)
    assert_close(*(step[size:] if uncertain else step for step in steps), 1e-9)


@pytest.mark.parametrize("name", METRICS)
def test_running_average(name):
    """(1 - g) A + g A' by combine, many times over, is the weighted sum."""
    problem = problem_of("softmax", n_samples=24)
    metric, topology = get_metric(name), problem.topology
    rng = np.random.RandomState(0)
    parts = [metric.statistics(problem.point(rows=slice(i, i + 3)), rng) for i in range(0, 24, 3)]
    dense = [metric.reduction.to_dense(topology, part[0]) for part in parts]
    if metric.reduction.prefix == "root_diag":
        dense = [A**2 for A in dense]
    elif metric.reduction.prefix in ("qd", "kron"):
        return  # not linear in what they keep
    running, expected = parts[0], dense[0]
    for part, A in zip(parts[1:], dense[1:], strict=True):
        running = metric.combine([(0.7, running), (0.3, part)])
        expected = 0.7 * expected + 0.3 * A
    actual = metric.reduction.to_dense(topology, running[0])
    assert_close(actual**2 if metric.reduction.prefix == "root_diag" else actual, expected, 1e-13)


@pytest.mark.parametrize("name", METRICS)
def test_targets_are_needed_only_by_the_outer_product(name):
    problem = problem_of("softmax")
    metric = get_metric(name)
    point = LossPoint(problem.point().lin, problem.output)
    if metric.modulus.needs_target and metric.reduction.prefix != "euclidean":
        return
    statistics = metric.statistics(point, np.random.RandomState(0))
    expected = metric.statistics(problem.point(), np.random.RandomState(0))
    for a, b in zip(statistics[0], expected[0], strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("output", OUTPUTS)
@pytest.mark.parametrize("name", ["fisher", "unitwise_fisher", "mc_fisher"])
def test_blocks_of_seeds_change_nothing(name, output, monkeypatch):
    problem = problem_of(output)
    metric = get_metric(name, 3)
    expected = metric.statistics(problem.point(), np.random.RandomState(0))
    monkeypatch.setattr(moduli_base, "_BLOCK_SIZE", 1)
    actual = metric.statistics(problem.point(), np.random.RandomState(0))
    dense = [metric.reduction.to_dense(problem.topology, s[0]) for s in (actual, expected)]
    assert_close(*dense, 1e-14)


@pytest.mark.parametrize("output", OUTPUTS)
@pytest.mark.parametrize("name", METRICS)
def test_single_precision(name, output):
    """Data in float32: the matrix is right up to its rounding, the direction solves with it."""
    problem = problem_of(output, n_samples=40)
    metric, topology, point = get_metric(name), problem.topology, problem.point()
    inputs = Inputs(problem.X, np.float32)
    lin = problem.network.linearize(problem.theta, inputs, problem.weights)
    single = LossPoint(lin, problem.output, problem.target)
    gradient = single.gradient()
    assert_close(gradient, point.gradient(), 1e-5)
    assert_close(single.loss(), point.loss(), 1e-5)
    statistics = metric.statistics(single, np.random.RandomState(0))
    matrix = metric.reduction.to_dense(topology, statistics[0])
    if not metric.modulus.random:  # a draw may change where a probability is rounded
        expected = metric.statistics(point, None)[0]
        assert_close(matrix, metric.reduction.to_dense(topology, expected), 1e-4)
    d = metric.solve(topology, statistics, gradient, 0.1)[: topology.n_parameters]
    D = damped(topology, metric.reduction.prefix, matrix.astype(float), 0.1)
    assert_close(D @ d, gradient[: len(D)], 1e-3)


@pytest.mark.parametrize("output", OUTPUTS)
@pytest.mark.parametrize("name", METRICS)
def test_a_small_step_decreases_the_loss(name, output):
    """And G . d > 0: every metric is positive."""
    problem = problem_of(output, seed=1)
    metric, point = get_metric(name), problem.point()
    statistics = metric.statistics(point, np.random.RandomState(0))
    gradient = point.gradient()
    for mode, damping in (("relative", 0.0), ("relative", 1e-3), ("absolute", 1e-3)):
        d = metric.solve(problem.topology, statistics, gradient, damping, mode)
        assert gradient @ d > 0
        step = 1e-4 / np.abs(d).max() * d
        theta, own = np.split(step, [problem.topology.n_parameters])
        output = problem.output
        if len(own):
            output = output.with_parameters(output.coefficients + own)
        assert problem.point(problem.theta + theta, output).loss() < point.loss()


@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_monte_carlo_modulus_approaches_the_fisher_modulus(pair):
    """The mean over 1000 draws is within 6 standard errors, for every unit and sample."""
    problem = problem_of(*pair[:1], (2, 3, 3), "tanh", pair[1], n_samples=4)
    point, rng, modulus = problem.point(), np.random.RandomState(0), MonteCarlo(1)
    draws = np.array([modulus.values(point, rng) for _ in range(1000)])
    expected, variance = Fisher().values(point, None), draws.var(axis=0)
    targets = enumerate_targets(problem.output, point.v)
    if targets is not None:
        scores = [problem.output.score(point.v, y) for _, y in targets]
        moment = sum(p * point.lin.pull(s) ** 4 for (p, _), s in zip(targets, scores, strict=True))
        variance = moment - expected**2
    error = np.sqrt(np.maximum(variance, 0) / len(draws))
    assert (np.abs(draws.mean(axis=0) - expected) <= 6 * error + 1e-12 * expected).all()


# ---------------------------------------------------------------- the full metric's two solves
@pytest.mark.parametrize("ridge", [False, True])
@pytest.mark.parametrize("output", OUTPUTS)
@pytest.mark.parametrize("name", metrics(""))
def test_dual_solve_is_the_primal_solve(name, output, ridge):
    """With U fewer rows than parameters: (U^T U + D)^-1 G, from U and from U^T U.

    Where the damped matrix is singular only its product with the solution is determined, and for
    drawn scores, which need not span the gradient, nothing.
    """
    problem = problem_of(output, n_samples=7)
    metric, topology = get_metric(name), problem.topology
    P, gradient = topology.n_parameters, problem.point().gradient()
    (rows,), own = metric.statistics(problem.point(), np.random.RandomState(0))
    assert len(rows) < P
    A = rows.T @ rows
    penalty = np.linspace(0.01, 0.1, P) if ridge else np.zeros(P)
    for mode, damping in (*DAMPINGS, ("absolute", 1e-5)):
        dual, primal = (
            metric.solve(topology, ((matrix,), own), gradient, damping, mode, penalty)[:P]
            for matrix in (rows, A)
        )
        relative, absolute = (damping, penalty) if mode == "relative" else (0.0, penalty + damping)
        D = damped(topology, "", A, relative, absolute)
        if np.linalg.cond(D) < 1e10:
            assert_close(dual, primal, 1e-8)
        if metric.modulus.name != "mc_fisher" or np.linalg.cond(D) < 1e10:
            assert_close(D @ dual, gradient[:P], 1e-8)
            assert_close(D @ primal, gradient[:P], 1e-8)


@pytest.mark.parametrize("damping", [0.0, 0.1])
@pytest.mark.parametrize("n_samples", [7, 60])
def test_full_metrics_are_factored_once(n_samples, damping, monkeypatch):
    """However many gradients follow; they may lie outside of the rows' span."""
    problem = problem_of("bernoulli", n_samples=n_samples)
    metric, topology, point = get_metric("fisher"), problem.topology, problem.point()
    statistics = metric.statistics(point, None)
    noise = np.random.default_rng(0).normal(size=(2, topology.n_parameters))
    gradients = [point.gradient(), *(point.gradient() + (damping > 0) * noise)]
    expected = [metric.solve(topology, statistics, G, damping, "absolute") for G in gradients]
    solve = metric.factorize(topology, statistics, damping, "absolute")
    for name in ("eigh", "cholesky", "svd"):
        monkeypatch.delattr(np.linalg, name)
    for gradient, direction in zip(gradients, expected, strict=True):
        np.testing.assert_array_equal(solve(gradient), direction)
        if damping:
            A = metric.reduction.to_dense(topology, statistics[0])
            assert_close(A @ direction + damping * direction, gradient, 1e-10)


@pytest.mark.parametrize("damping", [1e-6, 1e-10, 1e-14, 1e-18])
def test_the_dual_keeps_all_digits_of_gradients(damping, monkeypatch):
    """Rounding errors outside of the rows' span are not divided by the damping."""
    monkeypatch.setattr(full, "_LARGEST_RESCUE", 0)
    problem = problem_of("bernoulli", n_samples=7)
    metric, topology, point = get_metric("fisher"), problem.topology, problem.point()
    statistics, gradient = metric.statistics(point, None), point.gradient()
    _, values, right = np.linalg.svd(statistics[0][0], full_matrices=False)
    kept = values > 1e-9 * values.max()
    expected = right[kept].T @ ((right[kept] @ gradient) / (values[kept] ** 2 + damping))
    found = metric.solve(topology, statistics, gradient, damping, "absolute")
    assert np.abs(found - expected).max() < 1e-9 * np.abs(expected).max()


@pytest.mark.parametrize("factor", [10.0, 30.0, 100.0, 300.0])
@pytest.mark.parametrize("damping", [1e-2, 1e-4])
@pytest.mark.parametrize("output", ["softmax", "bernoulli"])
@pytest.mark.parametrize("name", metrics(""))
def test_full_metrics_where_answers_are_certain_and_wrong(name, output, damping, factor):
    """Rows that are all but null, and a gradient that is not, which they span nevertheless."""
    problem = problem_of(output, (5, 9, 3), n_samples=20)
    metric, topology, point = (
        get_metric(name),
        problem.topology,
        problem.point(factor * problem.theta),
    )
    statistics, gradient = metric.statistics(point, np.random.RandomState(1)), point.gradient()
    found = metric.solve(topology, statistics, gradient, damping, "absolute")
    A = metric.reduction.to_dense(topology, statistics[0])
    assert_close(A @ found + damping * found, gradient, 1e-6)


@pytest.mark.parametrize("exponent", [2, 4, 6, 8, 10, 12, 14])
@pytest.mark.parametrize("mode", ["relative", "absolute"])
@pytest.mark.parametrize("form", ["dual", "primal"])
@pytest.mark.parametrize("name", metrics("", moduli=["fisher", "op"]))
def test_small_damping_of_full_metrics(name, form, mode, exponent):
    """However small the damping, (A + damping) d = G: the change of the outputs is right."""
    problem = problem_of("bernoulli", n_samples=5)
    metric, topology = get_metric(name), problem.topology
    G = problem.point().gradient()
    (rows,), own = metric.statistics(problem.point(), None)
    A, eps = rows.T @ rows, 10.0**-exponent
    matrix = rows if form == "dual" else A
    d = metric.solve(topology, ((matrix,), own), G, eps, mode)
    D = damped(topology, "", A, **{mode: eps})
    assert_close(D @ d, G, 1e-8)


@pytest.mark.parametrize("size", [1e4, 1e6])
@pytest.mark.parametrize("n_samples", [6, 40])
@pytest.mark.parametrize("name", METRICS)
def test_large_inputs_with_absolute_damping(name, n_samples, size):
    """Raw features: (A + damping) d = G, entry i in units of the square root of A_ii."""
    problem = problem_of("bernoulli", n_samples=n_samples)
    from_inputs = problem.topology.is_weight & (problem.topology.source < 3)
    problem.X[:] *= size
    problem.theta[from_inputs] /= size
    metric, topology, point = get_metric(name, 40), problem.topology, problem.point()
    statistics = metric.statistics(point, np.random.RandomState(0))
    G = point.gradient()
    matrix = metric.reduction.to_dense(topology, statistics[0])
    D = damped(topology, metric.reduction.prefix, matrix, absolute=1e-4)
    d = metric.solve(topology, statistics, G, 1e-4, "absolute")
    scale = 1 / np.sqrt(np.diag(D))
    assert_close(scale * (D @ d), scale * G, 1e-8)


@pytest.mark.parametrize("size", [1.0, 1e4, 1e6, 1e8])
@pytest.mark.parametrize("name", metrics("", moduli=["fisher", "op"]))
def test_large_networks_with_absolute_damping(name, size):
    """The same with thousands of parameters on a few samples, where there is only the dual."""
    problem = problem_of("bernoulli", (2000, 2, 3), n_samples=6)
    from_inputs = problem.topology.is_weight & (problem.topology.source < 2000)
    problem.X[:] *= size
    problem.theta[from_inputs] /= size
    metric, topology, point = get_metric(name), problem.topology, problem.point()
    statistics = metric.statistics(point, None)
    (rows,), _ = statistics
    G = point.gradient()
    d = metric.solve(topology, statistics, G, 1e-4, "absolute")
    assert np.isfinite(d).all() and G @ d > 0
    if size < 1e8:
        scale = 1 / np.sqrt((rows**2).sum(axis=0) + 1e-4)
        assert_close(scale * (rows.T @ (rows @ d) + 1e-4 * d), scale * G, 1e-8)


# ---------------------------------------------------------------- what training adds to a metric
@pytest.mark.parametrize("graph", ["layered", "dag"])
@pytest.mark.parametrize("name", METRICS)
def test_safeguarded_modulus(name, graph):
    """c + q (d loss / d v)^2, with c of softened slopes; its full form is that of more seeds.

    Where the loss is more than one nat an output, the share q is divided by it. Hidden units
    have a share of their level's mean added.
    """
    problem = problem_of("softmax", graphs()[graph])
    problem.theta[:] *= 5
    point, base = problem.point(), get_metric(name, N_DRAWS).modulus
    modulus = Safeguarded(base, 0.3, 0.1, 0.05)
    expected = base.values(point.softened(0.1), np.random.RandomState(0))
    loss = problem.output.loss(point.v, problem.target) / problem.topology.n_outputs
    assert loss.min() < 1 < loss.max()
    expected = expected + 0.3 / np.maximum(1, loss) * point.backpropagated**2
    rescue = 0.0
    if base.vanishes_with_residual:
        rescue = 1e-3 * Backpropagated().values(point.softened(0.1), None)
    whole = expected + rescue
    for level in problem.topology.levels:
        if level.units.start not in problem.topology.outputs:
            whole[level.units] += 0.05 * whole[level.units].mean(axis=0)
    assert_close(modulus.values(point, np.random.RandomState(0)), whole, 1e-13)
    assert_close(modulus.completed(expected.copy(), point), whole, 1e-13)
    assert (modulus.linear, modulus.needs_target) == (base.linear, True)
    n_outputs = problem.topology.n_outputs
    assert modulus.n_seeds(n_outputs) == base.n_seeds(n_outputs) + 1
    if modulus.linear:
        pulled = np.concatenate(list(modulus.pulled(point, np.random.RandomState(0))), axis=1)
        assert pulled.shape[1] <= modulus.n_seeds(n_outputs)
        assert_close((pulled**2).sum(axis=1), expected, 1e-13)


@pytest.mark.parametrize("n_samples", [5, 40])
@pytest.mark.parametrize("graph", ["layered", "by_source", "dag"])
@pytest.mark.parametrize("name", METRICS)
def test_metric_with_a_share_of_its_kronecker_form(name, graph, n_samples):
    """A + share K with K_ij = E[a_i a_j] E[c], its reduction, and its solution."""
    problem = problem_of("bernoulli", graphs()[graph], n_samples=n_samples)
    base, topology, point = get_metric(name), problem.topology, problem.point()
    metric = Metric(base.modulus, base.reduction.with_kronecker(0.3))
    prefix = base.reduction.prefix
    if metric.reduction is base.reduction:
        assert prefix not in ("", "unitwise", "qd", "diag")
        return
    plain = base.statistics(point, np.random.RandomState(0))[0]
    statistics = metric.statistics(point, np.random.RandomState(0))
    kron = Kronecker()
    c = base.modulus.values(point, np.random.RandomState(0))
    K = 0.3 * kron.to_dense(topology, (point.mean(c), *point.lin.unit_gram()))
    A = base.reduction.to_dense(topology, plain)
    if prefix == "diag":
        K = np.diag(np.diag(K))
    expected = A + K
    if prefix == "qd":
        for unit in range(topology.n_units):
            row = topology.row(unit)
            expected[row, row] = quasi_diagonal_block(expected[row, row])
    actual = metric.reduction.to_dense(topology, statistics[0])
    assert_close(actual, expected, 1e-12)
    G = point.gradient()
    for mode, damping in (("relative", 0.1), ("absolute", 0.1)):
        if mode == "relative" and prefix == "":
            # In units of K, whose share it is.
            D = expected + damped(topology, "", K / 0.3, 0.1) - K / 0.3
        else:
            D = damped(topology, prefix, expected, **{mode: damping})
        d = metric.solve(topology, statistics, G, damping, mode)
        assert_close(D @ d, G, 1e-9)
        if np.linalg.cond(D) < 1e7:
            assert_close(d, np.linalg.solve(D, G), 1e-8)
    halves = [problem.point(rows=rows) for rows in (slice(0, 2), slice(2, None))]
    if not metric.modulus.random:
        parts = [(p.weight / point.weight, metric.statistics(p, None)) for p in halves]
        combined = metric.combine(parts)
        assert [np.shape(part) for part in combined[0]] == [np.shape(s) for s in statistics[0]]
        for a, b in zip(combined[0][1:], statistics[0][1:], strict=True):
            assert_close(a, b, 1e-12)


# ---------------------------------------------------------------- singular metrics
def constant_input(problem):
    problem.X[:, 0] = 3.0


def zero_input(problem):
    problem.X[:, 0] = 0.0


def duplicated_inputs(problem):
    problem.X[:, 1] = problem.X[:, 0]


def collinear_inputs(problem):
    problem.X[:, 2] = 2 * problem.X[:, 0] - problem.X[:, 1] + 1


def all_inputs_constant(problem):
    problem.X[:] = [3.0, 0.0, -1.0]


def dead_unit(problem):
    """A hidden relu that is off on all samples."""
    problem.theta[problem.topology.bias[0]] = -1e3


def unused_unit(problem):
    """A hidden unit that no unit listens to with a weight other than 0."""
    problem.theta[problem.topology.source == problem.topology.n_inputs] = 0.0


def samples_of_weight_zero(problem):
    problem.weights[2:] = 0.0


SITUATIONS = [
    constant_input,
    zero_input,
    duplicated_inputs,
    collinear_inputs,
    all_inputs_constant,
    dead_unit,
    unused_unit,
    samples_of_weight_zero,
]


@pytest.mark.parametrize("n_samples", [1, 4, 40])
@pytest.mark.parametrize("situation", SITUATIONS, ids=lambda situation: situation.__name__)
@pytest.mark.parametrize("output", OUTPUTS)
@pytest.mark.parametrize("name", METRICS)
def test_singular_metrics(name, output, situation, n_samples):
    """d is finite, and (A + damping) d = G wherever G is known to lie in the image of A."""
    problem = problem_of(output, hidden="relu", seed=2, n_samples=n_samples)
    situation(problem)
    metric, topology, point = get_metric(name), problem.topology, problem.point()
    gradient = point.gradient()
    G = gradient[: topology.n_parameters]
    statistics = metric.statistics(point, np.random.RandomState(0))
    matrix = metric.reduction.to_dense(topology, statistics[0])
    for damping in (0.0, 1e-3):
        d = metric.solve(topology, statistics, gradient, damping, "relative")
        assert np.isfinite(d).all()
        # Drawn scores need not span the gradient.
        if parts_of(name) != ("mc_fisher", ""):
            A = damped(topology, metric.reduction.prefix, matrix, damping)
            assert_close(A @ d[: len(G)], G, 1e-8)


@pytest.mark.parametrize("strength", [0.0, 5e-324, 1e-310, 1e-200])
@pytest.mark.parametrize("mode", ["relative", "absolute"])
@pytest.mark.parametrize("name", metrics("kron", "unitwise", "qd", "diag", "root_diag"))
def test_units_without_influence(name, mode, strength):
    """A modulus of a subnormal size, or 0: no warning, and no step that is not finite."""
    problem = problem_of("bernoulli")
    metric, topology, point = get_metric(name), problem.topology, problem.point()
    modulus = get_metric(name).modulus
    modulus.values = lambda point, rng: np.full((topology.n_units, 12), strength)
    statistics = metric.reduction.statistics(point, modulus, None)
    damping = 0.1 if mode == "relative" else np.zeros(topology.n_parameters)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        d = metric.reduction.factorize(topology, statistics, **{mode: damping})(point.gradient())
    assert np.isfinite(d).all()


@pytest.mark.parametrize("name", metrics("qd", "unitwise", "kron", ""))
def test_constant_input_gets_no_update(name):
    """0 / 0 is 0: the bias does the work of a weight from a constant."""
    problem = problem_of("bernoulli", n_samples=40)
    constant_input(problem)
    metric, point = get_metric(name), problem.point()
    statistics = metric.statistics(point, np.random.RandomState(0))
    for damping in (0.0, 1e-3):
        d = metric.solve(problem.topology, statistics, point.gradient(), damping)
        chosen = problem.topology.source == 0
        assert np.abs(d[chosen]).max() <= 1e-8 * np.abs(d).max()


# ---------------------------------------------------------------- the paper's propositions
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("output", KNOWN_OUTPUTS)
@pytest.mark.parametrize("name", metrics("unitwise", moduli=["fisher", "bp", "op"]))
def test_unitwise_direction_is_a_best_fit(name, output, kind):
    """Proposition (Intrinsic gradients as best fit to b): weighted least squares at each unit."""
    case = case_of(output, "tanh", kind, n_samples=20)
    metric, statistics = statistics_of(case, name)
    d = metric.solve(case.topology, statistics, case.point().gradient())
    modulus = {"bp": "backpropagated"}.get(metric.modulus.name, metric.modulus.name)
    arguments = output, case.net, case.reference_theta, case.X, case.y
    for unit in range(case.topology.n_units):
        k = case.topology.order[unit]
        fit = ref.best_fit(*arguments, k, modulus, **case.options)
        row = case.topology.row(unit)
        expected = fit[case.order[row] - ref.unit_slice(case.net, k).start]
        assert_close(d[row], expected, 1e-8)


@pytest.mark.parametrize("n_samples", [8, 60])
@pytest.mark.parametrize("output", OUTPUTS)
def test_outer_product_direction_equalizes_the_gain(output, n_samples):
    """Proposition (OP gradient equalizes the gain over the samples).

    Among the directions d with one mean gain G . d, the variance over samples of the first-order
    gain g_x . d is minimal; it is q - q^2 with q = G . A^-1 G the mean gain, so 0 if there are
    more parameters than samples: then all gains are 1.
    """
    problem = problem_of(output, n_samples=n_samples)
    metric, point = get_metric("op"), problem.point()
    P = problem.topology.n_parameters
    gradient = point.gradient()
    G = gradient[:P]
    d = metric.solve(problem.topology, metric.statistics(point, None), gradient)[:P]
    w = problem.weights / problem.weights.sum()
    g = point.lin.jacobian(point.backpropagated[:, None, :]) / np.sqrt(w)[:, None]
    assert_close(w @ g, G, 1e-12)

    def variance(direction):
        gains = g @ direction
        return w @ (gains - w @ gains) ** 2

    root = np.sqrt(w)
    residual = root - root[:, None] * g @ np.linalg.lstsq(root[:, None] * g, root, rcond=None)[0]
    q = 1 - residual @ residual
    assert_close(G @ d, q, 1e-8)
    assert abs(variance(d) - (q - q**2)) < 1e-9
    assert n_samples > P or abs(q - 1) < 1e-9
    rng = np.random.default_rng(0)
    for size in np.repeat([1e-3, 1e-1, 10], 10):
        other = size * rng.normal(size=P) * np.abs(d).max()
        other -= (G @ other) / (G @ G) * G
        assert variance(d + other) >= variance(d) - 1e-12 * (1 + variance(d + other))


@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_kullback_leibler_divergence(pair):
    """KL(theta, theta + d) = d^T F d / 2 up to order 3 in d."""
    problem = away_from_kinks(pair[0], (2, 3, 3), "tanh", pair[1], n_samples=4, distance=0.1)
    point, metric = problem.point(), get_metric("fisher")
    targets = enumerate_targets(problem.output, point.v)
    if targets is None:
        pytest.skip("the targets of this output are not enumerated")
    F = metric.reduction.to_dense(problem.topology, metric.statistics(point, None)[0])
    d = F @ np.random.default_rng(0).normal(size=len(F))
    d /= np.sqrt(d @ F @ d)

    def divergence(step):
        moved = problem.point(problem.theta + step * d).v
        return sum(
            point.mean(p * (problem.output.loss(moved, y) - problem.output.loss(point.v, y)))
            for p, y in targets
        )

    def symmetrised(step):
        return (divergence(step) + divergence(-step)) / step**2

    step = 2e-3
    assert abs((4 * symmetrised(step) - symmetrised(2 * step)) / 3 - 1) < 1e-8


@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_backpropagated_metric_is_the_unitwise_fisher_metric_on_the_output_layer(pair):
    """And both differ on hidden units with several paths to the output."""
    problem = problem_of(pair[0], (3, 4, 4, 3), last=pair[1])
    metrics_ = [get_metric(name) for name in ("unitwise_fisher", "bp")]
    statistics = [metric.statistics(problem.point(), None)[0] for metric in metrics_]
    for unit in problem.topology.outputs:
        blocks = [
            metric.reduction.block(problem.topology, s, unit)
            for metric, s in zip(metrics_, statistics, strict=True)
        ]
        assert_close(*blocks, 1e-12)
    hidden = [metrics_[i].reduction.block(problem.topology, statistics[i], 0) for i in (0, 1)]
    assert np.abs(hidden[0] - hidden[1]).max() > 1e-3 * np.abs(hidden[0]).max()


CANONICAL = [("bernoulli", name) for name in allowed_activations("bernoulli")]
CANONICAL += [("square", "identity"), ("softmax", "identity")]


@pytest.mark.parametrize("pair", CANONICAL, ids="-".join)
@pytest.mark.parametrize("name", metrics("unitwise", moduli=["fisher", "bp"]))
def test_direction_at_an_output_unit_is_newtons(name, pair):
    """H d = G with H the Hessian of the loss in the unit's own parameters, by differences."""
    problem = problem_of(pair[0], last=pair[1], n_samples=20)
    metric, point = get_metric(name), problem.point()
    d = metric.solve(problem.topology, metric.statistics(point, None), point.gradient())
    for unit in problem.topology.outputs:
        row = problem.topology.row(unit)

        def gradient(own, row=row):
            theta = problem.theta.copy()
            theta[row] = own
            return -problem.point(theta).gradient()[row]

        H = jacobian(gradient, problem.theta[row])
        assert_close(d[row], -np.linalg.solve(H, gradient(problem.theta[row])), 1e-8)


def test_rate_one_solves_linear_regression():
    """At linear outputs with the square loss, one step makes the gradient vanish."""
    problem = problem_of("square", last="identity", n_samples=30)
    for name in metrics("unitwise", moduli=["fisher", "bp"]):
        metric, point = get_metric(name), problem.point()
        d = metric.solve(problem.topology, metric.statistics(point, None), point.gradient())
        own = np.isin(problem.topology.owner, problem.topology.outputs)
        after = problem.point(problem.theta + np.where(own, d, 0.0)).gradient()
        assert np.abs(after[own]).max() < 1e-12 * np.abs(point.gradient()).max()


def test_kron_is_unitwise_where_the_modulus_is_constant():
    """Linear outputs with the square loss have c_k = 1."""
    problem = problem_of("square", last="identity")
    for modulus in ("fisher", "bp"):
        names = metrics("kron", "unitwise", moduli=[modulus])
        directions = []
        for name in names:
            metric, point = get_metric(name), problem.point()
            statistics = metric.statistics(point, None)
            directions.append(metric.solve(problem.topology, statistics, point.gradient(), 1e-2))
        own = np.isin(problem.topology.owner, problem.topology.outputs)
        assert_close(directions[0][own], directions[1][own], 1e-10)


# ---------------------------------------------------------------- the quasi-diagonal metric
def binary_problem():
    """A logistic unit that listens to eight inputs, each 0 or 1 and mostly 1."""
    rng = np.random.RandomState(0)
    problem = problem_of("bernoulli", (8, 1), n_samples=50)
    problem.X[:] = rng.uniform(size=problem.X.shape) < 0.7
    return problem


@pytest.mark.parametrize("name", metrics("qd"))
def test_quasi_diagonal_rule(name):
    """w_i = (b_i A_00 - b_0 A_0i) / (A_ii A_00 - A_0i^2), w_0 = (b_0 - sum A_0i w_i) / A_00."""
    problem = binary_problem()
    metric, point = get_metric(name), problem.point()
    (first, second), _ = metric.statistics(point, np.random.RandomState(0))
    b = np.random.default_rng(0).normal(size=len(first))
    A_00, A_0i, A_ii = first[0], first[1:], second[1:]
    w_i = (b[1:] * A_00 - b[0] * A_0i) / (A_ii * A_00 - A_0i**2)
    w_0 = b[0] / A_00 - A_0i @ w_i / A_00
    d = QuasiDiagonal().factorize(problem.topology, (first, second))(b)
    assert_close(d, [w_0, *w_i], 1e-12)
    reduced = QuasiDiagonal().to_dense(problem.topology, (first, second))
    assert_close(d, np.linalg.solve(reduced, b), 1e-10)


@pytest.mark.parametrize("name", metrics("qd"))
def test_the_arrow_matrix_is_another_one(name):
    """[A_00 v; v diag] with activities 0 and 1 is indefinite; the reduced matrix is positive."""
    problem = binary_problem()
    metric, point = get_metric(name), problem.point()
    statistics = metric.statistics(point, np.random.RandomState(0))
    reduced = metric.reduction.to_dense(problem.topology, statistics[0])
    arrow = np.diag(np.diag(reduced))
    arrow[0] = arrow[:, 0] = reduced[0]
    assert np.linalg.eigvalsh(arrow)[0] < 0 < np.linalg.eigvalsh(reduced)[0]
    d = metric.solve(problem.topology, statistics, point.gradient())
    other = np.linalg.solve(arrow, point.gradient())
    assert np.abs(d - other).max() > 0.1 * np.abs(d).max()


@pytest.mark.parametrize("mode", ["absolute", "relative"])
@pytest.mark.parametrize("n_samples", [2, 60])
@pytest.mark.parametrize("width", [2, 20])
@pytest.mark.parametrize("name", ["fisher", "bp", "kron_bp", "qd_bp"])
def test_a_penalty_pulls_at_weights_without_variance(name, width, n_samples, mode):
    """However few rows there are, and many units: the step on them is the penalty's own."""
    network = Network.build(Topology.layered([2, width, 1]))
    X = np.random.default_rng(0).normal(size=(n_samples, 2)) * [1.0, 0.0]
    theta = np.random.default_rng(1).normal(size=network.topology.n_parameters)
    point = LossPoint(network.linearize(theta, X), get_output("bernoulli"), np.ones((1, n_samples)))
    ridge = np.where(network.topology.is_weight, 0.5, 0.0)
    metric, gradient = get_metric(name), point.gradient() - ridge * theta
    step = metric.solve(
        network.topology, metric.statistics(point, None), gradient, 0.1, mode, ridge=ridge
    )
    dead = network.topology.source == 1
    damping = 0.5 + (0.1 if mode == "absolute" else 0.0)
    np.testing.assert_allclose(step[dead], gradient[dead] / damping, rtol=1e-6)
    assert np.abs(gradient[dead]).min() > 0


# ---------------------------------------------------------------- what is refused
@pytest.mark.parametrize("name", ["kron_bp", "bp"])
def test_matrices_of_wide_levels_are_refused_before_they_are_made(name):
    """One of a full level, too, where its fan-in is tens of thousands."""
    topology = Topology.layered([50_000, 3, 1])
    with pytest.raises(ValueError, match=r"matrices of 20\.0 GB"):
        get_metric(name).check(topology, 2, averaged=False)


def test_backpropagated_modulus_has_no_full_form():
    with pytest.raises(ValueError, match=r"bp has no full form.*kron_bp"):
        Metric(Backpropagated(), Full())


@pytest.mark.parametrize("wrong", ["newton", None, 3, ("fisher",)])
def test_unknown_metrics(wrong):
    with pytest.raises(ValueError, match=r"metric.*choose one of.*unitwise_fisher"):
        get_metric(wrong)


@pytest.mark.parametrize("name", METRICS)
def test_names(name):
    """A name is reduction_modulus; without prefix it is full, but for bp."""
    metric = get_metric(name)
    assert get_metric(metric) is metric
    modulus, prefix = parts_of(name)
    if name not in ("bp", "adagrad", "euclidean"):
        assert name == f"{prefix}_{modulus}".lstrip("_")
    assert type(metric.modulus).__name__ in repr(metric)
    assert type(metric.reduction).__name__ in repr(metric)


def test_names_of_the_public_interface():
    names = """fisher unitwise_fisher qd_fisher diag_fisher kron_fisher mc_fisher
    unitwise_mc_fisher qd_mc_fisher diag_mc_fisher op unitwise_op qd_op diag_op bp qd_bp diag_bp
    kron_bp adagrad euclidean"""
    assert set(names.split()) <= set(METRICS)
    assert parts_of("bp") == ("bp", "unitwise")
    assert parts_of("adagrad") == ("op", "root_diag")


@pytest.mark.parametrize("alias", ALIASES)
def test_aliases(alias):
    parts = [
        (metric.modulus.name, metric.reduction.prefix)
        for metric in (get_metric(alias), get_metric(ALIASES[alias]))
    ]
    assert parts[0] == parts[1]


def test_number_of_draws():
    assert get_metric("qd_mc_fisher", 5).modulus.n_samples == 5
    with pytest.raises(ValueError, match="n_mc_samples"):
        get_metric("mc_fisher", 0)


@pytest.mark.parametrize("name", METRICS)
def test_size_checks(name):
    """Matrices beyond all memory are refused with what they would cost; the others pass."""
    metric = get_metric(name)
    metric.check(Topology.layered([3, 4, 2]), 100)
    # 1000 inputs, 1000 units: 1e6 parameters and, in blocks, 1e9 numbers.
    large = Topology.layered([1000, 1000])
    if metric.reduction.prefix == "":
        with pytest.raises(ValueError, match=r"1001000 parameters on \d+ rows.*GB.*Tflop"):
            metric.check(large, 2000)
    elif metric.reduction.prefix == "unitwise":
        with pytest.raises(ValueError, match=r"8\.0 GB"):
            metric.check(large, 2000)
    else:
        metric.check(large, 2000)


def test_full_metrics_of_few_rows_are_allowed():
    """What counts is the smaller of parameters and rows (samples times seeds)."""
    large = Topology.layered([1000, 100])
    get_metric("op").check(large, 100)
    get_metric("mc_fisher", 10).check(large, 100)
    for name, draws in (("fisher", 1), ("mc_fisher", 100)):
        with pytest.raises(ValueError, match="10000 rows"):
            get_metric(name, draws).check(large, 100)


def test_unit_numbers_are_checked():
    problem = problem_of("square")
    for name in ("bp", "kron_bp"):
        metric = get_metric(name)
        statistics = metric.statistics(problem.point(), None)
        with pytest.raises(ValueError, match="no unit 99"):
            metric.reduction.block(problem.topology, statistics[0], 99)


def test_networks_of_one_unit():
    """One input, one unit, one sample: everything is a scalar division."""
    network = Network.build(Topology.layered([1, 1]), output="identity")
    lin = network.linearize(np.array([0.5, 2.0]), np.array([[3.0]]))
    point = LossPoint(lin, OUTPUTS["square"](), np.array([[7.0]]))
    np.testing.assert_array_equal(point.gradient(), [0.5, 1.5])
    for name in metrics("unitwise", "qd", "kron", moduli=["fisher", "bp"]):
        metric = get_metric(name)
        d = metric.solve(network.topology, metric.statistics(point, None), point.gradient())
        np.testing.assert_allclose(d, [0.5, 0.0], atol=1e-15)


def whole_fisher(case):
    """Fisher matrix of theta and the output's own parameters, summing over all targets."""
    own = np.empty(0) if case.vartheta is None else case.vartheta
    terms = []
    for x in case.X:
        arguments, matrix = (case.name, case.net, case.reference_theta, x), 0.0
        for probability, y in ref.enumerate_targets(*arguments, case.vartheta):
            steps = 1e-30j * np.eye(len(own))
            values = [ref.log_omega(*arguments, y, own + step).imag / 1e-30 for step in steps]
            score = ref.score(*arguments, y, case.vartheta)[case.order]
            score = np.concatenate([score, values])
            matrix += probability * np.outer(score, score)
        terms.append(matrix)
    return ref.average(terms, case.weights)


@over_cases
def test_products_are_those_of_the_whole_fisher_matrix(case):
    """No blocks of it: changes of all units at once, and of the output's parameters."""
    case = case_of(*case, n_samples=4)  # the sum takes the reference long
    matrix, point = whole_fisher(case), case.point()
    changes = np.random.RandomState(0).standard_normal((3, len(matrix)))
    assert_close(point.products(list(changes)), changes @ matrix @ changes.T)
    blocks = np.zeros_like(matrix)
    for unit in range(case.topology.n_units):
        row = case.topology.row(unit)
        blocks[row, row] = matrix[row, row]
    assert np.abs(changes @ (matrix - blocks) @ changes.T).max() > 1e-3 * np.abs(matrix).max()

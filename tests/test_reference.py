"""The reference checked against itself: every quantity it computes, obtained in two ways."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
import reference as ref

CASES = [
    (output, activation, kind)
    for output in ref.OUTPUTS
    for activation, kind in [
        ("logistic", "layered"),
        ("tanh", "skip"),
        ("scaled_tanh", "sparse"),
        ("relu", "skip"),
    ]
]


def instance(output, activation="tanh", kind="layered", seed=0, n_samples=6):
    """A random net with data, sample weights and output parameters."""
    rng = np.random.default_rng(seed)
    net, theta = ref.random_net(rng, output, activation, kind)
    X, y = ref.random_data(rng, output, net, n_samples)
    weights = rng.uniform(0.5, 2.0, size=n_samples)
    vartheta = rng.uniform(0.5, 2.0, size=len(net.outputs))
    return net, theta, X, y, {"weights": weights, "vartheta": vartheta}


def with_affine_units(net, rng):
    """The same graph with a random (alpha, beta, gamma) at every unit, output units included."""
    triples = np.column_stack(
        [
            rng.choice([-1, 1], size=len(net.parents)) * rng.uniform(0.5, 2, size=len(net.parents)),
            rng.normal(size=len(net.parents)),
            rng.uniform(0.5, 2, size=len(net.parents)),
        ]
    )
    return replace(net, affine=tuple(map(tuple, triples.tolist())))


def assert_close(actual, desired, tolerance):
    """Closeness relative to the largest entry."""
    np.testing.assert_allclose(actual, desired, rtol=0, atol=tolerance * np.abs(desired).max())


def well_conditioned(net, rng):
    """A random symmetric positive matrix over the parameters."""
    root = rng.normal(size=(ref.n_parameters(net), 2 * ref.n_parameters(net)))
    return root @ root.T


@pytest.mark.parametrize("case", CASES, ids="-".join)
def test_three_gradients_agree(case):
    net, theta, X, y, options = instance(*case)
    exact = ref.gradient(case[0], net, theta, X, y, **options)
    assert_close(ref.gradient_backprop(case[0], net, theta, X, y, **options), exact, 1e-12)
    assert_close(ref.gradient_finite_differences(case[0], net, theta, X, y, **options), exact, 1e-6)


@pytest.mark.parametrize("case", CASES, ids="-".join)
def test_fisher_by_enumeration_is_fisher_by_formula(case):
    net, theta, X, _, options = instance(*case)
    F = ref.fisher_by_enumeration(case[0], net, theta, X, **options)
    assert_close(ref.fisher_by_formula(case[0], net, theta, X, **options), F, 1e-10)


@pytest.mark.parametrize("output", ref.OUTPUTS)
def test_affine_units(output):
    net, theta, X, y, options = instance(output, "logistic", "skip")
    net = with_affine_units(net, np.random.default_rng(1))
    exact = ref.gradient(output, net, theta, X, y, **options)
    assert_close(ref.gradient_backprop(output, net, theta, X, y, **options), exact, 1e-12)
    F = ref.fisher_by_enumeration(output, net, theta, X, **options)
    assert_close(ref.fisher_by_formula(output, net, theta, X, **options), F, 1e-10)


def test_spherical_interpretation_of_negative_activities():
    net = ref.Net(2, ((0, 1), (0, 1)), ("identity", "tanh"), None, (2, 3))
    theta = np.array([-3.0, 0.2, -0.1, -1.0, 0.1, 0.2])
    X, y = np.array([[1.0, -1.0], [0.5, 0.3]]), np.array([0, 1])
    assert all(np.all(ref.output_activities(net, theta, x) < 0) for x in X)
    exact = ref.gradient("spherical", net, theta, X, y)
    assert_close(ref.gradient_backprop("spherical", net, theta, X, y), exact, 1e-12)
    assert_close(ref.gradient_finite_differences("spherical", net, theta, X, y), exact, 1e-6)
    F = ref.fisher_by_enumeration("spherical", net, theta, X)
    assert_close(ref.fisher_by_formula("spherical", net, theta, X), F, 1e-10)


@pytest.mark.parametrize("output", ref.OUTPUTS)
def test_enumerated_targets_make_a_probability_and_scores_average_to_zero(output):
    net, theta, X, _, options = instance(output)
    vartheta = options["vartheta"]
    targets = ref.enumerate_targets(output, net, theta, X[0], vartheta)
    assert np.isclose(sum(probability for probability, _ in targets), 1)
    scores = [p * ref.score(output, net, theta, X[0], y, vartheta) for p, y in targets]
    np.testing.assert_allclose(sum(scores), 0, atol=1e-12)


@pytest.mark.parametrize("output", ref.OUTPUTS)
def test_fisher_modulus_gives_the_unitwise_fisher_matrix(output):
    net, theta, X, _, options = instance(output, "tanh", "skip")
    F = ref.unitwise(net, ref.fisher_by_formula(output, net, theta, X, **options))
    for u, k in enumerate(ref.computed_units(net)):
        terms = []
        for x in X:
            e = ref.incoming_activities(net, ref.forward(net, theta, x)[0], k)
            phi = ref.fisher_modulus(output, net, theta, x, options["vartheta"])[u]
            terms.append(np.outer(e, e) * ref.unit_derivatives(net, theta, x)[u] ** 2 * phi)
        rows = ref.unit_slice(net, k)
        assert_close(ref.average(terms, options["weights"]), F[rows, rows], 1e-12)


@pytest.mark.parametrize("output", ["square", "bernoulli"])
@pytest.mark.parametrize("kind", ["layered", "sparse", "skip"])
def test_backpropagated_metric_is_unitwise_fisher_on_the_output_layer(output, kind):
    """Also in "skip", where m = (own modulus) + w^2 r^2 m at the output unit that feeds another."""
    net, theta, X, _, options = instance(output, "tanh", kind)
    F = ref.unitwise(net, ref.fisher_by_formula(output, net, theta, X, **options))
    M = ref.bp_matrix(output, net, theta, X, **options)
    for k in net.outputs:
        rows = ref.unit_slice(net, k)
        assert_close(M[rows, rows], F[rows, rows], 1e-12)


@pytest.mark.parametrize("output", ref.OUTPUTS)
def test_backpropagated_modulus_is_the_fisher_modulus_with_one_path_to_the_output(output):
    """A chain 0 -> 1 -> 2 -> 3 whose end is the first of two output units, the other constant."""
    activations = ("tanh", "logistic", "logistic", "logistic")
    net = ref.Net(1, ((0,), (1,), (2,), ()), activations, None, (3, 4))
    rng = np.random.default_rng(0)
    theta, vartheta = rng.normal(size=ref.n_parameters(net)), rng.uniform(0.5, 2, size=2)
    m = ref.backpropagated_modulus(output, net, theta, [0.7], vartheta)
    assert_close(m, ref.fisher_modulus(output, net, theta, [0.7], vartheta), 1e-12)


@pytest.mark.parametrize("output", ref.OUTPUTS)
def test_monte_carlo_and_outer_product(output):
    net, theta, X, y, options = instance(output)
    op = ref.op_matrix(output, net, theta, X, y, **options)
    one = ref.monte_carlo_matrix(output, net, theta, X, y[:, None], **options)
    repeated = np.repeat(y[:, None], 3, axis=1)
    three = ref.monte_carlo_matrix(output, net, theta, X, repeated, **options)
    assert_close(one, op, 1e-14)
    assert_close(three, op, 1e-14)


@pytest.mark.parametrize("output", ref.CLASSIFIERS)
def test_monte_carlo_over_all_classes_in_proportion_is_fisher(output):
    """With p = (1/4, 3/4) at every input, the draws (0, 1, 1, 1) give the expectation."""
    net = ref.Net(1, ((0,), (0,)), ("identity", "identity"), None, (1, 2))
    vartheta = np.ones(2)
    theta = np.array([1.0, 0.0, np.sqrt(3), 0.0])
    if output != "spherical":
        theta = np.array([0.0, 0.0, np.log(3), 0.0])
    X, draws = np.array([[0.3], [-1.2]]), np.array([[0, 1, 1, 1]] * 2)
    F = ref.fisher_by_formula(output, net, theta, X, vartheta=vartheta)
    estimate = ref.monte_carlo_matrix(output, net, theta, X, draws, vartheta=vartheta)
    assert_close(estimate, F, 1e-12)


@pytest.mark.parametrize("kind", ["layered", "sparse", "skip"])
def test_quasi_diagonal_inverse(kind):
    """The 2x2 rule of Ollivier (2015), Proposition "Quasi-diagonal gradient step"."""
    rng = np.random.default_rng(0)
    net, theta = ref.random_net(rng, kind=kind)
    A, b = well_conditioned(net, rng), rng.normal(size=len(theta))
    solution = np.linalg.solve(ref.quasi_diagonal(net, A), b)
    for rows in ref.unit_slices(net):
        A_k, b_k, w = A[rows, rows], b[rows], solution[rows]
        A_0, A_ii = A_k[0, 1:], np.diag(A_k)[1:]
        w_i = (b_k[1:] * A_k[0, 0] - b_k[0] * A_0) / (A_ii * A_k[0, 0] - A_0**2)
        w_0 = b_k[0] / A_k[0, 0] - np.sum(A_0 / A_k[0, 0] * w_i)
        np.testing.assert_allclose(w, [w_0, *w_i], rtol=1e-9, atol=1e-12)


def test_reductions_and_damping():
    rng = np.random.default_rng(0)
    net, theta = ref.random_net(rng, kind="skip")
    A = well_conditioned(net, rng)
    A[0, :] = A[:, 0] = 0
    reduced, damped = ref.quasi_diagonal(net, A), ref.relative_damping(net, A, 0.1)
    blocks = ref.unitwise(net, A)
    units = ref.unit_slices(net)
    for u, rows in enumerate(units):
        np.testing.assert_array_equal(blocks[rows, rows], A[rows, rows])
        assert_close(np.diag(reduced[rows, rows]), np.diag(A[rows, rows]), 1e-14)
        assert_close(reduced[rows, rows][0], A[rows, rows][0], 1e-14)
        assert damped[rows.start, rows.start] == A[rows.start, rows.start]
        if u > 0:
            block = A[rows, rows]
            schur = np.diag(block) - block[0] ** 2 / block[0, 0]
            np.testing.assert_allclose(np.diag(damped - A)[rows], 0.1 * schur, atol=1e-12)
    np.testing.assert_array_equal(ref.absolute_damping(A, 0.1) - A > 0, np.eye(len(theta)) > 0)
    np.testing.assert_array_equal(ref.diagonal(A), A * np.eye(len(theta)))
    assert np.count_nonzero(blocks) <= sum((rows.stop - rows.start) ** 2 for rows in units)


@pytest.mark.parametrize("kind", ["layered", "sparse", "skip"])
def test_kron_matrix_is_exact_for_a_constant_modulus(kind):
    net, theta, X, _, options = instance("square", "tanh", kind)
    weights = options["weights"]
    c = np.repeat(np.arange(1.0, 1 + len(net.parents))[:, None], len(X), axis=1)
    A = ref.kron_matrix(net, theta, X, c, weights)
    for u, k in enumerate(ref.computed_units(net)):
        rows = ref.unit_slice(net, k)
        E = np.array([ref.incoming_activities(net, ref.forward(net, theta, x)[0], k) for x in X])
        expected = (u + 1) * (E.T * weights) @ E / weights.sum()
        assert_close(A[rows, rows], expected, 1e-13)


@pytest.mark.parametrize("case", CASES[:4] + CASES[8:12], ids="-".join)
def test_reparametrizations_keep_the_outputs(case):
    net, theta, X, _, _ = instance(*case)
    hidden = [k for k in ref.computed_units(net) if k not in net.outputs]
    rng = np.random.default_rng(2)
    changes = {k: (rng.uniform(-2, -0.5), rng.normal(), rng.uniform(0.5, 2)) for k in hidden}
    new_net, new_theta = ref.reparametrize(net, theta, changes)
    alpha, beta = rng.uniform(0.5, 2, size=net.n_inputs), rng.normal(size=net.n_inputs)
    rescaled = ref.rescale_inputs(new_net, new_theta, alpha, beta)
    for x in X:
        outputs = ref.output_activities(net, theta, x)
        assert_close(ref.output_activities(new_net, new_theta, x), outputs, 1e-12)
        assert_close(ref.output_activities(new_net, rescaled, alpha * x + beta), outputs, 1e-12)
        a, new_a = ref.forward(net, theta, x)[0], ref.forward(new_net, new_theta, x)[0]
        for k, (factor, shift, _) in changes.items():
            assert np.isclose(new_a[k], factor * a[k] + shift)


def test_reparametrize_twice_composes():
    net, theta, *_ = instance("square", "logistic", "skip")
    k = net.n_inputs
    twice = ref.reparametrize(
        *ref.reparametrize(net, theta, {k: (2.0, 3.0, 5.0)}), {k: (7, 11, 13)}
    )
    once = ref.reparametrize(net, theta, {k: (14.0, 32.0, 65.0)})
    assert twice[0].affine == once[0].affine
    np.testing.assert_allclose(twice[1], once[1], rtol=1e-12)
    with pytest.raises(ValueError, match="output"):
        ref.reparametrize(net, theta, {net.outputs[0]: (2.0, 0.0, 1.0)})


@pytest.mark.parametrize("kind", ["layered", "sparse", "skip"])
def test_logistic_to_tanh(kind):
    net, theta, X, y, options = instance("bernoulli", "logistic", kind)
    new_net, new_theta = ref.logistic_to_tanh(net, theta)
    assert set(new_net.activations) == {"tanh"}
    for x in X:
        a = ref.output_activities(net, theta, x)
        assert_close(ref.output_activities(new_net, new_theta, x), 2 * a - 1, 1e-12)
    loss = ref.mean_loss("bernoulli", net, theta, X, y, **options)
    new_loss = ref.mean_loss("bernoulli", new_net, new_theta, X, y, **options)
    assert np.isclose(new_loss, loss, rtol=1e-12)


@pytest.mark.parametrize("output", ref.OUTPUTS)
def test_steps_are_invariant_under_affine_reparametrization(output):
    """Ollivier (2015), Proposition "Invariance under affine reparametrization of activities"."""
    net, theta, X, y, options = instance(output, "logistic", "skip", n_samples=12)
    k = net.n_inputs
    new_net, new_theta = ref.reparametrize(net, theta, {k: (-2, 0.5, 1.5), k + 1: (3, -1, 0.4)})

    def stepped_outputs(net, theta, reduce):
        G = ref.gradient_backprop(output, net, theta, X, y, **options)
        F = ref.fisher_by_formula(output, net, theta, X, **options)
        M = ref.bp_matrix(output, net, theta, X, **options)
        steps = [np.linalg.solve(reduce(net, A), G) for A in (F, M)]
        return [ref.output_activities(net, theta + 1e-2 * step, x) for step in steps for x in X]

    for reduce in (ref.unitwise, ref.quasi_diagonal):
        expected = np.array(stepped_outputs(net, theta, reduce))
        assert_close(np.array(stepped_outputs(new_net, new_theta, reduce)), expected, 1e-7)


@pytest.mark.parametrize("kind", ["layered", "sparse", "skip"])
def test_output_parameter_metric(kind):
    net, theta, X, _, options = instance("scaled_softmax", "tanh", kind)
    vartheta, weights = options["vartheta"], options["weights"]
    closed = ref.output_parameter_metric(net, theta, X, vartheta, weights)
    summed = ref.output_parameter_metric_by_enumeration(net, theta, X, vartheta, weights)
    assert_close(closed, summed, 1e-12)


def test_scaled_softmax_with_unit_parameters_is_softmax():
    net, theta, X, y, options = instance("softmax")
    options["vartheta"] = np.ones(len(net.outputs))
    for function, arguments in [
        (ref.gradient, (X, y)),
        (ref.op_matrix, (X, y)),
        (ref.fisher_by_formula, (X,)),
        (ref.bp_matrix, (X,)),
    ]:
        scaled = function("scaled_softmax", net, theta, *arguments, **options)
        assert_close(scaled, function("softmax", net, theta, *arguments, **options), 1e-12)


@pytest.mark.parametrize(
    ("output", "metric"), list(itertools.product(ref.OUTPUTS, ["fisher", "backpropagated", "op"]))
)
def test_best_fit_is_the_solution_of_the_unitwise_system(output, metric):
    net, theta, X, y, options = instance(output, "tanh", "sparse", n_samples=12)
    G = ref.gradient_backprop(output, net, theta, X, y, **options)
    A = {
        "fisher": lambda: ref.fisher_by_formula(output, net, theta, X, **options),
        "backpropagated": lambda: ref.bp_matrix(output, net, theta, X, **options),
        "op": lambda: ref.op_matrix(output, net, theta, X, y, **options),
    }[metric]()
    for k in ref.computed_units(net):
        rows = ref.unit_slice(net, k)
        expected = np.linalg.solve(A[rows, rows], G[rows])
        actual = ref.best_fit(output, net, theta, X, y, k, metric, **options)
        assert_close(actual, expected, 1e-8)


@pytest.mark.parametrize("seed", range(10))
def test_random_graphs(seed):
    rng = np.random.default_rng(seed)
    for kind in ("layered", "sparse", "skip"):
        net, theta = ref.random_net(rng, "bernoulli", "relu", kind)
        assert len(theta) == ref.n_parameters(net) <= 45
        used = set(net.outputs)
        for k in ref.computed_units(net):
            row = ref.parents(net, k)
            assert list(row) == sorted(set(row)) and max(row) < k
            used |= set(row)
        assert used >= set(ref.computed_units(net))
        feeding = [k for k in net.outputs if ref.outgoing_edges(net, theta, k)]
        assert feeding == ([net.outputs[0]] if kind == "skip" else [])

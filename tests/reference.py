"""Slow, literal reference for Ollivier (2015), "Riemannian metrics for neural networks I".

Every function is a plain loop over samples, units and edges, written in activities from the
formulas of the paper. Nothing here is shared with the library under test.

Conventions
-----------
* Unit ids: 0 .. n_inputs-1 are the inputs, then the computed units in topological order. An
  argument named ``unit`` or ``k`` is an id. Arrays over units returned by the public functions
  (v, r, b, J, Phi, m) run over the *computed* units only; ``forward`` returns a over all units.
* theta is one flat vector, unit by unit, each row being (w_0k, (w_ik)_{i -> k}), i increasing.
* E_x f = sum_x w_x f(x) / sum_x w_x for sample weights w (None means w_x = 1).
* ell = -ln omega(y); the constant of the Gaussian is dropped.
* ``vartheta`` is used by the "scaled_softmax" interpretation only.
* An output unit may feed other units: what comes back through them (for b, J and m) then adds to
  its own term on the output layer. The paper gives that term alone, for output units feeding none.
"""

import itertools
from dataclasses import dataclass, replace

import numpy as np

H = 1e-30  # complex step
SCALED_TANH = 1.7159
CLASSIFIERS = ("softmax", "spherical", "scaled_softmax")
OUTPUTS = ("square", "bernoulli", *CLASSIFIERS)
ACTIVATIONS = ("logistic", "tanh", "scaled_tanh", "relu", "log_relu", "identity")
RANGES = {"logistic": (0.0, 1.0), "tanh": (-1.0, 1.0), "scaled_tanh": (-SCALED_TANH, SCALED_TANH)}


# ----------------------------------------------------------------------------------------------
# Networks


@dataclass(frozen=True)
class Net:
    """A directed acyclic graph of units; see the conventions of the module."""

    n_inputs: int
    parents: tuple[tuple[int, ...], ...]
    activations: tuple[str, ...]
    affine: tuple[tuple[float, float, float], ...] | None
    outputs: tuple[int, ...]


def n_units(net):
    """Number of units, inputs included."""
    return net.n_inputs + len(net.parents)


def computed_units(net):
    """Ids of the computed units, in topological order."""
    return range(net.n_inputs, n_units(net))


def parents(net, k):
    """Ids i of the units i -> k."""
    return net.parents[k - net.n_inputs]


def affine(net, k):
    """The triple (alpha, beta, gamma) of a_k = alpha s(gamma v_k) + beta."""
    return (1.0, 0.0, 1.0) if net.affine is None else net.affine[k - net.n_inputs]


def unit_slices(net):
    """Slice of theta holding the incoming parameters of each computed unit, bias first."""
    ends = np.cumsum([1 + len(row) for row in net.parents])
    return [slice(end - 1 - len(row), end) for end, row in zip(ends, net.parents, strict=True)]


def n_parameters(net):
    """Length of theta."""
    return sum(1 + len(row) for row in net.parents)


def unit_slice(net, k):
    """Slice of theta holding the incoming parameters of the computed unit of id k."""
    return unit_slices(net)[k - net.n_inputs]


def outgoing_edges(net, theta, k):
    """All pairs (j, w_kj) with k -> j."""
    slices = unit_slices(net)
    edges = []
    for j in computed_units(net):
        if k in parents(net, j):
            row = theta[slices[j - net.n_inputs]]
            edges.append((j, row[1 + parents(net, j).index(k)]))
    return edges


def average(values, weights=None):
    """E_x f = sum_x w_x f(x) / sum_x w_x."""
    weights = np.ones(len(values)) if weights is None else np.asarray(weights, dtype=float)
    return sum(w * f for w, f in zip(weights, values, strict=True)) / weights.sum()


# ----------------------------------------------------------------------------------------------
# Forward pass


def activation(name, v):
    """The function s(v); complex-safe."""
    if name == "logistic":
        return 1 / (1 + np.exp(-v)) if v.real >= 0 else np.exp(v) / (1 + np.exp(v))
    if name == "tanh":
        return np.tanh(v)
    if name == "scaled_tanh":
        return SCALED_TANH * np.tanh(2 * v / 3)
    if name == "relu":
        return v if v.real > 0 else 0 * v
    if name == "log_relu":
        return np.log1p(v) if v.real > 0 else 0 * v
    if name == "identity":
        return v
    raise ValueError(name)


def activation_derivative(name, v):
    """s'(v) in terms of s = s(v): s(1-s) for the logistic function, 1-s^2 for tanh, ..."""
    s = activation(name, v)
    if name == "logistic":
        return s * (1 - s)
    if name == "tanh":
        return 1 - s**2
    if name == "scaled_tanh":
        return 2 / 3 * (SCALED_TANH - s**2 / SCALED_TANH)
    if name == "relu":
        return 1.0 if v > 0 else 0.0
    if name == "log_relu":
        return np.exp(-s) if v > 0 else 0.0
    if name == "identity":
        return 1.0
    raise ValueError(name)


def incoming_activities(net, a, k):
    """The vector (a_i) over E_k: a_0 = 1 for the bias, then the units i -> k."""
    return np.concatenate([[1.0], a[list(parents(net, k))]])


def forward(net, theta, x):
    """a_k = alpha s(gamma v_k) + beta with v_k = w_0k + sum_{i -> k} w_ik a_i.

    Returns a over all units (inputs first) and v over the computed units.
    """
    a = np.zeros(n_units(net), dtype=np.result_type(theta, float))
    v = np.zeros(len(net.parents), dtype=a.dtype)
    a[: net.n_inputs] = x
    for u, (k, rows) in enumerate(zip(computed_units(net), unit_slices(net), strict=True)):
        alpha, beta, gamma = affine(net, k)
        v[u] = theta[rows] @ incoming_activities(net, a, k)
        a[k] = alpha * activation(net.activations[u], gamma * v[u]) + beta
    return a, v


def output_activities(net, theta, x):
    """The activities (a_k) of the output units."""
    return forward(net, theta, x)[0][list(net.outputs)]


def unit_derivatives(net, theta, x):
    """r_k = d a_k / d v_k for the computed units."""
    _, v = forward(net, theta, x)
    r = np.zeros(len(net.parents))
    for u, k in enumerate(computed_units(net)):
        alpha, _, gamma = affine(net, k)
        r[u] = alpha * gamma * activation_derivative(net.activations[u], gamma * v[u])
    return r


# ----------------------------------------------------------------------------------------------
# Output interpretations


def output_range(net):
    """Arrays (low, high): the values between which each output unit's activity varies."""
    low, high = [], []
    for k in net.outputs:
        alpha, beta, _ = affine(net, k)
        bounds = RANGES[net.activations[k - net.n_inputs]]
        low.append(alpha * bounds[0] + beta)
        high.append(alpha * bounds[1] + beta)
    return np.array(low), np.array(high)


def _exponentials(a):
    """e^{a_k} up to a common factor, which no formula below depends on."""
    return np.exp(a - a.real.max())


def probabilities(output, net, a, vartheta=None):
    """Pr(Y_k = 1) (bernoulli) or the probability of class k, from the output activities a."""
    if output == "bernoulli":
        low, high = output_range(net)
        return (a - low) / (high - low)
    if output == "spherical":
        return a**2 / np.sum(a**2)
    e = _exponentials(a if output == "softmax" else vartheta * a)
    return e / e.sum()


def log_omega_of_activities(output, net, a, y, vartheta=None):
    """ln omega(y) as a function of the output activities a; complex-safe."""
    if output == "square":
        return -0.5 * np.sum((y - a) ** 2)
    p = probabilities(output, net, a, vartheta)
    if output == "bernoulli":
        return np.sum(y * np.log(p) + (1 - y) * np.log(1 - p))
    return np.log(p[y])


def log_omega(output, net, theta, x, y, vartheta=None):
    """ln omega(y) for input x; complex-safe in theta and vartheta."""
    return log_omega_of_activities(output, net, output_activities(net, theta, x), y, vartheta)


def output_backpropagated_values(output, net, a, y, vartheta=None):
    """b_k = d ln omega(y) / d a_k on the output layer; y_k is the indicator of the class."""
    if output == "square":
        return y - a
    p = probabilities(output, net, a, vartheta)
    if output == "bernoulli":
        low, high = output_range(net)
        return (y - p) / (p * (1 - p)) / (high - low)
    indicator = (np.arange(len(a)) == y).astype(float)
    if output == "softmax":
        return indicator - p
    if output == "scaled_softmax":
        return vartheta * (indicator - p)
    return 2 * indicator / a - 2 * a / np.sum(a**2)


def enumerate_targets(output, net, theta, x, vartheta=None):
    """List of (probability, y) under omega(x).

    All 2^O vectors (bernoulli) or all O classes; for square, Gauss-Hermite nodes with three points
    an output, exact for the expectation of a product of two scores.
    """
    a = output_activities(net, theta, x)
    if output == "square":
        nodes, node_weights = np.polynomial.hermite.hermgauss(3)
        nodes, node_weights = np.sqrt(2) * nodes, node_weights / np.sqrt(np.pi)
        return [
            (np.prod(node_weights[list(index)]), a + nodes[list(index)])
            for index in itertools.product(range(3), repeat=len(a))
        ]
    p = probabilities(output, net, a, vartheta)
    if output == "bernoulli":
        return [
            (np.prod(np.where(y, p, 1 - p)), np.array(y, dtype=float))
            for y in itertools.product((0, 1), repeat=len(a))
        ]
    return [(p[y], y) for y in range(len(a))]


# ----------------------------------------------------------------------------------------------
# Loss and gradient


def mean_loss(output, net, theta, X, y, weights=None, vartheta=None):
    """E_x ell(y) = -E_x ln omega(y); complex-safe in theta and vartheta."""
    losses = [-log_omega(output, net, theta, X[n], y[n], vartheta) for n in range(len(X))]
    return average(losses, weights)


def gradient(output, net, theta, X, y, weights=None, vartheta=None):
    """G = -d(E_x ell)/d theta by complex steps: f'(t) = Im f(t + ih) / h."""
    G = np.zeros(len(theta))
    for p in range(len(theta)):
        step = np.zeros(len(theta), dtype=complex)
        step[p] = 1j * H
        G[p] = -mean_loss(output, net, theta + step, X, y, weights, vartheta).imag / H
    return G


def gradient_finite_differences(
    output, net, theta, X, y, weights=None, vartheta=None, step_size=1e-5
):
    """G = -d(E_x ell)/d theta by central differences."""
    G = np.zeros(len(theta))
    for p in range(len(theta)):
        step = np.zeros(len(theta))
        step[p] = step_size
        after = mean_loss(output, net, theta + step, X, y, weights, vartheta)
        before = mean_loss(output, net, theta - step, X, y, weights, vartheta)
        G[p] = -(after - before) / (2 * step_size)
    return G


def backpropagate(net, theta, x, seeds):
    """b_k = (seed of k, for an output unit) + sum_{k -> j} w_kj r_j b_j, over computed units."""
    r = unit_derivatives(net, theta, x)
    b = np.zeros(len(net.parents))
    for k in reversed(computed_units(net)):
        if k in net.outputs:
            b[k - net.n_inputs] = seeds[net.outputs.index(k)]
        for j, w in outgoing_edges(net, theta, k):
            b[k - net.n_inputs] += w * r[j - net.n_inputs] * b[j - net.n_inputs]
    return b


def backpropagated_values(output, net, theta, x, y, vartheta=None):
    """b_k = -d ell / d a_k for the computed units, by the backpropagation equations."""
    a = output_activities(net, theta, x)
    return backpropagate(net, theta, x, output_backpropagated_values(output, net, a, y, vartheta))


def gradient_backprop(output, net, theta, X, y, weights=None, vartheta=None):
    """G^(k)_i = E_x a_i r_k b_k: Ollivier (2015), Definition "Unitwise natural gradient"."""
    terms = []
    for x, target in zip(X, y, strict=True):
        a, _ = forward(net, theta, x)
        r = unit_derivatives(net, theta, x)
        b = backpropagated_values(output, net, theta, x, target, vartheta)
        rows = [
            incoming_activities(net, a, k) * r[u] * b[u] for u, k in enumerate(computed_units(net))
        ]
        terms.append(np.concatenate(rows))
    return average(terms, weights)


# ----------------------------------------------------------------------------------------------
# Metrics from scores: Fisher by enumeration, outer product, Monte Carlo


def _perturbed_outputs(net, theta, x):
    """Row p: the output activities at theta + ih e_p."""
    steps = 1j * H * np.eye(len(theta))
    return [output_activities(net, theta + step, x) for step in steps]


def _score(output, net, perturbed, y, vartheta):
    """d ln omega(y) / d theta from the rows of ``_perturbed_outputs``."""
    values = [log_omega_of_activities(output, net, a, y, vartheta) for a in perturbed]
    return np.imag(values) / H


def score(output, net, theta, x, y, vartheta=None):
    """d ln omega(y) / d theta = -d ell / d theta for one sample, by complex steps."""
    return _score(output, net, _perturbed_outputs(net, theta, x), y, vartheta)


def fisher_by_enumeration(output, net, theta, X, weights=None, vartheta=None):
    """F = E_x E_{y|x} (d ln omega(y)/d theta) (d ln omega(y)/d theta)^T, summing over all y."""
    terms = []
    for x in X:
        perturbed = _perturbed_outputs(net, theta, x)
        F = np.zeros((len(theta), len(theta)))
        for probability, y in enumerate_targets(output, net, theta, x, vartheta):
            g = _score(output, net, perturbed, y, vartheta)
            F += probability * np.outer(g, g)
        terms.append(F)
    return average(terms, weights)


def op_matrix(output, net, theta, X, y, weights=None, vartheta=None):
    """E_x (d ell/d theta)^T (d ell/d theta): Ollivier (2015), Definition "Outer product metric"."""
    terms = []
    for x, target in zip(X, y, strict=True):
        g = score(output, net, theta, x, target, vartheta)
        terms.append(np.outer(g, g))
    return average(terms, weights)


def monte_carlo_matrix(output, net, theta, X, targets, weights=None, vartheta=None):
    """E_x (1/K) sum_k (d ell(y_k)/d theta)^T (d ell(y_k)/d theta) for given draws y_k.

    targets[n] holds the K draws of sample n: shape (N, K, O), or (N, K) for the classifiers.
    """
    terms = []
    for x, draws in zip(X, targets, strict=True):
        perturbed = _perturbed_outputs(net, theta, x)
        scores = [_score(output, net, perturbed, y, vartheta) for y in draws]
        terms.append(sum(np.outer(g, g) for g in scores) / len(draws))
    return average(terms, weights)


# ----------------------------------------------------------------------------------------------
# Metrics from moduli: Fisher by formula, backpropagated metric


def transfer_rates(net, theta, x):
    """J[kout][k], Ollivier (2015), Definition "Backpropagation transfer rates".

    Backpropagates the value 1 at the output unit kout (a position in net.outputs) alone.
    """
    return np.array([backpropagate(net, theta, x, seeds) for seeds in np.eye(len(net.outputs))])


def pair_modulus(output, net, a, J_k, J_j, vartheta=None):
    """Phi_kj from the output activities and the transfer rates of k and j.

    The formulas of Ollivier (2015), Proposition "Exact Fisher matrix for neural networks". For
    activities in [low; high] the Bernoulli denominator is (a - low)(high - a); for the softmax of
    vartheta_k a_k the chain rule multiplies J^{k} by vartheta_k, at each output unit k.
    """
    if output == "square":
        return np.sum(J_k * J_j)
    if output == "bernoulli":
        low, high = output_range(net)
        return np.sum(J_k * J_j / ((a - low) * (high - a)))
    if output == "spherical":
        S = np.sum(a**2)
        return 4 / S * np.sum(J_k * J_j) - 4 / S**2 * np.sum(a * J_k) * np.sum(a * J_j)
    if output == "scaled_softmax":
        a, J_k, J_j = vartheta * a, vartheta * J_k, vartheta * J_j
    e = _exponentials(a)
    S = e.sum()
    return np.sum(e * J_k * J_j) / S - np.sum(e * J_k) * np.sum(e * J_j) / S**2


def fisher_modulus(output, net, theta, x, vartheta=None):
    """Phi_k(x) for the computed units: Ollivier (2015), Definition "Fisher modulus"."""
    a = output_activities(net, theta, x)
    J = transfer_rates(net, theta, x)
    return np.array([pair_modulus(output, net, a, J_k, J_k, vartheta) for J_k in J.T])


def fisher_by_formula(output, net, theta, X, weights=None, vartheta=None):
    """F_{w_ik, w_i'j} = E_x a_i a_i' r_k r_j Phi_kj.

    Ollivier (2015), Proposition "Exact Fisher matrix for neural networks".
    """
    slices = unit_slices(net)
    terms = []
    for x in X:
        a, _ = forward(net, theta, x)
        r = unit_derivatives(net, theta, x)
        J = transfer_rates(net, theta, x)
        F = np.zeros((len(theta), len(theta)))
        for s, k in enumerate(computed_units(net)):
            for t, j in enumerate(computed_units(net)):
                phi = pair_modulus(output, net, a[list(net.outputs)], J[:, s], J[:, t], vartheta)
                products = np.outer(incoming_activities(net, a, k), incoming_activities(net, a, j))
                F[slices[s], slices[t]] = products * r[s] * r[t] * phi
        terms.append(F)
    return average(terms, weights)


def output_modulus(output, net, a, vartheta=None):
    """m_k on the output layer: Ollivier (2015), Definition "Backpropagated modulus"."""
    if output == "square":
        return np.ones(len(a))
    if output == "bernoulli":
        low, high = output_range(net)
        return 1 / ((a - low) * (high - a))
    if output == "spherical":
        S = np.sum(a**2)
        return 4 / S * (1 - a**2 / S)
    p = probabilities(output, net, a, vartheta)
    return p * (1 - p) if output == "softmax" else vartheta**2 * p * (1 - p)


def backpropagated_modulus(output, net, theta, x, vartheta=None):
    """m_k(x) = (output modulus of k, for an output unit) + sum_{k -> j} w_kj^2 r_j^2 m_j(x).

    Ollivier (2015), Definition "Backpropagated modulus", for the computed units.
    """
    r = unit_derivatives(net, theta, x)
    seeds = output_modulus(output, net, output_activities(net, theta, x), vartheta)
    m = np.zeros(len(net.parents))
    for k in reversed(computed_units(net)):
        if k in net.outputs:
            m[k - net.n_inputs] = seeds[net.outputs.index(k)]
        for j, w in outgoing_edges(net, theta, k):
            m[k - net.n_inputs] += w**2 * r[j - net.n_inputs] ** 2 * m[j - net.n_inputs]
    return m


def bp_matrix(output, net, theta, X, weights=None, vartheta=None):
    """M^(k)_ij = E_x a_i a_j r_k^2 m_k, block diagonal.

    Ollivier (2015), Definition "Backpropagated metric".
    """
    terms = []
    for x in X:
        a, _ = forward(net, theta, x)
        r = unit_derivatives(net, theta, x)
        m = backpropagated_modulus(output, net, theta, x, vartheta)
        M = np.zeros((len(theta), len(theta)))
        for u, k in enumerate(computed_units(net)):
            e = incoming_activities(net, a, k)
            M[unit_slice(net, k), unit_slice(net, k)] = np.outer(e, e) * r[u] ** 2 * m[u]
        terms.append(M)
    return average(terms, weights)


def kron_matrix(net, theta, X, c, weights=None):
    """Block E_x[c_k] E_x[a_i a_j] at each unit k, where c[k][n] = r_k^2 times a modulus."""
    A = np.zeros((len(theta), len(theta)))
    for u, k in enumerate(computed_units(net)):
        products = []
        for x in X:
            e = incoming_activities(net, forward(net, theta, x)[0], k)
            products.append(np.outer(e, e))
        block = average(list(c[u]), weights) * average(products, weights)
        A[unit_slice(net, k), unit_slice(net, k)] = block
    return A


# ----------------------------------------------------------------------------------------------
# Reductions and damping


def _blockwise(net, A, reduce_block):
    """Block-diagonal matrix of reduce_block(A^(k)) over the units k."""
    reduced = np.zeros_like(A)
    for rows in unit_slices(net):
        reduced[rows, rows] = reduce_block(A[rows, rows])
    return reduced


def unitwise(net, A):
    """Keep the blocks of A between incoming parameters of a same unit."""
    return _blockwise(net, A, lambda block: block)


def diagonal(A):
    """diag(A)."""
    return np.diag(np.diag(A))


def _quasi_diagonal_block(A):
    """diag(A) + v v^T / A_00 - diag(v v^T / A_00) with v = (A_00, ..., A_0i, ...)."""
    if A[0, 0] == 0:
        return diagonal(A)
    vv = np.outer(A[0], A[0]) / A[0, 0]
    return diagonal(A) + vv - diagonal(vv)


def quasi_diagonal(net, A):
    """Ollivier (2015), Definition "Quasi-diagonal reduction", at each unit.

    A block with A_00 = 0 is reduced to its diagonal.
    """
    return _blockwise(net, A, _quasi_diagonal_block)


def absolute_damping(A, eps):
    """A + eps Id."""
    return A + eps * np.eye(len(A))


def relative_damping(net, A, eps):
    """A + eps diag(0 for the bias, A_ii - A_0i^2 / A_00 for the weights) at each unit.

    The term A_0i^2 / A_00 is 0 when A_00 = 0.
    """
    damped = np.array(A)
    for rows in unit_slices(net):
        block = A[rows, rows]
        for i in range(1, len(block)):
            shift = block[0, i] ** 2 / block[0, 0] if block[0, 0] != 0 else 0.0
            damped[rows.start + i, rows.start + i] += eps * (block[i, i] - shift)
    return damped


# ----------------------------------------------------------------------------------------------
# Metric on the output parameters


def output_parameter_metric(net, theta, X, vartheta, weights=None):
    """E_x a_k a_l (p_k 1_{k=l} - p_k p_l): the metric on vartheta for "scaled_softmax".

    The closed form of Ollivier (2015), Remark "Metric for output parameters".
    """
    terms = []
    for x in X:
        a = output_activities(net, theta, x)
        p = probabilities("scaled_softmax", net, a, vartheta)
        terms.append(np.outer(a, a) * (np.diag(p) - np.outer(p, p)))
    return average(terms, weights)


def output_parameter_metric_by_enumeration(net, theta, X, vartheta, weights=None):
    """E_x E_{y|x} (d ln omega(y)/d vartheta)(d ln omega(y)/d vartheta)^T, for "scaled_softmax".

    Ollivier (2015), Remark "Metric for output parameters", summing over all classes y.
    """
    terms = []
    for x in X:
        matrix = np.zeros((len(vartheta), len(vartheta)))
        for probability, y in enumerate_targets("scaled_softmax", net, theta, x, vartheta):
            values = [
                log_omega("scaled_softmax", net, theta, x, y, vartheta + step)
                for step in 1j * H * np.eye(len(vartheta))
            ]
            g = np.imag(values) / H
            matrix += probability * np.outer(g, g)
        terms.append(matrix)
    return average(terms, weights)


# ----------------------------------------------------------------------------------------------
# Reparametrizations


def _compensate(net, theta, k, alpha, beta):
    """w'_kj = w_kj / alpha and w'_0j = w_0j - w_kj beta / alpha for all k -> j."""
    theta = np.array(theta)
    for j, w in outgoing_edges(net, theta, k):
        start = unit_slice(net, j).start
        theta[start + 1 + parents(net, j).index(k)] = w / alpha
        theta[start] -= w * beta / alpha
    return theta


def _reparametrize_unit(net, theta, k, alpha, beta, gamma):
    """Apply a_k -> alpha a_k + beta and theta_k -> theta_k / gamma at one computed unit."""
    theta = _compensate(net, theta, k, alpha, beta)
    theta[unit_slice(net, k)] /= gamma
    triples = [affine(net, j) for j in computed_units(net)]
    old_alpha, old_beta, old_gamma = affine(net, k)
    triples[k - net.n_inputs] = (alpha * old_alpha, alpha * old_beta + beta, gamma * old_gamma)
    return replace(net, affine=tuple(triples)), theta


def reparametrize(net, theta, changes):
    """(alpha, beta, gamma)-affine reparametrization of units that are neither input nor output.

    ``changes`` maps ids to triples. At each unit k of them, a'_k = alpha f_{gamma theta'_k} + beta,
    theta'_k = theta_k / gamma, w'_kj = w_kj / alpha, w'_0j = w_0j - w_kj beta / alpha:
    Ollivier (2015), Definition "(alpha, beta, gamma)-affine reparametrization of unit k".
    Returns (net, theta) with the same outputs.
    """
    for k, (alpha, beta, gamma) in changes.items():
        if k not in computed_units(net) or k in net.outputs:
            raise ValueError(f"unit {k} is an input or an output")
        net, theta = _reparametrize_unit(net, theta, k, alpha, beta, gamma)
    return net, theta


def rescale_inputs(net, theta, alpha, beta):
    """theta' with the same outputs on the inputs alpha_i a_i + beta_i (arrays over inputs)."""
    for i in range(net.n_inputs):
        theta = _compensate(net, theta, i, alpha[i], beta[i])
    return theta


def logistic_to_tanh(net, theta):
    """(2, -1, 2)-reparametrization of all logistic units, output units included.

    As tanh(v) = 2 logistic(2v) - 1, they become tanh units, of activity 2a - 1. Other units and the
    inputs keep their activities. Returns (net, theta); net.affine must be None.
    """
    if net.affine is not None:
        raise ValueError("the units already have affine factors")
    activations = list(net.activations)
    for u, k in enumerate(computed_units(net)):
        if activations[u] == "logistic":
            activations[u] = "tanh"
            _, theta = _reparametrize_unit(net, theta, k, 2.0, -1.0, 2.0)
    return replace(net, activations=tuple(activations)), theta


# ----------------------------------------------------------------------------------------------
# Best fit


def best_fit(output, net, theta, X, y, unit, metric="fisher", weights=None, vartheta=None):
    """argmin over lambda of sum_x w_x (sum_i lambda_i a_i - b_k / (r_k Phi_k))^2 r_k^2 Phi_k.

    Ollivier (2015), Proposition "Intrinsic gradients as best fit to b"; Phi_k is the Fisher modulus
    ("fisher"), the backpropagated modulus ("backpropagated") or b_k^2 ("op"). A sample of weight
    r_k^2 Phi_k = 0 asks for nothing.
    """
    u = unit - net.n_inputs
    weights = np.ones(len(X)) if weights is None else weights
    rows, right_sides = [], []
    for x, target, weight in zip(X, y, weights, strict=True):
        a, _ = forward(net, theta, x)
        r = unit_derivatives(net, theta, x)[u]
        b = backpropagated_values(output, net, theta, x, target, vartheta)[u]
        if metric == "fisher":
            modulus = fisher_modulus(output, net, theta, x, vartheta)[u]
        elif metric == "backpropagated":
            modulus = backpropagated_modulus(output, net, theta, x, vartheta)[u]
        elif metric == "op":
            modulus = b**2
        else:
            raise ValueError(metric)
        if r**2 * modulus > 0:
            root = np.sqrt(weight * r**2 * modulus)
            rows.append(root * incoming_activities(net, a, unit))
            right_sides.append(root * b / (r * modulus))
    if not rows:
        return np.zeros(1 + len(parents(net, unit)))
    return np.linalg.lstsq(np.array(rows), np.array(right_sides), rcond=None)[0]


# ----------------------------------------------------------------------------------------------
# Random instances


def _random_parents(rng, kind, n_inputs, n_outputs):
    """Incoming units of the computed units of a small random graph, outputs last."""
    if kind == "layered":
        widths = [n_inputs, *rng.integers(2, 4, size=2), n_outputs]
        starts = np.concatenate([[0], np.cumsum(widths)]).tolist()
        return [
            tuple(range(starts[layer], starts[layer + 1]))
            for layer in range(3)
            for _ in range(widths[layer + 1])
        ]
    n_before = n_inputs + int(rng.integers(3, 5 if kind == "sparse" else 4))
    if kind == "skip":
        graph = [tuple(range(k)) for k in range(n_inputs, n_before)]
        graph += [tuple(range(n_before))] * n_outputs
        graph[-1] = tuple(range(n_inputs, n_before + 1))
        return graph
    if kind == "sparse":
        heights = [*range(n_inputs, n_before), *[n_before] * n_outputs]
        graph = [set(rng.choice(height, size=2, replace=False).tolist()) for height in heights]
        graph[-1] |= set(range(n_inputs, n_before)).difference(*graph)
        return [tuple(sorted(row)) for row in graph]
    raise ValueError(kind)


def random_net(rng, output="square", activation="tanh", kind="layered"):
    """A small random (net, theta), the rows of theta of norm about sqrt(2).

    "layered": two hidden layers, fully connected. "sparse": two incoming units a unit, chosen
    anywhere before it; every hidden unit feeds a unit. "skip": every input and every hidden unit
    feeds all later hidden units and all outputs, but the last output receives the first output in
    place of the inputs.
    Output units are linear, but bounded for bernoulli and logistic for spherical, whose scores
    2 / a_k are large where an activity is close to 0.
    """
    n_inputs, n_outputs = int(rng.integers(2, 4)), int(rng.integers(2, 4))
    graph = _random_parents(rng, kind, n_inputs, n_outputs)
    last = "identity"
    if output == "spherical":
        last = "logistic"
    elif output == "bernoulli":
        last = activation if activation in RANGES else "logistic"
    n_hidden = len(graph) - n_outputs
    n_all = n_inputs + len(graph)
    net = Net(
        n_inputs=n_inputs,
        parents=tuple(graph),
        activations=(activation,) * n_hidden + (last,) * n_outputs,
        affine=None,
        outputs=tuple(range(n_all - n_outputs, n_all)),
    )
    scales = [np.full(1 + len(row), np.sqrt(2 / (1 + len(row)))) for row in graph]
    return net, np.concatenate(scales) * rng.normal(size=n_parameters(net))


def random_data(rng, output, net, n_samples=10):
    """Random inputs X and targets y of the right kind for an interpretation."""
    X = rng.normal(size=(n_samples, net.n_inputs))
    shape = (n_samples, len(net.outputs))
    if output == "square":
        return X, rng.normal(size=shape)
    if output == "bernoulli":
        return X, rng.integers(0, 2, size=shape).astype(float)
    return X, rng.integers(0, len(net.outputs), size=n_samples)

"""No reduction: the metric of the whole network at once."""

import numpy as np

from ...numerics.arithmetic import rounding, safe_divide
from ..linalg import pseudo_solve, scaled_solve
from ._base import Reduction
from .full_plus_kronecker import FullPlusKronecker

# 1 GB of doubles.
LARGEST_MATRIX = 130_000_000
# A gradient is in the span of the rows up to rounding errors of this size.
_SPAN_TOLERANCE = 1e-9
# Where the metric exceeds its damping by this factor the dual has half of its digits left; the
# primal keeps them, as long as its matrix has no more rows than this.
_HARD_RATIO, _LARGEST_RESCUE = 1e9, 4000


class Full(Reduction):
    """Keep the matrix over all parameters.

    Paper: Definition "Natural metric", Definition "Outer product metric". Its
    statistics are the rows of ``U`` with ``A = U^T U``, one a sample and seed, as
    long as there are fewer rows than parameters; then the solve is done in the
    dual, with a matrix of the size of the rows. Beyond that they are A itself.
    Invariant under every smooth reparametrization of the whole parameter, to
    first order. P parameters, M rows: O(min(M, P)^2 max(M, P)).
    """

    prefix = ""
    needs_seeds = True
    factored = True

    def statistics(self, point, modulus, rng):
        lin = point.lin
        size = lin.topology.n_parameters
        blocks = (lin.jacobian(pulled) for pulled in modulus.pulled(point, rng))
        if lin.n_samples * modulus.n_seeds(len(point.v)) < size:
            return (np.concatenate(list(blocks)),)
        return (sum(rows.T @ rows for rows in blocks),)

    def combine(self, parts):
        parts = [(weight, statistics[0]) for weight, statistics in parts]
        size = parts[0][1].shape[1]
        if sum(len(matrix) for _, matrix in parts) < size:
            return (np.concatenate([np.sqrt(weight) * rows for weight, rows in parts]),)
        return (sum(weight * _gram(matrix) for weight, matrix in parts),)

    def factorize(self, topology, statistics, relative=0.0, absolute=None):
        (matrix,) = statistics
        damping = np.zeros(topology.n_parameters) if absolute is None else absolute.copy()
        dual = len(matrix) < topology.n_parameters
        corner, border, diagonal = _bordering(topology, matrix, dual)
        variance = diagonal - safe_divide(border, corner) * border
        variance[(variance <= rounding(diagonal) * diagonal) | ~topology.is_weight] = 0.0
        damping += relative * variance
        if dual and _hard_in_the_dual(diagonal, damping):
            return self.factorize(topology, (_gram(matrix),), relative, absolute)
        solve = _solve_dual if dual else _solve_primal
        mean = np.where(topology.is_weight, safe_divide(border, corner), 0.0)
        if damping[topology.bias].any():
            mean[:] = 0.0
        return lambda gradient: solve(topology, matrix, gradient, damping, mean, diagonal)

    def with_kronecker(self, share, widening=0.0):
        return FullPlusKronecker(self, share, widening)

    def block(self, topology, statistics, unit):
        row = topology.row(unit)
        return self.to_dense(topology, statistics)[row, row]

    def to_dense(self, topology, statistics):
        return _gram(statistics[0])

    def check(self, topology, n_samples, n_seeds, averaged):
        n_rows = n_samples * n_seeds
        size = topology.n_parameters
        if min(n_rows, size) * size > LARGEST_MATRIX:
            small = min(n_rows, size)
            raise ValueError(
                f"A full metric of {size} parameters on {n_rows} rows (samples x seeds) needs a "
                f"matrix of {8 * small * size / 1e9:.1f} GB and about "
                f"{small**2 * size / 1e12:.1f} Tflop a step. Use its unitwise or qd form."
            )


def _hard_in_the_dual(diagonal, damping):
    """Whether a damping far below the metric would cost the dual its accuracy."""
    damped = damping > 0
    if len(diagonal) > _LARGEST_RESCUE or not damped.any():
        return False
    return bool((diagonal[damped] > _HARD_RATIO * damping[damped]).any())


def _gram(matrix):
    return matrix if matrix.shape[0] == matrix.shape[1] else matrix.T @ matrix


def _bordering(topology, matrix, dual):
    """A_00, A_0i and A_ii of each parameter's own unit."""
    bias = topology.bias[topology.owner]
    if dual:
        diagonal = np.einsum("mp,mp->p", matrix, matrix)
        border = np.einsum("mp,mp->p", matrix, matrix[:, bias])
    else:
        diagonal = matrix.diagonal().copy()
        border = matrix[np.arange(len(matrix)), bias]
    return diagonal[bias], border, diagonal


def _centre(topology, columns, mean):
    """Columns of the weights minus ``mean`` times their unit's bias column."""
    return columns - columns[:, topology.bias[topology.owner]] * mean


def _uncentre(topology, step, mean):
    step = step.copy()
    step[topology.bias] -= np.add.reduceat(mean * step, topology.bias)
    return step


def _solve_primal(topology, matrix, gradient, damping, mean, diagonal):
    damped = matrix.copy()
    damped[np.diag_indices_from(damped)] += damping
    damped = _centre(topology, _centre(topology, damped, mean).T, mean)
    rhs = gradient - mean * gradient[topology.bias][topology.owner]
    floor = rounding(diagonal) * (diagonal + damping)[None]
    step = scaled_solve(damped[None], rhs[None, :, None], floor)[0, :, 0]
    return _uncentre(topology, step, mean)


def _solve_dual(topology, rows, gradient, damping, mean, diagonal):
    """Solve with ``U^T U + D`` by matrices of the size of the rows of U.

    The gradient is a combination of the rows, ``g = U^T l`` (paper, "Non-
    invertibility"); then ``x = D^-1 U^T m`` with ``(1 + K) m = l - U_b x_b``, ``K = U
    D^-1 U^T``, and undamped biases b follow from ``U_b^T m = 0``. Nothing cancels
    however small the damping is. What is left of g outside the rows' span, a
    penalty's share, is solved for apart. Undamped weights, those without variance or
    penalty, are left alone.
    """
    rows = _centre(topology, rows, mean)
    rhs = gradient - mean * gradient[topology.bias][topology.owner]
    norms = np.einsum("mp,mp->p", rows, rows)
    weight = safe_divide(1.0, norms)
    weight[norms <= rounding(diagonal) * diagonal] = 0.0
    weighted = rows * weight
    combination = pseudo_solve(weighted @ rows.T, (weighted @ rhs)[:, None])[:, 0]
    damped = damping > 0
    if not damped.any():
        # Minimum norm, in coordinates where all columns of U are of size 1.
        dual = pseudo_solve(weighted @ rows.T, combination[:, None])[:, 0]
        return _uncentre(topology, weighted.T @ dual, mean)
    system = _DualSystem(topology, rows, damping)
    step = system.solve(combination)
    rest = rhs - rows.T @ combination
    rest[(weight == 0) & ~damped] = 0.0
    if np.abs(rest).max() > _SPAN_TOLERANCE * np.abs(rhs).max():
        step += system.solve_outside(rest)
    return _uncentre(topology, step, mean)


class _DualSystem:
    """``U^T U + D`` with D positive on most parameters."""

    def __init__(self, topology, rows, damping):
        damped = damping > 0
        self.damped = np.flatnonzero(damped)
        self.free = np.flatnonzero(~damped & ~topology.is_weight)
        self.rows, self.damping = rows, damping[self.damped]
        self.root = np.sqrt(self.damping)
        # Singular values, not the kernel: squares would lose half of the digits.
        scaled = rows[:, self.damped] / self.root
        self.left, self.values, self.right = np.linalg.svd(scaled, full_matrices=False)
        self.size = topology.n_parameters

    def solve(self, combination):
        """The solution for ``g = U^T combination``."""
        free_rows = self.rows[:, self.free]
        solved = self._apply(np.column_stack([combination, free_rows]))
        step = np.zeros(self.size)
        step[self.free] = self._free_part(free_rows, solved[:, 1:], free_rows.T @ solved[:, 0])
        rest = self.left.T @ (combination - free_rows @ step[self.free])
        step[self.damped] = self.right.T @ (self.values / (1 + self.values**2) * rest) / self.root
        return step

    def solve_outside(self, rhs):
        """The solution for a g orthogonal to the rows, so that U x is small."""
        free_rows = self.rows[:, self.free]
        spread = self.rows[:, self.damped] @ (rhs[self.damped] / self.damping)
        solved = self._apply(np.column_stack([spread, free_rows]))
        step = np.zeros(self.size)
        residual = rhs[self.free] - free_rows.T @ solved[:, 0]
        step[self.free] = self._free_part(free_rows, solved[:, 1:], residual)
        dual = solved[:, 0] + solved[:, 1:] @ step[self.free]
        tension = rhs[self.damped] - self.rows[:, self.damped].T @ dual
        step[self.damped] = tension / self.damping
        return step

    def _apply(self, vectors):
        """``(1 + K)^-1 vectors``."""
        inside = self.left.T @ vectors
        solved = self.left @ (inside / (1 + self.values**2)[:, None])
        if self.left.shape[0] > self.left.shape[1]:
            solved += vectors - self.left @ inside
        return solved

    @staticmethod
    def _free_part(free_rows, solved, rhs):
        schur = free_rows.T @ solved
        schur = (schur + schur.T) / 2
        return scaled_solve(schur[None], rhs[None, :, None])[0, :, 0]

"""No reduction: the metric of the whole network at once."""

import numpy as np

from ...numerics.arithmetic import rounding, safe_divide
from ..linalg import PseudoInverse, ScaledFactor, centred_moments
from ._base import Reduction
from .full_plus_kronecker import FullPlusKronecker

# 1 GB of doubles.
LARGEST_MATRIX = 130_000_000
# Where the metric exceeds its damping by this factor the dual has half of its digits left; the
# primal keeps them, as long as its matrix has no more rows than this.
_HARD_RATIO, _LARGEST_RESCUE = 1e9, 4000
# Of the gradient, what a step may miss.
_MISSED = 1e-8


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
    invariant = True

    def statistics(self, point, modulus, rng):
        lin = point.lin
        n_rows = lin.n_samples * modulus.n_seeds(len(point.v))
        return (self.stacked(lin, modulus.pulled(point, rng), n_rows),)

    @staticmethod
    def stacked(lin, drawn, n_rows):
        """The rows of U where there are fewer of them than parameters, else ``U^T U``."""
        if n_rows < lin.topology.n_parameters:
            return np.concatenate([lin.jacobian(pulled) for pulled in drawn])
        # One seed at a time: their rows are longer than they are by the fan-in.
        seeds = (pulled[:, [f]] for pulled in drawn for f in range(pulled.shape[1]))
        return sum(rows.T @ rows for rows in map(lin.jacobian, seeds))

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
        mean, variance, _ = centred_moments(corner, border, diagonal)
        damping += relative * np.where(topology.is_weight, variance, 0.0)
        if dual and _hard_in_the_dual(diagonal, damping):
            return self.factorize(topology, (_gram(matrix),), relative, absolute)
        if damping[topology.bias].any():
            mean = np.zeros_like(mean)
        centre = _Centre(topology, np.where(topology.is_weight, mean, 0.0))
        solve = (_dual_solver if dual else _primal_solver)(centre, matrix, damping, diagonal)
        return lambda gradient: centre.uncentre(solve(centre.rhs(gradient)))

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
    bias = topology.own_bias
    if dual:
        diagonal = np.einsum("mp,mp->p", matrix, matrix)
        border = np.einsum("mp,mp->p", matrix, matrix[:, bias])
    else:
        diagonal = matrix.diagonal().copy()
        border = matrix[np.arange(len(matrix)), bias]
    return diagonal[bias], border, diagonal


class _Centre:
    """Coordinates in which each weight brings along what its unit's bias makes up for.

    Parameters
    ----------
    topology : Topology
    mean : ndarray of shape (n_parameters,)
        ``A_0i / A_00`` at weights, 0 at biases.
    """

    def __init__(self, topology, mean):
        self.topology, self.mean = topology, mean
        self._bias = topology.own_bias

    def columns(self, matrix):
        """Columns of the weights minus `mean` times their unit's bias column."""
        return matrix - matrix[:, self._bias] * self.mean

    def rhs(self, gradient):
        return gradient - self.mean * gradient[self._bias]

    def uncentre(self, step):
        bias = self.topology.bias
        step[bias] -= np.add.reduceat(self.mean * step, bias)
        return step


def _primal_solver(centre, matrix, damping, diagonal):
    damped = matrix.copy()
    damped[np.diag_indices_from(damped)] += damping
    damped = centre.columns(centre.columns(damped).T)
    factor = ScaledFactor(damped[None], rounding(diagonal) * (diagonal + damping)[None])
    return lambda rhs: factor.solve(rhs[None, :, None])[0, :, 0]


def _dual_solver(centre, rows, damping, diagonal):
    """Solve with ``U^T U + D`` by matrices of the size of the rows of U.

    The gradient is a combination of the rows, ``g = U^T l`` (paper, "Non-
    invertibility"); then ``x = D^-1 U^T m`` with ``(1 + K) m = l - U_b x_b``, ``K = U
    D^-1 U^T``, and undamped biases b follow from ``U_b^T m = 0``. Nothing cancels
    however small the damping is. What is left of g outside the rows' span, a
    penalty's share, is solved for apart. Undamped weights, those without variance or
    penalty, are left alone.

    Of rows that are all but null, as where answers are certain and wrong, g may be a
    combination with numbers so large that nothing is left of it. So the solution is
    checked; next to such rows the damping is large, and g is solved for as a whole.
    """
    rows, damped = centre.columns(rows), damping > 0
    norms = np.einsum("mp,mp->p", rows, rows)
    weight = safe_divide(1.0, norms)
    weight[norms <= rounding(diagonal) * diagonal] = 0.0
    weighted = rows * weight
    kernel = weighted @ rows.T
    inverse = PseudoInverse(kernel, len(kernel) * rounding(kernel))

    def combination(rhs):
        return inverse.solve((weighted @ rhs)[:, None])

    if not damped.any():
        # Minimum norm, in coordinates where all columns of U are of size 1.
        return lambda rhs: weighted.T @ inverse.solve(combination(rhs))[:, 0]
    system, alone = _DualSystem(centre.topology, rows, damping), (weight == 0) & ~damped

    def solve(rhs):
        inside = combination(rhs)[:, 0]
        rest = rhs - rows.T @ inside
        # A small damping would make much of what is rounding error.
        noise = rounding(rows) * (np.abs(rhs) + np.abs(rows).T @ np.abs(inside))
        rest[alone | (np.abs(rest) <= noise)] = 0.0
        step = system.solve(inside)
        if rest.any():
            step += system.solve_outside(rest)
        missed = system.missed(step, rhs, diagonal)
        if missed <= _MISSED:
            return step
        whole = system.solve_outside(rhs)
        return whole if not missed <= system.missed(whole, rhs, diagonal) else step

    return solve


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
        self.free_rows = rows[:, self.free]
        self.solved = self._apply(self.free_rows)
        schur = self.free_rows.T @ self.solved
        self.schur = ScaledFactor((schur + schur.T)[None] / 2)

    def solve(self, combination):
        """The solution for ``g = U^T combination``."""
        step = np.zeros(self.rows.shape[1])
        step[self.free] = self._free_part(self.solved.T @ combination)
        rest = self.left.T @ (combination - self.free_rows @ step[self.free])
        step[self.damped] = self.right.T @ (self.values / (1 + self.values**2) * rest) / self.root
        return step

    def solve_outside(self, rhs):
        """The solution for a g orthogonal to the rows, so that U x is small."""
        step = np.zeros(self.rows.shape[1])
        spread = self._apply(self.rows[:, self.damped] @ (rhs[self.damped] / self.damping))
        step[self.free] = self._free_part(rhs[self.free] - self.free_rows.T @ spread)
        dual = spread + self.solved @ step[self.free]
        tension = rhs[self.damped] - self.rows[:, self.damped].T @ dual
        step[self.damped] = tension / self.damping
        return step

    def missed(self, step, rhs, diagonal):
        """Norm of what a solution leaves of g, as a share of that of g, entries scaled alike."""
        solved = np.r_[self.damped, self.free]
        size = diagonal[solved]
        size[: len(self.damped)] += self.damping
        rest = rhs - self.rows.T @ (self.rows @ step)
        rest[self.damped] -= self.damping * step[self.damped]
        left, whole = (np.sum(safe_divide(g[solved] ** 2, size)) for g in (rest, rhs))
        return np.sqrt(safe_divide(left, whole))

    def _apply(self, vectors):
        """``(1 + K)^-1 vectors``."""
        inside = self.left.T @ vectors
        solved = self.left @ (inside.T / (1 + self.values**2)).T
        if self.left.shape[0] > self.left.shape[1]:
            solved += vectors - self.left @ inside
        return solved

    def _free_part(self, rhs):
        return self.schur.solve(rhs[None, :, None])[0, :, 0]

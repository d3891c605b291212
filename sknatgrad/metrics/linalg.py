"""Linear systems with stacks of positive semi-definite matrices.

Metrics are singular on ordinary days: constant or repeated inputs, units that
are dead, fewer samples than parameters. The right-hand side, a gradient, then
lies in the image of the matrix (paper, section "Best-fit interpretation", "Non-
invertibility"), so any solution gives the same change of the network's function.
The functions here return one, without NaN.

`CentredFactor` eliminates the bias first: at each unit the matrix of the
remaining weights is a weighted covariance, scaled to unit diagonal before it is
factored. Both steps leave the solution as it is, and take away the ill
conditioning that comes from where inputs have their origin and scale.
"""

import numpy as np
from scipy.linalg import eigh, lapack

from ..compiled import get_kernels, loops
from ..numerics.arithmetic import rounding, safe_divide

# Matrices of at most this size, and so many for each of their rows, are solved row by row all
# together; others one by one.
_BATCHED_SIZE, _BATCHED_RATIO = 24, 3
# Stacks of so many blocks of at most this size are factored side by side.
_COMPILED_SIZE, _FEWEST_COMPILED = 32, 8
_NOTHING = np.empty((0, 0))
_DOUBLE = rounding(_NOTHING)


def centred_factor(blocks, relative=0.0, absolute=None):
    """A `CentredFactor`, or its compiled form where that is switched on and pays."""
    n_blocks, size, _ = blocks.shape
    small = 1 < size <= _COMPILED_SIZE and n_blocks >= _FEWEST_COMPILED
    compiled = small and get_kernels() == "numba"
    return (CompiledFactor if compiled else CentredFactor)(blocks, relative, absolute)


def without_bias(blocks, corner=None):
    """Mean activities, and what remains of metric blocks where the bias is eliminated.

    Parameters
    ----------
    blocks : ndarray of shape (..., m, m)
        Bias first.
    corner : ndarray of shape (..., 1), optional
        ``A_00``, where it is not the block's.

    Returns
    -------
    mean : ndarray of shape (..., m - 1)
        ``A_0i / A_00``.
    covariance : ndarray of shape (..., m - 1, m - 1)
        ``A_ij - A_0i A_0j / A_00``.
    """
    border = blocks[..., 0, 1:]
    mean = safe_divide(border, blocks[..., 0, :1] if corner is None else corner)
    return mean, blocks[..., 1:, 1:] - mean[..., :, None] * border[..., None, :]


class CentredFactor:
    """``A + damping`` for a stack of metric blocks A, factored once for many solves.

    Parameters
    ----------
    blocks : ndarray of shape (n, m, m)
        Positive semi-definite, bias first.
    relative : float
        Adds ``relative`` times the centred variance ``A_ii - A_0i^2 / A_00`` to each
        ``A_ii``, i > 0.
    absolute : ndarray of shape (n, m), optional
        Added to the diagonal.

    Notes
    -----
    O(n m^3) to build, O(n m^2) a solve.
    """

    def __init__(self, blocks, relative=0.0, absolute=None):
        error = rounding(blocks)
        diagonal = np.einsum("nii->ni", blocks)[:, 1:]
        corner, border = blocks[:, 0, 0].astype(float), blocks[:, 0, 1:]
        damping = relative * centred_variance(corner[:, None], border, diagonal)
        if absolute is not None:
            corner = corner + absolute[:, 0]
            damping = damping + absolute[:, 1:]
        self.n_blocks, self.size = blocks.shape[:2]
        self._corner = corner[:, None]
        self._mean, covariance = without_bias(blocks, self._corner)
        np.einsum("nii->ni", covariance)[...] += damping
        self._weights = ScaledFactor(covariance, error * (diagonal + damping), error)

    def solve(self, rhs):
        """Solve for right-hand sides of shape (n, m, k)."""
        solution = np.empty_like(rhs)
        target = rhs[:, 1:] - self._mean[:, :, None] * rhs[:, :1]
        solution[:, 1:] = self._weights.solve(target)
        pure_bias = safe_divide(rhs[:, 0], self._corner)
        solution[:, 0] = pure_bias - np.einsum("ni,nik->nk", self._mean, solution[:, 1:])
        return solution


class CompiledFactor:
    """The same as `CentredFactor`, in compiled loops over units side by side."""

    def __init__(self, blocks, relative=0.0, absolute=None):
        self.n_blocks, self.size = n_blocks, size = blocks.shape[:2]
        error = rounding(blocks)
        smallest_pivot = (size - 1) * error
        shapes = (size - 1, size - 1, n_blocks), (size - 1, n_blocks), (size - 1, n_blocks)
        self._parts = *(np.empty(shape) for shape in shapes), np.empty(n_blocks)
        damping = _NOTHING if absolute is None else absolute
        stack = np.ascontiguousarray(blocks.transpose(1, 2, 0))
        sound = loops().factor_blocks(stack, relative, damping, error, smallest_pivot, *self._parts)
        self._unsound = np.flatnonzero(~sound)
        if self._unsound.size:
            rows = self._unsound
            damping = None if absolute is None else absolute[rows]
            self._rest = CentredFactor(blocks[rows], relative, damping)

    def solve(self, rhs):
        """Solve for right-hand sides of shape (n, m, k)."""
        solution = np.empty_like(rhs)
        for column in range(rhs.shape[2]):
            part = np.ascontiguousarray(rhs[:, :, column], dtype=float)
            solution[:, :, column] = loops().solve_blocks(*self._parts, part)
        if self._unsound.size:
            solution[self._unsound] = self._rest.solve(rhs[self._unsound])
        return solution


def centred_variance(corner, border, diagonal):
    """``A_ii - A_0i^2 / A_00``, and 0 where that is rounding error."""
    return centred_moments(corner, border, diagonal)[1]


def centred_moments(corner, border, diagonal):
    """Means ``A_0i / A_00``, variances ``A_ii - A_0i^2 / A_00``, and their rounding errors.

    A variance that is not above its error is 0.
    """
    mean = safe_divide(border, corner)
    error = rounding(diagonal) * diagonal
    variance = mean * border
    np.subtract(diagonal, variance, out=variance)
    variance[~(variance > error)] = 0.0
    return mean, variance, error


class ScaledFactor:
    """A stack of positive semi-definite matrices, scaled to unit diagonal and factored.

    Null rows and columns give 0; a matrix that is singular up to rounding is solved
    with its pseudo-inverse.

    Parameters
    ----------
    matrices : ndarray of shape (n, m, m)
        Overwritten.
    floor : float or ndarray of shape (n, m)
        Diagonal entries not above this are null.
    error : float
        Relative rounding error of the entries.
    """

    def __init__(self, matrices, floor=0.0, error=_DOUBLE):
        diagonal = np.einsum("nii->ni", matrices)
        alive = diagonal > floor
        size = matrices.shape[1]
        self._smallest_pivot = size * error
        # Square roots first: the inverse of a subnormal number overflows.
        root = np.sqrt(diagonal, where=alive, out=np.ones_like(diagonal))
        self._scale = np.where(alive, 1 / root, 0.0)[:, :, None]
        matrices *= self._scale
        matrices *= self._scale.transpose(0, 2, 1)
        np.einsum("nii->ni", matrices)[...] = 1.0
        self._batched = size <= _BATCHED_SIZE and len(matrices) > _BATCHED_RATIO * size
        self._lower, sound = self._cholesky(matrices)
        self._singular = {
            i: PseudoInverse(matrices[i], self._smallest_pivot) for i in np.flatnonzero(~sound)
        }

    def _cholesky(self, matrices):
        """Lower factors, and which of them can be relied on."""
        sound = np.ones(len(matrices), dtype=bool)
        if matrices.shape[1] == 0:
            return matrices, sound
        try:
            if not self._batched:
                raise np.linalg.LinAlgError
            factors = np.linalg.cholesky(matrices)
        except np.linalg.LinAlgError:
            # A symmetric matrix is its transpose, which has the order that LAPACK wants.
            results = [lapack.dpotrf(matrix.T, lower=1) for matrix in matrices]
            factors = [factor for factor, _ in results]
            sound = np.array([info == 0 for _, info in results])
            factors = np.stack(factors) if self._batched else factors
        pivots = np.array([factor.diagonal().min() for factor in factors]) ** 2
        return factors, sound & (pivots >= self._smallest_pivot)

    def solve(self, rhs):
        """Solve for right-hand sides of shape (n, m, k)."""
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            scaled = rhs * self._scale
            if self._batched:
                solution = _substitute(self._lower, scaled)
            else:
                solution = np.stack(
                    [
                        lapack.dpotrs(a, b, lower=1)[0]
                        for a, b in zip(self._lower, scaled, strict=True)
                    ]
                )
            for i, inverse in self._singular.items():
                solution[i] = inverse.solve(scaled[i])
            solution *= self._scale
        # A unit whose step overflows is one without a usable metric: it waits.
        lost = ~np.isfinite(solution).all(axis=1, keepdims=True)
        return np.where(lost, 0.0, solution)


def _substitute(lower, rhs):
    """Solve ``L L^T x = rhs`` for a stack of small lower triangular L."""
    solution = rhs.copy()
    size = rhs.shape[1]
    for i in range(size):
        solution[:, i] -= np.einsum("nj,njk->nk", lower[:, i, :i], solution[:, :i])
        solution[:, i] /= lower[:, i, i, None]
    for i in reversed(range(size)):
        solution[:, i] -= np.einsum("nj,njk->nk", lower[:, i + 1 :, i], solution[:, i + 1 :])
        solution[:, i] /= lower[:, i, i, None]
    return solution


class PseudoInverse:
    """Moore-Penrose inverse, directions below rounding error left out."""

    def __init__(self, matrix, cutoff):
        self._usable = bool(np.isfinite(matrix).all())
        if self._usable:
            values, vectors = eigh(matrix)
            kept = values > values[-1] * cutoff
            self._values, self._vectors = values[kept], vectors[:, kept]

    def solve(self, rhs):
        if not self._usable:
            return np.full_like(rhs, np.nan)
        return self._vectors @ ((self._vectors.T @ rhs) / self._values[:, None])

"""Linear systems with stacks of positive semi-definite matrices.

Metrics are singular on ordinary days: constant or repeated inputs, units that
are dead, fewer samples than parameters. The right-hand side, a gradient, then
lies in the image of the matrix (paper, section "Best-fit interpretation", "Non-
invertibility"), so any solution gives the same change of the network's function.
The functions here return one, without NaN.

`centred_solve` eliminates the bias first: at each unit the matrix of the
remaining weights is a weighted covariance, scaled to unit diagonal before it is
factored. Both steps leave the solution as it is, and take away the ill
conditioning that comes from where inputs have their origin and scale.
"""

import numpy as np
from scipy.linalg import eigh, lapack

# A variance below this share of the second moment is rounding error.
ROUNDING = 64 * np.finfo(float).eps
_BATCHED_SIZE = 24


def safe_divide(numerator, denominator):
    """Quotient, 0 where the denominator is 0 or the quotient overflows."""
    with np.errstate(all="ignore"):
        quotient = np.divide(numerator, denominator)
    return np.where(np.isfinite(quotient), quotient, 0.0)


def centred_solve(blocks, rhs, relative=0.0, absolute=None):
    """Solve ``(A + damping) x = rhs`` for a stack of metric blocks A.

    Parameters
    ----------
    blocks : ndarray of shape (n, m, m)
        Positive semi-definite, bias first.
    rhs : ndarray of shape (n, m, k)
    relative : float
        Adds ``relative`` times the centred variance ``A_ii - A_0i^2 / A_00`` to
        each ``A_ii``, i > 0.
    absolute : ndarray of shape (n, m), optional
        Added to the diagonal.

    Returns
    -------
    ndarray of shape (n, m, k)
        O(n m^3).
    """
    diagonal = np.einsum("nii->ni", blocks)[:, 1:]
    corner, border = blocks[:, 0, 0], blocks[:, 0, 1:]
    variance = centred_variance(corner[:, None], border, diagonal)
    damping = relative * variance
    if absolute is not None:
        corner = corner + absolute[:, 0]
        damping = damping + absolute[:, 1:]
    mean = safe_divide(border, corner[:, None])
    covariance = blocks[:, 1:, 1:] - mean[:, :, None] * border[:, None, :]
    np.einsum("nii->ni", covariance)[...] += damping
    solution = np.empty(np.broadcast_shapes(rhs.shape, (len(blocks), 1, 1)))
    target = rhs[:, 1:] - mean[:, :, None] * rhs[:, :1]
    solution[:, 1:] = scaled_solve(covariance, target, diagonal + damping)
    pure_bias = safe_divide(rhs[:, 0], corner[:, None])
    solution[:, 0] = pure_bias - np.einsum("ni,nik->nk", mean, solution[:, 1:])
    return solution


def centred_variance(corner, border, diagonal):
    """``A_ii - A_0i^2 / A_00``, and 0 where that is rounding error."""
    variance = diagonal - safe_divide(border, corner) * border
    return np.where(variance > ROUNDING * diagonal, variance, 0.0)


def scaled_solve(matrices, rhs, reference=None):
    """Solve after scaling to unit diagonal; null rows and columns give 0.

    Parameters
    ----------
    matrices : ndarray of shape (n, m, m)
        Positive semi-definite. Overwritten.
    rhs : ndarray of shape (n, m, k)
    reference : ndarray of shape (n, m), optional
        Diagonal entries below `ROUNDING` times this are null.

    Returns
    -------
    ndarray of shape (n, m, k)
    """
    diagonal = np.einsum("nii->ni", matrices)
    floor = 0.0 if reference is None else ROUNDING * reference
    alive = diagonal > floor
    scale = np.zeros_like(diagonal)
    # Square roots first: the inverse of a subnormal number overflows.
    np.divide(
        1.0, np.sqrt(diagonal, where=alive, out=np.ones_like(diagonal)), out=scale, where=alive
    )
    matrices *= scale[:, :, None]
    matrices *= scale[:, None, :]
    np.einsum("nii->ni", matrices)[...] = 1.0
    with np.errstate(over="ignore", invalid="ignore"):
        solution = _solve_unit_diagonal(matrices, rhs * scale[:, :, None]) * scale[:, :, None]
    # A unit whose step overflows is one without a usable metric: it waits.
    lost = ~np.isfinite(solution).all(axis=1, keepdims=True)
    return np.where(lost, 0.0, solution)


def _solve_unit_diagonal(matrices, rhs):
    if matrices.shape[1] == 0:
        return np.zeros_like(rhs)
    if matrices.shape[1] > _BATCHED_SIZE:
        return np.stack([_solve_one(a, b) for a, b in zip(matrices, rhs, strict=True)])
    try:
        factor = np.linalg.cholesky(matrices)
    except np.linalg.LinAlgError:
        return np.stack([_solve_one(a, b) for a, b in zip(matrices, rhs, strict=True)])
    pivots = np.einsum("nii->ni", factor).min(axis=1) ** 2
    sound = pivots >= _smallest_pivot(matrices.shape[1])
    if sound.all():
        return np.linalg.solve(matrices, rhs)
    solution = np.empty(np.broadcast_shapes(rhs.shape, (len(matrices), 1, 1)))
    solution[sound] = np.linalg.solve(matrices[sound], rhs[sound])
    for i in np.flatnonzero(~sound):
        solution[i] = pseudo_solve(matrices[i], rhs[i])
    return solution


def _solve_one(matrix, rhs):
    factor, solution, info = lapack.dposv(matrix, rhs, lower=1)
    if info == 0 and np.diag(factor).min() ** 2 >= _smallest_pivot(len(matrix)):
        return solution
    return pseudo_solve(matrix, rhs)


def _smallest_pivot(size):
    return size * ROUNDING


def pseudo_solve(matrix, rhs):
    """Moore-Penrose solution, directions below rounding error left out."""
    if not np.isfinite(matrix).all():
        return np.full_like(rhs, np.nan)
    values, vectors = eigh(matrix)
    kept = values > values[-1] * _smallest_pivot(len(matrix))
    vectors = vectors[:, kept]
    return vectors @ ((vectors.T @ rhs) / values[kept, None])

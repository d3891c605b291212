"""Matrices that differ by a factor, all with the same ridge, from one eigendecomposition."""

import numpy as np

from ..numerics.arithmetic import rounding, safe_divide
from .linalg import centred_variance, without_bias

# Beyond this ratio to the ridge an eigenvalue has lost the digits that matter; sooner where
# means are not taken off before.
_LARGEST_RATIO, _LARGEST_UNCENTRED_RATIO = 1e9, 1e6


class SharedRidgeFactor:
    """``s_k A + relative damping + ridge`` for many numbers s_k, factored once.

    The bias is eliminated first (see `CentredFactor`); what remains of A is a
    covariance C, and ``R^-1/2 C R^-1/2 = V diag(l) V^T`` with R the ridge, so that each
    matrix is diagonal in the same coordinates: ``R^1/2 V diag(s_k l + 1) V^T R^1/2``.

    Parameters
    ----------
    block : ndarray of shape (m, m)
        Positive semi-definite, bias first.
    strength : ndarray of shape (n,)
        The numbers s_k >= 0.
    ridge : ndarray of shape (m - 1,)
        Added to the diagonal entries of the weights. Weights without variance may
        have none: they are left alone.
    relative : float
        As in `CentredFactor`, for ``s_k A``.

    Attributes
    ----------
    sound : bool
        Whether `solve` can be relied on: not if a weight that varies has no ridge, or
        one that is too small for this to be accurate.

    Notes
    -----
    O(m^3) to build however many numbers there are, O(n m^2) a solve.
    """

    def __init__(self, block, strength, ridge, relative=0.0):
        diagonal, border = block.diagonal()[1:], block[0, 1:]
        variance = centred_variance(block[0, 0], border, diagonal)
        alive = variance > rounding(block) * diagonal
        largest = strength.max(initial=0.0) * variance.max(initial=0.0, where=alive)
        smallest = ridge.min(initial=np.inf, where=alive)
        usable = smallest >= np.finfo(float).tiny and np.isfinite(largest)
        self.sound = bool(usable and largest <= _LARGEST_RATIO * smallest)
        if not self.sound:
            return
        mean, covariance = without_bias(block.astype(float))
        self._corner = strength * block[0, 0]
        # A unit without a metric leaves its bias alone.
        self._mean = np.where(self._corner[:, None] > 0, mean, 0.0)
        scale = np.where(alive, 1 / np.sqrt(np.where(alive, ridge, 1.0)), 0.0)
        # Weights without variance, which their ridge alone holds.
        self._still = np.flatnonzero(~alive & (ridge > 0))
        self._ridge = ridge[self._still]
        self._size = np.sqrt(strength[:, None] * diagonal[self._still])
        self._precision = rounding(block)
        np.einsum("ii->i", covariance)[...] += relative * variance
        self._weights = _SharedEigenbasis(covariance, strength, scale)

    def solve(self, rhs):
        """Solve for right-hand sides of shape (n, m, k)."""
        solution = np.empty_like(rhs)
        target = rhs[:, 1:] - self._mean[:, :, None] * rhs[:, :1]
        solution[:, 1:] = self._weights.solve(target)
        if self._still.size:
            solution[:, 1 + self._still] = self._pulled(rhs[:, :1], target[:, self._still])
        solution[:, 0] = safe_divide(rhs[:, 0], self._corner[:, None])
        solution[:, 0] -= np.einsum("ni,nik->nk", self._mean, solution[:, 1:])
        return solution

    def _pulled(self, of_bias, target):
        """Steps of weights without variance.

        Of the gradient of the data, which they share with the bias, they keep a rounding error,
        relative to its size.
        """
        shared = np.abs(self._mean[:, self._still, None] * of_bias)
        noise = self._precision * np.maximum(self._size[:, :, None], shared)
        return safe_divide(np.where(np.abs(target) > noise, target, 0.0), self._ridge[:, None])


class UncentredRidgeFactor:
    """The same where the bias has a ridge as well, so that nothing is eliminated.

    ``s_k (A + relative damping) + R = R^1/2 V diag(s_k l + 1) V^T R^1/2``. Parameters and costs are
    those of `SharedRidgeFactor`, but for a ridge of shape (m,), without zeros.
    """

    def __init__(self, block, strength, ridge, relative=0.0):
        damped = block.astype(float)
        variance = centred_variance(block[0, 0], block[0, 1:], block.diagonal()[1:])
        np.einsum("ii->i", damped)[1:] += relative * variance
        largest = strength.max(initial=0.0) * damped.diagonal().max()
        usable = ridge.min() >= np.finfo(float).tiny and np.isfinite(largest)
        self.sound = bool(usable and largest <= _LARGEST_UNCENTRED_RATIO * ridge.min())
        if not self.sound:
            return
        self.solve = _SharedEigenbasis(damped, strength, 1 / np.sqrt(ridge)).solve


class _SharedEigenbasis:
    """``s_k C + R`` in the coordinates in which all are diagonal; `scale` is ``R^-1/2``.

    Where the scale is 0 the solution is.
    """

    def __init__(self, matrix, strength, scale):
        values, self._vectors = np.linalg.eigh(scale[:, None] * matrix * scale)
        self._vectors *= scale[:, None]
        self._inverse = 1 / (np.maximum(values, 0.0) * strength[:, None] + 1)

    def solve(self, rhs):
        """Solve for right-hand sides of shape (n, m, k)."""
        columns = rhs.transpose(2, 0, 1) @ self._vectors
        columns = (columns * self._inverse) @ self._vectors.T
        return columns.transpose(1, 2, 0)


def shared_ridge_factor(block, strength, ridge, relative=0.0):
    """The factor of ``s_k A + relative damping + ridge``, ridge of shape (m,), bias first."""
    if ridge[0]:
        return UncentredRidgeFactor(block, strength, ridge, relative)
    return SharedRidgeFactor(block, strength, ridge[1:], relative)

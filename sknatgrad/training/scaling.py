"""Where the data have their origin, scale and orientation."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

_CHUNK = 8192
# A standard deviation below this share of the mean is rounding error.
_CONSTANT = 1e-13
_SYMMETRIC = 1e-9


@dataclass(frozen=True, eq=False)
class InputScale:
    """Affine coordinates of the inputs: ``(x - centre) / scale``.

    Attributes
    ----------
    centre, scale : ndarray of shape (n_inputs,)
        Scales may be negative; 0 marks an input that is constant.
    """

    centre: np.ndarray
    scale: np.ndarray

    @classmethod
    def of_data(cls, X, sample_weight=None):
        """Weighted mean, and standard deviation with the sign of the skewness.

        The sign makes the coordinates the same for x and -x (1 - x, for a binary
        input). Dense or CSR X; O(size of X), memory for a few rows.
        """
        weight = np.ones(X.shape[0]) if sample_weight is None else np.asarray(sample_weight, float)
        moments = _sparse_moments if sparse.issparse(X) else _dense_moments
        centre, variance, third = moments(X, weight / weight.sum())
        scale = np.sqrt(variance)
        scale[scale <= _CONSTANT * np.abs(centre)] = 0.0
        scale[third < -_SYMMETRIC] *= -1
        return cls(centre, scale)

    def without_centre(self):
        """The scale alone, which keeps sparse inputs sparse."""
        return InputScale(np.zeros_like(self.centre), self.scale)

    def relative_to(self, other):
        """The same place and scale, told in the coordinates `other`."""
        divisor = other.divisor
        return InputScale((self.centre - other.centre) / divisor, self.scale / divisor)

    def with_fallback(self):
        """Inputs that were constant so far get the scale of their value, or 1."""
        size = np.abs(self.centre)
        return InputScale(
            self.centre, np.where(self.scale == 0, np.where(size > 0, size, 1.0), self.scale)
        )

    @property
    def divisor(self):
        """Scales, with 1 for constant inputs."""
        return np.where(self.scale == 0, 1.0, self.scale)

    def apply(self, X):
        """The rows of X in these coordinates; sparse ones must have centre 0."""
        if sparse.issparse(X):
            return sparse.csr_array(X).multiply(1 / self.divisor).tocsr()
        return (X - self.centre) / self.divisor


def _dense_moments(X, weight):
    """Mean, variance and skewness of the columns."""
    n_samples = X.shape[0]
    parts = [slice(start, start + _CHUNK) for start in range(0, n_samples, _CHUNK)]
    # Scaled by the largest value, so that squares and cubes do not overflow.
    size = np.max([np.abs(X[part]).max(axis=0) for part in parts], axis=0).astype(float)
    unit = np.where(size > 0, size, 1.0)
    mean = sum(weight[part] @ (X[part] / unit) for part in parts)
    variance, third = np.zeros_like(mean), np.zeros_like(mean)
    for part in parts:
        deviation = X[part] / unit - mean
        variance += weight[part] @ deviation**2
        third += weight[part] @ deviation**3
    return mean * unit, variance * unit**2, _skewness(variance, third)


def _sparse_moments(X, weight):
    X = sparse.csr_array(X).astype(float, copy=False)
    n_inputs = X.shape[1]
    size = np.zeros(n_inputs)
    np.maximum.at(size, X.indices, np.abs(X.data))
    unit = np.where(size > 0, size, 1.0)
    values = X.data / unit[X.indices]
    row_weight = np.repeat(weight, np.diff(X.indptr))
    present = np.bincount(X.indices, row_weight, minlength=n_inputs)
    mean = np.bincount(X.indices, row_weight * values, minlength=n_inputs)
    deviation = values - mean[X.indices]
    absent = np.maximum(1.0 - present, 0.0)
    variance, third = (
        np.bincount(X.indices, row_weight * deviation**power, minlength=n_inputs)
        + absent * (-mean) ** power
        for power in (2, 3)
    )
    return mean * unit, variance * unit**2, _skewness(variance, third)


def _skewness(variance, third):
    cube = variance**1.5
    return np.divide(third, cube, out=np.zeros_like(third), where=cube > 0)

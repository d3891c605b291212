"""Weighted moments of the columns of a data matrix."""

import numpy as np
from scipy import sparse

_CHUNK = 8192


def weighted_moments(X, sample_weight=None):
    """Mean, standard deviation and skewness of each column.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_samples, n_columns)
        Or an object that computes its own ``moments()``.
    sample_weight : ndarray of shape (n_samples,), optional

    Returns
    -------
    mean, deviation, skewness : ndarray of shape (n_columns,)
        Computed in two passes over a few rows at a time; neither overflows nor makes
        sparse data dense.
    """
    if hasattr(X, "moments"):
        return X.moments()
    if sample_weight is None or not np.any(sample_weight):
        sample_weight = np.ones(X.shape[0])
    weight = np.asarray(sample_weight, float)
    weight = weight / weight.sum()
    if sparse.issparse(X):
        return _sparse_moments(X, weight)

    def each(function, *arguments):
        for start in range(0, X.shape[0], _CHUNK):
            part = slice(start, start + _CHUNK)
            yield function(X[part], weight[part], *arguments)

    return moments_by_parts(each)


def moments_by_parts(each):
    """The same of rows that come in parts, wherever these are.

    Parameters
    ----------
    each : callable
        ``each(function, *arguments)`` yields ``function(rows, weight, *arguments)`` for
        every part of the rows in order; all weights add up to 1.
    """
    lowest, highest = zip(*each(_extremes), strict=True)
    lowest, highest = np.min(lowest, axis=0), np.max(highest, axis=0)
    unit = _unit(np.maximum(highest, -lowest))
    mean = sum(each(_mean, unit))
    variance, third = (sum(parts) for parts in zip(*each(_powers, unit, mean), strict=True))
    # The mean of equal values is rounded; these columns are to be exactly constant.
    same = highest == lowest
    mean[same], variance[same], third[same] = (highest / unit)[same], 0.0, 0.0
    return mean * unit, np.sqrt(variance) * unit, _skewness(variance, third)


def _extremes(X, weight):
    return X.min(axis=0), X.max(axis=0)


def _mean(X, weight, unit):
    return weight @ (X / unit)


def _powers(X, weight, unit, mean):
    """Sums of squares and cubes of the deviations from the mean."""
    deviation = X / unit
    deviation -= mean
    square = deviation * deviation
    variance = weight @ square
    square *= deviation
    return variance, weight @ square


def _unit(size):
    """A power of two near the largest value of each column, so that cubes do not overflow."""
    return np.exp2(np.ceil(np.log2(np.where(size > 0, size, 1.0).astype(float))))


def _sparse_moments(X, weight):
    X = sparse.csr_array(X).astype(float, copy=False)
    n_inputs = X.shape[1]
    size = np.zeros(n_inputs)
    np.maximum.at(size, X.indices, np.abs(X.data))
    unit = _unit(size)
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
    return mean * unit, np.sqrt(variance) * unit, _skewness(variance, third)


def _skewness(variance, third):
    cube = variance**1.5
    return np.divide(third, cube, out=np.zeros_like(third), where=cube > 0)

"""Weighted moments of the columns of a data matrix."""

import numpy as np
from scipy import sparse

_CHUNK = 8192


def weighted_moments(X, sample_weight=None):
    """Mean, standard deviation and skewness of each column.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_samples, n_columns)
    sample_weight : ndarray of shape (n_samples,), optional

    Returns
    -------
    mean, deviation, skewness : ndarray of shape (n_columns,)
        Computed in two passes over a few rows at a time; neither overflows nor makes
        sparse data dense.
    """
    if sample_weight is None or not np.any(sample_weight):
        sample_weight = np.ones(X.shape[0])
    weight = np.asarray(sample_weight, float)
    moments = _sparse_moments if sparse.issparse(X) else _dense_moments
    return moments(X, weight / weight.sum())


def _dense_moments(X, weight):
    """Mean, variance and skewness of the columns."""
    n_samples = X.shape[0]
    parts = [slice(start, start + _CHUNK) for start in range(0, n_samples, _CHUNK)]
    highest = np.max([X[part].max(axis=0) for part in parts], axis=0)
    lowest = np.min([X[part].min(axis=0) for part in parts], axis=0)
    unit = _unit(np.maximum(highest, -lowest))
    mean = sum(weight[part] @ (X[part] / unit) for part in parts)
    variance, third = np.zeros_like(mean), np.zeros_like(mean)
    for part in parts:
        deviation = X[part] / unit
        deviation -= mean
        square = deviation * deviation
        variance += weight[part] @ square
        square *= deviation
        third += weight[part] @ square
    # The mean of equal values is rounded; these columns are to be exactly constant.
    same = highest == lowest
    mean[same], variance[same], third[same] = (highest / unit)[same], 0.0, 0.0
    return mean * unit, np.sqrt(variance) * unit, _skewness(variance, third)


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

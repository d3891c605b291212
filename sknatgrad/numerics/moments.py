"""Weighted moments of the columns of a data matrix."""

from typing import NamedTuple

import numpy as np
from scipy import sparse

from .arithmetic import power_of_two, safe_divide
from .sums import tree_sum
from .walk import blocks

# A skewness below this says nothing, nor one below so many rounding errors of the values.
_SYMMETRIC, _ROUNDING_ERRORS, _DOUBLE = 1e-9, 10.0, np.finfo(float).eps


class Moments(NamedTuple):
    """Weighted moments of the columns of a matrix, each of shape (n_columns,).

    Attributes
    ----------
    mean, deviation, skewness : ndarray
    absolute : ndarray
        Mean of the distance from the mean, at most the standard deviation.
    rest : ndarray
        Mean of what is left when `mean` is subtracted: its rounding error, which matters
        where columns are far from 0 and vary little.
    """

    mean: np.ndarray
    deviation: np.ndarray
    skewness: np.ndarray
    absolute: np.ndarray
    rest: np.ndarray

    def of(self, columns):
        """Those of some columns."""
        return Moments(*(each[columns] for each in self))

    def signs(self, precision=_DOUBLE):
        """Those of the skewness, (n_columns,), by which x and -x are told apart in any unit.

        -1 or 1; 0 where there is none but by rounding errors of values in that precision,
        1 where nothing varies.
        """
        error = _ROUNDING_ERRORS * precision * safe_divide(np.abs(self.mean), self.deviation)
        symmetric = np.abs(self.skewness) <= np.maximum(_SYMMETRIC, error)
        signs = np.where(symmetric, 0.0, np.sign(self.skewness))
        return np.where(self.deviation > 0, signs, 1.0)


def weighted_moments(X, sample_weight=None):
    """Mean, standard and absolute deviation, and skewness of each column.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_samples, n_columns), or SlicedRows
    sample_weight : ndarray of shape (n_samples,), optional

    Returns
    -------
    Moments
        In three passes over a few rows at a time: extremes, means, powers; without the first
        if X knows its `extremes`. Neither overflows nor makes sparse data dense.
    """
    if sample_weight is None or not np.any(sample_weight):
        sample_weight = np.ones(X.shape[0])
    weight = np.asarray(sample_weight, float)
    weight = weight / weight.sum()
    if sparse.issparse(X):
        return _sparse_moments(X, weight)

    def each(function, *arguments):
        for place, rows in blocks(X):
            yield function(rows, weight[place], *arguments)

    return moments_by_parts(each, getattr(X, "extremes", None))


def moments_by_parts(each, ends=None):
    """The same of rows that come in parts, wherever these are.

    Parameters
    ----------
    each : callable
        ``each(function, *arguments)`` yields ``function(rows, weight, *arguments)`` for
        every part of the rows in order; all weights add up to 1.
    ends : ndarray of shape (2, n_columns), optional
        The `extremes` of all rows, if these are known.
    """
    lowest, highest = joint_extremes(each(extremes)) if ends is None else ends
    # Cubes of numbers of size 1 do not overflow.
    unit = power_of_two(np.maximum(highest, -lowest))
    mean = tree_sum(each(_mean, unit), np.add)
    powers = tree_sum(each(_powers, unit, mean), np.add)
    # The mean of equal values is rounded; these columns are to be exactly constant.
    same = highest == lowest
    mean[same] = (highest / unit)[same]
    powers[:, same] = 0.0
    return _moments(unit, mean, powers)


def extremes(X, weight=None):
    """Smallest and largest entry of each column, (2, n_columns)."""
    return np.array([X.min(axis=0), X.max(axis=0)])


def joint_extremes(parts):
    """The `extremes` of all rows, from those of parts."""
    lowest, highest = zip(*parts, strict=True)
    return np.array([np.min(lowest, axis=0), np.max(highest, axis=0)])


def _mean(X, weight, unit):
    return weight @ (X / unit)


def _powers(X, weight, unit, mean):
    """Weighted sums of `_each_power` of the deviations from the mean."""
    deviation = X / unit
    deviation -= mean
    return np.array([weight @ power for power in _each_power(deviation)])


def _each_power(values):
    """Values, squares, cubes, whether positive, and sizes; each in place of another."""
    yield values
    power = values * values
    yield power
    power *= values
    yield power
    yield (values > 0).astype(float)
    yield np.abs(values, out=values)


def _sparse_moments(X, weight):
    X = sparse.csr_array(X).astype(float, copy=False)
    n_inputs = X.shape[1]
    # Once: `bincount` would convert them each time.
    columns = X.indices.astype(np.intp, copy=False)
    lowest, highest = np.full(n_inputs, np.inf), np.full(n_inputs, -np.inf)
    np.minimum.at(lowest, columns, X.data)
    np.maximum.at(highest, columns, X.data)
    full = np.bincount(columns, minlength=n_inputs) == X.shape[0]
    unit = power_of_two(np.maximum(np.maximum(highest, -lowest), 0.0))
    values = X.data / unit[columns]
    row_weight = np.repeat(weight, np.diff(X.indptr))
    present = np.bincount(columns, row_weight, minlength=n_inputs)
    mean = np.bincount(columns, row_weight * values, minlength=n_inputs)
    same = full & (highest == lowest)
    mean[same] = highest[same] / unit[same]
    deviation = values - mean[columns]
    # Rounding would give the zeros of a column that has none a weight.
    absent = np.where(full, 0.0, np.maximum(1.0 - present, 0.0))
    powers = [
        np.bincount(columns, row_weight * power, minlength=n_inputs) + absent * of_zero
        for power, of_zero in zip(_each_power(deviation), _each_power(-mean), strict=True)
    ]
    return _moments(unit, mean, powers)


def _moments(unit, mean, powers):
    """All in units of `unit`."""
    rest, variance, third, above, absolute = powers
    # The mean is rounded, and more rows may lie on one side than on the other.
    absolute = absolute + (1 - 2 * above) * rest
    variance = np.maximum(variance - rest**2, 0.0)
    third = third - (3 * variance + rest**2) * rest
    deviation, skewness = np.sqrt(variance) * unit, _skewness(variance, third)
    return Moments(mean * unit, deviation, skewness, absolute * unit, rest * unit)


def _skewness(variance, third):
    cube = variance**1.5
    return np.divide(third, cube, out=np.zeros_like(third), where=cube > 0)

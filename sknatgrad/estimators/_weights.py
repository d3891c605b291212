"""Sample weights."""

import numpy as np
from sklearn.utils.validation import _check_sample_weight


def check_weights(sample_weight, X):
    """Weights as float64, or None.

    Raises
    ------
    ValueError
        If weights are negative, not finite, all zero or of the wrong length, or their
        sum is no normal number.
    """
    if sample_weight is None:
        return None
    given = np.asarray(sample_weight)
    # scikit-learn refuses them too, from 1.9 on, without the parameter's name.
    if given.dtype.kind in "biuf" and given.size and not given.any():
        raise ValueError("sample_weight must not be all zero: at least one weight must be > 0.")
    return _with_normal_sum(nonnegative_weights(sample_weight, X), "sample_weight")


def nonnegative_weights(sample_weight, X):
    """Weights as float64 of some rows of a data set; they may all be 0.

    Raises
    ------
    ValueError
        If weights are negative, not finite or of the wrong length.
    """
    sample_weight = _check_sample_weight(sample_weight, X, dtype=np.float64)
    if (sample_weight < 0).any():
        raise ValueError("sample_weight must not be negative.")
    return sample_weight


def without_zero_weights(data, y):
    """`Data` without rows of weight 0, and their y, an array or None.

    Rows on workers stay there.
    """
    if data.whole_batches_only or data.weight is None:
        return data, y
    if data.weight.all() or not data.weight.any():
        return data, y
    there = np.flatnonzero(data.weight)
    return data.rows(there), None if y is None else y[there]


def times_class_weight(sample_weight, factor):
    """Checked sample weights, or None, times what their classes weigh.

    Raises
    ------
    ValueError
        If the sum of the products is no normal number.
    """
    if sample_weight is None:
        return factor
    with np.errstate(over="ignore", under="ignore"):
        product = sample_weight * factor
    return _with_normal_sum(product, "sample_weight times class_weight")


def _with_normal_sum(weight, name):
    with np.errstate(over="ignore"):
        total = weight.sum()
    if not np.isfinite(total):
        raise ValueError(f"{name} must have a finite sum: divide the weights by their mean.")
    if 0 < total < np.finfo(float).tiny:
        raise ValueError(
            f"{name} must have a sum that is neither tiny nor huge: divide the weights by their "
            "mean."
        )
    return weight


def check_total_weight(data, name):
    """See that rows to learn from, or to be judged by, have a weight between them.

    Parameters
    ----------
    data : Data
    name : str
        Of the rows.

    Raises
    ------
    ValueError
        If their weights add up to 0, to less than the smallest normal number, or to more
        than the largest one.
    """
    total = data.total_weight
    if not np.finfo(float).tiny <= total < np.inf:
        raise ValueError(
            f"The weights of the {name} rows (sample_weight, times those of their classes if there "
            f"are any) add up to {total:g}: at least one must be > 0, and all of them neither tiny "
            "nor huge. Divide them by their mean."
        )

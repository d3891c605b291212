"""Sample weights."""

import numpy as np
from sklearn.utils.validation import _check_sample_weight


def check_weights(sample_weight, X):
    """Weights as float64, or None.

    Raises
    ------
    ValueError
        If weights are negative, not finite, all zero or of the wrong length, or their
        sum overflows.
    """
    if sample_weight is None:
        return None
    sample_weight = _check_sample_weight(sample_weight, X, dtype=np.float64)
    if (sample_weight < 0).any():
        raise ValueError("sample_weight must not be negative.")
    if not sample_weight.any():
        raise ValueError("sample_weight must not be all zero: at least one weight must be > 0.")
    with np.errstate(over="ignore"):
        total = sample_weight.sum()
    if not np.isfinite(total):
        raise ValueError("sample_weight must have a finite sum: divide the weights by their mean.")
    return sample_weight

"""Quotients, rounding errors and units in which numbers are of size 1."""

import numpy as np

# Rounding errors of a sum or a product of matrices, in units of the last digit: few of those
# that come up in practice are larger, and what is smaller than such an error says nothing.
_LAST_DIGITS = 64


def rounding(array):
    """Relative rounding error of means in the array's precision.

    A variance below this share of the second moment says nothing.
    """
    return _LAST_DIGITS * np.finfo(array.dtype).eps


def safe_divide(numerator, denominator):
    """Quotient, 0 where the denominator is 0 or the quotient overflows."""
    with np.errstate(all="ignore"):
        quotient = np.divide(numerator, denominator)
        finite = all_finite(quotient)
    return quotient if finite else np.where(np.isfinite(quotient), quotient, 0.0)


def all_finite(array):
    """Whether all of it is finite."""
    # The sum is quicker to look at, and not finite if one of them is not.
    return bool(np.isfinite(array.sum()) or np.isfinite(array).all())


def power_of_two(size):
    """The largest power of 2 up to each size, 1 where that is 0; no division by it rounds."""
    mantissa, exponent = np.frexp(np.asarray(size, float))
    return np.where(mantissa > 0, np.ldexp(1.0, exponent - 1), 1.0)

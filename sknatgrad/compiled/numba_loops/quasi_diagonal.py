"""The quasi-diagonal rule. Row k of the parameters is ``starts[k]`` to ``starts[k + 1]``."""

import numpy as np

from ._common import compiled, quotient, variance_above_rounding

# Indices without sign need no test for a count from the end, so that loops become vectors.
_ONE, _TWO, _THREE, _FOUR = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)


@compiled
def factor_quasi_diagonal(starts, first, second, relative, absolute, error, mean, variance):
    """Means ``A_0i / A_00`` and damped variances of all weights.

    At biases, `mean` gets the damped ``A_00``.
    """
    for k in range(starts.shape[0] - 1):
        start, stop = np.uint64(starts[k]), np.uint64(starts[k + 1])
        corner = first[start]
        damped = corner + absolute[start] if absolute.size else corner
        mean[start], variance[start] = damped, 0.0
        for p in range(start + _ONE, stop):
            value = variance_above_rounding(damped, first[p], second[p], error)
            if absolute.size:
                value = variance_above_rounding(damped, first[p], second[p] + absolute[p], error)
                if relative > 0:
                    value += relative * variance_above_rounding(corner, first[p], second[p], error)
            else:
                value *= 1 + relative
            mean[p], variance[p] = quotient(first[p], damped), value


@compiled
def solve_quasi_diagonal(starts, mean, variance, gradient, step):
    """The quasi-diagonal rule, unit by unit."""
    for k in range(starts.shape[0] - 1):
        start, stop = np.uint64(starts[k]), np.uint64(starts[k + 1])
        at_bias = gradient[start]
        for p in range(start + _ONE, stop):
            step[p] = quotient(gradient[p] - mean[p] * at_bias, variance[p])
        step[start] = quotient(at_bias, mean[start]) - _dot(mean, step, start + _ONE, stop)


@compiled
def _dot(x, y, start, stop):
    """Sum of products of some entries, four at a time."""
    s0 = s1 = s2 = s3 = 0.0
    i = start
    while i + _THREE < stop:
        s0 += x[i] * y[i]
        s1 += x[i + _ONE] * y[i + _ONE]
        s2 += x[i + _TWO] * y[i + _TWO]
        s3 += x[i + _THREE] * y[i + _THREE]
        i += _FOUR
    while i < stop:
        s0 += x[i] * y[i]
        i += _ONE
    return (s0 + s1) + (s2 + s3)

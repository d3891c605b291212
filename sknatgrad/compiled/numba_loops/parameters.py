"""Sums over all parameters at once."""

import numpy as np

from ._common import compiled


@compiled
def ahead(place, direction, rate, out):
    """``out = place + rate direction``; whether all of it is finite."""
    finite = True
    for i in range(len(out)):
        out[i] = place[i] + rate * direction[i]
        finite &= np.isfinite(out[i])
    return finite


@compiled
def between(start, stop, share, out):
    """``out = start + share (stop - start)``."""
    for i in range(len(out)):
        out[i] = start[i] + share * (stop[i] - start[i])

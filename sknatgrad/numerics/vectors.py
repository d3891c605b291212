"""Places in the space of parameters."""

import numpy as np

from ..compiled import get_kernels, loops
from .arithmetic import all_finite


def ahead(place, direction, rate):
    """``place + rate * direction``, and whether all of it is finite."""
    if get_kernels() == "numba":
        found = np.empty_like(place)
        return found, loops().ahead(place, direction, rate, found)
    found = direction + place if rate == 1.0 else rate * direction + place
    return found, all_finite(found)


def between(start, stop, share):
    """``start + share * (stop - start)``."""
    found = np.empty_like(start)
    if get_kernels() == "numba":
        loops().between(start, stop, share, found)
        return found
    np.subtract(stop, start, out=found)
    found *= share
    found += start
    return found

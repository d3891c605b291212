"""How loops are compiled, and what several of them need."""

from numba import njit


def compiled(function):
    """Compile at the first call; keep the result on disk where that can be written to."""
    options = {"nogil": True, "error_model": "numpy"}
    try:
        return njit(cache=True, **options)(function)
    except RuntimeError:
        return njit(**options)(function)


# Callers in other files keep what they have compiled of these on disk: whoever changes one
# empties the caches, or changes the callers' files too.
@compiled
def quotient(numerator, denominator):
    """The quotient, 0 where it is not finite."""
    value = numerator / denominator
    return value if value - value == 0 else 0.0


@compiled
def variance_above_rounding(corner, border, diagonal, error):
    """``A_ii - A_0i^2 / A_00``, and 0 where that is rounding error."""
    variance = diagonal - quotient(border, corner) * border
    return variance if variance > error * diagonal else 0.0

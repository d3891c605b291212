"""Which kernels are in use."""

import os
from contextlib import contextmanager
from functools import cache, partial
from importlib.util import find_spec

KERNELS = ("numpy", "numba")
VARIABLE = "SKNATGRAD_KERNELS"
# Exponentials of so many numbers are faster in one compiled loop than in NumPy's many calls.
COMPILED_SIZE = 512


class _Choice:
    """A name, or None before anybody has chosen."""

    def __init__(self, name=None):
        self.name = name


# That of the process, then those of the contexts that have been entered and not left. Threads
# may leave in another order than they came.
_choices = [_Choice()]


def set_kernels(name):
    """Choose what computes the loops that NumPy has no function for.

    Parameters
    ----------
    name : {"numpy", "numba"}
        "numpy" (the default) needs nothing else. "numba" compiles loops at their first
        use and keeps them on disk; it pays for sparse links, small networks and single
        rows. Results agree to rounding. The environment variable ``SKNATGRAD_KERNELS``
        sets the choice at the start of a process.

    Raises
    ------
    ValueError
        If the name is unknown.
    ImportError
        If numba is not installed.

    Notes
    -----
    The choice is one for the whole process; worker processes of `n_jobs` and workers of Dask
    follow it.
    """
    _choices[-1].name = _checked(name, "kernels")


def get_kernels():
    """The name of the kernels in use."""
    choice = _choices[-1]
    if choice.name is None:
        choice.name = _checked(os.environ.get(VARIABLE) or "numpy", VARIABLE)
    return choice.name


@contextmanager
def kernel_context(name):
    """`set_kernels` inside a ``with`` block; what was set before comes back after it."""
    choice = _Choice(_checked(name, "kernels"))
    _choices.append(choice)
    try:
        yield
    finally:
        _choices.remove(choice)


def with_kernels(name, function, *arguments):
    """What `function` returns under these kernels."""
    with kernel_context(name):
        return function(*arguments)


def under_kernels(function):
    """The function under the kernels chosen here, wherever it is called."""
    return partial(with_kernels, get_kernels(), function)


@cache
def loops():
    """The module of compiled loops; importing it imports numba."""
    from . import numba_loops

    return numba_loops


def _checked(name, source):
    if name not in KERNELS:
        raise ValueError(f"{source} must be one of {list(KERNELS)}, got {name!r}.")
    if name == "numba" and find_spec("numba") is None:
        raise ImportError(
            f"{source}={name!r} needs numba, which is not installed: install sknatgrad[fast]."
        )
    return name

"""Which kernels are in use."""

import os
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec

KERNELS = ("numpy", "numba")
VARIABLE = "SKNATGRAD_KERNELS"
# Exponentials of so many numbers are faster in one compiled loop than in NumPy's many calls.
COMPILED_SIZE = 512

_active = None


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
    The choice is one for the whole process; worker processes of `n_jobs` follow it.
    """
    global _active
    _active = _checked(name, "kernels")


def get_kernels():
    """The name of the kernels in use."""
    global _active
    if _active is None:
        _active = _checked(os.environ.get(VARIABLE) or "numpy", VARIABLE)
    return _active


@contextmanager
def kernel_context(name):
    """`set_kernels` inside a ``with`` block; what was set before comes back after it."""
    before = get_kernels()
    set_kernels(name)
    try:
        yield
    finally:
        set_kernels(before)


def with_kernels(name, function, *arguments):
    """What `function` returns under these kernels: for calls in other processes."""
    with kernel_context(name):
        return function(*arguments)


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

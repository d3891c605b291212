"""Which kernels are in use."""

import os
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, partial
from importlib.util import find_spec

KERNELS = ("numpy", "numba")
VARIABLE = "SKNATGRAD_KERNELS"
# Exponentials of so many numbers are faster in one compiled loop than in NumPy's many calls.
COMPILED_SIZE = 512


class _Process:
    """The choice of the process."""

    # None before anybody has chosen.
    kernels = None


# That of the `kernel_context` that the thread (or asynchronous task) is in, else None.
_context = ContextVar("kernels", default=None)


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
    The choice is one for the whole process, but inside of a `kernel_context`, whose choice it
    changes; threads and worker processes of `n_jobs` and workers of Dask follow whoever gives
    them work.
    """
    name = _checked(name, "kernels")
    if _context.get() is None:
        _Process.kernels = name
    else:
        _context.set(name)


def get_kernels():
    """The name of the kernels in use."""
    name = _context.get()
    if name is not None:
        return name
    if _Process.kernels is None:
        _Process.kernels = _checked(os.environ.get(VARIABLE) or "numpy", VARIABLE)
    return _Process.kernels


@contextmanager
def kernel_context(name):
    """`set_kernels` for a ``with`` block and what is called in it; other threads go on as before.

    Threads that are started in it by others than this library, as those of a grid search, do
    not know of it: choose for the whole process there.
    """
    token = _context.set(_checked(name, "kernels"))
    try:
        yield
    finally:
        _context.reset(token)


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

"""Loops that NumPy has no function for, compiled by numba where the user asks for it.

NumPy and SciPy are all that the library needs. ``set_kernels("numba")`` makes the
products with sparse links, the blocks of small units and the updates of single samples
compiled loops: the same sums to rounding, on one thread, in one order. Nothing is
compiled, nor numba imported, before that.
"""

from .switch import (
    COMPILED_SIZE,
    KERNELS,
    get_kernels,
    kernel_context,
    loops,
    set_kernels,
    under_kernels,
)

__all__ = [
    "COMPILED_SIZE",
    "KERNELS",
    "get_kernels",
    "kernel_context",
    "loops",
    "set_kernels",
    "under_kernels",
]

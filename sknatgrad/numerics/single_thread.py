"""One thread for the linear algebra, so that sums have the same bits everywhere."""

import threading
from contextlib import contextmanager
from functools import cache

from threadpoolctl import ThreadpoolController

_lock = threading.Lock()
_limits = None
_n_inside = 0


@cache
def _controller():
    """Looking for the libraries takes milliseconds: once."""
    return ThreadpoolController()


def _take_control():
    """Let any thread set limits: since threadpoolctl 3.8 only one may set those of OpenBLAS."""
    for library in _controller().lib_controllers:
        if hasattr(library, "clear_controlling_thread"):
            library.clear_controlling_thread(force=True)


@contextmanager
def single_thread():
    """Hold BLAS to one thread until the last caller has left.

    A library that splits a product among threads adds up in another order. Unlike
    threadpoolctl's own limits this may be entered by several threads of Python: none
    gives the library its threads back while another still needs them held.
    """
    global _limits, _n_inside
    with _lock:
        if not _n_inside:
            _take_control()
            _limits = _controller().limit(limits=1)
        _n_inside += 1
    try:
        yield
    finally:
        with _lock:
            _n_inside -= 1
            if not _n_inside:
                _take_control()
                _limits.restore_original_limits()
                _limits = None
                _take_control()

"""One thread for the numerical libraries, from several threads of Python."""

import threading
from contextlib import contextmanager

from threadpoolctl import threadpool_limits

_lock = threading.Lock()
_first = None
_n_inside = 0


@contextmanager
def single_thread():
    """Hold the numerical libraries to one thread until the last caller has left.

    Sums come out with the same bits whatever runs beside. Unlike `threadpool_limits`
    alone this may be entered by several threads: none gives the libraries their
    threads back while another still needs them held.
    """
    global _first, _n_inside
    with _lock:
        limits = threadpool_limits(limits=1)
        _first = _first or limits
        _n_inside += 1
    try:
        yield
    finally:
        with _lock:
            _n_inside -= 1
            if not _n_inside:
                _first.restore_original_limits()
                _first = None

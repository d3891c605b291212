"""Memory that is used again from step to step.

A step of training needs a dozen arrays of some megabytes, the same ones each time.
Given back to the operating system and asked for anew, they cost more time in page
faults than the arithmetic does.
"""

import math
import sys
import threading

import numpy as np


def _references(blocks, i):
    return sys.getrefcount(blocks[i])


# What `_references` says of a block that nobody but its list holds.
_UNUSED = _references([np.empty(1)], 0)
# Fewer entries than this come from the interpreter's own store of small blocks.
_SMALLEST = 1 << 14
_COUNTS_REFERENCES = (
    sys.implementation.name == "cpython" and getattr(sys, "_is_gil_enabled", lambda: True)()
)


class BufferPool:
    """Hands out uninitialised arrays, and again once nobody uses them.

    An array is free when no view of it is left, which the reference count of its
    memory block tells. Threads may share it.
    """

    def __init__(self):
        self._blocks, self._lock = {}, threading.Lock()

    def __reduce__(self):
        return BufferPool, ()

    def empty(self, shape, dtype=np.float64):
        """An uninitialised array."""
        size = math.prod(shape)
        if size < _SMALLEST or not _COUNTS_REFERENCES:
            return np.empty(shape, dtype)
        with self._lock:
            blocks = self._blocks.setdefault((size, np.dtype(dtype)), [])
            for i in range(len(blocks)):
                if _references(blocks, i) == _UNUSED:
                    return blocks[i].reshape(shape)
            blocks.append(np.empty(size, dtype))
            return blocks[-1].reshape(shape)

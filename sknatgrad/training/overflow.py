"""Numbers that grow too large."""

from contextlib import contextmanager

import numpy as np


@contextmanager
def quiet():
    """No warnings of what overflows; a context, or with parentheses a decorator.

    Step rules reject losses that are not finite, and `Trainer` ends where one remains or
    a parameter is not: so nothing of it goes unnoticed, and warnings say nothing new.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        yield

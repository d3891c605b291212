"""Numbers that grow too large, or too small."""

from contextlib import contextmanager

import numpy as np


@contextmanager
def quiet():
    """No warnings of what overflows or vanishes; a context, or with parentheses a decorator.

    For code whose results are looked at: what is not finite does not go unnoticed there, and
    warnings say nothing new. What is too small for a float is 0, as good as any.
    """
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        yield

"""Reductions: which entries of a metric are kept.

A new reduction is one file here and, in ``metrics/__init__.py``, one entry for
each modulus that it makes sense with.
"""

from ._base import Reduction
from .diagonal import Diagonal, Euclidean, RootDiagonal
from .full import Full
from .kronecker import Kronecker
from .plus_kronecker import PlusKronecker
from .quasi_diagonal import QuasiDiagonal
from .unitwise import Unitwise

__all__ = [
    "Diagonal",
    "Euclidean",
    "Full",
    "Kronecker",
    "PlusKronecker",
    "QuasiDiagonal",
    "Reduction",
    "RootDiagonal",
    "Unitwise",
]

"""Compiled loops. Sums run in a fixed order: the same bits in every run.

Arrays have the unit axis first and the sample axis last.
"""

from .blocks import add_samples, factor_blocks, solve_blocks, unit_gram
from .links import backward, edge_moments, edge_sums, forward, outer
from .parameters import ahead, between
from .quasi_diagonal import factor_quasi_diagonal, solve_quasi_diagonal
from .units import categorical, sigmoid, sum_of_squares

__all__ = [
    "add_samples",
    "ahead",
    "backward",
    "between",
    "categorical",
    "edge_moments",
    "edge_sums",
    "factor_blocks",
    "factor_quasi_diagonal",
    "forward",
    "outer",
    "sigmoid",
    "solve_blocks",
    "solve_quasi_diagonal",
    "sum_of_squares",
    "unit_gram",
]

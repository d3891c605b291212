"""Moduli: how much a unit's pre-activation matters to the output.

A modulus gives one number ``c_k(x) >= 0`` a unit and sample; the metric of unit k
is ``A_ij = E_x[a_i a_j c_k(x)]``. In the paper's letters c_k is ``r_k^2`` times
the Fisher modulus, the backpropagated modulus, and so on. A new modulus is one
file here and, in ``metrics/__init__.py``, one entry for each reduction of it.
"""

from ._base import Modulus, sum_of_squares
from .backpropagated import Backpropagated
from .fisher import Fisher
from .monte_carlo import MonteCarlo
from .outer_product import OuterProduct
from .safeguarded import Safeguarded

__all__ = [
    "Backpropagated",
    "Fisher",
    "Modulus",
    "MonteCarlo",
    "OuterProduct",
    "Safeguarded",
    "sum_of_squares",
]

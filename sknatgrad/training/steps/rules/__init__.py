"""How far to go along a direction.

A value of `learning_rate` stands for two rules. Losses of whole batches compare: a
`BatchRule` tries parameters and takes them or not. Losses of different mini-batches do
not: a `MiniBatchRule` says a rate without trials. A loss that is NaN or infinite is never
an improvement, so overflow is a rejection.

A new rule is one file here and one entry of `STEP_RULES`.
"""

from ....numerics.contracts import is_kind_of, is_pair_of
from ._base import BatchRule, MiniBatchRule
from .adaptive import Adaptive
from .capped_change import CappedChange
from .constant import Constant, ConstantRate
from .line_search import LineSearch
from .trust_region import TrustRegion

# Rules of whole batches and of mini-batches; None where losses must compare.
STEP_RULES = {
    "auto": (LineSearch, CappedChange),
    "adaptive": (Adaptive, None),
    "line_search": (LineSearch, None),
    "trust_region": (TrustRegion, CappedChange),
    "constant": (Constant, ConstantRate),
}


def fits_step_rules(entry):
    """Whether an entry of `STEP_RULES` is what it must be."""
    if isinstance(entry, tuple) and entry[1:] == (None,):
        return is_kind_of(entry[0], BatchRule)
    return is_pair_of(entry, BatchRule, MiniBatchRule)


__all__ = [
    "STEP_RULES",
    "Adaptive",
    "BatchRule",
    "CappedChange",
    "Constant",
    "ConstantRate",
    "LineSearch",
    "MiniBatchRule",
    "TrustRegion",
    "fits_step_rules",
]

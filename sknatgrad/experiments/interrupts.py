"""Ctrl-C during a fit of an estimator that warns of it and keeps what it has learnt."""

from ..estimators._callbacks import INTERRUPTED


def tells_of_interrupt(warning):
    """Whether a warning, recorded or raised, says that Ctrl-C has ended a fit early.

    scikit-learn's networks say it in the same words.
    """
    return isinstance(warning, Warning) and INTERRUPTED in str(warning)

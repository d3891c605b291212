"""Invariant training: objective, step rules, passes."""

from .descent import Descent, RunningMetric
from .history import History
from .objective import Objective
from .passes import BatchPass, MiniBatchPass
from .scaling import InputScale
from .step_rules import STEP_RULES
from .trainer import Stopping, Trainer

__all__ = [
    "STEP_RULES",
    "BatchPass",
    "Descent",
    "History",
    "InputScale",
    "MiniBatchPass",
    "Objective",
    "RunningMetric",
    "Stopping",
    "Trainer",
]

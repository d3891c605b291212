"""Invariant training: objective, step rules, passes."""

from .coordinates import Coordinates
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
    "Coordinates",
    "Descent",
    "History",
    "InputScale",
    "MiniBatchPass",
    "Objective",
    "RunningMetric",
    "Stopping",
    "Trainer",
]

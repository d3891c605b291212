"""Invariant training.

`session` runs a training, which `assembly` makes of its parts: `data` (rows, their
units, the mean loss on them), `penalty` (and how strong it is to be), `steps` (directions,
rates, passes) and a `trainer` that repeats passes and says when to stop. A `state` is all
that a later call needs to go on. `starts` runs several trainings, of which it keeps the best.
"""

from .data.coordinates import Coordinates
from .data.dataset import Data
from .data.objective import Objective
from .data.scaling import InputScale
from .history import History
from .settings import Stopping
from .state import Model
from .steps.batch_pass import BatchPass
from .steps.descent import Descent
from .steps.mini_batch_pass import MiniBatchPass, Schedule
from .steps.rules import STEP_RULES
from .steps.running_metric import RunningMetric
from .trainer import Trainer

__all__ = [
    "STEP_RULES",
    "BatchPass",
    "Coordinates",
    "Data",
    "Descent",
    "History",
    "InputScale",
    "MiniBatchPass",
    "Model",
    "Objective",
    "RunningMetric",
    "Schedule",
    "Stopping",
    "Trainer",
]

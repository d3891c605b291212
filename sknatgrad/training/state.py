"""The records that pass between the stages of a training."""

from copy import copy, deepcopy
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ..network import Network
from ..numerics.overflow import quiet
from ..outputs import Output
from .data.coordinates import Coordinates
from .data.dataset import TrainingData
from .data.scaling import OutputScale
from .first_rows import FirstRows
from .history import History
from .penalty.l2 import Strength
from .renewed_start import TargetLevel
from .settings import Settings
from .steps.path import Path
from .steps.rules import BatchRule, MiniBatchRule
from .steps.running_metric import RunningMetric
from .steps.solvers import Refactored
from .units import LossUnits


@dataclass(frozen=True)
class Model:
    """A network and the reading of its outputs."""

    network: Network
    output: Output


class Task(NamedTuple):
    """What is to be trained, how, and on which rows."""

    model: Model
    settings: Settings
    data: TrainingData


@dataclass
class TrainingState:
    """A training that can be continued.

    Attributes
    ----------
    coordinates : Coordinates
    path : Path
        The iterates, in these coordinates.
    rng : RandomState
    history : History
    strength : Strength
        Of the penalty, for targets in standard units.
    units : LossUnits
        Of the loss that is minimised.
    raw_target_scale : OutputScale or None
        Units of the targets that `coordinates` leave as they are.
    row_weight : float
        Mean weight of the first rows: averaging windows count in rows of that weight.
    target_level : TargetLevel or None
        Of outputs whose start may have to be taken anew.
    first_rows : FirstRows or None
        Of a stream, as long as they are too few to tell the units of the others.
    running : RunningMetric or None
        None before the first step, as are the four after it.
    metric_key : tuple or None
        What the running metric is a metric of.
    rule : BatchRule, MiniBatchRule or None
    rule_key : tuple or None
        What the rule was made for.
    solver : Refactored or None
        Of the mini-batch steps.
    weight, streamed : float
        Total sample weight of the data, or the number of observations, by which the
        penalty is divided; of it, what came in calls of `partial_fit`.
    """

    coordinates: Coordinates
    path: Path
    rng: np.random.RandomState
    history: History
    strength: Strength
    units: LossUnits
    raw_target_scale: OutputScale | None
    row_weight: float
    target_level: TargetLevel | None
    first_rows: FirstRows | None = None
    running: RunningMetric | None = None
    metric_key: tuple | None = None
    rule: BatchRule | MiniBatchRule | None = None
    rule_key: tuple | None = None
    solver: Refactored | None = None
    weight: float = 0.0
    streamed: float = 0.0

    def fork(self):
        """A copy to go on from, which leaves this one as it is.

        Without the solver, whose inverses are updated in place.
        """
        return replace(
            self,
            running=copy(self.running),
            rule=copy(self.rule),
            rng=deepcopy(self.rng),
            history=self.history.fork(),
            solver=None,
        )

    @quiet()
    def placed_at(self, parameters):
        """A copy to go on from these parameters, for the data as given."""
        other = self.fork()
        other.path = Path.starting_at(self.coordinates.inward(parameters))
        other.first_rows = None
        return other

    def forget_steps(self):
        """The next steps begin anew: with another metric, rule and solver."""
        self.running = self.metric_key = self.rule = self.rule_key = self.solver = None

    def note_weight(self, weight, streaming):
        """Take note of data of that total weight that come to be learned."""
        if streaming:
            self.streamed += weight
            self.weight = max(self.weight, self.streamed)
        else:
            self.weight = weight

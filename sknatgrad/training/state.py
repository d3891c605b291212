"""The records that pass between the stages of a training."""

from copy import copy, deepcopy
from dataclasses import dataclass, field, replace

import numpy as np

from ..network import Network
from ..outputs import Output
from .data.coordinates import Coordinates
from .data.scaling import OutputScale
from .first_rows import FirstRows
from .history import History
from .penalty.l2 import Strength
from .renewed_start import TargetLevel
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


@dataclass
class TrainingState:
    """A training that can be continued.

    Attributes
    ----------
    coordinates : Coordinates
    path : Path
        The iterates, in these coordinates.
    running : RunningMetric
    rng : RandomState
    history : History
    strength : Strength
        Of the penalty, for targets in standard units.
    raw_target_scale : OutputScale or None
        Units of the targets that `coordinates` leave as they are.
    rule : BatchRule, MiniBatchRule or None
    rule_key : tuple
        What the rule was made for.
    units : LossUnits
        Of the loss that is minimised.
    solver : Refactored or None
        Of the mini-batch steps.
    row_weight : float
        Mean weight of the first rows: averaging windows count in rows of that weight.
    metric_key : tuple
        What the running metric is a metric of.
    level : TargetLevel or None
        Of outputs whose start may have to be taken anew.
    first : FirstRows or None
        Of a stream, as long as they are too few to tell the units of the others.
    weight, streamed : float
        Total sample weight of the data, or the number of observations, by which the
        penalty is divided; of it, what came in calls of `partial_fit`.
    """

    coordinates: Coordinates
    path: Path
    running: RunningMetric
    rng: np.random.RandomState
    history: History
    strength: Strength = field(default_factory=Strength)
    raw_target_scale: OutputScale | None = None
    rule: BatchRule | MiniBatchRule | None = None
    rule_key: tuple | None = None
    units: LossUnits = field(default_factory=LossUnits)
    solver: Refactored | None = None
    weight: float = 0.0
    streamed: float = 0.0
    row_weight: float = 1.0
    metric_key: tuple | None = None
    level: TargetLevel | None = None
    first: FirstRows | None = None

    def fork(self):
        """A copy to go on from, so that a call that fails leaves this one as it is.

        The solver is handed on, since its inverses are updated in place: after a failed
        call it is factored anew.
        """
        solver, self.solver = self.solver, None
        return replace(
            self,
            running=copy(self.running),
            rule=copy(self.rule),
            rng=deepcopy(self.rng),
            history=self.history.fork(),
            solver=solver,
        )

    def see(self, weight, streaming):
        """Take note of data of that total weight that come to be learned."""
        if streaming:
            self.streamed += weight
            self.weight = max(self.weight, self.streamed)
        else:
            self.weight = weight

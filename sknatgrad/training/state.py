"""Everything that training needs to go on where it stopped."""

from dataclasses import dataclass

import numpy as np

from ..network.reparametrization import rescale_inputs
from .descent import RunningMetric
from .history import History
from .scaling import InputScale
from .step_rules import StepRule


@dataclass(frozen=True, eq=False)
class Coordinates:
    """The coordinates of the inputs in which a network is trained.

    Parameters of users speak of the inputs as they are given; where the metric is
    invariant, training works with centred and scaled inputs, which changes nothing
    but rounding errors.

    Parameters
    ----------
    network : Network
    input_scale : InputScale or None
        None: inputs as they are.
    """

    network: object
    input_scale: InputScale | None

    def inward(self, parameters):
        """Parameters for the scaled inputs."""
        if self.input_scale is None:
            return parameters.copy()
        divisor = self.input_scale.divisor
        return self._rewrite(parameters, 1 / divisor, -self.input_scale.centre / divisor)

    def outward(self, parameters):
        """Parameters for the inputs as they are."""
        if self.input_scale is None:
            return parameters.copy()
        return self._rewrite(parameters, self.input_scale.divisor, self.input_scale.centre)

    def _rewrite(self, parameters, scale, shift):
        size = self.network.topology.n_parameters
        theta = rescale_inputs(self.network, parameters[:size], scale, shift)
        return np.concatenate([theta, parameters[size:]])


@dataclass
class TrainingState:
    """A training that can be continued.

    Attributes
    ----------
    coordinates : Coordinates
    parameters : ndarray
        In these coordinates.
    running : RunningMetric
    rule : StepRule
    rng : RandomState
    history : History
    """

    coordinates: Coordinates
    parameters: np.ndarray
    running: RunningMetric
    rule: StepRule
    rng: np.random.RandomState
    history: History

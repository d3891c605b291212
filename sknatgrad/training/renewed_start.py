"""Streams whose targets leave the start far behind.

Counts start from the mean of the first rows, which may say nothing of those that come
(zeros do not). The rate is the exponential of what steps move, so a step that is to
make it 10^6 times larger is all that other rows see of it. Biases are moved instead.

Targets of a square loss are told in the units of the first rows, which may be equal, or
near one another. What is far from there comes within reach by the steps of many rows only;
so the units are changed instead.
"""

from dataclasses import dataclass, replace

import numpy as np

from ..network.moments import weighted_moments
from .coordinates import OutputScale
from .descent import RunningMetric
from .passes import Path

# A mean that many times the expected one is another start, not a step away.
_RISE = 10.0
# Targets whose distance from the origin is that many units are told in others.
_WIDER = 2.0
# A deviation below this share of the mean is rounding error.
_CONSTANT = 1e-13


@dataclass(frozen=True)
class TargetLevel:
    """How large the targets of a stream are.

    Attributes
    ----------
    mean : ndarray of shape (n_outputs,)
        Of all rows so far.
    started : ndarray of shape (n_outputs,)
        When the start was last looked at.
    weight : float
        Of all rows so far.
    """

    mean: np.ndarray
    started: np.ndarray
    weight: float = 0.0

    @classmethod
    def at_start(cls, output, centre):
        """That of the first rows, by the output pre-activations they are started at.

        None if no output needs it.
        """
        if not np.any(output.multiplicative):
            return None
        mean = output.mean(centre[:, None])[:, 0]
        return cls(mean, mean)

    def including(self, mean, weight):
        """With more rows of that mean and weight."""
        total = self.weight + weight
        share = weight / total if total > 0 else 0.0
        return TargetLevel(self.mean + share * (mean - self.mean), self.started, total)

    @property
    def risen(self):
        """Which means are of another size than at the start."""
        return self.mean > _RISE * self.started

    def noted(self):
        """The level as it is, as that of a start."""
        started = np.where(self.risen, self.mean, self.started)
        return TargetLevel(self.mean, started, self.weight)


@dataclass(frozen=True)
class TargetSpread:
    """Where the targets of a stream lie.

    Attributes
    ----------
    mean, deviation : ndarray of shape (n_outputs,)
        Of all rows so far.
    weight : float
        Of all rows so far.
    """

    mean: np.ndarray | float = 0.0
    deviation: np.ndarray | float = 0.0
    weight: float = 0.0

    def including(self, moments, weight):
        """With more rows of these `Moments` and weight."""
        total = self.weight + weight
        share = weight / total if total > 0 else 0.0
        step = moments.mean - self.mean
        within = np.hypot(np.sqrt(1 - share) * self.deviation, np.sqrt(share) * moments.deviation)
        deviation = np.hypot(within, np.sqrt(share * (1 - share)) * step)
        return TargetSpread(self.mean + share * step, deviation, total)

    @property
    def varies(self):
        """Which targets were not the same in all rows."""
        return self.deviation > _CONSTANT * np.abs(self.mean)

    def distance(self, centre):
        """Root mean square distance of the targets from there."""
        return np.hypot(self.deviation, self.mean - centre)


def renew_scale(model, settings, data, state):
    """Tell the targets of a stream in other units, where those so far do not fit.

    Where all targets so far were the same, the start is taken anew in the new units.
    Elsewhere these are larger, and the network stays the same function; what was averaged
    is forgotten. That happens at most as often as the spread of the targets doubles.

    Parameters
    ----------
    model : Model
    settings : Settings
    data : Data
        The rows that come.
    state : TrainingState
        Brought up to date.
    """
    outputs = state.coordinates.outputs
    if outputs is None:
        return
    before = state.spread
    moments = weighted_moments(data.target.T, data.weight)
    after = state.spread = before.including(moments, data.total_weight)
    free = model.output.free_scale & after.varies
    new = free & ~before.varies & (before.weight > 0)
    wider = free & ~new & (after.distance(outputs.centre) > _WIDER * outputs.scale)
    changed = new | wider
    if not changed.any():
        return
    renewed = OutputScale(
        np.where(changed, after.mean, outputs.centre),
        np.where(new, after.deviation, np.maximum(outputs.scale, wider * after.deviation)),
    )
    last, topology = state.path.last, model.network.topology
    told = [replace(state.coordinates, inputs=None, outputs=each) for each in (outputs, renewed)]
    moved = told[1].inward(told[0].outward(last))
    anew = np.isin(topology.owner, topology.outputs[new])
    moved[: topology.n_parameters][anew] = last[: topology.n_parameters][anew]
    state.coordinates = replace(state.coordinates, outputs=renewed)
    if np.all(model.output.free_scale):
        state.history.unit = renewed.loss_unit
    _restart(settings, state, moved)


def renew_start(model, settings, objective, state):
    """Take the start anew where the targets of a stream have left it far behind.

    That is where the mean of all targets so far is of another size than at the start,
    and the rows that come are of another size than the network expects. Its output
    biases are moved by as much as lets it expect that mean; what was averaged over the
    old place is forgotten. One forward pass, and only where the mean has risen.

    Parameters
    ----------
    model : Model
    settings : Settings
    objective : Objective
        Of the rows that come.
    state : TrainingState
        Brought up to date.
    """
    if state.level is None:
        return
    weight = objective.sample_weight
    mean = weighted_moments(objective.encoded_target(slice(None)).T, weight).mean
    level = state.level.including(mean, objective.total_weight)
    state.level = level.noted()
    risen = level.risen & model.output.multiplicative
    if not risen.any():
        return
    with np.errstate(over="ignore"):
        expected = model.output.mean(objective.output_values(state.path.last))
    expected = np.maximum(np.average(expected, axis=1, weights=weight), np.finfo(float).tiny)
    behind = risen & (np.minimum(level.mean, mean) > _RISE * expected)
    if behind.any():
        _move(model, settings, objective, state, behind, np.log(level.mean / expected))


def _move(model, settings, objective, state, behind, shift):
    topology = model.network.topology
    moved = state.path.last.copy()
    moved[topology.bias[topology.outputs[behind]]] += shift[behind]
    _restart(settings, state, moved)


def _restart(settings, state, parameters):
    """Go on from other parameters, without what is known of the old ones."""
    state.path = Path.starting_at(parameters)
    state.running, state.metric_key = RunningMetric(settings.metric, 0.0), None
    state.rule_key = None
    state.solver = None

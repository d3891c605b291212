"""Streams whose targets leave the start far behind.

Counts start from the mean of the first rows, which may say nothing of those that come
(zeros do not). The rate is the exponential of what steps move, so a step that is to
make it 10^6 times larger is all that other rows see of it. Biases are moved instead.
"""

from dataclasses import dataclass

import numpy as np

from ..numerics.moments import weighted_moments
from .steps.path import Path

# A mean that many times the expected one is another start, not a step away.
_RISE = 10.0


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
    def at_start(cls, output, centre, weight=0.0):
        """What a network expects whose output pre-activations start at `centre`.

        `weight` is that of the rows which the centre comes from. None if no output needs it.
        """
        if not np.any(output.multiplicative):
            return None
        mean = output.mean(centre[:, None])[:, 0]
        return cls(mean, mean, weight)

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


def renew_start(model, objective, state):
    """Take the start anew where the targets of a stream have left it far behind.

    That is where the mean of all targets so far is of another size than at the start,
    and the rows that come are of another size than the network expects. Its output
    biases are moved by as much as lets it expect that mean; what was averaged over the
    old place is forgotten. One forward pass, and only where the mean has risen.

    Parameters
    ----------
    model : Model
    objective : Objective
        Of the rows that come.
    state : TrainingState
        Brought up to date.
    """
    if state.target_level is None:
        return
    weight = objective.data.weight
    mean = weighted_moments(objective.encoded_target(slice(None)).T, weight).mean
    level = state.target_level.including(mean, objective.total_weight)
    state.target_level = level.noted()
    risen = level.risen & model.output.multiplicative
    if not risen.any():
        return
    expected = model.output.mean(objective.output_values(state.path.last))
    expected = np.maximum(np.average(expected, axis=1, weights=weight), np.finfo(float).tiny)
    behind = risen & (np.minimum(level.mean, mean) > _RISE * expected)
    if behind.any():
        shift = np.log(level.mean[behind] / expected[behind])
        _move(model, state, behind, shift)


def _move(model, state, behind, shift):
    topology = model.network.topology
    moved = state.path.last.copy()
    moved[topology.bias[topology.outputs[behind]]] += shift
    state.path = Path.starting_at(moved)
    state.forget_steps()

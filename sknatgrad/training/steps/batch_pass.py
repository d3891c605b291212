"""A pass as a single step on all rows."""

import numpy as np

from .descent import steepest
from .momentum import Momentum
from .path import Path


class BatchPass:
    """Steps on the whole data set.

    The forward pass of an accepted step starts the next one. A rejected step leaves
    the parameters as they were and costs its trial forward passes. The direction is computed
    anew if it had momentum, which is then dropped, or if the metric is random.

    Parameters
    ----------
    objective : Objective
    parameters : ndarray
    descent : Descent
    running : RunningMetric
    rule : BatchRule
    rng : RandomState

    Attributes
    ----------
    n_rejected : int
        Steps so far that were not taken.
    """

    n_steps = 1

    def __init__(self, objective, parameters, descent, running, rule, rng):
        self.objective, self.descent, self.rule = objective, descent, rule
        self.running, self.rng = running, rng
        self._current = objective.evaluate(parameters)
        self._direction, self._momentum, self.n_rejected = None, Momentum(), 0
        # Without hidden units a metric lacks next to nothing, and steps are Newton's.
        topology = objective.network.topology
        self._moves = rule.searches and topology.n_units > topology.n_outputs
        if not np.isfinite(self._current.loss):
            raise ValueError(
                "The loss of the initial network is not finite: the data overflow. Scale the "
                "targets or features to a moderate range."
            )

    @property
    def parameters(self):
        """Parameters after the last accepted step."""
        return self._current.parameters

    @property
    def path(self):
        """The same, for mini-batches to go on from."""
        return Path.starting_at(self.parameters)

    def sampled(self):
        """The objective on rows that speak for all, and its evaluation here."""
        return self.objective, self._current

    def penalise(self, penalty):
        """Go on with another penalty; by how much the loss changes here."""
        before = self._current.loss
        self.objective = self.objective.with_penalty(penalty)
        self._current = self.objective.penalised(self._current)
        self._direction = None
        return self._current.loss - before

    def run(self):
        """One step; returns the penalised and the data loss after it."""
        new = self._direction is None
        if new:
            self._aim()
        if new or not self.rule.exhausted:
            self._search()
        return self._current.loss, self._current.data_loss

    def _aim(self):
        gradient, statistics = self.objective.differentiate(
            self._current, self.descent.metric, self.rng
        )
        statistics = self.running.update(statistics, self.objective.total_weight)
        solve = self.descent.factorize(self.objective, statistics)
        self._direction = steepest(solve, gradient)
        if self._moves:
            self._direction = self._momentum.add(
                self.objective, self._current, gradient, *self._direction
            )

    def _search(self):
        following = self.rule.search(self.objective, self._current, *self._direction)
        if following is not None:
            if self._moves:
                self._momentum.keep(following.parameters - self._current.parameters)
            self._current, self._direction = following, None
            return
        self.n_rejected += 1
        if self._momentum.forget() or self.descent.metric.modulus.random:
            self._direction = None

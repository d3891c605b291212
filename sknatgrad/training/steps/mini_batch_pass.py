"""A pass as one step a mini-batch."""

from dataclasses import dataclass
from itertools import islice

import numpy as np

from ...numerics.vectors import ahead
from ..data.rows import chunks
from .descent import steepest
from .solvers import Refactored

# The metric changes fast in the first steps.
_EAGER_STEPS = 5
# Steps of a larger rate, or with a larger predicted change of the outputs in nats, are checked,
# and cut to a quarter up to so often.
_UNCHECKED_RATE, _UNCHECKED_CHANGE, _TRIALS = 0.1, 0.1, 5


@dataclass(frozen=True)
class Schedule:
    """Which rows make a step, and when the metric is brought up to date.

    Attributes
    ----------
    batch_size : int
        Rows of the largest batches; all of a pass are as large, but for one row.
    shuffle : bool
        Draw a new order of the rows at each pass.
    n_init_samples : int
        Rows that make the first metric, where that is more than a batch.
    metric_every : int
        Steps from one update of the metric to the next, the first few apart.
    steps_together : int
        Steps whose rows are mixed into the metric at once, when it is an average of
        enough rows that they change it little.
    repeats : bool
        Whether the same rows come again, so that losses of passes compare.
    longest_average : float
        Steps that the averaged parameters speak of at most.
    """

    batch_size: int
    shuffle: bool = True
    n_init_samples: int = 0
    metric_every: float = 1
    steps_together: int = 1
    repeats: bool = True
    longest_average: float = np.inf


class MiniBatchPass:
    """Steps on mini-batches, one sample each in the extreme.

    From the second pass on, each step goes on with a share of the last one, if the rule
    says so.

    The iterates of stochastic steps wander about the place where they are heading;
    their average over the last tenth of all steps does not. It is what the pass hands
    out (averages are affine, so nothing of the invariance is lost); steps go on from
    the last iterate.

    Parameters
    ----------
    objective : Objective
    path : Path
        Where the iterates start.
    descent : Descent
    running : RunningMetric
    rule : MiniBatchRule
    rng : RandomState
    schedule : Schedule
    solver : Refactored, optional

    Attributes
    ----------
    path : Path
        Where the iterates are.
    n_rejected : int
        Steps so far that were not taken.
    """

    def __init__(
        self,
        objective,
        path,
        descent,
        running,
        rule,
        rng,
        schedule,
        solver=None,
    ):
        self.objective, self.path, self.descent, self.rule = objective, path, descent, rule
        self.running, self.rng, self.schedule = running, rng, schedule
        self._solve, self._sample, self._last_step, self.n_rejected = None, None, None, 0
        self.solver = Refactored(descent) if solver is None else solver
        if running.statistics is None and schedule.n_init_samples > schedule.batch_size:
            first = objective.rows(slice(0, schedule.n_init_samples))
            if first.total_weight > 0:
                statistics = first.statistics(path.last, descent.metric, rng)
                running.update(statistics, first.total_weight)

    @property
    def n_steps(self):
        """Steps a pass."""
        return -(-self.objective.n_samples // self.schedule.batch_size)

    @property
    def parameters(self):
        """The average of the last steps."""
        return self.path.average

    def sampled(self):
        """The objective on rows that speak for all, and its evaluation here."""
        if self._sample is None:
            self._sample = self.objective.sampled()
        self._sample = self._sample.with_penalty(self.objective.penalty)
        return self._sample, self._sample.evaluate(self.parameters)

    def penalise(self, penalty):
        """Go on with another penalty; by how much the loss changes here."""
        before = self.objective.penalty_at(self.parameters)
        self.objective = self.objective.with_penalty(penalty)
        change = self.objective.penalty_at(self.parameters) - before
        self.rule.shift(change)
        self.solver.forget()
        self._solve = None
        return change

    def run(self):
        """One pass; returns means of the batch losses, each before its step.

        With the penalty, and without.
        """
        batch_size, n_samples = self.schedule.batch_size, self.objective.n_samples
        if self.schedule.repeats and self.path.n_steps >= self.n_steps:
            self.rule.pace(self.n_steps)
        if self.schedule.shuffle:
            order = self.objective.order(batch_size, self.rng)
        else:
            order = np.arange(n_samples)
        total, batches = np.zeros(2), chunks(n_samples, batch_size)
        while together := list(islice(batches, self._n_steps_together())):
            start, stop = together[0].start, together[-1].stop
            part = self.objective.rows(order[start:stop])
            if part.total_weight > 0:
                places = [slice(b.start - start, b.stop - start) for b in together]
                total += self._steps(part, places)
        self.running.settle()
        if self.objective.total_weight == 0:
            return 0.0, 0.0
        loss, data_loss = (total / self.objective.total_weight).tolist()
        if self.schedule.repeats:
            self.rule.end_pass(loss)
        return loss, data_loss

    def _n_steps_together(self):
        """Steps whose rows are mixed into the metric at once, before the first of them."""
        return self.schedule.steps_together if self.running.is_full else 1

    def _metric_is_due(self):
        """Whether the next batch is to be mixed into the metric."""
        steps, every = self.path.n_steps, self.schedule.metric_every
        return self._solve is None or steps < _EAGER_STEPS or steps % every == 0

    def _steps(self, rows, places):
        """Steps on the batches at these places of some rows; sums of their losses before each."""
        if len(places) == 1:
            return np.array(self._step(rows, self._metric_is_due()))
        self._update_metric(rows, rows.evaluate(self.path.last))
        parts = map(rows.rows, places)
        steps = [self._step(part, False) for part in parts if part.total_weight > 0]
        return np.sum(steps, axis=0)

    def _step(self, part, metric_is_due):
        current = part.evaluate(self.path.last)
        if metric_is_due:
            gradient = self._update_metric(part, current)
        else:
            gradient, _ = part.differentiate(current)
        direction, slope = steepest(self._solve, gradient)
        rate = self.rule.propose(slope, current.loss)
        trusted = rate <= _UNCHECKED_RATE and rate**2 * slope / 2 <= _UNCHECKED_CHANGE
        self._take(rate * direction, part, current, trusted)
        return part.total_weight * current.loss, part.total_weight * current.data_loss

    def _take(self, step, part, current, trusted):
        """Go on by a step, or as much of it as can be taken, and by a share of the last one."""
        if self._last_step is not None:
            step += self.rule.momentum * self._last_step
        following, share = self._checked(step, part, current, trusted)
        self._last_step = None
        if following is None:
            self.n_rejected += 1
            return
        self.path = self.path.advanced(following, self.schedule.longest_average)
        if self.rule.momentum:
            self._last_step = step if share == 1.0 else share * step

    def _update_metric(self, part, current):
        """Minus the gradient on some rows, by which the metric is brought up to date."""
        point = current.points[0] if current.points and len(current.points) == 1 else None
        if self.solver.can_wait(point):
            gradient, _ = part.differentiate(current)
            self.running.postpone(point, self.rng, part.total_weight)
        else:
            gradient, statistics = part.differentiate(current, self.descent.metric, self.rng)
            self.running.update(statistics, part.total_weight)
        self._solve = self.solver.update(part, point, self.running)
        return gradient

    def _checked(self, step, part, current, trusted):
        """The next iterate, None for a rejected step, and the share of the step that leads there.

        Steps into the unknown are checked on their own batch: where they go the metric
        may not be what it is here.
        """
        share = 1.0
        for _ in range(_TRIALS):
            following, finite = ahead(current.parameters, step, share)
            if finite:
                if trusted:
                    return following, share
                loss = part.evaluate(following).loss
                if loss < np.inf and loss <= current.loss + self.rule.slack:
                    return following, share
            share /= 4
        return None, 0.0

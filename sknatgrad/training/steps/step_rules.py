"""How far to go along a direction.

A step rule turns a direction d, its slope ``G . d`` (first-order decrease of the
loss a unit of rate) and trial evaluations into the next parameters, or rejects
the step. A loss that is NaN or infinite is never an improvement, so overflow is a
rejection. In mini-batch mode, where losses of different batches do not compare,
only rules that `propose` a rate without trials can be used.

A new rule is one class here and one entry of `STEP_RULES`.
"""

import math

import numpy as np

# Rows of a mini-batch, and nats by which a step on so many may change the outputs.
MINI_BATCH, RADIUS = 500, 1e-2


class StepRule:
    """Base class.

    Parameters
    ----------
    rate : float
        Initial learning rate.

    Attributes
    ----------
    rate : float
        The rate of the last accepted step, or of the next trial.
    stochastic : bool
        Whether the rule can work without comparing losses.
    searches : bool
        Whether it looks for the lowest loss along a direction, so that `Momentum` pays.
    natural : bool
        Whether the metric sets the scale: a step of rate 1 is about one to the minimum.
    slack : float
        By how much a mini-batch step may make the loss of its own batch worse.
    momentum : float
        Share of the last mini-batch step that the next one goes on with.
    exhausted : bool
        Whether no rate, however small, makes progress along the last direction.
    default_rate : float
        The initial one, where none is asked for: a natural step has rate 1.
    """

    stochastic = False
    searches = False
    natural = True
    slack = np.inf
    momentum = 0.0
    exhausted = False
    default_rate = 1.0

    def __init__(self, rate):
        self.rate = rate

    def search(self, objective, start, direction, slope):
        """The next `Evaluation`, or None if the step is rejected."""
        raise NotImplementedError

    def suit(self, batch_size, noise, nonnegative):
        """Take note of what the mini-batches that come are like.

        Parameters
        ----------
        batch_size : int
        noise : float
            How noisy their gradients are, 0 to 1.
        nonnegative : bool
            Whether no loss is below 0.
        """

    def pace(self, n_steps):
        """Take note that passes over mini-batches have so many steps, before the second."""

    def end_pass(self, loss):
        """Take note of the mean loss of a pass over mini-batches."""

    def shift(self, change):
        """Take note that the loss of passes so far would have been larger by `change`."""

    def _trial(self, objective, start, direction, rate):
        return objective.evaluate(start.parameters + rate * direction)


class Adaptive(StepRule):
    """The paper's rule: halve on a worse loss, times 1.1 on a better one.

    Section "A first experimental comparison", "Learning rate". A worse step is
    cancelled. One forward pass a step.
    """

    default_rate = 0.01

    def search(self, objective, start, direction, slope):
        trial = self._trial(objective, start, direction, self.rate)
        if np.isfinite(trial.loss) and trial.loss <= start.loss:
            self.rate *= 1.1
            return trial
        self.rate /= 2
        return None


class LineSearch(StepRule):
    """Two trials: at a first rate, and where a parabola has its minimum.

    The parabola is that of the slope and the first trial. Its minimum counts between a
    quarter of the first rate and that rate, or twice that where the metric sets no
    scale. The better trial is taken, its rate halved until it gains a share of what the
    slope promises. The first rate is the initial one as long as steps are not much
    shorter; without a scale it is the last one. So rates do not grow fast: the loss of
    separable data falls along any long step, but a network thrown so far has no slope
    to come back on.

    Rates are rounded to powers of 2. What is computed from small differences of
    losses is full of rounding errors, and steps would carry them on.
    """

    searches = True
    # Share of the promised gain that is enough (Armijo's condition); the rate below which
    # nothing is left to gain but rounding errors; the shortest second trial.
    _SUFFICIENT, _SMALLEST, _LEAST = 0.01, 1e-12, 0.25

    def __init__(self, rate):
        super().__init__(rate)
        self._initial = self._first = rate

    def search(self, objective, start, direction, slope):
        rate = first = self._first
        trial = self._trial(objective, start, direction, first)
        best = self._best_rate(start, trial, first, slope)
        if best != first:
            other = self._trial(objective, start, direction, best)
            if np.isfinite(other.loss) and not other.loss >= trial.loss:
                rate, trial = best, other
        while not self._gains(start, trial, rate * slope):
            rate /= 2
            if rate < self._SMALLEST:
                self.exhausted = True
                return None
            trial = self._trial(objective, start, direction, rate)
        self._adapt(rate)
        return trial

    def _adapt(self, taken):
        """Choose the next search's first rate, after a step of that rate."""
        self.rate = taken
        if not self.natural:
            self._first = taken
        elif taken <= self._LEAST * self._first:
            self._first = 2 * taken
        elif taken >= self._first:
            self._first = min(self._initial, 2 * self._first)

    def _gains(self, start, trial, promised):
        return np.isfinite(trial.loss) and trial.loss <= start.loss - self._SUFFICIENT * promised

    def _best_rate(self, start, trial, rate, slope):
        """Minimum of the parabola through start, slope and trial, within bounds."""
        most = 1.0 if self.natural else 2.0
        if not np.isfinite(trial.loss):
            return self._LEAST * rate
        bend = 2 * (rate * slope - (start.loss - trial.loss)) / rate
        change = slope / bend if bend > 0 else most
        return rate * _rounded(min(max(change, self._LEAST), most))


def _rounded(factor):
    """The nearest power of 2."""
    return 2.0 ** round(math.log2(factor))


class TrustRegion(StepRule):
    """Cap the predicted change of the output distribution.

    ``rate^2 d . A d / 2``, about the Kullback-Leibler divergence in nats between
    the outputs before and after the step, stays below a radius; the rate never
    exceeds `rate`. On a whole batch the radius follows how well the quadratic model
    predicted the gain; a worse loss is a rejection. On mini-batches it is halved after
    a pass that gained little: what is left then is mostly noise.

    On mini-batches the loss L is known as well. While a sample costs more than one nat
    there is that much further to go: the radius is multiplied by L. And a step may not
    promise, to first order, to gain more than there is: ``rate d . A d <= L``, Polyak's
    step where the least loss is 0. ``d . A d`` and L are means over the last `memory`
    steps. If each step were cut to the same length, rare samples with large gradients
    would pull no harder than common ones with small gradients, and training would head
    for the median of the targets in place of their mean.

    Losses that may be negative (densities) do not say how far there is to go: of these the
    radius is all that counts.

    From the second pass on it is known how many steps a pass has (`pace`). They share
    what a pass may change, which is in proportion to L however small that is, and each
    goes on with a share of the last one: noise cancels in the sum of directions.

    Parameters
    ----------
    rate : float
        Largest rate.
    radius : float
        In nats; once there is a pace, as a share of L.
    memory : float
        Steps over which mini-batches share the cap, at least 1.
    """

    _LITTLE = 0.02
    # Of the loss, what all steps of a pass together may change; the momentum, and how much
    # less it is where gradients are noisy.
    _CHANGE_A_PASS, _MOMENTUM, _NOISY_MOMENTUM = 0.06, 0.7, 0.2

    stochastic = True

    def __init__(self, rate, radius=1.0, memory=1.0):
        super().__init__(rate)
        self.largest_rate, self.radius, self.memory = rate, radius, memory
        self._best, self._n_steps = np.inf, 0
        self._slope = self._loss = 0.0
        # Below so many nats the radius does not shrink with the loss.
        self._floor = 1.0
        self._noise, self._nonnegative = 0.0, True

    @property
    def _unit(self):
        """The unit of the radius, nats."""
        return max(self._floor, self._loss)

    @property
    def slack(self):
        return self.radius * min(1.0, self._unit)

    def suit(self, batch_size, noise, nonnegative):
        # Noise moves the outputs in proportion to the number of steps a pass.
        self.radius = RADIUS * math.sqrt(batch_size / MINI_BATCH)
        self.memory = max(1.0, MINI_BATCH / batch_size)
        self._noise, self._nonnegative = noise, nonnegative

    def pace(self, n_steps):
        if self._nonnegative and not self.momentum:
            self.radius, self._floor = self._CHANGE_A_PASS / n_steps, 0.0
            self.momentum = self._MOMENTUM - self._NOISY_MOMENTUM * self._noise

    def propose(self, slope, loss):
        """The rate for a direction with ``d . A d = slope``, where the loss is `loss`."""
        if not (slope > 0 and math.isfinite(loss)):
            return 0.0
        self._n_steps += 1
        share = 1 / min(self.memory, self._n_steps)
        self._slope += share * (slope - self._slope)
        if not self._slope > 0:  # after one that was larger by more than all digits
            self._slope = slope
        self._loss += share * (loss - self._loss)
        self.rate = self._capped(self._slope, self.radius * self._unit)
        if self._nonnegative:
            self.rate = min(self.rate, self._loss / self._slope)
        return self.rate

    def _capped(self, slope, radius):
        return min(self.largest_rate, math.sqrt(2 * radius / slope))

    def end_pass(self, loss):
        if loss > self._best - self._LITTLE * abs(self._best):
            self.radius /= 2
        self._best = min(self._best, loss)

    def shift(self, change):
        self._best += change

    def search(self, objective, start, direction, slope):
        self.rate = rate = self._capped(slope, self.radius) if slope > 0 else 0.0
        trial = self._trial(objective, start, direction, rate)
        predicted = rate * slope * (1 - rate / 2)
        gain = start.loss - trial.loss
        if not np.isfinite(gain) or gain < 0:
            self.radius = min(self.radius, rate**2 * slope / 2) / 4
            return None
        if gain < predicted / 4:
            self.radius /= 2
        elif gain > 3 * predicted / 4:
            self.radius *= 2
        return trial


class Constant(StepRule):
    """Always the same rate; only overflow is rejected."""

    stochastic = True
    default_rate = 0.1

    def propose(self, slope, loss):
        """The constant rate."""
        return self.rate

    def search(self, objective, start, direction, slope):
        trial = self._trial(objective, start, direction, self.rate)
        return trial if np.isfinite(trial.loss) else None


STEP_RULES = {
    "adaptive": Adaptive,
    "line_search": LineSearch,
    "trust_region": TrustRegion,
    "constant": Constant,
}

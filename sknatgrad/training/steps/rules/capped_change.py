"""The trust region of mini-batches."""

import math

import numpy as np

from ._base import MiniBatchRule
from .trust_region import capped_rate

# Rows of a mini-batch, and nats by which a step on so many may change the outputs.
MINI_BATCH, RADIUS = 500, 1e-2


class CappedChange(MiniBatchRule):
    """Cap the predicted change of the output distribution, without comparing losses.

    ``rate^2 d . A d / 2``, about the Kullback-Leibler divergence in nats between
    the outputs before and after the step, stays below a radius; the rate never
    exceeds the initial one. The radius is halved after a pass that gained little: what is
    left then is mostly noise. Shorter steps gain less, and would be cut again and again if
    they were asked for as much as before. Where that pays (`suit`: `patient`), what counts
    as little becomes less with each cut, in the proportion of the loss that is left to that
    of the first pass. Where there is much noise, that is next to nothing.

    The loss L of a batch is known as well. While a sample costs more than one nat
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

    # Of the loss, what all steps of a pass together may change; the momentum, and how much
    # less it is where gradients are noisy.
    _CHANGE_A_PASS, _MOMENTUM, _NOISY_MOMENTUM = 0.06, 0.7, 0.2

    def __init__(self, rate, radius=1.0, memory=1.0):
        super().__init__(rate)
        self.largest_rate, self.radius, self.memory = rate, radius, memory
        self._first, self._best, self._n_steps = None, np.inf, 0
        # What a pass gains at least, as a share of the loss, lest the radius be halved.
        self._little = 0.02
        self._slope = self._loss = 0.0
        # Below so many nats the radius does not shrink with the loss.
        self._floor = 1.0
        self._noise, self._nonnegative, self._patient = 0.0, True, True

    @property
    def _unit(self):
        """The unit of the radius, nats."""
        return max(self._floor, self._loss)

    @property
    def slack(self):
        return self.radius * min(1.0, self._unit)

    def propose(self, slope, loss):
        if not (slope > 0 and math.isfinite(loss)):
            return 0.0
        self._n_steps += 1
        share = 1 / min(self.memory, self._n_steps)
        self._slope += share * (slope - self._slope)
        if not self._slope > 0:  # after one that was larger by more than all digits
            self._slope = slope
        self._loss += share * (loss - self._loss)
        self.rate = capped_rate(self.largest_rate, self._slope, self.radius * self._unit)
        if self._nonnegative:
            self.rate = min(self.rate, self._loss / self._slope)
        return self.rate

    def suit(self, batch_size, noise, nonnegative, patient):
        # Noise moves the outputs in proportion to the number of steps a pass.
        self.radius = RADIUS * math.sqrt(batch_size / MINI_BATCH)
        self.memory = max(1.0, MINI_BATCH / batch_size)
        self._noise, self._nonnegative = noise, nonnegative
        # Losses that may be negative have no proportions.
        self._patient = patient and nonnegative

    def pace(self, n_steps):
        if self._nonnegative and not self.momentum:
            self.radius, self._floor = self._CHANGE_A_PASS / n_steps, 0.0
            self.momentum = self._MOMENTUM - self._NOISY_MOMENTUM * self._noise

    def end_pass(self, loss):
        if self._first is None:
            self._first = loss
        if loss > self._best - self._little * abs(self._best):
            self.radius /= 2
            if self._patient and loss < self._first:
                self._little *= loss / self._first
        self._best = min(self._best, loss)

    def shift(self, change):
        self._best += change

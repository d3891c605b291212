"""The trust region of whole batches."""

import math

import numpy as np

from ._base import BatchRule


class TrustRegion(BatchRule):
    """Cap the predicted change of the output distribution.

    ``rate^2 d . A d / 2``, about the Kullback-Leibler divergence in nats between
    the outputs before and after the step, stays below a radius, at first one nat, which
    follows how well the quadratic model predicted the gain; a worse loss is a rejection.

    Parameters
    ----------
    rate : float
        Largest rate.
    natural : bool
        See `BatchRule`.
    """

    def __init__(self, rate, natural=True):
        super().__init__(rate, natural)
        self.largest_rate, self.radius = rate, 1.0

    def search(self, objective, start, direction, slope):
        self.rate = rate = capped_rate(self.largest_rate, slope, self.radius) if slope > 0 else 0.0
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


def capped_rate(largest, slope, radius):
    """The rate at which ``rate^2 slope / 2`` is the radius, but at most the largest one."""
    return min(largest, math.sqrt(2 * radius / slope))

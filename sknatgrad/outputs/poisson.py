"""Poisson counts with a logarithmic link."""

import numpy as np
from scipy.special import xlogy

from ._base import Output

# NumPy draws no larger counts.
_LARGEST_DRAWN = 1e18


class Poisson(Output):
    """Counts ``y_k ~ Poisson(exp(v_k))``, linear output units.

    The loss is half the deviance, ``exp(v) - y v + y ln y - y``: ``-ln omega(y)`` in
    excess of the model that knows y. Not in the paper; score ``y - exp(v)``, Fisher
    information ``exp(v)``. Targets are not negative.
    """

    name = "poisson"
    independent = True
    multiplicative = True
    # Rates by exposure, claims in any currency: their variance is a multiple of the mean.
    free_dispersion = True
    link_name = "exp"

    def _objection(self, activation):
        if not activation.linear:
            return "the log-rate is linear; use 'identity'."

    def check_target(self, target):
        if target.size and target.min() < 0:
            raise ValueError("The Poisson output needs targets >= 0.")

    def loss_unit(self, moments):
        """A nat, or a nat an event where rows have less than one."""
        return float(min(1.0, np.sum(moments.mean)))

    def loss(self, v, target):
        return (np.exp(v) - target * v + xlogy(target, target) - target).sum(axis=0)

    def score(self, v, target):
        return target - np.exp(v)

    def fisher_diagonal(self, v):
        return np.exp(v)

    def sample(self, v, rng):
        return rng.poisson(np.minimum(np.exp(v), _LARGEST_DRAWN)).astype(float)

    def mean(self, v):
        # Beyond the range of numbers it is infinite.
        with np.errstate(over="ignore"):
            return np.exp(v)

    def logits(self, v):
        # Read as probabilities, means are those of a class from 1/2 on.
        return v + np.log(2.0)

    def starting_point(self, moments, total_weight, n_outputs):
        # As far as so many rows without a count can tell.
        mean = np.where(moments.mean > 0, moments.mean, 0.5 / max(1.0, total_weight))
        return np.log(mean), np.ones_like(mean)

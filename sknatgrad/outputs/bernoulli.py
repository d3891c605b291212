"""Independent Bernoulli targets, one a unit."""

import numpy as np
from scipy.special import expit, log_expit

from ..network.activations import fill_logistic
from ._base import Output

# A little less than what overflows.
_LARGEST_LOGIT = {np.dtype(np.float64): 700.0, np.dtype(np.float32): 85.0}
# Scaled columns exceed 0 and 1 by so many rounding errors where they were a thousand times
# as far from 0 as they were wide.
_ROUNDING = 1000


def in_unit_interval(values):
    """Whether all lie in [0, 1], but for rounding errors of their dtype."""
    slack = _ROUNDING * np.finfo(values.dtype).eps if values.dtype.kind == "f" else 0.0
    return values.min() >= -slack and values.max() <= 1 + slack


class Bernoulli(Output):
    """Independent binary targets, read from sigmoid units.

    The probability of y_k = 1 is the place of a_k in the range of the units'
    activation: a for logistic, (1 + a) / 2 for tanh. With ``a = low + (high -
    low) expit(g v)`` that is ``p = expit(g v)``, so the logit is ``g v``, the
    score ``g (y - p)`` and the Fisher information ``g^2 p (1 - p)``: the paper's
    formulas (section "Notation for neural networks", Definition "Fisher modulus") times the slope.
    Targets in [0, 1] that are not binary are allowed (cross-entropy).
    """

    name = "bernoulli"
    independent = True
    mirrored = True
    target_range = 0.0, 1.0
    link_name = "logistic"
    default_activation = "logistic"

    def _objection(self, activation):
        if activation.logistic_gain is None:
            return (
                "the activity must be a probability up to scale; use a sigmoid "
                "(logistic, tanh, scaled_tanh)."
            )

    def check_target(self, target):
        if target.size and not in_unit_interval(target):
            raise ValueError(
                "The Bernoulli output needs targets in [0, 1]: set output='square', or clip them, "
                "as MinMaxScaler(clip=True) does."
            )

    @property
    def _gain(self):
        return self.activation.logistic_gain

    def loss(self, v, target):
        logit = self._gain * v
        # Not logaddexp(0, z) - y z, which cancels for large z of the right sign.
        loss = np.log1p(np.exp(-np.abs(logit)))
        loss += ((logit > 0) - target) * logit
        return loss.sum(axis=0)

    def _probabilities(self, v):
        """Probabilities of 1 and of 0, both to full relative accuracy."""
        p, q = np.empty_like(v), self._gain * v
        fill_logistic(q, p, _LARGEST_LOGIT[q.dtype])
        return p, q

    def score(self, v, target):
        p, q = self._probabilities(v)
        q *= target
        p *= 1 - target
        q -= p
        q *= self._gain
        return q

    def fisher_diagonal(self, v):
        p, q = self._probabilities(v)
        p *= q
        p *= self._gain**2
        return p

    def sample(self, v, rng):
        return (rng.uniform(size=v.shape) < self.mean(v)).astype(float)

    def mean(self, v):
        return expit(self._gain * v)

    def logits(self, v):
        return self._gain * v

    def log_mean(self, v):
        return log_expit(self._gain * v), log_expit(-self._gain * v)

"""Classes on a sphere: probabilities are squares of activities."""

from typing import NamedTuple

import numpy as np

from ._base import Output
from .categorical import Categorical

# Of 2 r / a: below the bound that activations put on r / a near a = 0.
_LARGEST_TRUSTED_RATE = 1e11
# A norm whose square would underflow is that of no direction.
_SMALLEST_NORM = 1e-100
# Of the first pre-activations, in units of their common value.
_SPREAD = 0.1


class _OnSphere(NamedTuple):
    """Pre-activations, the distribution, and the derivatives of its logits ``2 ln|a|``."""

    v: np.ndarray
    distribution: Categorical
    rate: np.ndarray


class Spherical(Output):
    """``P(k) = a_k^2 / sum a^2``.

    Paper: Example "... two classification interpretations": with the Fisher
    metric, distributions over classes are a piece of a sphere. It is computed as
    a softmax of the logits ``2 ln|a_k|``, so that vanishing activities neither
    divide nor overflow. With all activities 0 the direction is undefined: classes
    are then equally probable and the score is 0.

    Any activation; logistic units (the default) stay in the positive quadrant.
    """

    name = "spherical"
    link_name = "spherical"
    discrete = True
    default_activation = "logistic"

    def starting_point(self, moments, total_weight, n_outputs):
        # Scaling all activities changes nothing: start far from where they are all
        # saturated (or off), so that nothing distinguishes the classes any more, and
        # all on one side of 0, the pole of the loss.
        if self.activation.one_sided:
            centre = np.copysign(2.0, self.activation.input_gain)
        else:
            crossing = self.activation.midpoint == 0
            centre = (0.5 if crossing else -2.0) / self.activation.input_gain
        return np.full(n_outputs, centre), np.full(n_outputs, _SPREAD * abs(centre))

    def prepared(self, v):
        log_size, rate = self.activation.log_value(v)
        return _OnSphere(v, Categorical.from_logits(2 * log_size), 2 * rate)

    def _place(self, v):
        return v if isinstance(v, _OnSphere) else self.prepared(v)

    def loss(self, v, target):
        return self._place(v).distribution.loss(target)

    def score(self, v, target):
        place = self._place(v)
        return place.rate * place.distribution.residual(target)

    def _speed(self, v):
        """The distribution, and ``2 r / sqrt(sum a^2)`` with the sign of a."""
        v, distribution, rate = self._place(v)
        speed = rate * np.sqrt(distribution.p)
        # At a = 0 the rate 2 r / a is useless, the product is not.
        unsure = (rate == 0) | (np.abs(rate) > _LARGEST_TRUSTED_RATE)
        if unsure.any():
            a, r = self.activation.value_and_slope(v)
            norm = np.sqrt((a**2).sum(axis=0, keepdims=True))
            exact = np.divide(2 * r, norm, out=np.zeros_like(r), where=norm > 0)
            speed = np.where(
                unsure & (norm > _SMALLEST_NORM), np.where(a < 0, -exact, exact), speed
            )
        return distribution, speed

    def fisher_factor(self, v, columns=slice(None)):
        distribution, speed = self._speed(v)
        chosen = np.arange(len(speed))[columns]
        root = np.sqrt(distribution.p)
        factor = -speed[:, None, :] * root[:, None, :] * root[None, chosen]
        factor[chosen, np.arange(len(chosen))] = (speed * distribution.q)[chosen]
        return factor

    def whitened(self, v, change):
        distribution, speed = self._speed(v)
        root, moved = np.sqrt(distribution.p), speed * change
        return moved - root * (root * moved).sum(axis=0)

    def fisher_diagonal(self, v):
        distribution, speed = self._speed(v)
        return speed**2 * distribution.q

    def sample(self, v, rng):
        return self._place(v).distribution.sample(rng)

    def mean(self, v):
        return self._place(v).distribution.p

    def logits(self, v):
        return 2 * self.activation.log_value(v)[0]

    def log_mean(self, v):
        return self._place(v).distribution.log_probabilities()

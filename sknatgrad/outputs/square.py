"""Square loss: independent Gaussian targets of variance 1."""

import numpy as np

from ._base import Output


class Square(Output):
    """Targets ``y_k ~ N(a_k, 1)``; loss ``sum_k (y_k - a_k)^2 / 2``.

    The constant ``ln(2 pi) / 2`` of the Gaussian is left out. Paper: Example
    "Square-loss ..." in "Notation for neural networks". Any activation.
    """

    name = "square"
    independent = True

    @property
    def free_scale(self):
        return self.activation.linear

    @property
    def mirrored(self):
        return self.free_scale

    def starting_point(self, moments, total_weight, n_outputs):
        if not self.free_scale:
            return None
        centre, scale = moments.mean, moments.deviation
        # Below this the deviation is the rounding error of the mean.
        return centre, np.where(scale > 1e-13 * np.abs(centre), scale, 0.0)

    def loss_unit(self, moments):
        """The mean variance of the targets."""
        return float(np.mean(moments.deviation**2))

    def loss(self, v, target):
        return 0.5 * np.square(target - self.activation.value(v)).sum(axis=0)

    def score(self, v, target):
        a, r = self.activation.value_and_slope(v)
        return (target - a) * r

    def fisher_diagonal(self, v):
        return self.activation.value_and_slope(v)[1] ** 2

    def sample(self, v, rng):
        return self.activation.value(v) + rng.standard_normal(v.shape)

    def mean(self, v):
        return self.activation.value(v)

    def logits(self, v):
        # Of a 0/1 target.
        return self.activation.value(v) - 0.5

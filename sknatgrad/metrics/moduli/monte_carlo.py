"""The Monte-Carlo Fisher modulus."""

from numbers import Integral

import numpy as np

from ._base import Modulus


class MonteCarlo(Modulus):
    """``c_k`` = mean of ``(d loss(y) / d v_k)^2`` over K targets y drawn from the model.

    Paper: section "The Fisher matrix for neural networks", the Monte Carlo natural gradient.
    An unbiased estimate of the Fisher modulus; K backpropagations a sample.

    Parameters
    ----------
    n_samples : int
        K, targets drawn for each input.
    """

    name = "mc_fisher"
    random = True

    def __init__(self, n_samples=1):
        if not (isinstance(n_samples, Integral) and n_samples >= 1):
            raise ValueError(f"n_mc_samples must be an integer >= 1, got {n_samples!r}.")
        self.n_samples = n_samples

    @classmethod
    def make(cls, n_mc_samples=1):
        return cls(n_mc_samples)

    def n_seeds(self, n_outputs):
        return self.n_samples

    def seeds(self, point, rng):
        for _ in range(self.n_samples):
            target = point.output.sample(point.distribution, rng)
            score = point.output.score(point.distribution, target)
            yield (score / np.sqrt(self.n_samples))[:, None, :]

"""Steepest descent in a metric: from gradient and statistics to a direction."""

import math
from dataclasses import dataclass

import numpy as np

from ...metrics import Metric


@dataclass(frozen=True)
class Descent:
    """A metric with its damping.

    Parameters
    ----------
    metric : Metric
    damping : float
    mode : {"relative", "absolute"}
    """

    metric: Metric
    damping: float
    mode: str

    def factorize(self, objective, statistics):
        """The map ``G -> A^-1 G``, prepared once for many gradients."""
        return self.metric.factorize(
            objective.network.topology, statistics, self.damping, self.mode, objective.ridge
        )

    def recursive(self, objective, statistics):
        """The same as an inverse that can follow single samples."""
        return self.metric.recursive_inverse(
            objective.network.topology, statistics, self.damping, self.mode, objective.ridge
        )


def steepest(solve, gradient):
    """The direction ``A^-1 G`` and its slope ``G . A^-1 G``.

    Both are zero if they are not finite: such a step is not taken.
    """
    direction = solve(gradient)
    slope = float(gradient @ direction)
    # Not finite either if an entry of the direction is not.
    if not math.isfinite(slope):
        return np.zeros_like(gradient), 0.0
    return direction, slope

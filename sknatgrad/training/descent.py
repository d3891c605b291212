"""Steepest descent in a metric: from gradient and statistics to a direction."""

from dataclasses import dataclass

import numpy as np

from ..metrics import Floored, Metric, WithOuterProduct


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

    def direction(self, objective, gradient, statistics):
        """The direction ``A^-1 G`` and its slope ``G . A^-1 G``.

        Both are zero where they are not finite: such a step is not taken.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            direction = self.metric.solve(
                objective.network.topology,
                statistics,
                gradient,
                self.damping,
                self.mode,
                objective.ridge,
            )
            slope = float(gradient @ direction)
        if not (np.isfinite(slope) and np.isfinite(direction).all()):
            return np.zeros_like(gradient), 0.0
        return direction, slope


class RunningMetric:
    """Moving average ``(1 - g) A + g A(x)`` of a metric's statistics.

    Paper, section "Adaptation to an online setting". The first batches are averaged
    evenly, until they weigh more than the moving average would let them; never the
    identity.

    Parameters
    ----------
    metric : Metric
    window : float
        Sample weight over which to average: a batch of weight B has ``g = B / window``.
        0 forgets at once.
    """

    def __init__(self, metric, window):
        self.metric, self.window = metric, window
        self.statistics, self.seen = None, 0.0

    def update(self, statistics, weight):
        """Mix in the statistics of a batch of that weight; returns the average."""
        self.seen += weight
        share = min(1.0, weight / max(weight, min(self.window, self.seen)))
        if self.statistics is None or share == 1.0:
            self.statistics = statistics
        else:
            self.statistics = self.metric.combine(
                [(1 - share, self.statistics), (share, statistics)]
            )
        return self.statistics


# Share of the outer product, and of the Kronecker form, in the metric that trains
# under relative damping: doc/metrics.md says what each is for.
OUTER_PRODUCT_SHARE = 0.1
KRONECKER_SHARE = 0.1


def safeguarded(metric):
    """The metric that training under relative damping uses.

    The metric plus a share of its outer product and of its Kronecker form. Both are
    intrinsic, so nothing of the invariance is lost; together they keep the step
    bounded on samples where the metric itself vanishes (a unit saturated, an output
    certain), which is what makes the length of steps collapse otherwise.
    """
    return Metric(
        WithOuterProduct(metric.modulus, OUTER_PRODUCT_SHARE),
        Floored(metric.reduction, KRONECKER_SHARE),
    )

"""Steepest descent in a metric: from gradient and statistics to a direction."""

from dataclasses import dataclass

import numpy as np

from ..metrics import Metric, Safeguarded


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
        with np.errstate(over="ignore", invalid="ignore"):
            return self.metric.factorize(
                objective.network.topology, statistics, self.damping, self.mode, objective.ridge
            )

    def recursive(self, objective, statistics):
        """The same as an inverse that can follow single samples."""
        with np.errstate(over="ignore", invalid="ignore"):
            return self.metric.recursive_inverse(
                objective.network.topology, statistics, self.damping, self.mode, objective.ridge
            )


def steepest(solve, gradient):
    """The direction ``A^-1 G`` and its slope ``G . A^-1 G``.

    Both are zero where they are not finite: such a step is not taken.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        direction = solve(gradient)
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
        0 forgets at once, and keeps nothing.
    """

    def __init__(self, metric, window):
        self.metric, self.window = metric, window
        self.statistics, self.seen, self.weight = None, 0.0, 1.0

    def update(self, statistics, weight):
        """Mix in the statistics of a batch of that weight; returns the average.

        Its share in it is then `weight`.
        """
        self.seen += weight
        if self.window == 0:
            return statistics
        if self.window > weight:
            statistics = self.metric.condensed(statistics)
        self.weight = share = min(1.0, weight / max(weight, min(self.window, self.seen)))
        if self.statistics is None or share == 1.0:
            self.statistics = statistics
        else:
            self.statistics = self.metric.combine(
                [(1 - share, self.statistics), (share, statistics)]
            )
        return self.statistics


# Intrinsic safeguards of training under relative damping; doc/metrics.md says what
# each is for, and tests/benchmarks what they change.
OUTER_PRODUCT_SHARE = 0.1
SLOPE_SOFTENING = 0.1
KRONECKER_SHARE = 0.5
SPAN_WIDENING = 0.1


# Of directions that are found by iterations, in the norm of the metric.
DIRECTION_ERROR = 1e-3


def training_metric(metric, guarded):
    """The metric that training uses; `guarded` under relative damping."""
    return (safeguarded(metric) if guarded else metric).inexact(DIRECTION_ERROR)


def safeguarded(metric):
    """The metric with the safeguards of training under relative damping.

    Its modulus is softened and has a share of the outer product (`Safeguarded`), and
    a share of its Kronecker form is added (`PlusKronecker`). All of this is intrinsic:
    nothing of the invariance is lost. Without it the length of steps collapses as soon
    as one unit is saturated.
    """
    return Metric(
        Safeguarded(metric.modulus, OUTER_PRODUCT_SHARE, SLOPE_SOFTENING),
        metric.reduction.with_kronecker(KRONECKER_SHARE, SPAN_WIDENING),
    )

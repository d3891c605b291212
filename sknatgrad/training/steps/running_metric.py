"""The metric as an average over batches."""

import numpy as np

from ...metrics.point import JoinedPoints

# Batches whose statistics may wait for one another.
_LONGEST_WAIT = 128
# Numbers in statistics that whole-batch training leaves behind: two megabytes.
_LARGEST_KEPT = 1 << 18


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
        0 forgets at once; the last batch is kept for a stream that may go on from there, if
        it takes little memory.
    """

    def __init__(self, metric, window):
        self.metric, self.window = metric, window
        self.seen, self.last_share = 0.0, 1.0
        self._statistics, self._pending = None, ()

    def go_on(self, metric, window):
        """Average over that window from now on; `metric` has statistics of the same kind."""
        self.metric, self.window = metric, window

    @property
    def is_full(self):
        """Whether it has seen as much as it averages over."""
        return self.seen >= self.window

    def _see(self, weight):
        self.seen += weight
        self.last_share = weight / max(weight, min(self.window, self.seen))
        return self.last_share

    def update(self, statistics, weight):
        """Mix in the statistics of a batch of that weight; returns the average.

        Its share in it is then `last_share`.
        """
        share = self._see(weight)
        if self.window == 0:
            kept = _n_numbers(statistics) <= _LARGEST_KEPT
            self._statistics, self.seen = (statistics, weight) if kept else (None, 0.0)
            return statistics
        if self.window > weight:
            statistics = self.metric.condensed(statistics)
        self._mix(statistics, share)
        return self.statistics

    def postpone(self, point, rng, weight):
        """Mix in a batch, later: its statistics are computed when they are asked for.

        Those of many single rows cost little more together than those of one.
        """
        share = self._see(weight)
        point.values(self.metric.modulus, rng)
        self._pending = (*self._pending, (share, point))
        if len(self._pending) >= _LONGEST_WAIT:
            self.settle()

    @property
    def statistics(self):
        """The average so far, None before the first batch."""
        self.settle()
        return self._statistics

    def settle(self):
        """Compute what was postponed; no batch is remembered after that."""
        if not self._pending:
            return
        weights, kept = [], 1.0
        for share, _ in reversed(self._pending):
            weights.insert(0, kept * share)
            kept *= 1 - share
        points = [point for _, point in self._pending]
        self._pending = ()
        joined = JoinedPoints(points, self.metric.modulus, weights)
        self._mix(self.metric.statistics(joined, None), 1 - kept)

    def __getstate__(self):
        self.settle()
        return self.__dict__

    def _mix(self, statistics, share):
        self.settle()
        if self._statistics is not None and share < 1.0:
            parts = [(1 - share, self._statistics), (share, statistics)]
            statistics = self.metric.combine(parts)
        self._statistics = statistics


def _n_numbers(statistics):
    """How many numbers there are in nested tuples of arrays; infinite of other objects."""
    if isinstance(statistics, tuple):
        return sum(map(_n_numbers, statistics))
    return statistics.size if isinstance(statistics, np.ndarray) else np.inf

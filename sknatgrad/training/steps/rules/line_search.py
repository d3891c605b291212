"""The line search of whole batches."""

import math

import numpy as np

from ._base import BatchRule


class LineSearch(BatchRule):
    """Two trials: at a first rate, and where a parabola has its minimum.

    The parabola is that of the slope and the first trial. Its minimum counts between a
    quarter of the first rate and that rate, or twice that where the metric sets no
    scale. The better trial is taken, its rate halved until it gains a share of what the
    slope promises. The first rate is the initial one as long as steps are not much
    shorter; without a scale it is the last one. So rates do not grow fast: the loss of
    separable data falls along any long step, but a network thrown so far has no slope
    to come back on.

    Rates are rounded to powers of 2. What is computed from small differences of
    losses is full of rounding errors, and steps would carry them on.
    """

    searches = True
    # Share of the promised gain that is enough (Armijo's condition); the rate below which
    # nothing is left to gain but rounding errors; the shortest second trial.
    _SUFFICIENT, _SMALLEST, _LEAST = 0.01, 1e-12, 0.25

    def __init__(self, rate, natural=True):
        super().__init__(rate, natural)
        self._initial = self._first = rate

    def search(self, objective, start, direction, slope):
        self.exhausted = False
        rate = first = self._first
        trial = self._trial(objective, start, direction, first)
        best = self._best_rate(start, trial, first, slope)
        if best != first:
            other = self._trial(objective, start, direction, best)
            if np.isfinite(other.loss) and not other.loss >= trial.loss:
                rate, trial = best, other
        while not self._gains(start, trial, rate * slope):
            rate /= 2
            if rate < self._SMALLEST:
                self.exhausted = True
                return None
            trial = self._trial(objective, start, direction, rate)
        self._adapt(rate)
        return trial

    def _adapt(self, taken):
        """Choose the next search's first rate, after a step of that rate."""
        self.rate = taken
        if not self.natural:
            self._first = taken
        elif taken <= self._LEAST * self._first:
            self._first = 2 * taken
        elif taken >= self._first:
            self._first = min(self._initial, 2 * self._first)

    def _gains(self, start, trial, promised):
        return np.isfinite(trial.loss) and trial.loss <= start.loss - self._SUFFICIENT * promised

    def _best_rate(self, start, trial, rate, slope):
        """Minimum of the parabola through start, slope and trial, within bounds."""
        most = 1.0 if self.natural else 2.0
        if not np.isfinite(trial.loss):
            return self._LEAST * rate
        bend = 2 * (rate * slope - (start.loss - trial.loss)) / rate
        change = slope / bend if bend > 0 else most
        return rate * _rounded(min(max(change, self._LEAST), most))


def _rounded(factor):
    """The nearest power of 2."""
    return 2.0 ** round(math.log2(factor))

"""Always the same rate."""

import numpy as np

from ._base import BatchRule, MiniBatchRule

_RATE = 0.1


class Constant(BatchRule):
    """Always the same rate; only overflow is rejected."""

    default_rate = _RATE

    def search(self, objective, start, direction, slope):
        trial = self._trial(objective, start, direction, self.rate)
        return trial if np.isfinite(trial.loss) else None


class ConstantRate(MiniBatchRule):
    """`Constant` on mini-batches."""

    default_rate = _RATE

    def propose(self, slope, loss):
        return self.rate

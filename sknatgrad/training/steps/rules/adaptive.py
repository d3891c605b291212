"""The rule of the paper's experiments."""

import numpy as np

from ._base import BatchRule


class Adaptive(BatchRule):
    """The paper's rule: halve on a worse loss, times 1.1 on a better one.

    Section "A first experimental comparison", "Learning rate". A worse step is
    cancelled. One forward pass a step.
    """

    default_rate = 0.01

    def search(self, objective, start, direction, slope):
        trial = self._trial(objective, start, direction, self.rate)
        if np.isfinite(trial.loss) and trial.loss <= start.loss:
            self.rate *= 1.1
            return trial
        self.rate /= 2
        return None

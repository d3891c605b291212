"""What happened during training, pass by pass."""

import time

import numpy as np


class History:
    """Curves with one entry a pass.

    Attributes
    ----------
    losses, rates, times, validation_losses, validation_scores : list of float
        `times` are seconds since the start of the fit, fits with other penalties before this
        one included. Validation values of passes without held-out rows are NaN.
    held_out : bool
        Whether the last pass had held-out rows.
    n_rejected : int
        Steps that were cancelled.
    """

    def __init__(self):
        self.losses, self.rates, self.times = [], [], []
        self.validation_losses, self.validation_scores = [], []
        self.n_rejected = 0
        self._offset, self._start = 0.0, time.perf_counter()
        self._of_fit, self.held_out = 0, False

    def fork(self):
        """A history that goes on from here by itself."""
        other = History()
        for name, value in vars(self).items():
            setattr(other, name, value.copy() if isinstance(value, list) else value)
        return other

    def begin_fit(self):
        """Go on with a new fit, which the best values speak of."""
        self._of_fit, self.held_out = len(self.losses), False
        self.resume()

    @property
    def best_loss(self):
        """Lowest loss since the fit began; None without a pass."""
        return min(self.losses[self._of_fit :], default=None)

    @property
    def best_score(self):
        """Highest validation score since the fit began; None without held-out rows."""
        if not self.held_out:
            return None
        return max(self.validation_scores[self._of_fit :], default=None)

    def resume(self):
        """Go on after a pause: times continue where they ended."""
        self._offset = self.times[-1] if self.times else 0.0
        self._start = time.perf_counter()

    def record(self, loss, rate, score=None, held_out_loss=None):
        """Add one pass; without held-out rows it has neither score nor loss on them."""
        self.held_out = score is not None
        self.validation_scores.append(score if self.held_out else np.nan)
        self.validation_losses.append(held_out_loss if self.held_out else np.nan)
        self.rates.append(rate)
        self.times.append(self._offset + time.perf_counter() - self._start)
        self.losses.append(loss)

    def truncate(self, n_passes):
        """Keep the first passes only: what an interrupt has left of another does not count."""
        for curve in self._curves:
            del curve[n_passes:]

    def keep_last(self, n_passes):
        """Forget the others, so that an endless stream does not fill memory."""
        forgotten = max(0, len(self.losses) - n_passes)
        for curve in self._curves:
            del curve[:forgotten]
        self._of_fit = max(0, self._of_fit - forgotten)

    @property
    def _curves(self):
        validation = self.validation_scores, self.validation_losses
        return self.losses, self.rates, self.times, *validation

    def __getstate__(self):
        return {**self.__dict__, "_start": 0.0}

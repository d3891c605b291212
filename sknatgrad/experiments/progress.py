"""What is said while a race runs."""

import sys
from functools import partial

from .table import number


class ProgressLines:
    """One line a competitor: rewritten on a terminal, else printed when it is done.

    Parameters
    ----------
    names : list of str
    stream : file, optional
        Standard output by default.
    loss_name : str, default="log-loss"
    show : callable, optional
        Turns a training loss into text; five decimals by default.
    """

    def __init__(self, names, stream=None, loss_name="log-loss", show=None):
        self.stream = sys.stdout if stream is None else stream
        self.width = max(map(len, names))
        self.loss_name = loss_name
        self.show = partial(number, digits=5) if show is None else show

    def __call__(self, name, result):
        """Say that a competitor starts, or what came of it."""
        live = self.stream.isatty()
        start = f"{name:<{self.width}}  "
        if result is None and live:
            self._write(f"{start}training ...\r")
        elif result is not None:
            self._write(f"{start}{self._outcome(result)}\n")

    def _outcome(self, result):
        if result.error:
            return f"failed: {result.error}"
        passes = f"{result.n_passes:4d} passes, " if result.losses else " " * 13
        loss = self.show(result.train_loss)
        return f"{passes}{result.seconds:6.2f} s, training {self.loss_name} {loss}"

    def _write(self, text):
        self.stream.write(text)
        self.stream.flush()

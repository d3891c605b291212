"""What is said while a race runs."""

import sys
import time
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
            _write(self.stream, f"{start}training ...\r")
        elif result is not None:
            _write(self.stream, f"{start}{self._outcome(result)}\n")

    def _outcome(self, result):
        if result.error:
            return f"failed: {result.error}"
        passes = f"{result.n_passes:4d} passes, " if result.losses else " " * 13
        loss = self.show(result.train_loss)
        return f"{passes}{result.seconds:6.2f} s, training {self.loss_name} {loss}"


class ProgressBar:
    """How many of many pieces of work are done, and how long the rest will take.

    One line, rewritten, on a terminal; else twenty lines all in all.

    Parameters
    ----------
    total : int
        Pieces.
    stream : file, optional
        Standard output by default.
    clock : callable, optional
        Seconds.
    """

    _WIDTH, _LINES = 24, 20

    def __init__(self, total, stream=None, clock=time.monotonic):
        self.stream = sys.stdout if stream is None else stream
        self.total, self.done = total, 0
        self._clock, self._start, self._longest = clock, clock(), 0

    def advance(self, said):
        """Count a piece and say what it was."""
        before, self.done = self.done, self.done + 1
        line = f"{self._state()}  {said}"
        if self.stream.isatty():
            full = self._WIDTH * self.done // self.total
            line = f"[{'#' * full}{'.' * (self._WIDTH - full)}] {line}"
            _write(self.stream, f"\r{line:<{self._longest}}" + "\n" * (self.done == self.total))
            self._longest = max(self._longest, len(line))
        elif self._LINES * before // self.total < self._LINES * self.done // self.total:
            _write(self.stream, f"{line}\n")

    def _state(self):
        spent = self._clock() - self._start
        rest = spent / self.done * (self.total - self.done)
        return f"{self.done}/{self.total}, {clock_time(spent)} gone, {clock_time(rest)} to go"


def _write(stream, text):
    print(text, end="", file=stream, flush=True)


def clock_time(seconds):
    """Seconds as minutes and seconds.

    Examples
    --------
    >>> clock_time(75.2)
    '1:15'
    """
    minutes, seconds = divmod(round(seconds), 60)
    return f"{minutes}:{seconds:02d}"

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


class ProgressBar:
    """How many of many pieces of work are done, and how long the rest will take.

    One line, rewritten, on a terminal; else a line whenever another group of pieces is
    done.

    Parameters
    ----------
    groups : dict of str to int
        Number of pieces by group.
    stream : file, optional
        Standard output by default.
    clock : callable, optional
        Seconds.
    """

    _WIDTH = 24

    def __init__(self, groups, stream=None, clock=time.monotonic):
        self.stream = sys.stdout if stream is None else stream
        self._left, self._total = dict(groups), sum(groups.values())
        self._clock, self._start, self._longest = clock, clock(), 0

    @property
    def done(self):
        """Pieces done."""
        return self._total - sum(self._left.values())

    def advance(self, group, said=""):
        """Count a piece of a group; `said` is told where there is room for it."""
        self._left[group] -= 1
        if self.stream.isatty():
            full = self._WIDTH * self.done // self._total
            bar = "#" * full + "." * (self._WIDTH - full)
            line = f"[{bar}] {self._state()}  {said}"
            self._write(f"\r{line:<{self._longest}}" + "\n" * (self.done == self._total))
            self._longest = len(line)
        elif not self._left[group]:
            self._write(f"[{self._state()}] {group}: done\n")

    def _state(self):
        spent = self._clock() - self._start
        rest = spent / self.done * (self._total - self.done)
        return f"{self.done}/{self._total}, {clock_time(spent)} gone, {clock_time(rest)} to go"

    def _write(self, text):
        self.stream.write(text)
        self.stream.flush()


def clock_time(seconds):
    """Seconds as minutes and seconds.

    Examples
    --------
    >>> clock_time(75.2)
    '1:15'
    """
    minutes, seconds = divmod(round(seconds), 60)
    return f"{minutes}:{seconds:02d}"

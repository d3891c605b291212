"""What a step costs, measured side by side on one thread (the paper's Table 1)."""

import time
from dataclasses import dataclass

import numpy as np

from ..._version import __version__
from ...training.state import Task
from .store import read_kept, write_kept
from .training import advance, begin_at, settings_of

_FORMAT = "sknatgrad costs of steps, 1"
_WARM_UP = 10
_SECONDS = 0.02  # of one timing
_LONG = 0.1  # seconds of a step that is timed less often


@dataclass(frozen=True)
class Costs:
    """Processor time of a step.

    Attributes
    ----------
    seconds : dict of str to float
        By name of the method.
    """

    seconds: dict

    def relative(self, name):
        """Cost of a step in steps of backpropagation."""
        return self.seconds[name] / self.seconds["euclidean"]


def measure_costs(experiment, rounds):
    """Median processor time of a step of each method of an experiment.

    Methods take turns, so that what else the machine does falls on all of them.

    Parameters
    ----------
    experiment : Experiment
    rounds : int
        How often each is timed.

    Returns
    -------
    Costs
    """
    first = experiment.trainings(0)[0]
    setting = experiment.draw(first.problem_seed).implement("tanh")
    timers = {method.name: _Timer(setting, method) for method in experiment.methods}
    for _ in range(rounds):
        for timer in timers.values():
            timer.time()
    return Costs({name: float(np.median(timer.timings)) for name, timer in timers.items()})


class _Timer:
    """A training that goes on while it is timed."""

    def __init__(self, setting, method):
        model, data, _ = setting
        self._method, self._n_samples = method, len(data.X)
        self._state = begin_at(setting, settings_of(method, self._n_samples))
        self._training = model, data
        self.timings = []
        step = self._seconds_a_step(1)
        if step < _LONG:
            step = self._seconds_a_step(_WARM_UP)
        self._n_steps = max(1, round(_SECONDS / step))

    def time(self):
        """Time some more steps."""
        self.timings.append(self._seconds_a_step(self._n_steps))

    def _seconds_a_step(self, n_steps):
        model, data = self._training
        settings = settings_of(self._method, self._n_samples, n_steps)
        start = time.process_time()
        advance(Task(model, settings, data), self._state)
        return (time.process_time() - start) / n_steps


def known_costs(experiment, rounds, path):
    """Costs from a file, or measured and kept there."""
    names = [method.name for method in experiment.methods]
    settings = {"version": __version__, "rounds": rounds, "methods": names}
    content, _ = read_kept(path, _FORMAT, settings)
    if content is not None and "seconds" in content:
        return Costs(content["seconds"])
    costs = measure_costs(experiment, rounds)
    write_kept(path, _FORMAT, settings, seconds=costs.seconds)
    return costs

"""Training by the paper's rules, step by step."""

from dataclasses import dataclass

import numpy as np

from ...training import History, Stopping
from ...training.penalty.l2 import Strength
from ...training.session import begin, run
from ...training.settings import Settings
from ...training.state import Task
from .methods import FIRST_RATE

_RECORDED = 120


@dataclass(frozen=True)
class Curve:
    """What came of one training.

    Attributes
    ----------
    steps : list of int
        Some of the steps, spread evenly on a logarithmic scale.
    bits : list of float
        Loss a sample after each of these.
    """

    steps: list
    bits: list


def settings_of(method, n_samples, n_steps=None, learning_rate="adaptive"):
    """The engine's settings for a method: whole batch, the paper's rule for the rate."""
    return Settings(
        metric=method.build_metric(),
        damping=method.damping,
        damping_mode=method.damping_mode,
        learning_rate=learning_rate,
        learning_rate_init=FIRST_RATE,
        batch_size=n_samples,
        metric_decay="auto",
        n_init_samples="auto",
        shuffle=False,
        alpha=0.0,
        stopping=Stopping(n_steps or method.n_steps, 0.0, np.inf),
    )


def train(setting, settings, seed=0):
    """Train from a given start.

    Parameters
    ----------
    setting : tuple (Model, Data, ndarray)
        Network, rows and initial parameters.
    settings : Settings
    seed : int
        Of Monte-Carlo draws.

    Returns
    -------
    History

    Raises
    ------
    ValueError
        If the loss overflows.
    KeyboardInterrupt
        If the user interrupts.
    """
    model, data, _ = setting
    state = begin_at(setting, settings, seed)
    advance(Task(model, settings, data), state)
    return state.history


def begin_at(setting, settings, seed=0):
    """The state before the first step from a given start; takes what `train` takes."""
    model, data, theta = setting
    previous = (theta, History(), Strength())
    return begin(Task(model, settings, data), np.random.RandomState(seed), previous)


def advance(task, state):
    """Go on from a state for as many steps as the settings of the task say."""
    outcome = run(task, state)
    if outcome.interrupted:
        raise KeyboardInterrupt
    if outcome.error is not None:
        raise outcome.error


def train_method(problem, method, activation, seed):
    """The `Curve` of a method on a problem."""
    setting = problem.implement(activation)
    history = train(setting, settings_of(method, len(problem.inputs)), seed)
    steps = recorded_steps(len(history.losses))
    bits = np.array(history.losses)[np.array(steps) - 1] / np.log(2)
    return Curve(steps, bits.tolist())


def recorded_steps(n_steps):
    """Steps whose loss is kept: all of the first ones, then ever fewer."""
    spread = np.geomspace(1, n_steps, _RECORDED).round().astype(int)
    return sorted({min(10, n_steps), *spread.tolist()})

"""The course of a training: from data and settings to a trained state.

``begin`` places the initial network, ``run`` trains it, and the `TrainingState`
between them is all that a later call needs to go on.
"""

from copy import deepcopy
from dataclasses import dataclass, replace

from ..numerics.overflow import quiet
from ..numerics.single_thread import single_thread
from .assembly import (
    make_evidence,
    make_objective,
    make_passes,
    make_penalty,
    make_stopping,
    make_validator,
)
from .first_rows import FirstRows
from .history import History
from .orientation import oriented
from .penalty.l2 import Strength
from .renewed_start import TargetLevel, renew_start
from .start import (
    raw_target_scale,
    standard_coordinates,
    standard_outputs,
    start_parameters,
    training_coordinates,
)
from .state import TrainingState
from .steps.path import Path
from .trainer import Outcome, Trainer
from .units import LossUnits

# Passes of `partial_fit` whose losses are remembered.
LONGEST_STREAM = 1000


@single_thread()
@quiet()
def begin(task, rng, previous=None):
    """Place a network at its start.

    Parameters
    ----------
    task : Task
    rng : RandomState
    previous : triple (parameters, History, Strength), optional
        Start from these parameters, expressed for the data as given, and that penalty.

    Returns
    -------
    TrainingState
    """
    model, settings, data = task
    outputs = standard_outputs(task)
    standard = oriented(model, standard_coordinates(task, outputs), data)
    coordinates = training_coordinates(task, standard)
    if previous is None:
        parameters = start_parameters(model, standard, coordinates, rng)
        history, strength = History(), Strength()
    else:
        parameters, history, strength = coordinates.inward(previous[0]), *previous[1:]
        history.begin_fit()
    raw, row_weight = raw_target_scale(model, outputs, coordinates), data.mean_weight()
    level = None
    if standard.outputs is not None:
        # The first rows of a stream come again, in its first pass.
        known = 0.0 if settings.streaming else data.total_weight / row_weight
        level = TargetLevel.at_start(model.output, standard.outputs.centre, known)
    return TrainingState(
        coordinates,
        Path.starting_at(parameters),
        rng,
        history,
        strength,
        units=LossUnits.of(model, data, coordinates, raw),
        raw_target_scale=raw,
        row_weight=row_weight,
        target_level=level,
    )


def begin_stream(task, rng):
    """Place a network at its start with the first rows of a stream."""
    first = FirstRows.of(task.data, rng)
    state = begin(task, rng)
    state.first_rows = first
    return state


def go_on(task, state):
    """Where a stream goes on with its next rows.

    As long as the first rows do not tell the units of the others it begins anew.

    Parameters
    ----------
    task : Task
    state : TrainingState
        After the rows before. It is left as it is, since the call may fail, but for the solver,
        whose inverses are updated in place: that is taken over, and factored anew if it fails.

    Returns
    -------
    task : Task
        With the rows to learn: the next ones, or all so far.
    state : TrainingState
    """
    first = state.first_rows
    if first is None:
        following = state.fork()
        following.solver, state.solver = state.solver, None
    else:
        task = task._replace(data=first.and_next(task.data))
        following = begin_stream(task, deepcopy(first.rng))
        following.history = state.history.fork()
    following.history.resume()
    return task, following


@single_thread()
def run(task, state, validation=None, observer=None, followed=False):
    """Train from a state, which is brought up to date.

    Parameters
    ----------
    task : Task
    state : TrainingState
    validation : pair (Data, callable or None), optional
        Held-out rows, and a score of (bound output, output pre-activations, encoded
        target, weight); minus the loss without it.
    observer : object, optional
        As in `Trainer`, but given a function in place of what was reached, which makes the
        `Outcome` and the state of a training that had stopped there.
    followed : bool
        As in `Trainer`.

    Returns
    -------
    Outcome
    """
    model, settings, _ = task
    adapts = settings.adapts_alpha(model.network) and not settings.streaming
    task = _prepared(task, state, adapts)
    with quiet():
        penalised = adapts or state.strength.alpha > 0
        penalty = make_penalty(task, state) if penalised else None
        objective = make_objective(task, state.coordinates, penalty)
        if settings.streaming:
            renew_start(model, objective, state)
        passes = make_passes(task, objective, state)
    validate = None if validation is None else make_validator(task, state, *validation)
    stopping = make_stopping(task, state, validation)
    watched = None if observer is None else _Watched(observer, state)
    evidence = make_evidence(task.data, state, passes) if adapts else None
    reported = state.units.reported
    trainer = Trainer(
        passes, state.history, stopping, validate, watched, evidence, reported, followed
    )
    outcome = trainer.run()
    _bring_to(state, trainer.reached)
    if settings.streaming:
        state.history.keep_last(LONGEST_STREAM)
    return outcome


def _prepared(task, state, adapts):
    """The task with its data in the units of the state, which takes note of them."""
    _, settings, data = task
    observed = data.n_observed(adapts) if settings.alpha == "auto" else data.total_weight
    state.note_weight(observed, settings.streaming)
    data = data.in_units_of(state.row_weight)
    if settings.alpha != "auto":
        state.strength = Strength(settings.alpha)
    if settings.streaming:
        state.coordinates = state.coordinates.learned(data)
    if adapts and state.strength.features is None:
        state.strength = replace(state.strength, features=data.scale.prior_precision)
    return task._replace(data=data)


def _bring_to(state, reached):
    """Bring a state to where the passes have come."""
    state.path = reached.path
    state.history.n_rejected += reached.n_rejected
    if reached.strength is not None:
        state.strength = reached.strength.times(1 / state.units.alpha)


@dataclass(frozen=True)
class _Watched:
    """An observer that is told where a fit would be if it had stopped here."""

    observer: object
    state: TrainingState

    def begin(self):
        self.observer.begin()

    def end(self, loss, score, reached):
        def ended():
            state = self.state.fork()
            _bring_to(state, reached)
            return Outcome(reached.n_iter, loss), state

        return self.observer.end(reached.n_iter, loss, score, ended)

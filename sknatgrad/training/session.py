"""The course of a training: from data and settings to a trained state.

``begin`` places the initial network, ``run`` trains it, and the `TrainingState`
between them is all that a later call needs to go on.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state

from ..network.initialization import standard_factor
from .comparison import criterion
from .coordinates import Coordinates
from .descent import Descent, RunningMetric, training_metric
from .evidence import Evidence, sample
from .history import History
from .overflow import quiet
from .passes import BatchPass, MiniBatchPass, Path
from .penalty import Penalty, Strength
from .renewed_start import TargetLevel, renew_start
from .settings import noise_share
from .single_thread import single_thread
from .solvers import make_solver
from .start import (
    loss_unit,
    standard_coordinates,
    standard_outputs,
    start_parameters,
    target_factor,
    training_coordinates,
    untold_scale,
)
from .state import TrainingState
from .trainer import NotFiniteError, Stopping, Trainer

# Passes of `partial_fit` whose losses are remembered.
LONGEST_STREAM = 1000
# Rows of a stream that the averaged parameters speak of: what they describe may drift.
STREAM_MEMORY = 2000


@single_thread()
@quiet()
def begin(model, settings, data, rng, previous=None, streaming=False):
    """Place a network at its start.

    Parameters
    ----------
    model : Model
    settings : Settings
    data : Data
    rng : RandomState
    previous : triple (parameters, History, Strength), optional
        Start from these parameters, told for the data as given, and that penalty.
    streaming : bool
        More rows will come: work in mini-batches, and give inputs that were constant
        so far a scale.

    Returns
    -------
    TrainingState
    """
    outputs = standard_outputs(model, data, streaming)
    standard = standard_coordinates(model, data, outputs, streaming)
    coordinates = training_coordinates(model, settings, standard, data)
    if previous is None:
        parameters = start_parameters(model, standard, coordinates, rng)
        history, strength = History(), Strength()
    else:
        parameters, history, strength = coordinates.inward(previous[0]), *previous[1:]
        history.begin_fit()
    scaled = coordinates.outputs is not None and np.all(model.output.free_scale)
    history.unit = coordinates.outputs.loss_unit if scaled else 1.0
    running = RunningMetric(settings.metric, 0.0)
    state = TrainingState(coordinates, Path.starting_at(parameters), running, rng, history)
    state.row_weight, state.strength = data.mean_weight(), strength
    state.untold_scale = untold_scale(model, outputs, coordinates)
    if not streaming:
        state.loss_unit = loss_unit(model, data, coordinates)
    if standard.outputs is not None:
        state.level = TargetLevel.at_start(model.output, standard.outputs.centre)
    return state


@single_thread()
def run(model, settings, data, state, validation=None, observer=None, streaming=False):
    """Train from a state, which is brought up to date.

    Parameters
    ----------
    model, settings, data, state, streaming
        As in `begin`.
    validation : pair (Data, callable or None), optional
        Held-out rows, and a score of (bound output, output pre-activations, encoded
        target, weight); minus the loss without it.
    observer : object, optional
        As in `Trainer`, but given a function that computes parameters for the data as
        given in place of the path.

    Returns
    -------
    Outcome
    """
    state.see(data.n_observed() if settings.alpha == "auto" else data.total_weight, streaming)
    data = data.in_units_of(state.row_weight)
    if settings.alpha != "auto":
        state.strength = Strength(settings.alpha)
    if streaming:
        state.coordinates = state.coordinates.learned(data.X, data.weight)
    adapts = settings.adapts_alpha(model.network) and not streaming
    with quiet():
        objective = _objective(model, settings, data, state, adapts or state.strength.alpha > 0)
        if streaming:
            renew_start(model, settings, objective, state)
        passes = _passes(model, settings, objective, state, streaming)
    validate = None if validation is None else _validator(model, settings, state, *validation)
    stopping = Stopping(1, 0.0, 1) if streaming else _stopping(settings, state, validation)
    watched = None if observer is None else _Watched(observer, state.coordinates)
    evidence = None
    if adapts:
        evidence = Evidence(passes.n_steps, state.strength.n_passes, bool(state.history.losses))
    trainer = Trainer(passes, state.history, stopping, validate, watched, evidence)
    error = None
    try:
        trainer.run()
    except NotFiniteError as problem:
        error = problem
    state.path = trainer.path
    if adapts:
        strength, unit = objective.penalty.strength, _penalty_unit(model, state)
        state.strength = replace(strength, alpha=strength.alpha / unit, n_passes=evidence.n_passes)
    loss = trainer.final_loss
    if not trainer.n_iter:
        loss = objective.evaluate(trainer.parameters).data_loss * state.history.unit
    n_iter = trainer.n_iter
    if streaming:
        state.history.forget(LONGEST_STREAM)
    return Outcome(
        n_iter,
        n_iter * objective.n_samples,
        float(loss),
        trainer.interrupted,
        trainer.ran_out and not streaming,
        error,
    )


def start_and_run(model, settings, data, seed, previous=None, validation=None, observer=None):
    """One independent start: ``(Outcome, TrainingState)``."""
    state = begin(model, settings, data, check_random_state(seed), previous)
    return run(model, settings, data, state, validation, observer), state


@single_thread()
@quiet()
def compared_by(model, settings, data, state):
    """What tells good starts from bad ones once they have run; the less, the better.

    Minus the best validation score where there is one, else what `criterion` says of
    the training data.
    """
    if state.history.best_score is not None:
        return -state.history.best_score
    data = data.in_units_of(state.row_weight)
    objective = _objective(model, settings, data, state, state.strength.alpha > 0)
    adapts = settings.adapts_alpha(model.network)
    if adapts and not data.whole_batches_only:
        objective = sample(objective)
    return criterion(objective, state.path.average, adapts)


@dataclass(frozen=True)
class Outcome:
    """How a training ended.

    Attributes
    ----------
    n_iter, n_seen : int
        Completed passes, and rows in them.
    loss : float
        Training loss of the last pass.
    interrupted : bool
        Whether the user stopped it.
    ran_out : bool
        Whether `max_iter` passes were not enough.
    error : NotFiniteError or None
        What ended it, if it overflowed.
    criterion : float
        Of `compared_by`, where there are several starts.
    """

    n_iter: int
    n_seen: int
    loss: float
    interrupted: bool
    ran_out: bool = False
    error: NotFiniteError | None = None
    criterion: float = np.nan


@dataclass(frozen=True)
class _Watched:
    """An observer that is told parameters for the data as given."""

    observer: object
    coordinates: Coordinates

    def begin(self):
        self.observer.begin()

    def end(self, number, loss, score, path):
        return self.observer.end(
            number, loss, score, lambda: self.coordinates.outward(path.average)
        )


# ---------------------------------------------------------------------- the run
def _objective(model, settings, data, state, penalised):
    coordinates, penalty = state.coordinates, None
    if penalised:
        scale = data.scale
        if coordinates.inputs is not None:
            scale = scale.relative_to(coordinates.inputs)
        factor = standard_factor(model.network, scale.scale)
        factor = factor * target_factor(model.network.topology, state.untold_scale)
        strength = state.strength
        strength = replace(strength, alpha=strength.alpha * _penalty_unit(model, state))
        penalty = Penalty(model.network.topology, factor**2, state.weight, strength)
    dtype = np.float32 if _single_precision(settings, data) else np.float64
    objective = data.objective(model, penalty, coordinates, dtype)
    objective.n_threads = settings.n_threads
    return objective


def _single_precision(settings, data):
    """Whether to compute in single precision."""
    if data.X.dtype != np.float32 or not settings.precision_is_free:
        return False
    # Sparse data are not centred: differences are lost where columns are far from 0.
    return not sparse.issparse(data.X) or data.scale.is_near_origin


def _penalty_unit(model, state):
    """What a unit of `alpha` is worth in the loss that is minimised."""
    told = state.untold_scale is None or not np.all(model.output.free_scale)
    return 1.0 if told else state.untold_scale.loss_unit


def _passes(model, settings, objective, state, streaming):
    guarded = settings.damping_mode == "relative" and settings.damping > 0
    n_samples = objective.n_samples
    batch_size = settings.rows_a_step(n_samples)
    whole = not streaming and batch_size == n_samples
    noise = 0.0 if whole else noise_share(model.network.topology, batch_size)
    metric = training_metric(settings.metric, guarded, noise)
    descent = Descent(metric, settings.damping, settings.damping_mode)
    # Steps of a fit grow small in the end; a stream goes on for ever.
    rule_key = settings.learning_rate, settings.learning_rate_init, streaming
    if state.rule_key != rule_key:
        state.rule, state.rule_key = settings.step_rule(n_samples, streaming), rule_key
    state.rule.noise = noise
    batch_weight = objective.total_weight * batch_size / n_samples
    key = repr(settings.metric), settings.damping > 0, settings.damping_mode
    if (not whole and state.running.window == 0) or state.metric_key != key:
        # Whole-batch steps leave the metric of a place that training has left.
        state.running, state.metric_key = RunningMetric(metric, 0.0), key
    state.running.metric = metric
    state.running.window = settings.metric_window(batch_weight, model.network.topology, whole)
    shared = (descent, state.running, state.rule, state.rng)
    if whole:
        return BatchPass(objective, state.path.average, *shared)
    state.solver = _solver(model, settings, state, descent, batch_size)
    first = settings.n_init_samples
    if first == "auto":
        first = int(min(n_samples, state.running.window))
    return MiniBatchPass(
        objective,
        state.path,
        *shared,
        batch_size,
        settings.shuffle,
        first,
        settings.metric_every(batch_size, model.network.topology),
        settings.steps_together(batch_size, state.running.window),
        state.solver,
        adapt=not streaming,
        longest_average=STREAM_MEMORY / batch_size if streaming else np.inf,
    )


def _solver(model, settings, state, descent, batch_size):
    """The solver, with what the one before it knows if it speaks of the same metric."""
    topology = model.network.topology
    own = model.output.start(topology.n_outputs).size
    key = repr(settings.metric), settings.damping, settings.damping_mode, settings.alpha
    solver = make_solver(descent, topology, batch_size, state.running.window, bool(own), key)
    solver.take_over(state.solver)
    return solver


def _stopping(settings, state, validation):
    """When to stop, `tol` in the units of what is to improve: a loss, or a score."""
    stopping, unit = settings.stopping, state.loss_unit
    if validation is not None:
        _, score = validation
        unit = 1.0 if score is not None else unit * state.history.unit
    return replace(stopping, tol=stopping.tol * unit)


def _validator(model, settings, state, data, score):
    objective = _objective(model, settings, data, state, penalised=False)
    size = model.network.topology.n_parameters

    def validate(parameters):
        loss = objective.evaluate(parameters).data_loss * state.history.unit
        if score is None:
            return -loss, loss
        output = model.output.with_parameters(parameters[size:])
        v = objective.output_values(parameters)
        return score(output, v, objective.encoded_target(slice(None)), data.weight), loss

    return validate

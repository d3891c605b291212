"""What a training runs with, made of the model, the settings, the data and the state."""

from dataclasses import replace

import numpy as np
from scipy import sparse

from ..network.initialization import standard_factor
from .first_rows import MIN_ROWS
from .penalty.evidence import Evidence, first_strength, temperature
from .penalty.l2 import Penalty
from .settings import noise_share
from .start import target_factor
from .steps.batch_pass import BatchPass
from .steps.descent import Descent
from .steps.mini_batch_pass import MiniBatchPass, Schedule
from .steps.running_metric import RunningMetric
from .steps.safeguards import training_metric
from .steps.solvers import make_solver
from .trainer import Stopping

# Rows of a stream that the averaged parameters speak of: what they describe may drift.
STREAM_MEMORY = 2000


def make_penalty(model, data, state):
    """The `Penalty` of weights in the coordinates of the training."""
    scale, inputs = data.scale, state.coordinates.inputs
    if inputs is not None:
        scale = scale.relative_to(inputs)
    factor = standard_factor(model.network, scale.scale)
    factor = factor * target_factor(model.network.topology, state.raw_target_scale)
    strength = state.strength.times(state.units.alpha)
    return Penalty(model.network.topology, factor**2, state.weight, strength)


def make_objective(model, settings, data, coordinates, penalty=None):
    """The `Objective` of the rows in these coordinates."""
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


def make_passes(model, settings, data, objective, state):
    """The passes that go on from the state: whole batches or mini-batches."""
    guarded = settings.damping_mode == "relative" and settings.damping > 0
    n_samples, topology = objective.n_samples, model.network.topology
    batch_size = settings.rows_a_step(n_samples)
    whole = settings.whole_batches(n_samples)
    # What was constant so far in a stream may vary later.
    fan_in = topology.fan_in(None if settings.streaming else data.scale.varies)
    noise = 0.0 if whole else noise_share(fan_in[~topology.is_output], batch_size)
    metric = training_metric(settings.metric, guarded, noise)
    descent = Descent(metric, settings.damping, settings.damping_mode)
    # Another rule after a fit, whose steps have grown small: a stream goes on for ever.
    rule_key = settings.learning_rate, settings.learning_rate_init, settings.streaming
    if state.rule_key != rule_key:
        state.rule, state.rule_key = settings.step_rule(n_samples), rule_key
    if not whole:
        # A stream begins with so many rows; calls with fewer make no shorter steps.
        asked = MIN_ROWS if settings.batch_size == "auto" else settings.batch_size
        least = min(MIN_ROWS, asked) if settings.streaming else 1
        state.rule.suit(max(batch_size, least), noise, model.output.nonnegative)
    batch_weight = objective.total_weight * batch_size / n_samples
    key = repr(settings.metric), settings.damping > 0, settings.damping_mode
    # Undamped, the metric of few rows may be singular where others have gradients.
    singular = not whole and state.running.window == 0 and not settings.damping
    if state.metric_key != key or singular:
        state.running, state.metric_key = RunningMetric(metric, 0.0), key
    state.running.metric = metric
    state.running.window = settings.metric_window(batch_weight, fan_in, whole)
    shared = (descent, state.running, state.rule, state.rng)
    if whole:
        return BatchPass(objective, state.path.average, *shared)
    state.solver = _solver(model, settings, state, descent, batch_size)
    schedule = _schedule(settings, state, n_samples, fan_in)
    return MiniBatchPass(objective, state.path, *shared, schedule, state.solver)


def _schedule(settings, state, n_samples, fan_in):
    """The `Schedule` of mini-batches."""
    batch_size, window = settings.rows_a_step(n_samples), state.running.window
    first = settings.n_init_samples
    return Schedule(
        batch_size,
        settings.shuffle,
        int(min(n_samples, window)) if first == "auto" else first,
        settings.metric_every(batch_size, fan_in),
        settings.steps_together(batch_size, window),
        repeats=not settings.streaming,
        longest_average=STREAM_MEMORY / batch_size if settings.streaming else np.inf,
    )


def make_evidence(data, state, passes):
    """What looks for the strength of the penalty, from where the state is."""
    n_passes, learnt = state.strength.n_passes, bool(state.history.losses)
    objective, scale = passes.objective, data.scale
    topology, numbers = objective.network.topology, objective.output.free_dispersion
    weights_a_row = topology.fan_in(scale.varies).sum() / objective.penalty.weight
    return Evidence(
        passes.n_steps,
        n_passes,
        learnt,
        scale.prior_precision,
        temperature(weights_a_row, topology.n_hidden_levels, numbers),
        first_strength(topology.n_hidden_levels, numbers),
    )


def _solver(model, settings, state, descent, batch_size):
    """The solver, with what the one before it knows if it speaks of the same metric."""
    topology = model.network.topology
    own = model.output.start(topology.n_outputs).size
    key = repr(settings.metric), settings.damping, settings.damping_mode, settings.alpha
    solver = make_solver(descent, topology, batch_size, state.running.window, bool(own), key)
    solver.take_over(state.solver)
    return solver


def make_stopping(model, settings, state, validation):
    """When to stop, `tol` in the units of what is to improve: a loss, or a score."""
    if settings.streaming:
        return Stopping(1, 0.0, 1)
    stopping, least = settings.stopping, 0.0 if model.output.nonnegative else -np.inf
    tol = stopping.tol * state.units.tol
    loss_tol = tol * state.units.reported
    if validation is not None:
        _, score = validation
        tol = loss_tol if score is None else stopping.tol
    return replace(stopping, tol=tol, loss_tol=loss_tol, least_loss=least)


def make_validator(model, settings, state, data, score):
    """What computes score and loss of held-out rows from parameters."""
    objective = make_objective(model, settings, data, replace(state.coordinates, rounded=False))
    size = model.network.topology.n_parameters

    def validate(parameters):
        evaluation = objective.evaluate(parameters)
        loss = evaluation.data_loss * state.units.reported
        if score is None:
            return -loss, loss
        output = model.output.with_parameters(parameters[size:])
        v = objective.output_values(parameters, evaluation.points)
        return score(output, v, objective.encoded_target(slice(None)), data.weight), loss

    return validate

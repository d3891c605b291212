"""What a training runs with, made of its task and its state."""

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from ..network.initialization import standard_bias_factor, standard_factor
from .by_value import by_value
from .first_rows import MIN_ROWS
from .penalty.evidence import Evidence
from .penalty.l2 import Penalty
from .settings import Stopping, noise_share
from .start import target_factor
from .steps.batch_pass import BatchPass
from .steps.descent import Descent
from .steps.mini_batch_pass import MiniBatchPass, Schedule
from .steps.running_metric import RunningMetric
from .steps.safeguards import training_metric
from .steps.solvers import make_solver

# Rows of a stream that the averaged parameters speak of: what they describe may drift.
STREAM_MEMORY = 500


def make_penalty(task, state):
    """The `Penalty` of weights in the coordinates of the training."""
    model, _, data = task
    scale, inputs = data.scale, state.coordinates.inputs
    if inputs is not None:
        scale = scale.relative_to(inputs)
    topology = model.network.topology
    of_targets = target_factor(topology, state.raw_target_scale)
    factor = standard_factor(model.network, scale.scale) * of_targets
    of_biases = standard_bias_factor(model.network) * of_targets[topology.bias]
    strength = state.strength.times(state.units.alpha)
    return Penalty(topology, factor**2, state.weight, strength, of_biases)


def make_objective(task, coordinates, penalty=None):
    """The `Objective` of the rows in these coordinates."""
    model, settings, data = task
    dtype = np.float32 if _single_precision(settings, data) else np.float64
    objective = data.objective(model, penalty, coordinates, dtype)
    objective.n_threads = settings.n_threads
    return objective


def _single_precision(settings, data):
    """Whether to compute in single precision."""
    if data.X.dtype != np.float32 or not settings.allows_single_precision:
        return False
    # Sparse data are not centred: differences are lost where columns are far from 0.
    return not sparse.issparse(data.X) or data.scale.is_near_origin


@dataclass(frozen=True)
class _Batches:
    """What the rows of a step are like.

    Attributes
    ----------
    n_samples : int
        Rows of a pass.
    size : int
        Rows of a step.
    weight : float
        Their sample weight.
    whole : bool
        Whether a step is on all rows.
    fan_in : ndarray of shape (n_units,)
        Links into each unit from what varies.
    noise : float
        How noisy gradients are, 0 to 1.
    """

    n_samples: int
    size: int
    weight: float
    whole: bool
    fan_in: np.ndarray
    noise: float

    @classmethod
    def of(cls, task, objective):
        """Those of an objective."""
        model, settings, data = task
        n_samples, topology = objective.n_samples, model.network.topology
        size, whole = settings.rows_a_step(n_samples), settings.whole_batches(n_samples)
        # What was constant so far in a stream may vary later.
        fan_in = topology.fan_in(None if settings.streaming else data.scale.varies)
        noise = 0.0 if whole else noise_share(fan_in[~topology.is_output], size)
        weight = objective.total_weight * size / n_samples
        return cls(n_samples, size, weight, whole, fan_in, noise)


def make_passes(task, objective, state):
    """The passes that go on from the state: whole batches or mini-batches."""
    (model, settings, _), batches = task, _Batches.of(task, objective)
    guarded = settings.damping_mode == "relative" and settings.damping > 0
    metric = training_metric(settings.metric, guarded, batches.noise)
    descent = Descent(metric, settings.damping, settings.damping_mode)
    _renew_rule(model, settings, batches, state)
    _renew_running_metric(settings, metric, batches, state)
    shared = (descent, state.running, state.rule, state.rng)
    if batches.whole:
        return BatchPass(objective, state.path.average, *shared)
    _renew_solver(model, settings, descent, batches, state)
    schedule = _schedule(settings, batches, state.running.window)
    return MiniBatchPass(objective, state.path, *shared, schedule, state.solver)


def _renew_rule(model, settings, batches, state):
    """The step rule: the one so far, as long as steps of the same kind are asked for.

    After a fit, whose steps have grown small, it is another one: a stream goes on for ever.
    """
    asked = settings.learning_rate, settings.learning_rate_init
    key = *asked, batches.whole, settings.streaming
    if state.rule_key != key:
        state.rule, state.rule_key = settings.step_rule(batches.whole), key
    if not batches.whole:
        size = max(batches.size, _fewest_rows(settings))
        # The penalty of several hidden levels does not keep noise from being learnt by heart.
        patient = settings.alpha == 0 or model.network.topology.n_hidden_levels <= 1
        state.rule.suit(size, batches.noise, model.output.nonnegative, patient)


def _fewest_rows(settings):
    """Rows that a step is at least as long as if it were on so many."""
    if not settings.streaming:
        return 1
    # A stream begins with so many; calls with fewer make no shorter steps.
    return MIN_ROWS if settings.batch_size == "auto" else min(MIN_ROWS, settings.batch_size)


def _renew_running_metric(settings, metric, batches, state):
    """The average of the metric: the one so far, as long as it is of the same metric."""
    key = by_value(settings.metric), settings.damping > 0, settings.damping_mode
    window = settings.metric_window(batches.weight, batches.fan_in, batches.whole)
    # Undamped, the metric of few rows may be singular where others have gradients.
    if state.metric_key == key and (batches.whole or state.running.window or settings.damping):
        state.running.go_on(metric, window)
    else:
        state.running, state.metric_key = RunningMetric(metric, window), key


def _renew_solver(model, settings, descent, batches, state):
    """The solver of mini-batches, with what the one before it knows of the same metric."""
    topology = model.network.topology
    own_parameters = model.output.start(topology.n_outputs).size > 0
    key = state.metric_key, settings.damping, settings.alpha
    window = state.running.window
    solver = make_solver(descent, topology, batches.size, window, own_parameters, key)
    solver.take_over(state.solver)
    state.solver = solver


def _schedule(settings, batches, window):
    """The `Schedule` of mini-batches, of a metric that is averaged over so many rows."""
    first = settings.n_init_samples
    return Schedule(
        batches.size,
        settings.shuffle,
        int(min(batches.n_samples, window)) if first == "auto" else first,
        settings.metric_every(batches.size, batches.fan_in),
        settings.steps_together(batches.size, window),
        repeats=not settings.streaming,
        longest_average=STREAM_MEMORY / batches.size if settings.streaming else np.inf,
    )


def make_evidence(data, state, passes):
    """What looks for the strength of the penalty, from where the state is."""
    topology = passes.objective.network.topology
    return Evidence(
        steps_a_pass=passes.n_steps,
        n_passes=state.strength.n_passes,
        learnt=bool(state.history.losses),
        features=data.scale.prior_precision,
        n_weights=topology.fan_in(data.scale.varies).sum(),
        deep=passes.objective.output.free_dispersion and topology.n_hidden_levels > 1,
    )


def make_stopping(task, state, validation):
    """When to stop, `tol` in the units of what is to improve: a loss, or a score."""
    model, settings, _ = task
    if settings.streaming:
        # After one pass nothing is to come, so that it does not run out.
        return Stopping(1, 0.0, n_iter_no_change=0)
    stopping, least = settings.stopping, 0.0 if model.output.nonnegative else -np.inf
    tol = loss_tol = stopping.tol * state.units.tol
    if validation is not None:
        _, score = validation
        tol = loss_tol if score is None else stopping.tol
    return replace(stopping, tol=tol, loss_tol=loss_tol, least_loss=least)


def held_out_objective(task, state, data):
    """The `Objective` of held-out rows in the coordinates of the state, not rounded."""
    coordinates = replace(state.coordinates, rounded=False)
    return make_objective(task._replace(data=data), coordinates)


def make_validator(task, state, data, score):
    """What computes score (None without one) and loss of held-out rows from parameters."""
    objective = held_out_objective(task, state, data)

    def validate(parameters):
        evaluation = objective.evaluate(parameters)
        if score is None:
            return None, evaluation.data_loss
        predictions = objective.predictions(parameters, evaluation.points)
        return score(*predictions, data.weight), evaluation.data_loss

    return validate

"""Independent starts of a training, here or in other processes, and which of them is the best."""

from dataclasses import replace
from operator import itemgetter

import numpy as np
from joblib import effective_n_jobs
from sklearn.utils import check_random_state

from ..numerics.overflow import quiet
from ..numerics.parallel import parallel_results
from ..numerics.single_thread import single_thread
from .assembly import make_objective, make_penalty
from .penalty.curvature import Curvature
from .penalty.evidence import sample
from .session import begin, run


def start_and_run(model, settings, data, seed, previous=None, validation=None, observer=None):
    """One start: ``(Outcome, TrainingState)``."""
    state = begin(model, settings, data, check_random_state(seed), previous)
    return run(model, settings, data, state, validation, observer), state


def best_start(calls, n_jobs):
    """Run all starts, or those before an interrupt; the one that ended best is kept.

    Of equal ones the first, in whatever order they end.

    Parameters
    ----------
    calls : list of tuple
        Arguments of `start_and_run`, an observer last, which is told of the start as well
        if there are several: ``begin_start()``, ``end_start(parameters)``, a function that
        computes those it ended with.
    n_jobs : int or None

    Returns
    -------
    outcome : Outcome
        Interrupted if any start was.
    state : TrainingState

    Raises
    ------
    KeyboardInterrupt
        If the user interrupts before any start has ended.
    """
    if len(calls) == 1:
        return start_and_run(*calls[0])
    ended, interrupted = [], False
    try:
        for result in _results(calls, n_jobs):
            ended.append(result)
            interrupted = result[1].interrupted
            if interrupted:
                break
    except KeyboardInterrupt:
        if not ended:
            raise
        interrupted = True
    _, outcome, state = min(ended, key=itemgetter(0))
    return replace(outcome, interrupted=interrupted), state


def _results(calls, n_jobs):
    """Triples of rank, outcome and state as starts end."""
    numbered = [(number, *call) for number, call in enumerate(calls)]
    if effective_n_jobs(n_jobs) == 1:
        return (_watched(*call) for call in numbered)
    return parallel_results(n_jobs, _watched, numbered)


def _watched(number, *call):
    model, settings, data, *_, observer = call
    observer.begin_start()
    outcome, state = start_and_run(*call)
    value = np.nan
    try:
        if outcome.error is None:
            value = compared_by(model, settings, data, state)
        observer.end_start(lambda: state.coordinates.outward(state.path.average))
    except KeyboardInterrupt:
        # The start itself has ended.
        outcome = replace(outcome, interrupted=True)
    return _rank(number, outcome, value), outcome, state


def _rank(number, outcome, value):
    """The lower, the better: by `value`, then by the last loss, those that overflowed last."""
    values = np.nan_to_num(np.append(value, outcome.loss), nan=np.inf, posinf=np.inf).tolist()
    return outcome.error is not None, values, number


@single_thread()
@quiet()
def compared_by(model, settings, data, state):
    """What a start that has run is compared by; the less, the better.

    Where rows are held out, a pair: minus the best validation score, and its lowest loss,
    which tells equal scores apart. Else the penalised loss, which all starts minimise; but
    where each has found a penalty of its own, that would favour the start with the weakest,
    and it is minus the logarithm of the evidence.

    Returns
    -------
    float or tuple of float
        Not finite where there is no telling.
    """
    if state.history.best_held_out is not None:
        score, loss = state.history.best_held_out
        return -score, loss
    data = data.in_units_of(state.row_weight)
    penalty = make_penalty(model, data, state) if state.strength.alpha > 0 else None
    objective = make_objective(model, settings, data, state.coordinates, penalty)
    adapts = settings.adapts_alpha(model.network)
    if adapts and not data.whole_batches_only:
        objective = sample(objective)
    evaluation = objective.evaluate(state.path.average)
    return surprise(objective, evaluation) if adapts and objective.penalises else evaluation.loss


def surprise(objective, evaluation):
    """Minus the logarithm of the evidence, up to a constant.

    ``W loss / s^2 + K W ln(s^2) / 2 + sum_i ln(1 + l_i / a) / 2``, in the notation of
    `Evidence`, with W the weight of the rows and K the number of outputs: Laplace's
    approximation. A start that fits better because it has found a weaker penalty pays
    for the directions that the penalty leaves to the data. O(.) of `Curvature`.

    Parameters
    ----------
    objective : Objective
        With the penalty that was found; of all rows or of a sample of them.
    evaluation : Evaluation
        At the parameters that were.

    Returns
    -------
    float
        Nats.
    """
    curvature, alpha = Curvature(objective, evaluation), objective.penalty.strength.alpha
    if not curvature.finite:
        return np.inf
    weight, unit = objective.penalty.weight, curvature.noise_unit(alpha)
    n_labels = weight * objective.network.topology.n_outputs
    with np.errstate(divide="ignore", invalid="ignore"):
        fit = np.divide(weight * evaluation.loss, unit) + n_labels * np.log(unit) / 2
    return float(fit + curvature.volume(alpha))

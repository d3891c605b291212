"""Independent starts of a training, here or in other processes."""

from dataclasses import replace

import numpy as np
from joblib import effective_n_jobs

from ..numerics.parallel import parallel_results
from ..training.session import compared_by, start_and_run


def best_start(calls, n_jobs):
    """Run all starts, or those before an interrupt; the one that ended best is kept.

    Of equal ones the first, in whatever order they end.

    Parameters
    ----------
    calls : list of tuple
        Arguments of `start_and_run`, an observer last.
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
    _, outcome, state = min(ended, key=_rank)
    return replace(outcome, interrupted=interrupted), state


def _results(calls, n_jobs):
    """Triples of number, outcome and state as starts end."""
    numbered = [(number, *call) for number, call in enumerate(calls)]
    if effective_n_jobs(n_jobs) == 1:
        return (_watched(*call) for call in numbered)
    return parallel_results(n_jobs, _watched, numbered)


def _watched(number, *call):
    observer = call[-1]
    observer.begin_start()
    outcome, state = start_and_run(*call)
    try:
        if outcome.error is None:
            model, settings, data = call[:3]
            value = compared_by(model, settings, data, state)
            outcome = replace(outcome, criterion=value)
        observer.end_start(lambda: state.coordinates.outward(state.path.average))
    except KeyboardInterrupt:
        # The start itself has ended.
        outcome = replace(outcome, interrupted=True)
    return number, outcome, state


def _rank(result):
    number, outcome, _ = result
    values = np.append(outcome.criterion, outcome.loss)
    values = np.nan_to_num(values, nan=np.inf, posinf=np.inf).tolist()
    return outcome.error is not None, values, number

"""Independent starts of a training, here or in other processes, and which of them is the best."""

from dataclasses import replace
from operator import itemgetter

import numpy as np
from joblib import effective_n_jobs

from ..numerics.parallel import parallel_results
from .comparison import compared_by
from .trials import run_with_trials


def best_start(calls, n_jobs):
    """Run all starts, or those before an interrupt; the one that ended best is kept.

    Of equal ones the first, in whatever order they end.

    Parameters
    ----------
    calls : list of tuple
        Arguments of `run_with_trials`, an observer last, which is told of the start as well
        if there are several: ``begin_start()``, ``end_start(ended)``, a function that
        makes its outcome and its state.
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
        return run_with_trials(*calls[0])
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
    task, *_, validation, observer = call
    observer.begin_start()
    outcome, state = run_with_trials(*call)
    value = np.nan
    try:
        if outcome.error is None:
            value = compared_by(task, state, validation)
        observer.end_start(lambda: (outcome, state))
    except KeyboardInterrupt:
        # The start itself has ended.
        outcome = replace(outcome, interrupted=True)
    return _rank(number, outcome, value), outcome, state


def _rank(number, outcome, value):
    """The lower, the better: by `value`, then by the last loss, those that overflowed last."""
    values = np.nan_to_num(np.append(value, outcome.loss), nan=np.inf, posinf=np.inf).tolist()
    return outcome.error is not None, values, number

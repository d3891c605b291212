"""Independent starts of a training, here or in other processes."""

import warnings

from sklearn.utils.parallel import Parallel, delayed

from ..compiled import get_kernels, with_kernels
from ..training.session import start_and_run


def best_start(calls, n_jobs):
    """Run all starts, or those before an interrupt; the one that ended lowest is kept.

    Parameters
    ----------
    calls : list of tuple
        Arguments of `start_and_run`, an observer last.
    n_jobs : int or None

    Returns
    -------
    outcome : Outcome
    state : TrainingState
    """
    if n_jobs not in (None, 1) and len(calls) > 1:
        kernels = get_kernels()
        results = Parallel(n_jobs=n_jobs)(
            delayed(with_kernels)(kernels, _watched, *call) for call in calls
        )
    else:
        results = list(_until_interrupted(calls))
    return min(results, key=lambda result: (result[0].error is not None, result[0].loss))


def _watched(*call):
    observer = call[-1]
    observer.begin_start()
    outcome, state = start_and_run(*call)
    observer.end_start(lambda: state.coordinates.outward(state.path.average))
    return outcome, state


def _until_interrupted(calls):
    for number, call in enumerate(calls):
        try:
            outcome, state = _watched(*call)
        except KeyboardInterrupt:
            if not number:
                raise
            warnings.warn("Training interrupted by user.", stacklevel=5)
            return
        yield outcome, state
        if outcome.interrupted:
            return

"""The same estimators on many splits and seeds."""

import time
import warnings
from dataclasses import dataclass
from numbers import Integral

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.exceptions import FitFailedWarning
from sklearn.metrics import check_scoring
from sklearn.model_selection import train_test_split
from sklearn.utils import _safe_indexing, indexable
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import _num_samples

from ..estimators._callbacks import INTERRUPTED
from ..numerics.parallel import parallel_results
from ..numerics.single_thread import single_thread
from ..plotting.naming import final_estimator
from .interrupts import tells_of_interrupt
from .runs import OUTCOMES, RepeatedRuns
from .seeds import draw_seeds


def repeated_runs(
    estimators,
    X,
    y=None,
    *,
    n_runs=10,
    n_jobs=None,
    test_size=0.25,
    random_state=None,
    scoring=None,
    fit_params=None,
    verbose=0,
):
    """Fit each estimator several times, on a new split and with a new seed each time.

    The estimators of a run share its split and its seed. All seeds are drawn up front
    and numerical libraries are held to one thread: timings apart, the results are the
    same bits whatever `n_jobs` and the joblib backend are.

    Parameters
    ----------
    estimators : dict of str to estimator
        Any of scikit-learn's manners, pipelines and searches included. They are cloned.
    X : {array-like, sparse matrix, dataframe} of shape (n_samples, n_features)
    y : array-like of shape (n_samples,) or (n_samples, n_outputs), optional
    n_runs : int, default=10
    n_jobs : int or None, default=None
        Fits that run at once, through joblib: ``joblib.parallel_config`` chooses the
        backend (loky, threading, dask, ray).
    test_size : float or int, default=0.25
        Share or number of the rows a run sets apart for the test; 0 trains on all
        rows and gives no test scores. Stratified if all estimators are classifiers.
    random_state : int, RandomState instance or None, default=None
        Of the seeds.
    scoring : str, callable or None, default=None
        A scikit-learn scorer; the estimators' own ``score`` by default.
    fit_params : dict, optional
        Passed on to ``fit``. What has one entry a sample is split as X is. If all keys
        are names of estimators, each holds the parameters of that one.
    verbose : int, default=0
        Print a line a fit, as they end.

    Returns
    -------
    RepeatedRuns

    Warns
    -----
    FitFailedWarning
        Once, if fits raised exceptions; their records have an ``"error"``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sknatgrad import RiemannianMLPClassifier
    >>> from sknatgrad.experiments import repeated_runs
    >>> X, y = load_iris(return_X_y=True)
    >>> networks = {
    ...     metric: RiemannianMLPClassifier((5,), metric=metric) for metric in ("bp", "qd_bp")
    ... }
    >>> result = repeated_runs(networks, X, y, n_runs=3, random_state=0)
    >>> [row["name"] for row in result.table()]
    ['bp', 'qd_bp']
    """
    _check(estimators, n_runs, scoring)
    X, y = indexable(X, y)
    plan = _Plan(X, y, test_size, _stratify(estimators, y), scoring)
    seeds = draw_seeds(random_state, (n_runs, 2))
    # Say now, and once, what would fail after every fit.
    plan.rows(seeds[0, 0])
    for estimator in estimators.values():
        check_scoring(estimator, scoring)
    tasks = [
        _Task(run, name, *map(int, seeds[run]), _parameters_for(name, estimators, fit_params))
        for run in range(n_runs)
        for name in estimators
    ]
    calls = [(position, task, estimators[task.name], plan) for position, task in enumerate(tasks)]
    records = _collect(n_jobs, calls, verbose)
    _warn_of_failures(records)
    return RepeatedRuns(records)


def _check(estimators, n_runs, scoring):
    if not isinstance(estimators, dict) or not estimators:
        raise ValueError("estimators must be a dict with at least one name and estimator.")
    if not all(isinstance(name, str) for name in estimators):
        raise ValueError(f"estimators must have strings as names, got {list(estimators)}.")
    if not (scoring is None or isinstance(scoring, str) or callable(scoring)):
        raise ValueError(f"scoring must be the name of one scorer, or callable, got {scoring!r}.")
    if not isinstance(n_runs, Integral) or n_runs < 1:
        raise ValueError(f"n_runs must be a positive integer, got {n_runs!r}.")


def _stratify(estimators, y):
    if y is None or not all(map(is_classifier, estimators.values())):
        return None
    return y if type_of_target(y) in ("binary", "multiclass") else None


def _parameters_for(name, estimators, fit_params):
    if not fit_params:
        return {}
    return fit_params.get(name, {}) if fit_params.keys() <= estimators.keys() else fit_params


# ----------------------------------------------------------------------------- one fit
@dataclass(frozen=True)
class _Task:
    run: int
    name: str
    split_seed: int
    estimator_seed: int
    fit_params: dict


@dataclass(frozen=True)
class _Plan:
    """What all fits have in common."""

    X: object
    y: object
    test_size: float
    stratify: object
    scoring: object

    def rows(self, seed):
        """Training and test rows of a run."""
        rows = np.arange(_num_samples(self.X))
        if not self.test_size:
            return rows, rows[:0]
        return train_test_split(
            rows, test_size=self.test_size, random_state=seed, stratify=self.stratify
        )

    def part(self, rows):
        """Arguments of ``fit`` and of scorers; y is left out if there is none."""
        X = _safe_indexing(self.X, rows)
        return (X,) if self.y is None else (X, _safe_indexing(self.y, rows))

    def parameters(self, parameters, rows):
        """Those of ``fit``, split where they have one entry a sample."""
        return {
            key: _safe_indexing(value, rows) if self._is_split(value) else value
            for key, value in parameters.items()
        }

    def _is_split(self, value):
        has_rows = isinstance(value, list | tuple) or len(getattr(value, "shape", ())) > 0
        return has_rows and _num_samples(value) == _num_samples(self.X)


def _positioned(position, task, estimator, plan):
    """The place of a task among all, and its record."""
    return position, _record(task, estimator, plan)


def _record(task, estimator, plan):
    train, test = plan.rows(task.split_seed)
    record = {
        "name": task.name,
        "run": task.run,
        "split_seed": task.split_seed,
        "estimator_seed": task.estimator_seed,
        "n_train": len(train),
        "n_test": len(test),
        **dict.fromkeys(OUTCOMES),
    }
    try:
        with single_thread():
            record |= _outcome(task, estimator, plan, train, test)
    except Exception as problem:
        if tells_of_interrupt(problem):
            raise KeyboardInterrupt from None
        record["error"] = f"{type(problem).__name__}: {problem}"
    return record


def _outcome(task, estimator, plan, train, test):
    estimator = _seeded(estimator, task.estimator_seed)
    parameters = plan.parameters(task.fit_params, train)
    start = time.perf_counter()
    estimator.fit(*plan.part(train), **parameters)
    seconds = time.perf_counter() - start
    scorer = check_scoring(estimator, plan.scoring)
    final = final_estimator(estimator)
    losses = _curve(final, "loss_curve_")
    n_iter = getattr(final, "n_iter_", None)
    return {
        "train_score": float(scorer(estimator, *plan.part(train))),
        "test_score": float(scorer(estimator, *plan.part(test))) if len(test) else None,
        "train_loss": losses[-1] if losses else None,
        "fit_seconds": seconds,
        "n_iter": None if n_iter is None else int(np.max(n_iter)),
        "loss_curve": losses,
        "time_curve": _curve(final, "time_curve_"),
    }


def _curve(fitted, name):
    curve = getattr(fitted, name, None)
    return None if curve is None else list(map(float, curve))


def _seeded(estimator, seed):
    """A clone, with the seed itself or, if several parameters want one, draws from it."""
    estimator = clone(estimator)
    keys = sorted(
        key
        for key in estimator.get_params(deep=True)
        if key == "random_state" or key.endswith("__random_state")
    )
    draws = draw_seeds(seed, len(keys)).tolist()
    return estimator.set_params(**dict(zip(keys, [seed] if len(keys) == 1 else draws, strict=True)))


# ---------------------------------------------------------------------------- all fits
def _collect(n_jobs, calls, verbose):
    """Records in the order of the calls, whatever order they end in."""
    records = [None] * len(calls)
    with warnings.catch_warnings():
        # Raised, so that a fit that Ctrl-C ends early is not taken for a whole one.
        warnings.filterwarnings("error", message=INTERRUPTED)
        results = parallel_results(n_jobs, _positioned, calls)
        for n_done, (position, record) in enumerate(results, 1):
            records[position] = record
            if verbose:
                print(f"[{n_done}/{len(calls)}] {_progress(record)}", flush=True)
    return records


def _progress(record):
    start = f"{record['name']}, run {record['run']}"
    if record["error"]:
        return f"{start}: failed: {record['error']}"
    score = "train_score" if record["test_score"] is None else "test_score"
    named = f"{score.replace('_', ' ')} {record[score]:.4f}"
    return f"{start}: {named}, {record['fit_seconds']:.2f} s"


def _warn_of_failures(records):
    failed = [record for record in records if record["error"]]
    if failed:
        first = failed[0]
        warnings.warn(
            f"{len(failed)} of {len(records)} fits failed. The first: {first['name']}, run "
            f"{first['run']}, estimator seed {first['estimator_seed']}: {first['error']}",
            FitFailedWarning,
            stacklevel=3,
        )

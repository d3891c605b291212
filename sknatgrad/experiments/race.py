"""Estimators side by side on the same rows: how fast, how far, how well."""

import time
import warnings
from dataclasses import dataclass

import numpy as np
from sklearn.base import BaseEstimator, clone, is_regressor
from sklearn.compose import TransformedTargetRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import log_loss, root_mean_squared_error
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from ..estimators import RiemannianMLPClassifier
from ..numerics.single_thread import single_thread
from ..plotting.naming import final_estimator
from .interrupts import tells_of_interrupt
from .runs import even_times

TARGET = 0.05
_PLAIN_GRADIENT = ("euclidean", "backprop")


@dataclass(frozen=True)
class Competitor:
    """A classifier or a regressor in a race.

    Parameters
    ----------
    name : str
    estimator : BaseEstimator
        Cloned before it is fitted.
    standardise : bool, default=False
        Whether it gets its features, and in regression its targets, through
        `StandardScaler`.
    note : str, default=""
        A word on it for the table.
    """

    name: str
    estimator: BaseEstimator
    standardise: bool = False
    note: str = ""


@dataclass(frozen=True)
class Result:
    """What a competitor did.

    Attributes
    ----------
    name : str
    notes : tuple of str
    losses, times : tuple of float
        Training loss and seconds since the start of the fit, one entry a pass; empty
        if the method keeps no loss curve.
    times_measured : bool
        False: the time of the fit is divided evenly among the passes.
    seconds : float
        Of the whole fit, by the clock on the wall.
    train_loss, test_loss : float
        After training, computed alike for all competitors: the mean log-loss in nats
        of classifiers, the root mean squared error of regressors.
    test_score : float
        Accuracy of classifiers, R^2 of regressors.
    error : str
        Why there is no result; empty if there is one.
    """

    name: str
    notes: tuple = ()
    losses: tuple = ()
    times: tuple = ()
    times_measured: bool = True
    seconds: float = np.nan
    train_loss: float = np.nan
    test_loss: float = np.nan
    test_score: float = np.nan
    error: str = ""

    @property
    def n_passes(self):
        """Passes over the data."""
        return len(self.losses)

    def reached(self, target=TARGET):
        """Passes and seconds up to the first loss of at most `target`, or None."""
        for passes, (loss, seconds) in enumerate(zip(self.losses, self.times, strict=True), 1):
            if loss <= target:
                return passes, seconds
        return None


def standard_competitors(metrics, hidden_layer_sizes=(100,), random_state=0, max_iter=None):
    """Our classifier in several metrics, and scikit-learn's.

    Parameters
    ----------
    metrics : list of str
    hidden_layer_sizes : int or tuple of int, default=(100,)
    random_state : int, default=0
    max_iter : int, optional
        Largest number of passes of all competitors; each keeps its own default if
        this is not given. All other settings are defaults.

    Returns
    -------
    list of Competitor
        In the order of `metrics`, scikit-learn's Adam on standardised features last.
    """
    common = {"hidden_layer_sizes": hidden_layer_sizes, "random_state": random_state}
    if max_iter is not None:
        common["max_iter"] = max_iter
    ours = [
        Competitor(
            metric,
            RiemannianMLPClassifier(metric=metric, **common),
            note=plain_gradient_note(metric),
        )
        for metric in metrics
    ]
    adam = Competitor("Adam (scikit-learn)", MLPClassifier(**common), True, "standardised")
    return [*ours, adam]


def plain_gradient_note(metric):
    """A word for the table on what stands in the race as a control, else nothing."""
    return "plain gradient" if metric in _PLAIN_GRADIENT else ""


def run_race(competitors, X_train, y_train, X_test, y_test, progress=None):
    """Fit every competitor on the same rows, one after the other.

    Numerical libraries are held to one thread, and a large matrix product wakes them
    before the clock starts.

    Parameters
    ----------
    competitors : list of Competitor
    X_train, X_test : array-like of shape (n_samples, n_features)
    y_train, y_test : array-like of shape (n_samples,)
    progress : callable, optional
        Called with (name, None) before and (name, result) after each fit.

    Returns
    -------
    list of Result
        A competitor that can't be trained has a result with `error` set.
    """
    results = []
    with single_thread():
        large = np.ones((1500, 1500))
        large @ large
        for competitor in competitors:
            if progress is not None:
                progress(competitor.name, None)
            try:
                result = _run(competitor, X_train, y_train, X_test, y_test)
            except Exception as problem:
                error = str(problem) or type(problem).__name__
                result = Result(competitor.name, ("failed",), error=error)
            if progress is not None:
                progress(competitor.name, result)
            results.append(result)
    return results


def _run(competitor, X_train, y_train, X_test, y_test):
    model = _model(competitor)
    seconds, exhausted = _timed_fit(model, X_train, y_train)
    losses = _losses(model)
    final = final_estimator(model)
    measured = hasattr(final, "time_curve_")
    if measured:
        # What comes before the first pass (checks, scales) counts too.
        times = np.asarray(final.time_curve_)
        times = times + max(0.0, seconds - times[-1]) if len(times) else times
    else:
        times = even_times(seconds, len(losses))
    notes = [competitor.note] if competitor.note else []
    if exhausted:
        notes.append("stopped at its max_iter")
    return Result(
        name=competitor.name,
        notes=tuple(notes),
        losses=losses,
        times=tuple(map(float, times)),
        times_measured=measured,
        seconds=seconds,
        train_loss=_loss(model, X_train, y_train),
        test_loss=_loss(model, X_test, y_test),
        test_score=float(model.score(X_test, y_test)),
    )


def _model(competitor):
    model = clone(competitor.estimator)
    if not competitor.standardise:
        return model
    model = make_pipeline(StandardScaler(), model)
    if is_regressor(model):
        model = TransformedTargetRegressor(model, transformer=StandardScaler())
    return model


def _losses(model):
    """The loss curve, in the units of the target as given."""
    losses = getattr(final_estimator(model), "loss_curve_", ())
    unit = model.transformer_.var_[0] if isinstance(model, TransformedTargetRegressor) else 1.0
    return tuple(float(unit * loss) for loss in losses)


def _timed_fit(model, X, y):
    """Seconds of the fit, and whether it used up its passes."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        start = time.perf_counter()
        model.fit(X, y)
        seconds = time.perf_counter() - start
    exhausted = False
    for warning in caught:
        # The race ends with the fit.
        if tells_of_interrupt(warning.message):
            raise KeyboardInterrupt
        if issubclass(warning.category, ConvergenceWarning):
            exhausted = True
        else:
            warnings.warn_explicit(
                warning.message, warning.category, warning.filename, warning.lineno
            )
    return seconds, exhausted


def _loss(model, X, y):
    if is_regressor(model):
        return float(root_mean_squared_error(y, model.predict(X)))
    return _log_loss(model, X, y)


def _log_loss(model, X, y):
    """Mean log-loss; from the network itself where it offers that, which clips nothing."""
    if isinstance(model, Pipeline):
        X, model = model[:-1].transform(X), model[-1]
    if callable(getattr(model, "loss", None)):
        return float(model.loss(X, y))
    return float(log_loss(y, model.predict_proba(X), labels=model.classes_))

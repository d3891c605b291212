"""Classifiers side by side on the same rows: how fast, how far, how well."""

import time
import warnings
from dataclasses import dataclass

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import log_loss
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from ..estimators import RiemannianMLPClassifier
from ..plotting.curves import TrainingCurveDisplay, two_panels
from .table import number, text_table

TARGET = 0.01
# Both libraries say this when Ctrl-C ends a fit early; a race must then end as well.
_INTERRUPTED = "Training interrupted by user"
_PLAIN_GRADIENT = ("euclidean", "backprop")


@dataclass(frozen=True)
class Competitor:
    """A classifier in a race.

    Parameters
    ----------
    name : str
    estimator : BaseEstimator
        Cloned before it is fitted.
    standardise : bool, default=False
        Whether it gets its features through `StandardScaler`.
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
        Training loss and seconds since the start of the fit, one entry a pass.
    times_measured : bool
        False: the time of the fit is divided evenly among the passes.
    seconds : float
        Of the whole fit, by the clock on the wall.
    train_loss, test_loss : float
        Mean log-loss after training, nats, computed alike for all competitors.
    test_accuracy : float
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
    test_accuracy: float = np.nan
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
            note="plain gradient" if metric in _PLAIN_GRADIENT else "",
        )
        for metric in metrics
    ]
    adam = Competitor("Adam (scikit-learn)", MLPClassifier(**common), True, "standardised")
    return [*ours, adam]


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
    with threadpool_limits(limits=1):
        large = np.ones((1500, 1500))
        large @ large
        for competitor in competitors:
            if progress is not None:
                progress(competitor.name, None)
            try:
                result = _run(competitor, X_train, y_train, X_test, y_test)
            except (ValueError, MemoryError) as problem:
                error = str(problem) or type(problem).__name__
                result = Result(competitor.name, ("failed",), error=error)
            if progress is not None:
                progress(competitor.name, result)
            results.append(result)
    return results


def _run(competitor, X_train, y_train, X_test, y_test):
    scaler = StandardScaler() if competitor.standardise else "passthrough"
    model = make_pipeline(scaler, clone(competitor.estimator))
    seconds, exhausted = _timed_fit(model, X_train, y_train)
    losses = tuple(getattr(model[-1], "loss_curve_", ()))
    measured = hasattr(model[-1], "time_curve_")
    if measured:
        # What comes before the first pass (checks, scales) counts too.
        times = np.asarray(model[-1].time_curve_)
        times = times + max(0.0, seconds - times[-1]) if len(times) else times
    else:
        times = seconds * np.arange(1, len(losses) + 1) / max(1, len(losses))
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
        train_loss=_log_loss(model, X_train, y_train),
        test_loss=_log_loss(model, X_test, y_test),
        test_accuracy=float(model.score(X_test, y_test)),
    )


def _timed_fit(model, X, y):
    """Seconds of the fit, and whether it used up its passes."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        start = time.perf_counter()
        model.fit(X, y)
        seconds = time.perf_counter() - start
    exhausted = False
    for warning in caught:
        if _INTERRUPTED in str(warning.message):
            raise KeyboardInterrupt
        if issubclass(warning.category, ConvergenceWarning):
            exhausted = True
        else:
            warnings.warn_explicit(
                warning.message, warning.category, warning.filename, warning.lineno
            )
    return seconds, exhausted


def _log_loss(model, X, y):
    """Mean log-loss; from the network itself where it offers that, which clips nothing."""
    own = getattr(model[-1], "loss", None)
    if callable(own):
        return float(own(model[:-1].transform(X), y))
    return float(log_loss(y, model.predict_proba(X), labels=model.classes_))


def format_table(results, target=TARGET):
    """The results as text: one aligned table and what its columns mean.

    Parameters
    ----------
    results : list of Result
    target : float, default=0.01
        Training loss up to which passes and seconds are counted.

    Returns
    -------
    str
    """
    header = [
        "method",
        "passes",
        "seconds",
        "training\nlog-loss",
        "test\nlog-loss",
        "test\naccuracy",
        f"passes\nto {target:g}",
        f"seconds\nto {target:g}",
        "notes",
    ]
    table = text_table(header, [_row(r, target) for r in results], left=(0, len(header) - 1))
    return f"{table}\n\n{_footnotes(results, target)}"


def _row(result, target):
    passes, seconds = result.reached(target) or (None, np.nan)
    return [
        result.name,
        "-" if result.error else str(result.n_passes),
        number(result.seconds, 2),
        number(result.train_loss, 5),
        number(result.test_loss, 4),
        number(result.test_accuracy, 4),
        "-" if passes is None else str(passes),
        number(seconds, 2),
        ", ".join(result.notes),
    ]


def _footnotes(results, target):
    lines = [
        "Log-losses: nats, over all rows of a set, after training. Seconds: of one fit, on one",
        f"thread. To {target:g}: until the training curve first gets there. A pass goes once over",
        "the training rows; trial evaluations of a line search count in the seconds only.",
    ]
    even = [result.name for result in results if not result.times_measured]
    if even:
        lines += [
            f"The curve of {', '.join(even)} is scikit-learn's loss_curve_: the mean of the",
            "mini-batch losses during a pass, penalty included. Its times are the time of the fit",
            "divided evenly among the passes.",
        ]
    return "\n".join(lines)


def save_figure(results, path, title="", target=TARGET):
    """Training curves of a race against passes and against seconds, as an image.

    Parameters
    ----------
    results : list of Result
    path : str or Path
    title : str, default=""
    target : float, default=0.01
        Marked by a thin line.

    Raises
    ------
    ImportError
        If matplotlib is missing.
    """
    shown = [result for result in results if result.losses]
    display = TrainingCurveDisplay(
        losses=[result.losses for result in shown],
        names=[result.name for result in shown],
        times=[result.times for result in shown],
    )
    two_panels(display, title, target).savefig(path, dpi=150)

"""Fits whose parameters are kept after every pass, with the processor time spent so far.

Taking the copies is not counted. Losses are computed afterwards, on whole data sets and
alike for all, since the curves that libraries keep mean different things.
"""

import time
import warnings
from dataclasses import dataclass

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import f1_score, r2_score, roc_auc_score
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.preprocessing import StandardScaler

from sknatgrad import RiemannianMLPClassifier, RiemannianMLPRegressor

_SMALLEST = np.finfo(float).tiny


@dataclass
class Task:
    """Training and test rows of a data set; `kind` as in `data_sets.Spec`."""

    kind: str
    X_train: object
    y_train: np.ndarray
    X_test: object
    y_test: np.ndarray

    @property
    def regression(self):
        return self.kind in ("regression", "multioutput")


class Clock:
    """Processor time of this process, without the pauses."""

    def __init__(self):
        self._start = time.process_time()

    def now(self):
        return time.process_time() - self._start

    def forget(self, since):
        """Take out what was spent since `now` was `since`."""
        self._start += self.now() - since


class Keeper:
    """A callback (scikit-learn 1.9) that keeps the estimator as it is after each pass."""

    def __init__(self, clock):
        self.clock, self.kept = clock, []

    def setup(self, estimator, context):
        """Nothing to prepare."""

    def teardown(self, estimator, context):
        """Nothing to undo."""

    def on_fit_task_begin(self, estimator, context):
        """Nothing happens yet."""

    def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
        seconds = self.clock.now()
        if context.task_name == "pass":
            self.kept.append((seconds, fitted_estimator))
        self.clock.forget(seconds)


def _keeping(base):
    """scikit-learn's estimator, which copies its parameters after each pass."""

    class Keeping(base):
        def _keep(self, coefs, intercepts):
            seconds = self.clock.now()
            state = [c.copy() for c in coefs], [b.copy() for b in intercepts]
            self.kept.append((seconds, state))
            self.clock.forget(seconds)

        def _update_no_improvement_count(self, *arguments):
            self._keep(self.coefs_, self.intercepts_)
            super()._update_no_improvement_count(*arguments)

        def _loss_grad_lbfgs(self, packed, *arguments):
            value = super()._loss_grad_lbfgs(packed, *arguments)
            self._keep(self.coefs_, self.intercepts_)
            return value

    return Keeping


KeepingClassifier, KeepingRegressor = _keeping(MLPClassifier), _keeping(MLPRegressor)


def fit_ours(task, **parameters):
    """Defaults on the data as they are: a list of pairs (seconds, predictor)."""
    cls = RiemannianMLPRegressor if task.regression else RiemannianMLPClassifier
    clock = Clock()
    keeper = Keeper(clock)
    fitted = cls(**parameters).set_callbacks(keeper)
    _fit(fitted, task.X_train, task.y_train)
    # Whichever of the penalties it tried is the best.
    keeper.kept.append((clock.now(), fitted))
    return keeper.kept, task


def fit_sklearn(task, **parameters):
    """scikit-learn's MLP on scaled features (and targets): the same."""
    cls = KeepingRegressor if task.regression else KeepingClassifier
    model = cls(**parameters)
    model.clock, model.kept = Clock(), []
    scaler = StandardScaler(with_mean=not sparse.issparse(task.X_train))
    y_train, y_test = task.y_train, task.y_test
    scaled = Task(task.kind, scaler.fit_transform(task.X_train), y_train, None, y_test)
    scaled.X_test = scaler.transform(task.X_test)
    _fit(model, scaled.X_train, scaled.y_train)
    kept = []
    for seconds, (coefs, intercepts) in model.kept:
        at_pass = clone(model)
        at_pass.__dict__.update({k: v for k, v in model.__dict__.items() if k not in ("kept",)})
        at_pass.coefs_, at_pass.intercepts_ = coefs, intercepts
        kept.append((seconds, at_pass))
    return kept, scaled


def _fit(model, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y)


def loss(task, model, X, y):
    """Mean loss a sample: nats, or half the squared error summed over the outputs."""
    if task.regression:
        residuals = np.asarray(model.predict(X), dtype=float) - y
        return float(0.5 * np.square(residuals).reshape(len(y), -1).sum(1).mean())
    share = np.asarray(model.predict_proba(X), dtype=float)
    if task.kind == "multilabel":
        share = np.where(y == 1, share, 1 - share)
    else:
        share = share[np.arange(len(y)), y]
    return float(-np.log(np.maximum(share, _SMALLEST)).reshape(len(y), -1).sum(1).mean())


def score(task, model, X, y):
    """AUC of two classes, accuracy of more, micro-F1 of labels, R2 of numbers."""
    if task.regression:
        return float(r2_score(y, model.predict(X)))
    if task.kind == "binary":
        return float(roc_auc_score(y, model.predict_proba(X)[:, 1]))
    if task.kind == "multilabel":
        return float(f1_score(y, model.predict(X), average="micro"))
    return float(np.mean(model.predict(X) == y))

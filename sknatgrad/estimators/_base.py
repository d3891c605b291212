"""The common estimator: validation, construction and the course of a fit."""

import numbers
import warnings
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import replace
from functools import partial
from typing import ClassVar

import joblib
import numpy as np
from sklearn import get_config
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, Options, StrOptions
from sklearn.utils.validation import check_is_fitted

from ..metrics import get_metric
from ..network import Network
from ..training import STEP_RULES, Stopping
from ..training.data.rows import is_partitioned
from ..training.session import begin_stream, go_on, run
from ..training.settings import Settings, largest_full_batch
from ..training.starts import best_start
from ..training.state import Task
from ._architecture import architecture_key, build_topology, layer_sizes
from ._auto_metric import auto_metric
from ._callbacks import INTERRUPTED, CallbackSupportMixin, PassObserver, begin_fit, caller_level
from ._held_out import hold_out, validation_data
from ._plan import Plan
from ._prediction import PredictionMixin
from ._versioned import VersionedMixin
from ._weights import check_total_weight, without_zero_weights


class BaseRiemannianMLP(CallbackSupportMixin, VersionedMixin, PredictionMixin, BaseEstimator):
    """Base class of the estimators; see `RiemannianMLPClassifier`."""

    _parameter_constraints: ClassVar[dict] = {
        "hidden_layer_sizes": ["array-like", Interval(numbers.Integral, 1, None, closed="left")],
        "damping": [Interval(numbers.Real, 0, None, closed="left")],
        "damping_mode": [StrOptions({"relative", "absolute"})],
        # A view: of the rules that are registered when parameters are checked.
        "learning_rate": [Options(str, STEP_RULES.keys())],
        "learning_rate_init": [
            StrOptions({"auto"}),
            Interval(numbers.Real, 0, None, closed="neither"),
        ],
        "batch_size": [
            StrOptions({"auto"}),
            Interval(numbers.Integral, 1, None, closed="left"),
        ],
        "metric_decay": [StrOptions({"auto"}), Interval(numbers.Real, 0, 1, closed="right")],
        "n_init_samples": [
            StrOptions({"auto"}),
            Interval(numbers.Integral, 1, None, closed="left"),
        ],
        "n_mc_samples": [Interval(numbers.Integral, 1, None, closed="left")],
        "n_init": [Interval(numbers.Integral, 1, None, closed="left")],
        "n_jobs": [numbers.Integral, None],
        "alpha": [StrOptions({"auto"}), Interval(numbers.Real, 0, None, closed="left")],
        "max_iter": [Interval(numbers.Integral, 0, None, closed="left")],
        "shuffle": ["boolean"],
        "random_state": ["random_state"],
        "tol": [Interval(numbers.Real, 0, None, closed="left")],
        "verbose": ["verbose"],
        "warm_start": ["boolean"],
        "early_stopping": ["boolean"],
        "validation_fraction": [Interval(numbers.Real, 0, 1, closed="neither")],
        "n_iter_no_change": [
            Interval(numbers.Integral, 1, None, closed="left"),
            Options(numbers.Real, {np.inf}),
        ],
    }

    # ------------------------------------------------------------ to override
    def _checked_rows(self, X, y, sample_weight, reset):
        """`CheckedRows` or `Partitions`, and their targets, or enough of them to learn from."""
        raise NotImplementedError

    def _learn_targets(self, y, weight):
        """What reads targets like these: `ClassTargets`, `NumericTargets` or `OwnTargets`."""
        raise NotImplementedError

    def _targets_of_stream(self, y):
        """The same in `partial_fit`, which may pass more."""
        if self.__sklearn_is_fitted__():
            return self._targets
        return self._learn_targets(y, None)

    def _check_network(self, topology):
        """Raise ValueError if the estimator can't do with this one."""

    # ---------------------------------------------------------------- fitting
    def _validate_params(self):
        if not get_config()["skip_parameter_validation"]:
            super()._validate_params()

    def _settings(self, topology):
        return Settings(
            metric=self._resolved_metric(self.metric, topology),
            damping=self.damping,
            damping_mode=self.damping_mode,
            learning_rate=self.learning_rate,
            learning_rate_init=self.learning_rate_init,
            batch_size=self.batch_size,
            metric_decay=self.metric_decay,
            n_init_samples=self.n_init_samples,
            shuffle=self.shuffle,
            alpha=self.alpha,
            stopping=Stopping(self.max_iter, self.tol, self.n_iter_no_change),
            largest_full_batch=largest_full_batch(topology),
            n_threads=joblib.effective_n_jobs(self.n_jobs) if self.n_init == 1 else 1,
        )

    def _resolved_metric(self, name, topology):
        if isinstance(name, str) and name == "auto":
            name = auto_metric(topology)
        return get_metric(name, self.n_mc_samples)

    def _fit(self, X, y, sample_weight, validation):
        """The method `fit`, with a triple of validation data."""
        self._validate_params()
        observer = begin_fit(self, X, y, sample_weight)
        with self._unharmed():
            rows, y = self._checked_rows(X, y, sample_weight, reset=True)
            targets = self._learn_targets(y, rows.weight)
            data, y = without_zero_weights(rows.encoded(targets), y)
            check_total_weight(data, "training")
            validation = validation_data(self, targets, *validation)
            fitted, outcome, state = self._train(targets, data, y, validation, observer)
        self._store(fitted(outcome, state))
        if outcome.error is not None:
            raise outcome.error
        observer.finish()
        self._warn_of(outcome)
        return self

    def _own_generator(self):
        """Where numbers are drawn from.

        Not from NumPy's own generator: each stream would keep a copy of it, and draw the same.
        """
        rng = check_random_state(self.random_state)
        return check_random_state(rng.randint(2**31 - 1)) if self.random_state is None else rng

    def _train(self, targets, data, y, validation, observer):
        """A function that makes fitted attributes of the outcome and the state, and these."""
        rng = self._own_generator()
        warm = self.warm_start and self.__sklearn_is_fitted__()
        if validation is None and self.early_stopping:
            # Before links are drawn, which warm fits do not do: they hold out the same rows.
            data, validation = hold_out(data, targets.strata(y), self.validation_fraction, rng)
        plan = self._plan(targets, data, rng, warm)
        settings, n_samples = plan.settings, data.X.shape[0]
        if data.whole_batches_only:
            settings = settings.of_whole_batches(n_samples)
        averaged = settings.metric_is_averaged(n_samples) or data.whole_batches_only
        topology = plan.network.topology
        settings.metric.check(topology, n_samples, averaged)
        seeds = [rng] if self.n_init == 1 else list(rng.randint(2**31 - 1, size=self.n_init))
        scored = None if validation is None else (validation, targets.scorer(validation))
        previous = (self._parameters, self._state.history, self._state.strength) if warm else None
        fitted = partial(plan.fitted, seen=self.t_ if warm else 0, n_samples=n_samples)
        watchers = observer.of_starts(self.n_init, fitted)
        task = Task(plan.model, settings, data)
        calls = [
            (task, seed, deepcopy(previous), scored, watcher)
            for seed, watcher in zip(seeds, watchers, strict=True)
        ]
        return fitted, *best_start(calls, self.n_jobs)

    def _partial_fit(self, X, y, sample_weight, **known):
        """The method `partial_fit`."""
        self._validate_params()
        if self.early_stopping:
            raise ValueError(
                "partial_fit does not support early_stopping=True: no rows of a stream are held "
                "out. Set early_stopping=False first."
            )
        if is_partitioned(X):
            raise ValueError(
                "partial_fit takes rows in memory: call it on one block after the other."
            )
        first = not self.__sklearn_is_fitted__()
        with self._unharmed():
            rows, y = self._checked_rows(X, y, sample_weight, reset=first)
            targets = self._targets_of_stream(y, **known)
            data, _ = without_zero_weights(rows.encoded(targets), y)
            if not (first or data.total_weight):
                return self
            fitted, outcome, state = self._train_on(targets, data, first)
        # An interrupted call leaves what was learnt as it was: the rows may come again.
        if first or outcome.n_iter:
            self._store(fitted(outcome, state))
        self._warn_of(outcome)
        return self

    def _train_on(self, targets, data, first):
        """One pass over the next rows of a stream; returns as `_train`."""
        rng = self._own_generator()
        plan = self._plan(targets, data, rng, keep=not first)
        if not first:
            plan = replace(plan, dtype=self._dtype)
        settings = replace(plan.settings, streaming=True)
        topology = plan.network.topology
        settings.metric.check(topology, data.X.shape[0])
        seen, n_new = 0 if first else self.t_, data.X.shape[0]
        task = Task(plan.model, settings, data)
        if first:
            state = begin_stream(task, rng)
        else:
            task, state = go_on(task, self._state)
        observer = PassObserver(self.verbose)
        outcome = run(task, state, observer=observer)
        if outcome.error is not None:
            raise outcome.error
        # First rows that come again count once.
        seen = max(seen + n_new, task.data.X.shape[0]) if outcome.n_iter else 0
        return partial(plan.fitted, seen=seen), outcome, state

    @contextmanager
    def _unharmed(self):
        """A fit that fails before it has trained leaves the estimator as it was.

        All is stored at its end, except what scikit-learn's checks learn of the features.
        However it ends, NumPy warns as before: an interrupt may come while an inner
        `errstate` is being left, which then never is. What is too small for a float is 0.
        """
        before = dict(vars(self))
        try:
            with np.errstate(under="ignore"):
                yield
        except BaseException:
            vars(self).clear()
            vars(self).update(before)
            raise

    def _warn_of(self, outcome):
        """Say how training ended, once all is stored: a warning may be an error."""
        if outcome.interrupted:
            warnings.warn(INTERRUPTED, stacklevel=caller_level())
        elif outcome.ran_out:
            warnings.warn(
                f"Maximum iterations ({self.max_iter}) reached and the optimization hasn't "
                "converged yet.",
                ConvergenceWarning,
                stacklevel=caller_level(),
            )

    def _plan(self, targets, data, rng, keep):
        """The `Plan` of a fit of these rows: of the network that there is, if it is to `keep`."""
        output = targets.output
        sizes = layer_sizes(data.X.shape[1], self.hidden_layer_sizes, targets.n_units)
        if keep:
            self._check_same_architecture(sizes, output)
            network, key = self._network, self._architecture
        else:
            topology = build_topology(self.connectivity, sizes, rng)
            network = Network.build(topology, self.activation, output.activation)
            key = architecture_key(self, output)
        self._check_network(network.topology)
        return Plan(targets, network, key, self._settings(network.topology), data.X.dtype)

    def _check_same_architecture(self, sizes, output):
        ends = self.topology_.n_inputs, self.topology_.n_outputs
        if self._architecture != architecture_key(self, output) or ends != (sizes[0], sizes[-1]):
            raise ValueError(
                "hidden_layer_sizes, activation, connectivity, output, loss or the number of "
                "features or outputs have changed since the network was fitted: set them back, "
                "or fit anew with warm_start=False."
            )

    def _store(self, fitted):
        # At once: an interrupt may come anywhere.
        vars(self).update(fitted)

    @property
    def output_coefs_(self):
        """The output's own trained parameters (of "scaled_softmax"), else empty."""
        check_is_fitted(self)
        return self._parameters[self.topology_.n_parameters :].copy()

    def __sklearn_is_fitted__(self):
        return hasattr(self, "_parameters")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

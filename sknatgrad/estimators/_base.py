"""The common estimator: validation, construction and the course of a fit."""

import numbers
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.model_selection import train_test_split
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted, validate_data

from ..metrics import get_metric
from ..network import Network, initialize
from ..network.initialization import standard_factor
from ..training import (
    BatchPass,
    Descent,
    History,
    InputScale,
    MiniBatchPass,
    Objective,
    RunningMetric,
    Stopping,
    Trainer,
)
from ..training.descent import safeguarded
from ..training.objective import chunks
from ..training.state import Coordinates, TrainingState
from ._architecture import (
    build_step_rule,
    build_topology,
    canonical,
    layer_sizes,
    metric_window,
    resolve_batch_size,
)

_PREDICTION_ROWS = 4096


@dataclass
class TrainingData:
    """Validated data: X, encoded target (sample axis last), weights or None, given y."""

    X: object
    target: np.ndarray
    weight: np.ndarray | None
    y: object

    def rows(self, chosen):
        """Some of the rows."""
        weight = None if self.weight is None else self.weight[chosen]
        return TrainingData(self.X[chosen], self.target[..., chosen], weight, self.y[chosen])


class BaseRiemannianMLP(BaseEstimator):
    """Base class of the estimators; see `RiemannianMLPClassifier`."""

    _parameter_constraints: ClassVar[dict] = {
        "hidden_layer_sizes": ["array-like", Interval(numbers.Integral, 1, None, closed="left")],
        "damping": [Interval(numbers.Real, 0, None, closed="left")],
        "damping_mode": [StrOptions({"relative", "absolute"})],
        "learning_rate": [
            StrOptions({"auto", "adaptive", "line_search", "trust_region", "constant"})
        ],
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
        "alpha": [Interval(numbers.Real, 0, None, closed="left")],
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
            StrOptions({"inf"}),
            Interval(numbers.Real, np.inf, None, closed="left"),
        ],
    }

    # ------------------------------------------------------------ to override
    def _encode(self, y, reset):
        """The encoded target; on reset also learns what the targets are."""
        raise NotImplementedError

    def _choose_output(self):
        """The `Output` for the targets just encoded."""
        raise NotImplementedError

    def _validation_score(self, v, data):
        """Weighted score of output pre-activations on held-out data."""
        raise NotImplementedError

    # ---------------------------------------------------------------- fitting
    def _fit(self, data, validation):
        rng = check_random_state(self.random_state)
        warm = self.warm_start and hasattr(self, "_parameters")
        if warm:
            self._check_same_architecture(data)
        else:
            self._build(data, rng)
        if validation is None and self.early_stopping:
            data, validation = self._split(data, rng)
        metric = get_metric(self.metric, self.n_mc_samples)
        metric.check(self.topology_, data.X.shape[0], self.topology_.n_outputs)
        starts = [rng] if self.n_init == 1 else _seeded(rng, self.n_init)
        previous = (self._parameters, self._state.history) if warm else (None, None)
        results = Parallel(n_jobs=self.n_jobs if len(starts) > 1 else None)(
            delayed(self._train)(data, validation, metric, start, *previous) for start in starts
        )
        best = min(results, key=lambda result: result[0].final_loss)
        self._store(*best[:2], metric, seen=self.t_ if warm else 0)
        if best[2] is not None:
            raise best[2]
        return self

    def _build(self, data, rng):
        self._output = self._choose_output()
        n_outputs = self._n_output_units()
        sizes = layer_sizes(data.X.shape[1], self.hidden_layer_sizes, n_outputs)
        self.topology_ = build_topology(self.connectivity, sizes, rng)
        self._network = Network.build(self.topology_, self.activation, self._output.activation)

    def _check_same_architecture(self, data):
        sizes = layer_sizes(data.X.shape[1], self.hidden_layer_sizes, self._n_output_units())
        layers = self.topology_.layer_sizes
        if layers is not None and tuple(sizes) != layers:
            raise ValueError(
                f"warm_start=True continues the fitted network of layers {layers}; the parameters "
                f"and data now ask for {tuple(sizes)}. Set warm_start=False to start anew."
            )

    def _train(self, data, validation, metric, rng, parameters=None, history=None):
        """One start: the finished trainer, its state, and an error if one ended it."""
        state = self._begin(data, metric, rng, parameters, history)
        objective = self._training_objective(data, state)
        passes = self._passes(objective, state, metric)
        validate = None if validation is None else self._validator(validation, state)
        patience = self.n_iter_no_change
        stopping = Stopping(self.max_iter, self.tol, np.inf if patience == "inf" else patience)
        trainer = Trainer(passes, state.history, stopping, validate, self._report)
        error = None
        try:
            trainer.run()
        except ValueError as problem:
            error = problem
        state.parameters = trainer.parameters
        losses = state.history.losses
        trainer.final_loss = (
            losses[-1] if trainer.n_iter else objective.evaluate(trainer.parameters).loss
        )
        return trainer, state, error

    def _partial_fit(self, data, first):
        rng = check_random_state(self.random_state)
        if first:
            self._build(data, rng)
        metric = get_metric(self.metric, self.n_mc_samples)
        metric.check(self.topology_, data.X.shape[0], self.topology_.n_outputs)
        if first:
            state = self._begin(data, metric, rng, whole=False, fallback_scale=True)
        else:
            state = self._resumed(data, metric)
        passes = self._passes(self._training_objective(data, state), state, metric, whole=False)
        trainer = Trainer(passes, state.history, Stopping(1, 0.0, 1), None, self._report)
        trainer.run()
        state.parameters = trainer.parameters
        trainer.final_loss = state.history.losses[-1]
        self._store(trainer, state, metric, seen=getattr(self, "t_", 0))
        return self

    def _resumed(self, data, metric):
        """The kept state, brought up to date with parameters that the user changed."""
        state = self._state
        if not np.array_equal(self._parameters, self._stored):
            state.parameters = state.coordinates.inward(self._parameters)
        if not state.rule.stochastic:
            state.rule = build_step_rule(self.learning_rate, self.learning_rate_init, False)
        state.history.resume()
        return state

    def _begin(
        self, data, metric, rng, parameters=None, history=None, whole=None, fallback_scale=False
    ):
        scale = InputScale.of_data(data.X, data.weight)
        if fallback_scale:
            scale = scale.with_fallback()
        coordinates = Coordinates(self._network, self._coordinate_scale(metric, scale, data.X))
        if parameters is None:
            parameters = self._start(coordinates, scale, rng)
        else:
            parameters = coordinates.inward(parameters)
        history = history or History()
        history.resume()
        whole = self._whole_batch(data) if whole is None else whole
        rule = build_step_rule(self.learning_rate, self.learning_rate_init, whole)
        return TrainingState(
            coordinates, parameters, RunningMetric(metric, 0.0), rule, rng, history
        )

    def _coordinate_scale(self, metric, scale, X):
        if not metric.reduction.invariant or self.damping_mode == "absolute":
            return None
        return scale.without_centre() if not isinstance(X, np.ndarray) else scale

    def _start(self, coordinates, scale, rng):
        if coordinates.input_scale is not None:
            scale = scale.relative_to(coordinates.input_scale)
        theta = initialize(self._network, rng, scale.centre, scale.scale)
        return np.concatenate([theta, self._output.start(self.topology_.n_outputs)])

    def _whole_batch(self, data):
        n_samples = data.X.shape[0]
        return resolve_batch_size(self.batch_size, n_samples) >= n_samples

    def _training_objective(self, data, state):
        input_scale = state.coordinates.input_scale
        penalty = None
        if self.alpha > 0:
            scale = InputScale.of_data(data.X, data.weight)
            if input_scale is not None:
                scale = scale.relative_to(input_scale)
            penalty = self.alpha * standard_factor(self._network, scale.scale) ** 2
        return Objective(
            self._network, self._output, data.X, data.target, data.weight, penalty, input_scale
        )

    def _passes(self, objective, state, metric, whole=None):
        guarded = metric
        if self.damping_mode == "relative":
            guarded = safeguarded(metric)
        descent = Descent(guarded, self.damping, self.damping_mode)
        n_samples = objective.n_samples
        batch_size = resolve_batch_size(self.batch_size, n_samples)
        whole = batch_size >= n_samples if whole is None else whole
        batch_weight = objective.total_weight * batch_size / n_samples
        state.running.metric = guarded
        state.running.window = metric_window(self.metric_decay, batch_weight, self.topology_, whole)
        common = (objective, state.parameters, descent, state.running, state.rule, state.rng)
        if whole:
            return BatchPass(*common)
        n_first = self.n_init_samples
        if n_first == "auto":
            n_first = int(min(n_samples, state.running.window))
        return MiniBatchPass(*common, batch_size, self.shuffle, n_first)

    def _validator(self, validation, state):
        objective = Objective(
            self._network,
            self._output,
            validation.X,
            validation.target,
            validation.weight,
            input_scale=state.coordinates.input_scale,
        )

        def validate(parameters):
            values = self._output_values(validation.X, state.coordinates.outward(parameters))
            return self._validation_score(values, validation), objective.evaluate(parameters).loss

        return validate

    def _report(self, number, loss, score, parameters):
        if self.verbose:
            print(f"Iteration {number}, loss = {loss:.8f}")
            if score is not None:
                print(f"Validation score: {score:f}")

    def _store(self, trainer, state, metric, seen=0):
        history = state.history
        self._state, self.metric_ = state, metric
        self._parameters = state.coordinates.outward(state.parameters)
        self._stored = self._parameters.copy()
        self.n_iter_ = trainer.n_iter
        self.t_ = seen + trainer.n_iter * trainer.passes.objective.n_samples
        self.loss_ = float(trainer.final_loss)
        self.loss_curve_ = history.losses
        self.best_loss_ = min(history.losses, default=self.loss_)
        self.validation_scores_ = history.validation_scores or None
        self.validation_loss_curve_ = history.validation_losses or None
        self.best_validation_score_ = max(history.validation_scores, default=None)
        self.learning_rate_curve_, self.time_curve_ = history.rates, history.times
        self.n_rejected_steps_ = history.n_rejected
        self.n_layers_ = len(self.topology_.levels) + 1
        self.n_outputs_ = self.topology_.n_outputs
        self.out_activation_ = self._out_activation()

    def _out_activation(self):
        if self._output.discrete:
            return self._output.name
        known = {"bernoulli": "logistic"}
        return (
            self.output_activation
            if self.output_activation != "auto"
            else known.get(self._output.name, "identity")
        )

    def _check_validation_data(self, X_val, y_val, sample_weight_val):
        if X_val is None:
            if y_val is not None or sample_weight_val is not None:
                raise ValueError("y_val and sample_weight_val need X_val.")
            return None
        if not self.early_stopping:
            raise ValueError("X_val is used for early stopping: set early_stopping=True.")
        if y_val is None:
            raise ValueError("X_val needs y_val.")
        return self._check_training_data(X_val, y_val, sample_weight_val, reset=False)

    def _split(self, data, rng):
        """Training and held-out rows."""
        rows = np.arange(data.X.shape[0])
        stratify = self._stratify(data.y)
        try:
            train, held_out = train_test_split(
                rows, test_size=self.validation_fraction, random_state=rng, stratify=stratify
            )
        except ValueError as problem:
            raise ValueError(
                f"early_stopping=True can't hold out validation_fraction={self.validation_fraction}"
                f" of {len(rows)} samples: {problem}"
            ) from problem
        parts = data.rows(np.sort(train)), data.rows(np.sort(held_out))
        for part, name in zip(parts, ("training", "validation"), strict=True):
            if part.weight is not None and not part.weight.any():
                raise ValueError(
                    f"early_stopping=True left the {name} set without positive sample_weight: "
                    "change random_state or validation_fraction, or pass X_val."
                )
        return parts

    # ------------------------------------------------------------- prediction
    def _output_values(self, X, parameters=None):
        """Output pre-activations, (n_outputs, n_samples), chunk by chunk."""
        parameters = self._parameters if parameters is None else parameters
        theta = parameters[: self.topology_.n_parameters]
        values = np.empty((self.topology_.n_outputs, X.shape[0]))
        for chunk in chunks(X.shape[0], _PREDICTION_ROWS):
            lin = self._network.linearize(theta, X[chunk])
            values[:, chunk] = lin.output_preactivations
        return values

    @property
    def _bound_output(self):
        return self._output.with_parameters(self._parameters[self.topology_.n_parameters :])

    def _check_X(self, X):
        check_is_fitted(self)
        return canonical(
            validate_data(self, X, accept_sparse="csr", dtype=(np.float64, np.float32), reset=False)
        )

    @property
    def output_coefs_(self):
        """The output's own trained parameters (of "scaled_softmax"), else empty."""
        return self._parameters[self.topology_.n_parameters :].copy()

    def __sklearn_is_fitted__(self):
        return hasattr(self, "_parameters")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _seeded(rng, n_starts):
    """Independent generators whose seeds are drawn up front."""
    return [np.random.RandomState(seed) for seed in rng.randint(2**31 - 1, size=n_starts)]

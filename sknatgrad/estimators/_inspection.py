"""What a fitted estimator can be asked about its network and metrics."""

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ..metrics import check_damping
from ..network.parameters import join, split
from ..numerics.single_thread import single_thread
from ..training import Data, Model, Objective
from ..training.data.evaluation import Evaluation
from ._prediction import in_precision

_LARGEST_DENSE = 20_000


class InspectionMixin:
    """Parameters, loss, directions and metric matrices of a fitted network.

    An output's own parameters (`output_coefs_`) have a block of the metric to themselves:
    what is said of those of the network does not depend on it.
    """

    @property
    def coefs_(self):
        """Weights, one array (n_in, n_out) a layer; sparse where the layer is."""
        check_is_fitted(self)
        return self._split(self._parameters)[0]

    @property
    def intercepts_(self):
        """Biases, one array (n_out,) a layer."""
        check_is_fitted(self)
        return self._split(self._parameters)[1]

    def _split(self, parameters):
        theta = parameters[: self.topology_.n_parameters]
        return split(self.topology_, in_precision(theta, self._dtype))

    def set_coefs(self, coefs, intercepts):
        """Put parameters into the fitted network; its output keeps its own.

        Parameters
        ----------
        coefs, intercepts : list of array
            Laid out like `coefs_` and `intercepts_`.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            If a shape is wrong, a value is not finite, or a weight stands where there
            is no link.
        """
        check_is_fitted(self)
        theta = join(self.topology_, coefs, intercepts)
        parameters = np.concatenate([theta, self._parameters[len(theta) :]])
        if not np.array_equal(parameters, self._parameters):
            self._parameters, self._state = parameters, self._state.placed_at(parameters)
        return self

    @single_thread()
    def direction(
        self,
        X,
        y=None,
        *,
        metric=None,
        damping=None,
        damping_mode=None,
        sample_weight=None,
        random_state=None,
    ):
        """The steepest direction ``A^-1 G``, the step to add at rate 1.

        G is minus the gradient of the mean loss, `alpha` left out. A is the metric
        itself with the damping asked for, without the safeguards of training.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like
            Left out by estimators that learn from X alone.
        metric : str or Metric, optional
            The estimator's own by default, like `damping` and `damping_mode`.
        damping : float, optional
        damping_mode : {"relative", "absolute"}, optional
        sample_weight : array-like of shape (n_samples,), optional
        random_state : int, RandomState instance or None
            For the Monte-Carlo metrics.

        Returns
        -------
        coef_steps, intercept_steps : list of array
            Laid out like `coefs_` and `intercepts_`. The output's own parameters, which
            the metric does not mix with these, have a step that is not returned.

        Raises
        ------
        ValueError
            If damping can't be used, targets are missing or a matrix is too large.

        Notes
        -----
        The cost of the gradient and of the metric (doc/metrics.md).
        """
        objective = self._objective(X, y, sample_weight, "gradient")
        metric = self._chosen_metric(metric, objective)
        damping = self.damping if damping is None else damping
        mode = self.damping_mode if damping_mode is None else damping_mode
        check_damping(damping, mode)
        gradient, statistics = objective.differentiate(
            Evaluation.without_loss(self._parameters), metric, self._generator(random_state)
        )
        step = metric.solve(self.topology_, statistics, gradient, damping, mode)
        return self._split(step)

    @single_thread()
    def metric_matrix(
        self,
        X,
        y=None,
        *,
        metric=None,
        sample_weight=None,
        layer=None,
        unit=None,
        random_state=None,
    ):
        """The undamped matrix A of a metric.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like, optional
            Needed by the outer-product metrics only.
        metric : str or Metric, optional
        sample_weight : array-like of shape (n_samples,), optional
        layer, unit : int, optional
            One unit: layer 0 is the first one after the inputs.
        random_state : int, RandomState instance or None

        Returns
        -------
        ndarray of shape (1 + fan_in, 1 + fan_in) or (n_parameters, n_parameters)
            Bias first, incoming units in increasing order; without `layer` and
            `unit` the whole matrix, unit by unit in topological order, that of all
            biases and weights. The output's own parameters have another.

        Raises
        ------
        ValueError
            If there is no such unit, targets are missing or the matrix is too large.
        """
        objective = self._objective(X, y, sample_weight)
        metric = self._chosen_metric(metric, objective)
        rng = self._generator(random_state)
        statistics, _ = objective.statistics(self._parameters, metric, rng)
        if layer is None and unit is None:
            self._check_dense()
            return metric.reduction.to_dense(self.topology_, statistics)
        return metric.reduction.block(self.topology_, statistics, self._unit(layer, unit))

    def _objective(self, X, y, sample_weight, wanted=None):
        data = Data(*self._check_known_data(X, y, sample_weight))
        if wanted and data.target is None:
            raise ValueError(f"The {wanted} depends on the targets: pass y.")
        return Objective(Model(self._network, self._targets.output), data)

    @single_thread()
    def _loss(self, X, y, sample_weight):
        objective = self._objective(X, y, sample_weight, "loss")
        return objective.evaluate(self._parameters).loss

    def _chosen_metric(self, metric, objective):
        metric = self._resolved_metric(self.metric if metric is None else metric, self.topology_)
        if metric.needs_target and objective.data.target is None:
            raise ValueError("This metric depends on the targets: pass y.")
        metric.check(self.topology_, objective.n_samples, averaged=False)
        return metric

    def _generator(self, random_state):
        return check_random_state(self.random_state if random_state is None else random_state)

    def _check_dense(self):
        size = self.topology_.n_parameters
        if size > _LARGEST_DENSE:
            raise ValueError(
                f"The matrix of {size} parameters would take {8 * size**2 / 1e9:.1f} GB: ask for "
                "one unit with layer= and unit=."
            )

    def _unit(self, layer, unit):
        levels = self.topology_.levels
        if layer is None or unit is None:
            raise ValueError("layer and unit go together: give both, or neither.")
        if not 0 <= layer < len(levels):
            raise ValueError(f"There is no layer {layer}: they are 0 to {len(levels) - 1}.")
        if not 0 <= unit < levels[layer].n_units:
            last = levels[layer].n_units - 1
            raise ValueError(f"There is no unit {unit} in layer {layer}: they are 0 to {last}.")
        return levels[layer].units.start + unit


class SupervisedInspectionMixin(InspectionMixin):
    """The same, and the loss, for estimators that learn from targets."""

    def loss(self, X, y, sample_weight=None):
        """Mean ``-ln omega(y)`` in nats, without penalty.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        float
        """
        return self._loss(X, y, sample_weight)

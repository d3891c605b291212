"""The mean loss of a network on a data set, accumulated over row chunks.

Loss, gradient and metric are means over samples, so they are sums over chunks of
rows in a fixed order: memory stays bounded however many rows there are, and the
result does not depend on who computes it.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from sklearn import get_config

from ..metrics.point import LossPoint
from ..network.buffers import BufferPool
from ..network.inputs import Inputs
from .coordinates import Coordinates

_MEBIBYTE = 1 << 20
# Shares of scikit-learn's `working_memory`. Chunks of 16 MiB do not leave the processor's
# caches; forward passes are kept only where they are cheap to keep.
_CHUNK_SHARE, _LARGEST_CHUNK, _FEWEST_ROWS = 1 / 8, 16 * _MEBIBYTE, 512
_KEPT_SHARE, _LARGEST_KEPT = 1 / 2, 128 * _MEBIBYTE


@dataclass(frozen=True)
class Evaluation:
    """The objective at one parameter vector.

    Attributes
    ----------
    parameters : ndarray
        theta, then the output's own parameters.
    loss : float
        Penalised mean loss; NaN or infinite where it overflows.
    data_loss : float
        Mean loss without penalty, nats.
    points : list of LossPoint or None
        Forward passes of the chunks, where memory allows to keep them: an accepted
        trial is the next step's start.
    """

    parameters: np.ndarray
    loss: float
    data_loss: float
    points: list | None


class Objective:
    """Penalised mean loss ``E_x[-ln omega(y)] + sum_i penalty_i w_i^2 / (2 W)``.

    Parameters
    ----------
    network : Network
    output : Output
    X : ndarray or CSR matrix of shape (n_samples, n_inputs)
    target : ndarray or None
        Encoded targets, sample axis last; None if only metrics that need none are
        asked for.
    sample_weight : ndarray of shape (n_samples,), optional
    penalty : ndarray of shape (n_parameters,), optional
        L2 penalty on each parameter; W is the sum of the sample weights.
    coordinates : Coordinates, optional
        Inputs and targets are told in these, chunk by chunk.
    dtype : numpy dtype
        Of forward and backward passes; means are float64 in any case.

    Attributes
    ----------
    penalty_weight : float
        W; may be set to that of a larger data set of which these rows are a part.
    """

    def __init__(
        self,
        network,
        output,
        X,
        target,
        sample_weight=None,
        penalty=None,
        coordinates=None,
        dtype=np.float64,
    ):
        self.network, self.output, self.penalty = network, output, penalty
        self.coordinates = coordinates or Coordinates(network)
        self.X, self.target, self.sample_weight, self.dtype = X, target, sample_weight, dtype
        self.n_samples = X.shape[0]
        self.total_weight = float(
            self.n_samples if sample_weight is None else np.sum(sample_weight)
        )
        self.penalty_weight = self.total_weight
        row_bytes = self._row_bytes()
        working = get_config()["working_memory"] * _MEBIBYTE
        length = max(_LARGEST_CHUNK // row_bytes, _FEWEST_ROWS)
        length = max(1, int(min(length, _CHUNK_SHARE * working / row_bytes)))
        self._chunks = list(chunks(self.n_samples, length))
        self._kept = self.n_samples * row_bytes <= min(_KEPT_SHARE * working, _LARGEST_KEPT)
        self._inputs, self._pool = {}, BufferPool()

    def _row_bytes(self):
        topology = self.network.topology
        dense_inputs = 0 if sparse.issparse(self.X) else 2 * topology.n_inputs
        return 8 * (dense_inputs + 6 * topology.n_units + 4 * topology.n_outputs + 1)

    def rows(self, chosen):
        """The objective on some of the rows only."""
        part = Objective(
            self.network,
            self.output,
            self.X[chosen],
            self._target_rows(chosen),
            None if self.sample_weight is None else self.sample_weight[chosen],
            self.penalty,
            self.coordinates,
            self.dtype,
        )
        part._pool, part.penalty_weight = self._pool, self.penalty_weight
        return part

    def _target_rows(self, chosen):
        return self.target[chosen] if self.target.ndim == 1 else self.target[:, chosen]

    def encoded_target(self, chunk):
        """Targets of some rows in training coordinates, dense; None without targets."""
        if self.target is None:
            return None
        target = self._target_rows(chunk)
        if sparse.issparse(target):
            target = target.toarray()
        scale = self.coordinates.outputs
        return target if scale is None else scale.apply(target)

    # ------------------------------------------------------------- evaluation
    def _point(self, chunk, theta, output):
        inputs = self._inputs.get(chunk.start)
        if inputs is None:
            rows, scale = self.X[chunk], self.coordinates.inputs
            inputs = Inputs(rows if scale is None else scale.apply(rows), self.dtype)
            if self._kept:
                self._inputs[chunk.start] = inputs
        weight = None if self.sample_weight is None else self.sample_weight[chunk]
        lin = self.network.linearize(theta, inputs, weight, self._pool.empty)
        return LossPoint(lin, output, self.encoded_target(chunk))

    def _points(self, parameters):
        size = self.network.topology.n_parameters
        output = self.output.with_parameters(parameters[size:])
        for chunk in self._chunks:
            point = self._point(chunk, parameters[:size], output)
            if point.weight > 0:
                yield point

    def evaluate(self, parameters):
        """One forward pass, an `Evaluation`."""
        points, loss = [] if self._kept else None, 0.0
        with np.errstate(over="ignore", invalid="ignore"):
            for point in self._points(parameters):
                loss += point.weight / self.total_weight * point.loss()
                if points is not None:
                    points.append(point)
            return Evaluation(parameters, loss + self._penalty(parameters), loss, points)

    def output_values(self, parameters):
        """Output pre-activations of all rows, (n_outputs, n_samples)."""
        values = np.empty((self.network.topology.n_outputs, self.n_samples))
        theta = parameters[: self.network.topology.n_parameters]
        for chunk in self._chunks:
            values[:, chunk] = self._point(chunk, theta, self.output).v
        return values

    def differentiate(self, evaluation, metric=None, rng=None):
        """Minus the gradient, and the metric's statistics, at an evaluation.

        Parameters
        ----------
        evaluation : Evaluation
        metric : Metric or None
        rng : RandomState

        Returns
        -------
        gradient : ndarray of shape (n_parameters,)
        statistics : pair, or None without a metric
        """
        points = evaluation.points
        if points is None:
            points = self._points(evaluation.parameters)
        gradient, parts = -self._penalty_slope(evaluation.parameters), []
        with np.errstate(over="ignore", invalid="ignore"):
            for point in points:
                share = point.weight / self.total_weight
                gradient += share * point.gradient()
                if metric is not None:
                    parts = self._folded(metric, [*parts, (share, metric.statistics(point, rng))])
        return gradient, None if metric is None else self._combined(metric, parts)

    def statistics(self, parameters, metric, rng):
        """The metric's statistics alone, at given parameters."""
        parts = []
        with np.errstate(over="ignore", invalid="ignore"):
            for point in self._points(parameters):
                share = point.weight / self.total_weight
                parts = self._folded(metric, [*parts, (share, metric.statistics(point, rng))])
        return self._combined(metric, parts)

    @staticmethod
    def _folded(metric, parts):
        """At most one pair (weight, statistics), so that memory stays bounded."""
        return parts if len(parts) < 2 else [(1.0, metric.combine(parts))]

    @staticmethod
    def _combined(metric, parts):
        if not parts:
            raise ValueError("sample_weight sums to zero: there is nothing to learn from.")
        return parts[0][1] if parts[0][0] == 1.0 else metric.combine(parts)

    # ---------------------------------------------------------------- penalty
    @property
    def ridge(self):
        """Second derivatives of the penalty, or None without penalty."""
        return None if self.penalty is None else self.penalty / self.penalty_weight

    def _penalty(self, parameters):
        if self.penalty is None:
            return 0.0
        return 0.5 * float(self.ridge @ parameters[: len(self.penalty)] ** 2)

    def _penalty_slope(self, parameters):
        slope = np.zeros_like(parameters)
        if self.penalty is not None:
            slope[: len(self.penalty)] = self.ridge * parameters[: len(self.penalty)]
        return slope


def chunks(n_samples, length):
    """Slices of at most `length` rows that cover all rows in order."""
    for start in range(0, n_samples, length):
        yield slice(start, min(start + length, n_samples))

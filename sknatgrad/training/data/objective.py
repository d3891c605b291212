"""The mean loss of a network on a data set, accumulated over row chunks.

Loss, gradient and metric are means over samples, so they are sums over chunks of
rows in a fixed tree: memory stays bounded however many rows there are, and the
result does not depend on who computes it.
"""

from copy import copy
from dataclasses import replace

import numpy as np
from scipy import sparse
from sklearn import get_config

from ...metrics.point import LossPoint
from ...network.inputs import Inputs
from ...numerics.buffers import BufferPool
from ...numerics.overflow import quiet
from ...numerics.sums import ordered_map, tree_sum
from .coordinates import Coordinates
from .evaluation import Differential, Evaluation
from .rows import chunks, shuffled, spread_rows

_MEBIBYTE = 1 << 20
# Shares of scikit-learn's `working_memory`. Chunks of 16 MiB do not leave the processor's
# caches; forward passes are kept only where they are cheap to keep.
_CHUNK_SHARE, _LARGEST_CHUNK, _FEWEST_ROWS = 1 / 8, 16 * _MEBIBYTE, 512
_KEPT_SHARE, _LARGEST_KEPT = 1 / 2, 128 * _MEBIBYTE
# Rows that speak for the others where a whole pass would cost too much.
_LARGEST_SAMPLE = 2000


class Penalised:
    """A mean loss plus a penalty.

    Parameters
    ----------
    network : Network
    penalty : Penalty or None
    total_weight : float
        Of the rows that the mean is over.
    """

    def __init__(self, network, penalty, total_weight):
        self.network, self.penalty, self.total_weight = network, penalty, total_weight
        self.n_threads = 1

    def with_penalty(self, penalty):
        """The same mean loss with another penalty."""
        other = copy(self)
        other.penalty = penalty
        return other

    def sampled(self):
        """The same on rows that speak for all: some of them, where these are at hand."""
        return self

    @property
    def penalises(self):
        """Whether there is a penalty, and it is not 0."""
        return self.penalty is not None and self.penalty.strength.alpha > 0

    @property
    def ridge(self):
        """Second derivatives of the penalty, or None without penalty."""
        return self.penalty.coefficients if self.penalises else None

    def penalty_at(self, parameters):
        """The penalty, a float."""
        return self.penalty.at(parameters) if self.penalises else 0.0

    def penalised(self, evaluation):
        """The same evaluation with the penalty as it is now."""
        loss = evaluation.data_loss + self.penalty_at(evaluation.parameters)
        return replace(evaluation, loss=loss)

    def _with_ridge(self, products, changes):
        """Products of changes of the parameters, with those in the penalty."""
        if not self.penalises:
            return products
        weights = [change[: len(self.ridge)] for change in changes]
        weighted = [self.ridge * one for one in weights]
        return products + np.array([[one @ other for other in weights] for one in weighted])

    def _with_penalty(self, gradient, parameters):
        """Minus the gradient, with the penalty's."""
        if not self.penalises:
            return gradient
        slope = self.penalty.slope(parameters)
        size = len(slope)
        np.subtract(gradient[:size], slope, out=slope)
        return slope if size == len(gradient) else np.concatenate([slope, gradient[size:]])


class Objective(Penalised):
    """Penalised mean loss ``E_x[-ln omega(y)] + penalty``.

    Parameters
    ----------
    model : Model
    data : Data
        Target None if only metrics that need none are asked for.
    penalty : Penalty, optional
    coordinates : Coordinates, optional
        Inputs and targets are expressed in these, chunk by chunk.
    dtype : numpy dtype
        Of forward and backward passes; means are float64 in any case.

    Attributes
    ----------
    total_weight : float
        Of the rows by whose number means are taken; may be set to that of a larger data
        set of which these rows are a part.
    n_threads : int
        Threads that work on chunks. They change no bit of the results.
    """

    def __init__(self, model, data, penalty=None, coordinates=None, dtype=np.float64):
        super().__init__(model.network, penalty, data.total_weight)
        self.output, self.coordinates = model.output, coordinates or Coordinates(model.network)
        self.dtype, self._pool = dtype, BufferPool()
        topology = self.network.topology
        dense_inputs = 0 if sparse.issparse(data.X) else 2 * topology.n_inputs
        row_bytes = 8 * (dense_inputs + 6 * topology.n_units + 4 * topology.n_outputs + 1)
        working = get_config()["working_memory"] * _MEBIBYTE
        length = max(_LARGEST_CHUNK // row_bytes, _FEWEST_ROWS)
        self._length = max(1, int(min(length, _CHUNK_SHARE * working / row_bytes)))
        self._most_kept = min(_KEPT_SHARE * working, _LARGEST_KEPT) / row_bytes
        self._hold(data)

    def _hold(self, data):
        self.data, self.n_samples, self._rows_of = data, data.X.shape[0], {}
        self._chunks = list(chunks(self.n_samples, self._length))
        self._kept = self.n_samples <= self._most_kept

    def rows(self, chosen):
        """The objective on some of the rows only."""
        part = copy(self)
        part._hold(self.data.read(chosen))
        part.total_weight = part.data.total_weight
        return part

    def sampled(self):
        if self.n_samples <= _LARGEST_SAMPLE:
            return self
        part = self.rows(spread_rows(self.n_samples, _LARGEST_SAMPLE))
        return part if part.total_weight > 0 else self

    def order(self, batch_size, rng):
        """A random order of the rows, for mini-batches."""
        return shuffled(self.data.X, batch_size, rng)

    def encoded_target(self, chunk):
        """Targets of some rows in training coordinates, dense; None without targets."""
        if self.data.target is None:
            return None
        target = self.data.target_of(chunk)
        if sparse.issparse(target):
            target = target.toarray()
        return self.coordinates.targets_of(target)

    # ------------------------------------------------------------- evaluation
    def _inputs_and_targets(self, chunk):
        """Inputs and targets of some rows in training coordinates."""
        known = self._rows_of.get(chunk.start)
        if known is None:
            inputs = Inputs(self.coordinates.inputs_of(self.data.X[chunk]), self.dtype)
            known = inputs, self.encoded_target(chunk)
            if self._kept:
                self._rows_of[chunk.start] = known
        return known

    def _point(self, chunk, theta, output):
        (inputs, target), weight = self._inputs_and_targets(chunk), self.data.weight
        weight = None if weight is None else weight[chunk]
        return LossPoint(
            self.network.linearize(theta, inputs, weight, self._pool.empty), output, target
        )

    def _sum(self, term, add, parameters, points=None, generators=None):
        """Sum of ``term(point, generator)`` over all chunks in a fixed tree, None left out."""
        size = self.network.topology.n_parameters
        theta, output = parameters[:size], self.output.with_parameters(parameters[size:])

        def of_chunk(item):
            chunk, point, generator = item
            with quiet():  # threads do not share NumPy's error state
                return term(point or self._point(chunk, theta, output), generator)

        nothing = [None] * len(self._chunks)
        items = zip(self._chunks, points or nothing, generators or nothing, strict=True)
        with quiet():
            terms = ordered_map(of_chunk, items, self.n_threads)
            return tree_sum((found for found in terms if found is not None), add)

    def _generators(self, metric, rng):
        """One source of random numbers a chunk, so that their order does not matter."""
        if metric is None or not metric.modulus.random or len(self._chunks) == 1:
            return [rng] * len(self._chunks)
        seeds = rng.randint(2**31 - 1, size=len(self._chunks))
        return [np.random.RandomState(seed) for seed in seeds]

    def _share(self, point):
        return point.weight / self.total_weight

    def evaluate(self, parameters):
        """One forward pass, an `Evaluation`."""

        def value(point, _):
            loss = self._share(point) * point.loss() if point.weight > 0 else 0.0
            return loss, [point] if self._kept else []

        loss, points = self._sum(value, _joined, parameters)
        with quiet():
            return Evaluation(parameters, loss + self.penalty_at(parameters), loss, points)

    def output_values(self, parameters, points=None):
        """Output pre-activations of all rows, (n_outputs, n_samples).

        `points` are those of an evaluation there, if it has kept them.
        """
        values = np.empty((self.network.topology.n_outputs, self.n_samples))
        theta = parameters[: self.network.topology.n_parameters]
        for chunk, point in zip(self._chunks, points or [None] * len(self._chunks), strict=True):
            values[:, chunk] = (point or self._point(chunk, theta, self.output)).v
        return values

    def predictions(self, parameters, points=None):
        """The output with its parameters, `output_values`, and the targets of all rows."""
        output = self.output.with_parameters(parameters[self.network.topology.n_parameters :])
        return output, self.output_values(parameters, points), self.encoded_target(slice(None))

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
        total = self.differential(evaluation.parameters, metric, rng, evaluation.points)
        if total.statistics is None and metric is not None:
            raise ValueError("sample_weight sums to zero: there is nothing to learn from.")
        gradient = self._with_penalty(total.gradient, evaluation.parameters)
        return gradient, total.means()

    def differential(self, parameters, metric=None, rng=None, points=None, with_gradient=True):
        """The `Differential` of all rows, without penalty.

        `points` are those of an evaluation there, if it has kept them. The gradient is 0
        where it is not asked for.
        """

        def term(point, generator):
            if not point.weight > 0:
                return None
            share, gradient = self._share(point), point.gradient() if with_gradient else 0.0
            statistics = None if metric is None else metric.statistics(point, generator)
            gradient = gradient if share == 1.0 else share * gradient
            return Differential(gradient, share, statistics, metric)

        generators = self._generators(metric, rng)
        total = self._sum(term, Differential.plus, parameters, points, generators)
        return total or Differential(np.zeros_like(parameters), 0.0, None, metric)

    def products(self, evaluation, changes):
        """Scalar products of changes of the parameters, (n_changes, n_changes).

        In the natural metric of the whole network and the second derivatives of the penalty;
        see `LossPoint.products`.
        """
        return self._with_ridge(self.data_products(evaluation, changes), changes)

    def data_products(self, evaluation, changes):
        """The same without penalty."""

        def term(point, _):
            return self._share(point) * point.products(changes) if point.weight > 0 else None

        total = self._sum(term, np.add, evaluation.parameters, evaluation.points)
        return np.zeros((len(changes),) * 2) if total is None else total

    def statistics(self, parameters, metric, rng, points=None):
        """The metric's statistics alone, at given parameters; `points` as in `differential`."""
        return self.differential(parameters, metric, rng, points, with_gradient=False).means()


def _joined(one, other):
    """The sum of two losses, and both lists of points."""
    return one[0] + other[0], one[1] + other[1]

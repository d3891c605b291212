"""Rows that lie on the workers of a cluster.

Parameters go out, sums come back: each worker has an `Objective` of its rows, and what
these return is added in a fixed tree, so that the same bits come out of any scheduler.
Dask moves the tasks, and makes lost ones anew on another worker.
"""

import operator
from copy import copy
from dataclasses import dataclass

import numpy as np

from ...compiled import under_kernels
from ...numerics.moments import moments_by_parts
from ...numerics.single_thread import single_thread
from ...numerics.sums import tree_sum
from .dataset import Data, TrainingData
from .evaluation import Differential, Evaluation
from .objective import Penalised


def on_workers(function):
    """A function whose calls are Dask tasks; they run under the kernels chosen here."""
    import dask

    return dask.delayed(under_kernels(function), pure=False)


def of_each(pieces, function, *arguments):
    """``function(piece, *arguments)`` of every piece, computed where it lies, in order."""
    import dask

    task = on_workers(function)
    shared = [dask.delayed(argument, traverse=False) for argument in arguments]
    return dask.compute(*(task(piece, *shared) for piece in pieces))


@dataclass(frozen=True)
class RemoteRows:
    """What is known here of an array of rows that lie on workers."""

    shape: tuple
    dtype: np.dtype


def _apply(piece, columns, total, function, *arguments):
    weight = np.ones(piece.X.shape[0]) if piece.weight is None else piece.weight
    return function(columns(piece), weight / total, *arguments)


class PartitionedData(TrainingData):
    """Rows that lie on workers.

    Parameters
    ----------
    pieces : list of dask.delayed.Delayed
        Each a `Data`.
    X : RemoteRows
    total_weight : float
    targets : {"numbers", "classes", "inputs"}
        What the targets are.
    """

    whole_batches_only = True
    # Sixty bytes each come from the workers.
    largest_census = 1e6
    # They are in the pieces.
    weight = None

    def __init__(self, pieces, X, total_weight, targets):
        self.pieces, self.X, self.total_weight = pieces, X, total_weight
        self.has_classes, self.reconstructs = targets == "classes", targets == "inputs"

    def _moments_of(self, columns):
        def each(function, *arguments):
            total = self.total_weight
            return of_each(self.pieces, _apply, columns, total, function, *arguments)

        return moments_by_parts(each)

    def mean_weight(self):
        return self.total_weight / self.X.shape[0]

    def _censuses(self, varying):
        return of_each(self.pieces, Data.census, varying)

    def in_units_of(self, unit):
        if unit == 1.0:
            return self
        task, other = on_workers(Data.in_units_of), copy(self)
        other.pieces = [task(piece, unit) for piece in self.pieces]
        other.total_weight = self.total_weight / unit
        return other

    def objective(self, model, penalty, coordinates, dtype):
        return PartitionedObjective(self, model, penalty, coordinates, dtype)


class PartitionedObjective(Penalised):
    """`Objective` of rows on workers.

    Takes `PartitionedData`, and else what `Data.objective` takes.
    """

    def __init__(self, data, model, penalty, coordinates, dtype):
        import dask

        super().__init__(model.network, penalty, data.total_weight)
        self.output, self.n_samples = model.output, data.X.shape[0]
        shared = dask.delayed((model, coordinates, dtype, data.total_weight), traverse=False)
        make = on_workers(_Part)
        self._parts = dask.persist(*(make(piece, shared) for piece in data.pieces))

    def _sum(self, task, add, parameters, *arguments):
        import dask

        work, plus = on_workers(task), on_workers(add)
        shared = dask.delayed(parameters, traverse=False)
        terms = [
            work(part, shared, *own) for part, *own in zip(self._parts, *arguments, strict=True)
        ]
        (total,) = dask.compute(tree_sum(terms, plus))
        return total

    def evaluate(self, parameters):
        """One forward pass, an `Evaluation`."""
        loss = self._sum(_Part.loss, operator.add, parameters)
        return Evaluation(parameters, loss + self.penalty_at(parameters), loss, None)

    def differentiate(self, evaluation, metric=None, rng=None):
        """Minus the gradient, and the metric's statistics; see `Objective.differentiate`."""
        total = self._total(_Part.differential, evaluation.parameters, metric, rng)
        return self._with_penalty(total.gradient, evaluation.parameters), total.statistics

    def statistics(self, parameters, metric, rng, points=None):
        """The metric's statistics alone; see `Objective.statistics`."""
        return self._total(_Part.statistics, parameters, metric, rng).statistics

    def _total(self, task, parameters, metric, rng):
        """A `Differential` of all rows."""
        random = metric is not None and metric.modulus.random
        count = len(self._parts)
        seeds = rng.randint(2**31 - 1, size=count).tolist() if random else [None] * count
        return self._sum(task, Differential.plus, parameters, [metric] * count, seeds)

    def products(self, evaluation, changes):
        """Scalar products of changes of the parameters; see `Objective.products`."""
        total = self._sum(_Part.products, operator.add, (evaluation.parameters, changes))
        return self._with_ridge(total, changes)


class _Part:
    """The objective of one piece, as a term of the mean over all pieces.

    Parameters
    ----------
    piece : Data
    shared : tuple
    """

    def __init__(self, piece, shared):
        model, coordinates, dtype, total_weight = shared
        self._objective = piece.objective(model, None, coordinates, dtype)
        self._objective.total_weight = total_weight
        self._evaluation = None

    def _at(self, parameters):
        """The evaluation there: the last one, or a new one."""
        known = self._evaluation
        if known is None or not np.array_equal(known.parameters, parameters):
            known = self._evaluation = self._objective.evaluate(parameters)
        return known

    def loss(self, parameters):
        """Its term of the loss."""
        with single_thread():
            return self._at(parameters).data_loss

    def differential(self, parameters, metric, seed, with_gradient=True):
        """Its `Differential`."""
        with single_thread():
            points = self._at(parameters).points
            total = self._objective.differential(
                parameters, metric, _generator(seed), points, with_gradient
            )
            return total.condensed()

    def statistics(self, parameters, metric, seed):
        """The same without gradient."""
        return self.differential(parameters, metric, seed, with_gradient=False)

    def products(self, shared):
        """Its term of the products of changes, at the parameters they are shared with."""
        parameters, changes = shared
        with single_thread():
            return self._objective.data_products(self._at(parameters), changes)


def _generator(seed):
    return None if seed is None else np.random.RandomState(seed)

"""Rows to learn from, with their targets and weights."""

from abc import ABC, abstractmethod
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from operator import attrgetter

import numpy as np
from scipy import sparse

from ...numerics.moments import weighted_moments
from .objective import Objective
from .observations import Census, digest, digests, effective_sample_size
from .rows import selected
from .scaling import InputScale


class TrainingData(ABC):
    """Rows to learn from, wherever they are.

    Attributes
    ----------
    X : object
        Has `shape` and `dtype`.
    weight : ndarray of shape (n_samples,), or None
        None also where weights are not at hand.
    total_weight : float
        Sum of the weights; the number of rows without weights.
    whole_batches_only : bool
        Whether mini-batches can't be drawn.
    reconstructs : bool
        Whether rows are their own targets.
    has_classes : bool
        Whether targets are class numbers.
    largest_census : float
        Number of rows up to which copies among them are looked for.
    """

    whole_batches_only = False
    largest_census = np.inf

    @cached_property
    def moments(self):
        """The `Moments` of the features."""
        return self._moments_of(attrgetter("X"))

    @cached_property
    def target_moments(self):
        """Those of the encoded targets; None if these are class numbers."""
        if self.has_classes:
            return None
        return self.moments if self.reconstructs else self._moments_of(attrgetter("target.T"))

    @cached_property
    def scale(self):
        """Where the features have their origin and scale, an `InputScale`."""
        return InputScale.of_moments(self.moments, self.X.dtype)

    def n_observed(self, copies=True):
        """How many observations the rows stand for, their `effective_sample_size`.

        `copies` says whether to look for rows that are copies; those which are their own targets
        do not tell.
        """
        copies = copies and self.X.shape[0] <= self.largest_census and not self.reconstructs
        varying = np.flatnonzero(self.scale.varies) if copies else ()
        # Of a single feature there is no part, and its values may be a grid.
        copies = len(varying) > 1
        return effective_sample_size(self._censuses(varying if copies else None), copies)

    @abstractmethod
    def objective(self, model, penalty, coordinates, dtype):
        """The mean loss of a `Model` on these rows."""

    @abstractmethod
    def mean_weight(self):
        """Mean weight of a row; 1 without weights."""

    @abstractmethod
    def in_units_of(self, unit):
        """The same rows, weights divided by `unit`."""

    @abstractmethod
    def _moments_of(self, columns):
        """The `Moments` of a matrix, ``columns(data)`` of the `Data` of any of the rows."""

    @abstractmethod
    def _censuses(self, varying):
        """Each `Census` of parts that make up the rows; see `Data.census`."""


@dataclass
class Data(TrainingData):
    """Rows to learn from, in memory or on a disk.

    Attributes
    ----------
    X : ndarray, CSR array or SlicedRows of shape (n_samples, n_inputs)
    target : ndarray, sparse array or SlicedColumns, sample axis last; or None
    weight : ndarray of shape (n_samples,) or None
    counts : ndarray of shape (n_samples,) or None
        How many observations each row may stand for, if that is not `weight`.
    reconstructs : bool
        Whether rows are their own targets.
    """

    X: object
    target: object
    weight: np.ndarray | None = None
    counts: np.ndarray | None = None
    reconstructs: bool = False

    @property
    def total_weight(self):
        return self.X.shape[0] if self.weight is None else float(self.weight.sum())

    @property
    def has_classes(self):
        return self.target.ndim == 1

    def objective(self, model, penalty, coordinates, dtype):
        X, coordinates = coordinates.at_hand(self.X)
        return Objective(model, Data(X, self.target, self.weight), penalty, coordinates, dtype)

    def read(self, chosen):
        """Some of the rows, read at once."""
        weight = None if self.weight is None else self.weight[chosen]
        target = None if self.target is None else self.target_of(chosen)
        return Data(self.X[chosen], target, weight)

    def target_of(self, chosen):
        """Targets of some of the rows."""
        return self.target[chosen] if self.target.ndim == 1 else self.target[:, chosen]

    def rows(self, chosen):
        """Some of the rows, from a disk when they are needed."""
        weight, counts = (
            None if each is None else each[chosen] for each in (self.weight, self.counts)
        )
        select = getattr(self.target, "select", self.target_of)
        return Data(selected(self.X, chosen), select(chosen), weight, counts, self.reconstructs)

    def joined(self, other):
        """These rows and those of another `Data`, in memory."""
        lengths = self.X.shape[0], other.X.shape[0]
        weights, counts = (self.weight, other.weight), (self.counts, other.counts)
        if any(each is not None for each in counts):
            pairs = zip(counts, weights, strict=True)
            counts = tuple(weight if each is None else each for each, weight in pairs)
        return Data(
            _stacked(self.X[:], other.X[:]),
            _stacked(self.target.T[:], other.target.T[:]).T,
            *(_concatenated(*pair, *lengths) for pair in (weights, counts)),
            self.reconstructs,
        )

    def in_memory(self):
        """The same rows, where they need not be read any more."""
        return replace(self, X=self.X[:], target=self.target.T[:].T)

    def _moments_of(self, columns):
        return weighted_moments(columns(self), self.weight)

    def mean_weight(self):
        if self.weight is None or not self.weight.any():
            return 1.0
        largest = self.weight.max()
        return float(largest * np.mean(self.weight / largest))

    def _censuses(self, varying):
        return [self.census(varying)]

    def census(self, varying):
        """The `Census` of these rows, by the features that vary; None looks for no copies."""
        weight = np.ones(self.X.shape[0]) if self.weight is None else self.weight
        counts = weight if self.counts is None else self.counts
        if varying is not None:
            targets = self.target.T.reshape(len(weight), -1)
            return Census.of(digests(self.X, varying), digest(targets), weight, counts)
        unknown = np.zeros((len(weight), 1))
        return Census.of(unknown, unknown[:, 0], weight, counts).together()

    def in_units_of(self, unit):
        if self.weight is None and unit == 1.0:
            return self
        other = copy(self)
        weight = np.ones(self.X.shape[0]) if self.weight is None else self.weight
        other.weight = weight / unit
        return other


def _stacked(above, below):
    if sparse.issparse(above) or sparse.issparse(below):
        return sparse.vstack([sparse.csr_array(above), sparse.csr_array(below)], format="csr")
    return np.concatenate([above, below])


def _concatenated(first, second, n_first, n_second):
    """Weights of rows, where those without any weigh 1; None if neither have."""
    if first is None and second is None:
        return None
    first = np.ones(n_first) if first is None else first
    return np.concatenate([first, np.ones(n_second) if second is None else second])

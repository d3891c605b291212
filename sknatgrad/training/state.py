"""The records that pass between the stages of a training."""

from copy import copy, deepcopy
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from scipy import sparse

from ..network import Network
from ..outputs import Output
from .coordinates import Coordinates, OutputScale
from .descent import RunningMetric
from .first_rows import FirstRows
from .history import History
from .objective import Objective
from .passes import Path
from .penalty import Strength
from .renewed_start import TargetLevel
from .rows import selected
from .scaling import InputScale
from .solvers import Refactored
from .step_rules import StepRule

_LARGEST_COUNT = 1e6


@dataclass
class Data:
    """Rows to learn from.

    Attributes
    ----------
    X : ndarray, CSR array or SlicedRows of shape (n_samples, n_inputs)
    target : ndarray, sparse array or SlicedColumns, sample axis last
    weight : ndarray of shape (n_samples,) or None
    counts : ndarray of shape (n_samples,) or None
        How many observations each row may stand for, if that is not `weight`.
    """

    X: object
    target: object
    weight: np.ndarray | None
    counts: np.ndarray | None = None

    # Whether mini-batches can't be drawn.
    whole_batches_only = False

    @property
    def total_weight(self):
        """Sum of the weights; the number of rows without weights."""
        return self.X.shape[0] if self.weight is None else float(self.weight.sum())

    def objective(self, model, penalty, coordinates, dtype):
        """The mean loss of a `Model` on these rows."""
        X, coordinates = coordinates.at_hand(self.X)
        return Objective(
            model.network, model.output, X, self.target, self.weight, penalty, coordinates, dtype
        )

    def rows(self, chosen):
        """Some of the rows."""
        weight, counts = (
            None if each is None else each[chosen] for each in (self.weight, self.counts)
        )
        if hasattr(self.target, "select"):
            target = self.target.select(chosen)
        else:
            target = self.target[chosen] if self.target.ndim == 1 else self.target[:, chosen]
        return Data(selected(self.X, chosen), target, weight, counts)

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
        )

    def in_memory(self):
        """The same rows, where they need not be read any more."""
        return Data(self.X[:], self.target.T[:].T, self.weight, self.counts)

    @cached_property
    def scale(self):
        """Where the features have their origin and scale, an `InputScale`."""
        return InputScale.of_data(self.X, self.weight)

    def mean_weight(self):
        """Mean weight of a row; 1 without weights."""
        if self.weight is None or not self.weight.any():
            return 1.0
        largest = self.weight.max()
        return float(largest * np.mean(self.weight / largest))

    def n_observed(self):
        """How many observations the rows stand for.

        Weights that are whole numbers are counts; others say how much rows matter
        relative to each other.
        """
        return n_observed([self.census()])

    def census(self):
        """Whether weights may be counts, their sum, and how many rows have some."""
        weight = self.weight
        if weight is None:
            return True, self.X.shape[0], self.X.shape[0]
        if self.counts is not None:
            weight = np.where(weight > 0, self.counts, 0.0)
        small = weight.max(initial=0.0) <= _LARGEST_COUNT
        counts = bool(small and (weight == np.round(weight)).all())
        return counts, weight.sum(), np.count_nonzero(weight)

    def in_units_of(self, unit):
        """The same rows, weights divided by `unit`."""
        if self.weight is None:
            return self
        other = copy(self)
        other.weight = self.weight / unit
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


def n_observed(censuses):
    """Observations in the parts of a data set, from the `census` of each."""
    counts, totals, weighing = zip(*censuses, strict=True)
    return float(sum(totals if all(counts) else weighing))


@dataclass(frozen=True)
class Model:
    """A network and the reading of its outputs."""

    network: Network
    output: Output


@dataclass
class TrainingState:
    """A training that can be continued.

    Attributes
    ----------
    coordinates : Coordinates
    path : Path
        The iterates, in these coordinates.
    running : RunningMetric
    rng : RandomState
    history : History
    strength : Strength
        Of the penalty, for targets in standard units.
    untold_scale : OutputScale or None
        Units of the targets that `coordinates` leave as they are.
    rule : StepRule or None
    rule_key : tuple
        What the rule was made for.
    loss_unit : float
        What `tol` is told in, in the loss that is minimised.
    solver : Refactored or None
        Of the mini-batch steps.
    row_weight : float
        Mean weight of the first rows: averaging windows count in rows of that weight.
    metric_key : tuple
        What the running metric is a metric of.
    level : TargetLevel or None
        Of outputs whose start may have to be taken anew.
    first : FirstRows or None
        Of a stream, as long as they are too few to tell the units of the others.
    weight, streamed : float
        Total sample weight of the data, or the number of observations, by which the
        penalty is divided; of it, what came in calls of `partial_fit`.
    """

    coordinates: Coordinates
    path: Path
    running: RunningMetric
    rng: np.random.RandomState
    history: History
    strength: Strength = field(default_factory=Strength)
    untold_scale: OutputScale | None = None
    rule: StepRule | None = None
    rule_key: tuple | None = None
    loss_unit: float = 1.0
    solver: Refactored | None = None
    weight: float = 0.0
    streamed: float = 0.0
    row_weight: float = 1.0
    metric_key: tuple | None = None
    level: TargetLevel | None = None
    first: FirstRows | None = None

    def fork(self):
        """A copy to go on from, so that a call that fails leaves this one as it is.

        The solver is handed on, since its inverses are updated in place: after a failed
        call it is factored anew.
        """
        solver, self.solver = self.solver, None
        return replace(
            self,
            running=copy(self.running),
            rule=copy(self.rule),
            rng=deepcopy(self.rng),
            history=deepcopy(self.history),
            solver=solver,
        )

    def see(self, weight, streaming):
        """Take note of data of that total weight that come to be learned."""
        if streaming:
            self.streamed += weight
            self.weight = max(self.weight, self.streamed)
        else:
            self.weight = weight

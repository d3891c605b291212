"""Numbers as targets of a network."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from ..numerics.moments import weighted_moments
from ..outputs import Output, get_output
from ..training.data.dataset import Data
from ._data import refuse_dates


def clipped(output, target):
    """Checked targets, without what rounding errors have put beyond the output's range.

    Columns on disk are clipped when they are read; others are the same object in most cases.
    """
    if output.target_range is None:
        return target
    least, most = output.target_range
    if sparse.issparse(target):
        # Columns of rows: `indices` are the numbers of the outputs. No range leaves out 0.
        ends = (np.broadcast_to(end, (target.shape[0], 1))[:, 0] for end in (least, most))
        least, most = (end[target.indices] for end in ends)
        if (target.data >= least).all() and (target.data <= most).all():
            return target
        data = np.clip(target.data, least, most).astype(target.dtype)
        return sparse.csc_array((data, target.indices, target.indptr), target.shape)
    if isinstance(target, np.ndarray):
        lows, highs = (end(axis=1, keepdims=True) for end in (target.min, target.max))
        if (lows >= least).all() and (highs <= most).all():
            return target
    return target.clip(least, most)


def numeric_output(name, activation, n_outputs):
    """The `Output` of that name, if it reads numbers.

    Parameters
    ----------
    name : str, Output or list of them
    activation : str or Activation
    n_outputs : int
        Columns of the targets.

    Raises
    ------
    ValueError
        If it reads classes, does not allow the activation, or is a list of another length.
    """
    output = get_output(name, activation, n_outputs)
    if output.discrete:
        raise ValueError(f"output={output.name!r} reads classes and can't be used here.")
    return output


# A target that all outputs can have drawn.
_POSSIBLE = 1.0


@dataclass(frozen=True, eq=False)
class NumericTargets:
    """Makes `Data` of rows and their numbers.

    Attributes
    ----------
    shape : tuple of int
        Of the targets of a row: () where they are one number.
    output : Output
    """

    shape: tuple
    output: Output

    kind = "numbers"

    def __call__(self, X, y, weight):
        """The rows X with targets y, of any value in rows of weight 0, and sample weights.

        Raises
        ------
        ValueError
            If the number of targets is another one, if the output can't have drawn them, or
            if they are dates or times.
        """
        target = as_numbers(y).reshape(len(y), -1).T
        if len(target) != self.n_units:
            raise ValueError(f"y has {len(target)} targets, the fit had {self.n_units}.")
        if weight is not None and not weight.all():
            # Rows on workers stay there.
            target = np.where(weight > 0, target, _POSSIBLE)
        self.output.check_target(target)
        return Data(X, clipped(self.output, target).astype(float, copy=False), weight)

    @property
    def n_units(self):
        """How many output units they need."""
        return self.shape[0] if self.shape else 1

    def strata(self, y):
        """Any rows may be held out."""
        return None

    def scorer(self, held_out):
        """What scores held-out `Data`, a `MeanR2`."""
        return MeanR2.on(held_out)


def refuse_sparse(y):
    """Raise ValueError if targets are sparse."""
    if sparse.issparse(y):
        raise ValueError("Sparse targets are not supported: pass y.toarray().")


def as_numbers(y):
    """Targets as an array of floats; a ValueError if they are dates, times or sparse."""
    refuse_sparse(y)
    y = np.asarray(y)
    refuse_dates(y, "y")
    return y if y.dtype == np.float32 else y.astype(float, copy=False)


@dataclass(frozen=True, eq=False)
class OwnTargets:
    """Makes `Data` of rows that are their own targets, as far as their output can draw them.

    Attributes
    ----------
    n_units : int
        How many output units they need: one a feature.
    output : Output
    """

    n_units: int
    output: Output

    kind = "inputs"

    def __call__(self, X, y, weight):
        """The rows X, checked, of any value in those of weight 0, with sample weights.

        Raises
        ------
        ValueError
            If the output can't have drawn them.
        """
        weighing = X if weight is None or weight.all() else X[weight > 0]
        self.output.check_target(weighing.T)
        return Data(X, clipped(self.output, X.T), weight, reconstructs=True)

    def strata(self, y):
        """Any rows may be held out."""
        return None

    def scorer(self, held_out):
        """Held-out rows are scored by minus their loss."""
        return None


@dataclass(frozen=True, eq=False)
class MeanR2:
    """Mean R^2 of held-out targets, the same in the units of the targets and in others.

    Targets that are constant there do not count. Where all are, R^2 is 1 if they are
    predicted exactly and 0 otherwise, as it is of scikit-learn's `r2_score`: then the
    held-out loss tells passes apart.

    Attributes
    ----------
    columns : ndarray of int
        The targets that count.
    constant : bool
        Whether all targets are.
    """

    columns: np.ndarray
    constant: bool

    @classmethod
    def on(cls, held_out):
        """The score on held-out `Data`."""
        varies = weighted_moments(held_out.target.T).deviation > 0
        constant = not varies.any()
        return cls(np.flatnonzero(varies | constant), constant)

    def __call__(self, output, v, target, weight):
        """Of output pre-activations."""
        target, expected = target[self.columns], output.mean(v)[self.columns]
        weight = np.ones(target.shape[1]) if weight is None else weight
        centre = np.average(target, axis=1, weights=weight)[:, None]
        total = (target - centre) ** 2 @ weight
        missed = (target - expected) ** 2 @ weight
        if self.constant or not total.all():
            return float(np.mean(missed == 0))
        return float(np.mean(1 - missed / total))

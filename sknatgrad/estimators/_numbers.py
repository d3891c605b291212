"""Numbers as targets of a network."""

from dataclasses import dataclass

import numpy as np

from ..network.moments import weighted_moments
from ..outputs import get_output
from ..training.state import Data


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


@dataclass(frozen=True, eq=False)
class NumericTargets:
    """Makes `Data` of rows and their numbers.

    Attributes
    ----------
    n_targets : int
    output : Output
    """

    n_targets: int
    output: object

    def encode(self, y):
        """Targets (n_targets, n_samples).

        Raises
        ------
        ValueError
            If their number is another one, if the output can't have drawn them, or if they
            are dates or times.
        """
        target = as_numbers(y).reshape(len(y), -1).T
        if len(target) != self.n_targets:
            raise ValueError(f"y has {len(target)} targets, the fit had {self.n_targets}.")
        self.output.check_target(target)
        return target

    def __call__(self, X, y, weight):
        """The rows X with targets y and sample weights."""
        return Data(X, self.encode(y), weight)


def as_numbers(y):
    """Targets as an array of floats; a ValueError if they are dates or times."""
    if np.asarray(y).dtype.kind in "mM":
        raise ValueError(
            "y holds dates or times, which are no numbers before a unit is chosen: pass, for "
            "example, (y - y.min()) / np.timedelta64(1, 'D')."
        )
    return np.asarray(y, dtype=float)


def own_targets(X, y, weight):
    """`Data` of rows that are their own targets."""
    return Data(X, X.T, weight)


@dataclass(frozen=True, eq=False)
class MeanR2:
    """Mean R^2 of held-out targets, the same in the units of the targets and in others.

    Attributes
    ----------
    columns : ndarray of int
        The targets that count.
    """

    columns: np.ndarray

    @classmethod
    def on(cls, held_out, training):
        """The score on held-out `Data`; targets that are constant in all rows do not count.

        Raises
        ------
        ValueError
            If R^2 is not defined.
        """
        value = _constant_values(held_out)
        varies = np.isnan(value)
        known = varies | (value == _constant_values(training))
        if not (varies.any() and known.all()):
            raise ValueError(
                "early_stopping=True needs a validation set on which no target is constant: R^2 is "
                "not defined. Pass more samples or a larger validation_fraction."
            )
        return cls(np.flatnonzero(varies))

    def __call__(self, output, v, target, weight):
        """Of output pre-activations."""
        target, expected = target[self.columns], output.mean(v)[self.columns]
        weight = np.ones(target.shape[1]) if weight is None else weight
        centre = np.average(target, axis=1, weights=weight)[:, None]
        total = (target - centre) ** 2 @ weight
        missed = (target - expected) ** 2 @ weight
        return float(np.mean(1 - missed / total))


def _constant_values(data):
    """The values of constant targets, NaN for others, (n_targets,)."""
    target, weight = data.target, data.weight
    if weight is not None:
        target = target[:, weight > 0]
    moments = weighted_moments(target.T)
    return np.where(moments.deviation > 0, np.nan, moments.mean)

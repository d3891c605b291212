"""Numbers as targets of a network."""

from dataclasses import dataclass

import numpy as np

from ..outputs import get_output
from ..training.state import Data


def numeric_output(name, activation):
    """The `Output` of that name, if it reads numbers.

    Parameters
    ----------
    name : str, Output or list of them
    activation : str or Activation

    Raises
    ------
    ValueError
        If it reads classes, or does not allow the activation.
    """
    output = get_output(name, activation)
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
            If their number is another one, or the output can't have drawn them.
        """
        target = np.asarray(y, dtype=float).reshape(len(y), -1).T
        if len(target) != self.n_targets:
            raise ValueError(f"y has {len(target)} targets, the fit had {self.n_targets}.")
        self.output.check_target(target)
        return target

    def __call__(self, X, y, weight):
        """The rows X with targets y and sample weights."""
        return Data(X, self.encode(y), weight)


def own_targets(X, y, weight):
    """`Data` of rows that are their own targets."""
    return Data(X, X.T, weight)

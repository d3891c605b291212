"""Iterates of stochastic steps and their average."""

from dataclasses import dataclass

import numpy as np

from ...numerics.vectors import between

# Of the steps so far, the share that the average speaks of.
_AVERAGED_SHARE = 0.1


@dataclass(frozen=True, eq=False)
class Path:
    """Iterates of stochastic steps and their average.

    Attributes
    ----------
    last, average : ndarray
    n_steps : int
    """

    last: np.ndarray
    average: np.ndarray
    n_steps: int = 0

    @classmethod
    def starting_at(cls, parameters):
        """No step taken yet."""
        return cls(parameters, parameters)

    def advanced(self, parameters, longest=np.inf):
        """One step further; the average speaks of at most about `longest` steps."""
        share = 1 / (1 + min(_AVERAGED_SHARE * self.n_steps, longest))
        average = between(self.average, parameters, share)
        return Path(parameters, average, self.n_steps + 1)

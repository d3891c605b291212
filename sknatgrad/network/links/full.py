"""Links of units that all listen to the same sources."""

import numpy as np

from ...compiled import get_kernels, loops
from ._base import DenseLinks, cross_sums, select


class FullLinks(DenseLinks):
    """All targets listen to the same sources.

    Parameters
    ----------
    n_targets : int
    params : slice
        The level's parameters in theta, biases included.
    columns : slice
        Which columns of the level's (n_targets, 1 + fan_in) matrix these links are.
    rows : slice or ndarray of int
    """

    def __init__(self, n_targets, params, columns, rows):
        self.n_targets, self.params, self.columns, self.rows = n_targets, params, columns, rows

    def weights(self, theta):
        """The (n_targets, n_source_rows) view of theta."""
        return theta[self.params].reshape(self.n_targets, -1)[:, self.columns]

    def edge_sums(self, values, signals, out):
        place, signals = self.weights(out), select(signals, self.rows)
        if not isinstance(signals, np.ndarray):
            place[...] = cross_sums(values, signals)
        elif values.shape[1] != 1:
            np.matmul(values, signals.T, out=place)
        elif get_kernels() == "numba":
            loops().outer(values, signals, place)
        else:
            np.multiply(values, signals.T, out=place)

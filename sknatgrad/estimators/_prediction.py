"""Forward passes of a fitted network."""

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from ..numerics.single_thread import single_thread
from ..training.data.rows import chunks
from ._data import checked

# Memory that forward passes may take at once.
_PREDICTION_BYTES = 1 << 24


def in_precision(values, dtype):
    """The values in that precision, or as they are where one exceeds its range.

    Parameters
    ----------
    values : ndarray
        In double precision.
    dtype : numpy dtype
    """
    with np.errstate(over="ignore"):
        rounded = values.astype(dtype, copy=False)
    return values if (np.isinf(rounded) & np.isfinite(values)).any() else rounded


class PredictionMixin:
    """What predictions of all kinds are made of."""

    def _output_values(self, X):
        """Output pre-activations, (n_outputs, n_samples), chunk by chunk."""
        values = np.empty((self.topology_.n_outputs, X.shape[0]))
        for chunk in self._prediction_chunks(X):
            values[:, chunk] = self._linearize(X[chunk]).output_preactivations
        return values

    def _prediction_chunks(self, X):
        """Slices of rows whose forward pass takes bounded memory."""
        topology = self.topology_
        n_inputs = 0 if sparse.issparse(X) else topology.n_inputs
        row_bytes = 8 * (n_inputs + 3 * topology.n_units + 4 * topology.n_outputs)
        return chunks(X.shape[0], max(1, _PREDICTION_BYTES // row_bytes))

    def _linearize(self, X):
        theta = self._parameters[: self.topology_.n_parameters]
        with single_thread():
            return self._network.linearize(theta, X)

    @property
    def _bound_output(self):
        return self._targets.output.with_parameters(self._parameters[self.topology_.n_parameters :])

    def _check_X(self, X):
        check_is_fitted(self)
        return checked(self, X, reset=False)

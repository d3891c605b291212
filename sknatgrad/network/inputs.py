"""The input activities of a batch."""

from functools import cached_property

import numpy as np
from scipy import sparse

from ..compiled import get_kernels

_COPIED_SIZE = 1 << 14


class Inputs:
    """Input activities of a batch, (n_inputs, n_samples), dense or sparse.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_inputs)
    dtype : numpy dtype
        float64, or float32: then the whole linearization computes with it.
    """

    def __init__(self, X, dtype=np.float64):
        if sparse.issparse(X):
            self.values = sparse.csr_array(X).astype(dtype, copy=False).T
        else:
            self.values = np.asarray(X, dtype=dtype).T
            if self.values.size <= _COPIED_SIZE or get_kernels() == "numba":
                # Small products are faster where a unit's activities stand together.
                self.values = np.ascontiguousarray(self.values)
        self.n_samples, self._known = self.values.shape[1], {}

    @classmethod
    def joined(cls, parts):
        """The samples of several batches, one after the other."""
        first = parts[0].values
        join = sparse.hstack if sparse.issparse(first) else np.hstack
        return cls(join([part.values for part in parts]).T, first.dtype)

    @cached_property
    def squares(self):
        """Squared activities."""
        return self.values.power(2) if sparse.issparse(self.values) else self.values**2

    def remembered(self, key, weight, compute):
        """What `compute` returned for this key and these sample weights the last time."""
        known = self._known.get(key)
        if known is None or not np.array_equal(known[0], weight):
            known = self._known[key] = weight, compute()
        return known[1]

    def dense(self, rows):
        """The chosen input units as an ndarray."""
        if sparse.issparse(self.values):
            return self.values.tocsr()[rows].toarray()
        if self.values.flags.c_contiguous and isinstance(rows, np.ndarray):
            return self.values.take(rows, axis=0)
        return self.values[rows]


def as_inputs(X):
    """X as `Inputs`; what is one already passes through."""
    return X if isinstance(X, Inputs) else Inputs(X)

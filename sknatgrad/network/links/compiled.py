"""Products in compiled loops over links."""

import numpy as np

from ...compiled import loops
from ._base import Links


class CompiledLinks(Links):
    """The products of `ListedLinks` in compiled loops, for dense signals.

    Parameters
    ----------
    links : MaskedLinks or SparseLinks
        Its layout, which still serves sparse signals.
    """

    def __init__(self, links):
        self._links, self.params = links, links.params
        self.rows, self.from_inputs = links.rows, links.from_inputs
        self._indptr = links.indptr.astype(np.int64)
        rows = links.rows
        rows = np.arange(rows.start, rows.stop) if isinstance(rows, slice) else rows
        self._source = rows[links.columns].astype(np.int64)

    @property
    def overwrites(self):
        return self._links.overwrites

    def weights(self, theta):
        return theta[self.params]

    def dense(self, weights):
        return self._links.csr(weights).toarray()

    def forward(self, weights, signals, out, fresh):
        if isinstance(signals, np.ndarray):
            loops().forward(self._indptr, self._source, weights, signals, out, fresh)
        else:
            super().forward(self._links.csr(weights), signals, out, fresh)

    def backward(self, weights, values, out, squared):
        if self.overwrites:
            out[self.rows] = 0.0
        weights = weights * weights if squared else weights
        loops().backward(self._indptr, self._source, weights, values, out)

    def edge_sums(self, values, signals, out):
        if isinstance(signals, np.ndarray):
            loops().edge_sums(self._indptr, self._source, self.params, values, signals, out)
        else:
            self._links.edge_sums(values, signals, out)

    def edge_moments(self, values, signals, squares, first, second):
        if isinstance(signals, np.ndarray):
            place = self._indptr, self._source, self.params
            loops().edge_moments(*place, values, signals, first, second)
        else:
            self._links.edge_moments(values, signals, squares, first, second)

"""Links given one by one, their weights in a dense or in a sparse matrix."""

from functools import cached_property

import numpy as np
from scipy import sparse

from ._base import DenseLinks, Links, cross_sums, select
from .compiled import CompiledLinks

_GATHER_SIZE = 1 << 18
# Reading an entry of a sparse matrix for one link takes as long as multiplying so many.
_ENTRY_PRICE = 40


class ListedLinks(Links):
    """Base class: links given one by one.

    Parameters
    ----------
    shape : tuple of int
        (n_targets, n_source_rows).
    params : ndarray of int, shape (n_links,)
        Position of each link in theta.
    targets, columns : ndarray of int, shape (n_links,)
        Target and source of each link, counted within the matrix; sorted by target, then
        source.
    rows : slice or ndarray of int
    """

    def __init__(self, shape, params, targets, columns, rows):
        self.shape, self.params, self.rows = shape, params, rows
        self.targets, self.columns = targets, columns.astype(np.int32)

    def for_kernels(self, name):
        return CompiledLinks(self) if name == "numba" else self

    @cached_property
    def indptr(self):
        """Where the links of each target start, (n_targets + 1,)."""
        counts = np.bincount(self.targets, minlength=self.shape[0])
        return np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)

    def csr(self, weights):
        """The CSR matrix of the weights of all links, (n_links,)."""
        return sparse.csr_array((weights, self.columns, self.indptr), shape=self.shape)


class MaskedLinks(ListedLinks, DenseLinks):
    """Links given one by one, the weights scattered into a dense matrix."""

    def __init__(self, shape, params, targets, columns, rows):
        super().__init__(shape, params, targets, columns, rows)
        self._flat = targets * shape[1] + columns

    def weights(self, theta):
        matrix = np.zeros(self.shape, theta.dtype)
        matrix.ravel()[self._flat] = theta[self.params]
        return matrix

    def edge_sums(self, values, signals, out):
        out[self.params] = cross_sums(values, select(signals, self.rows)).ravel()[self._flat]


class SparseLinks(ListedLinks):
    """Links given one by one, the weights a SciPy CSR matrix."""

    def __init__(self, shape, params, targets, columns, rows):
        super().__init__(shape, params, targets, columns, rows)
        counts = np.diff(self.indptr)
        self._groups = [
            (targets_of, self.indptr[targets_of][:, None] + np.arange(fan_in))
            for fan_in in np.unique(counts[counts > 0])
            for targets_of in [np.flatnonzero(counts == fan_in)]
        ]

    def weights(self, theta):
        return self.csr(theta[self.params])

    def edge_sums(self, values, signals, out):
        """Costs O(links x samples) and bounded memory.

        Units of equal fan-in are gathered together, block by block. Of sparse signals only
        the entries count that the links read, unless products of matrices are cheaper.
        """
        if sparse.issparse(signals):
            return self._edge_sums_of_sparse(values, signals, out)
        signals = select(signals, self.rows)
        # Once for all blocks: `take` copies an array whole that is not contiguous.
        signals = np.ascontiguousarray(signals)
        for targets, links in self._groups:
            step = max(1, _GATHER_SIZE // (links.shape[1] * values.shape[1]))
            for start in range(0, len(targets), step):
                block = links[start : start + step]
                gathered = signals.take(self.columns[block], axis=0)
                target_values = values[targets[start : start + step], :, None]
                out[self.params[block]] = (gathered @ target_values)[..., 0]

    def _edge_sums_of_sparse(self, values, signals, out):
        filled = select(_row_counts(signals), self.rows)
        counts = filled[self.columns]
        n_read = len(counts) + counts.sum(dtype=np.int64)
        if _ENTRY_PRICE * n_read < self.shape[0] * (len(filled) + filled.sum(dtype=np.int64)):
            self._edge_sums_link_by_link(values, select(signals.tocsr(), self.rows), counts, out)
        else:
            self._edge_sums_of_products(values, select(signals, self.rows), out)

    def _edge_sums_link_by_link(self, values, signals, counts, out):
        out[self.params] = 0.0
        links = np.flatnonzero(counts)
        # Once for all blocks, as above.
        values = np.ascontiguousarray(values)
        block_of = np.cumsum(counts[links], dtype=np.int64) // _GATHER_SIZE
        for block in np.split(links, 1 + np.flatnonzero(np.diff(block_of))):
            out[self.params[block]] = _sums_over_entries(
                values, signals, self.targets[block], self.columns[block], counts[block]
            )

    def _edge_sums_of_products(self, values, signals, out):
        step = max(1, _GATHER_SIZE // self.shape[1])
        for start in range(0, self.shape[0], step):
            stop = min(start + step, self.shape[0])
            sums = cross_sums(values[start:stop], signals)
            first, last = self.indptr[start], self.indptr[stop]
            rows = self.targets[first:last] - start
            out[self.params[first:last]] = sums[rows, self.columns[first:last]]


def _row_counts(signals):
    """How many entries each row of a CSR or CSC matrix has."""
    if signals.format == "csr":
        return np.diff(signals.indptr)
    return np.bincount(signals.indices, minlength=signals.shape[0])


def _sums_over_entries(values, signals, targets, columns, counts):
    """Sums of signal times target value over the entries of the source of each link.

    Parameters
    ----------
    values : contiguous ndarray of shape (n_targets, n_samples)
    signals : sparse CSR matrix of shape (n_source_rows, n_samples)
    targets, columns, counts : ndarray of int, shape (n_links,)
        Target and source of each link, and how many entries the source has, at least one.

    Returns
    -------
    ndarray of shape (n_links,)
    """
    starts = np.cumsum(counts) - counts
    entries = np.arange(counts.sum()) + np.repeat(signals.indptr[columns] - starts, counts)
    places = np.repeat(targets * values.shape[1], counts) + signals.indices.take(entries)
    products = signals.data.take(entries) * values.ravel().take(places)
    return np.add.reduceat(products, starts)

"""The three layouts of the links into a level, and their products.

Links join the units of one level (the targets) to rows of one array of
activities (the sources). All arrays have the unit axis first and the sample axis
last. A layout offers three things, and nothing above it knows which it is:

* ``weights(theta)``: the matrix W (n_targets, n_source_rows) of the weights,
  with ``W @ activities`` forward and ``W.T @ values`` backward;
* ``edge_sums(values, activities, out)``: the sum over samples of
  ``activities[i] * values[k]`` at each link i -> k, written to ``out``;
* ``rows``: the slice or index array of its source rows.

The level that owns the links sets ``from_inputs``: whether the sources are the
network's inputs or computed units; the topology sets ``fresh`` (see there).

`FullLinks` are a strided view of theta, so BLAS does the work. `MaskedLinks`
scatter the weights into a small dense matrix: for levels that are small or not
very sparse this is faster than any sparse product. `SparseLinks` cost O(links).
"""

import numpy as np
from scipy import sparse

# A dense product beats gather and sparse products above this density, and always
# for matrices of at most this many entries.
DENSE_SHARE = 1 / 16
DENSE_SIZE = 16_384
_GATHER_SIZE = 1 << 21


def select(activities, rows):
    """The chosen rows; the array itself if that is all of them."""
    if isinstance(rows, slice) and rows.stop - rows.start == activities.shape[0]:
        return activities
    return activities[rows]


def write_product(weights, activities, out, fresh):
    """``out = weights @ activities`` if fresh, else ``out += ...``.

    Whichever of the two is sparse; `out` is dense.
    """
    if fresh and isinstance(weights, np.ndarray) and isinstance(activities, np.ndarray):
        np.matmul(weights, activities, out=out)
        return
    product = weights @ activities
    if sparse.issparse(product):
        product = product.toarray()
    if fresh:
        out[...] = product
    else:
        out += product


def cross_sums(values, activities):
    """``values @ activities.T`` as an ndarray, `activities` dense or sparse."""
    if sparse.issparse(activities):
        return (activities @ values.T).T
    return values @ activities.T


class FullLinks:
    """All targets listen to the same sources.

    Parameters
    ----------
    n_targets : int
    params : slice
        The level's parameters in theta, biases included.
    columns : slice
        Which columns of the level's (n_targets, 1 + fan_in) matrix these links are.
    rows : slice or ndarray of int
        The source rows, in the order of the columns.
    """

    def __init__(self, n_targets, params, columns, rows):
        self.n_targets, self.params, self.columns, self.rows = n_targets, params, columns, rows

    def _view(self, theta):
        return theta[self.params].reshape(self.n_targets, -1)[:, self.columns]

    def weights(self, theta):
        """The (n_targets, n_source_rows) view of theta."""
        return self._view(theta)

    def edge_sums(self, values, activities, out):
        """Sum over samples of source times target value at each link, into `out`."""
        self._view(out)[...] = cross_sums(values, activities)


class MaskedLinks:
    """Links given one by one, the weights scattered into a dense matrix.

    Parameters
    ----------
    shape : tuple of int
        (n_targets, n_source_rows).
    params : ndarray of int, shape (n_links,)
        Position of each link in theta.
    targets, columns : ndarray of int, shape (n_links,)
        Target and source of each link, counted within the matrix.
    rows : slice or ndarray of int
        The source rows, in the order of the columns.
    """

    def __init__(self, shape, params, targets, columns, rows):
        self.shape, self.params, self.rows = shape, params, rows
        self._flat = targets * shape[1] + columns

    def weights(self, theta):
        """The (n_targets, n_source_rows) matrix, zero where there is no link."""
        matrix = np.zeros(self.shape)
        matrix.ravel()[self._flat] = theta[self.params]
        return matrix

    def edge_sums(self, values, activities, out):
        """Sum over samples of source times target value at each link, into `out`."""
        out[self.params] = cross_sums(values, activities).ravel()[self._flat]


class SparseLinks:
    """Links given one by one, the weights a SciPy CSR matrix.

    Takes the same parameters as `MaskedLinks`; links must come sorted by target,
    then source.
    """

    def __init__(self, shape, params, targets, columns, rows):
        self.shape, self.params, self.rows = shape, params, rows
        self._columns = columns.astype(np.int32)
        counts = np.bincount(targets, minlength=shape[0])
        self._indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
        self._groups = [
            (targets_of, self._indptr[targets_of][:, None] + np.arange(fan_in))
            for fan_in in np.unique(counts[counts > 0])
            for targets_of in [np.flatnonzero(counts == fan_in)]
        ]

    def weights(self, theta):
        """The (n_targets, n_source_rows) CSR matrix."""
        return sparse.csr_array((theta[self.params], self._columns, self._indptr), shape=self.shape)

    def edge_sums(self, values, activities, out):
        """Sum over samples of source times target value at each link, into `out`.

        Costs O(links x samples) and bounded memory: units of equal fan-in are
        gathered together, block by block.
        """
        if sparse.issparse(activities):
            return self._edge_sums_of_sparse(values, activities, out)
        for targets, links in self._groups:
            step = max(1, _GATHER_SIZE // (links.shape[1] * values.shape[1]))
            for start in range(0, len(targets), step):
                block = links[start : start + step]
                gathered = activities[self._columns[block]]
                target_values = values[targets[start : start + step], :, None]
                out[self.params[block]] = (gathered @ target_values)[..., 0]

    def _edge_sums_of_sparse(self, values, activities, out):
        step = max(1, _GATHER_SIZE // self.shape[1])
        for start in range(0, self.shape[0], step):
            stop = min(start + step, self.shape[0])
            sums = cross_sums(values[start:stop], activities)
            first, last = self._indptr[start], self._indptr[stop]
            counts = np.diff(self._indptr[start : stop + 1])
            rows = np.repeat(np.arange(stop - start), counts)
            out[self.params[first:last]] = sums[rows, self._columns[first:last]]


def make_links(n_targets, params, targets, sources):
    """The cheapest layout for links that are neither full nor empty.

    Parameters
    ----------
    n_targets : int
        Number of units in the level.
    params, targets, sources : ndarray of int, shape (n_links,)
        Position in theta, target within the level and source row of each link,
        sorted by target, then source.
    """
    used = np.unique(sources)
    first, last = int(used[0]), int(used[-1])
    if last + 1 - first <= 2 * len(used):
        rows, columns, n_rows = slice(first, last + 1), sources - first, last + 1 - first
    else:
        rows, columns, n_rows = used, np.searchsorted(used, sources), len(used)
    size = n_targets * n_rows
    dense = size <= DENSE_SIZE or len(params) >= DENSE_SHARE * size
    layout = MaskedLinks if dense else SparseLinks
    return layout((n_targets, n_rows), params, targets, columns, rows)

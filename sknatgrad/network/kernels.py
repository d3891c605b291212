"""The layouts of the links into a level, and their products.

Links join the units of one level (the targets) to rows of one array of
activities (the sources). All arrays have the unit axis first and the sample axis
last. A layout offers three products, and nothing above it knows which it is; W is
its matrix (n_targets, n_source_rows) of weights, made by ``weights(theta)``:

* ``forward(weights, signals, out, fresh)``: ``out = W signals[rows]``;
* ``backward(weights, values, out, squared)``: ``out[rows] = W^T values``, or with
  the squares of W;
* ``edge_sums(values, signals, out)``: the sum over samples of ``signals[i] *
  values[k]`` at each link i -> k, written to its place in ``out``.

The first two add to `out` unless `fresh`. The level that owns the links sets
``from_inputs``: whether the sources are the network's inputs or computed units; the
topology sets ``fresh``, for the way back (see there).

`FullLinks` are a strided view of theta, so BLAS does the work. `MaskedLinks`
scatter the weights into a small dense matrix: for levels that are small or not
very sparse this is faster than any sparse product. `SparseLinks` cost O(links).
Where compiled kernels are switched on, `CompiledLinks` replace the last two.
"""

import numpy as np
from scipy import sparse

from ..compiled import get_kernels, loops

# A dense product beats gather and sparse products above this density, and always
# for matrices of at most this many entries.
DENSE_SHARE = 1 / 16
DENSE_SIZE = 16_384
_GATHER_SIZE = 1 << 18


def select(signals, rows):
    """The chosen rows; the array itself if that is all of them."""
    if isinstance(rows, slice) and rows.stop - rows.start == signals.shape[0]:
        return signals
    return signals[rows]


def cross_sums(values, signals):
    """``values @ signals.T`` as an ndarray, `signals` dense or sparse."""
    if isinstance(signals, np.ndarray):
        return values @ signals.T
    return (signals @ values.T).T


def _put(product, out, fresh):
    if sparse.issparse(product):
        product = product.toarray()
    if fresh:
        out[...] = product
    else:
        out += product


class Links:
    """Base class: products with a matrix of weights, dense or sparse.

    Attributes
    ----------
    rows : slice or ndarray of int
        The source rows, in the order of the columns of W.
    from_inputs, fresh : bool
    """

    from_inputs = fresh = False

    def for_kernels(self, name):
        """The layout to use with kernels of that name."""
        return self

    def weights(self, theta):
        """The matrix W, (n_targets, n_source_rows)."""
        raise NotImplementedError

    def edge_sums(self, values, signals, out):
        """Sums over samples of source times target value, into `out`."""
        raise NotImplementedError

    def dense(self, weights):
        """W as an ndarray."""
        return weights.toarray()

    def edge_moments(self, values, signals, squares, first, second):
        """`edge_sums` of the signals and of their squares."""
        self.edge_sums(values, signals, first)
        self.edge_sums(values, squares, second)

    def forward(self, weights, signals, out, fresh):
        """``out = W signals[rows]`` if fresh, else ``out += ...``."""
        _put(weights @ select(signals, self.rows), out, fresh)

    def backward(self, weights, values, out, squared):
        """``out[rows] = W^T values`` if `self.fresh`, else ``out[rows] += ...``."""
        product = (weights.power(2) if squared else weights).T @ values
        if self.fresh:
            out[self.rows] = product
        else:
            out[self.rows] += product


class DenseLinks(Links):
    """Base class: the weights are an ndarray."""

    def dense(self, weights):
        return weights

    def forward(self, weights, signals, out, fresh):
        if fresh and isinstance(signals, np.ndarray):
            np.matmul(weights, select(signals, self.rows), out=out)
        else:
            super().forward(weights, signals, out, fresh)

    def backward(self, weights, values, out, squared):
        back = (weights * weights if squared else weights).T
        if self.fresh and isinstance(self.rows, slice):
            np.matmul(back, values, out=out[self.rows])
        elif self.fresh:
            out[self.rows] = back @ values
        else:
            out[self.rows] += back @ values


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


class MaskedLinks(DenseLinks):
    """Links given one by one, the weights scattered into a dense matrix.

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
        self.targets, self.columns = targets, columns
        self._flat = targets * shape[1] + columns

    def for_kernels(self, name):
        return CompiledLinks(self) if name == "numba" else self

    def weights(self, theta):
        matrix = np.zeros(self.shape, theta.dtype)
        matrix.ravel()[self._flat] = theta[self.params]
        return matrix

    def edge_sums(self, values, signals, out):
        out[self.params] = cross_sums(values, select(signals, self.rows)).ravel()[self._flat]


class SparseLinks(Links):
    """Links given one by one, the weights a SciPy CSR matrix.

    Takes the same parameters as `MaskedLinks`.
    """

    def __init__(self, shape, params, targets, columns, rows):
        self.shape, self.params, self.rows = shape, params, rows
        self.targets, self.columns = targets, columns.astype(np.int32)
        counts = np.bincount(targets, minlength=shape[0])
        self.indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
        self._groups = [
            (targets_of, self.indptr[targets_of][:, None] + np.arange(fan_in))
            for fan_in in np.unique(counts[counts > 0])
            for targets_of in [np.flatnonzero(counts == fan_in)]
        ]

    def for_kernels(self, name):
        return CompiledLinks(self) if name == "numba" else self

    def weights(self, theta):
        return sparse.csr_array((theta[self.params], self.columns, self.indptr), shape=self.shape)

    def edge_sums(self, values, signals, out):
        """Costs O(links x samples) and bounded memory.

        Units of equal fan-in are gathered together, block by block.
        """
        signals = select(signals, self.rows)
        if sparse.issparse(signals):
            return self._edge_sums_of_sparse(values, signals, out)
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
        step = max(1, _GATHER_SIZE // self.shape[1])
        for start in range(0, self.shape[0], step):
            stop = min(start + step, self.shape[0])
            sums = cross_sums(values[start:stop], signals)
            first, last = self.indptr[start], self.indptr[stop]
            rows = self.targets[first:last] - start
            out[self.params[first:last]] = sums[rows, self.columns[first:last]]


class CompiledLinks(Links):
    """The same products in compiled loops over links, for dense signals.

    Parameters
    ----------
    links : MaskedLinks or SparseLinks
        Its layout, which still serves sparse signals.
    """

    def __init__(self, links):
        self._links, self.params = links, links.params
        self.rows, self.from_inputs, self.fresh = links.rows, links.from_inputs, links.fresh
        counts = np.bincount(links.targets, minlength=links.shape[0])
        self._indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        rows = links.rows
        rows = np.arange(rows.start, rows.stop) if isinstance(rows, slice) else rows
        self._source = rows[links.columns].astype(np.int64)

    def weights(self, theta):
        return theta[self.params]

    def _matrix(self, weights):
        place = self._links.columns, self._indptr
        return sparse.csr_array((weights, *place), shape=self._links.shape)

    def dense(self, weights):
        return self._matrix(weights).toarray()

    def forward(self, weights, signals, out, fresh):
        if isinstance(signals, np.ndarray):
            loops().forward(self._indptr, self._source, weights, signals, out, fresh)
        else:
            Links.forward(self._links, self._matrix(weights), signals, out, fresh)

    def backward(self, weights, values, out, squared):
        if self.fresh:
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

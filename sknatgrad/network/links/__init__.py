"""The layouts of the links into a level, and their products.

Links join the units of one level (the targets) to rows of one array of
activities (the sources). All arrays have the unit axis first and the sample axis
last. A layout offers four products, and nothing above it knows which it is; W is
its matrix (n_targets, n_source_rows) of weights, in the form that ``weights(theta)``
gives it (``dense(weights)`` is an ndarray in any case):

* ``forward(weights, signals, out, fresh)``: ``out = W signals[rows]`` if fresh, else
  added to it;
* ``backward(weights, values, out, squared)``: ``out[rows] = W^T values``, or with
  the squares of W, if the links have ``overwrites`` set, else added to it;
* ``edge_sums(values, signals, out)``: the sum over samples of ``signals[i] *
  values[k]`` at each link i -> k, written to its place in ``out``;
* ``edge_moments(values, signals, squares, first, second)``: the same of the signals and of
  their squares at once.

The level that owns the links sets ``from_inputs``: whether the sources are the
network's inputs or computed units; `mark_overwriting` sets ``overwrites``.

`FullLinks` are a strided view of theta, so BLAS does the work. `MaskedLinks`
scatter the weights into a small dense matrix: for levels that are small or not
very sparse this is faster than any sparse product. `SparseLinks` cost O(links).
Where compiled kernels are switched on, `CompiledLinks` replace these two.
`ParallelLinks` may join the same two units several times.
"""

import numpy as np

from .compiled import CompiledLinks
from .full import FullLinks
from .listed import MaskedLinks, SparseLinks
from .parallel import ParallelLinks

__all__ = [
    "CompiledLinks",
    "FullLinks",
    "MaskedLinks",
    "ParallelLinks",
    "SparseLinks",
    "make_links",
]

# A dense product beats gather and sparse products above this density, and always
# for matrices of at most this many entries.
DENSE_SHARE = 1 / 16
DENSE_SIZE = 16_384


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

"""Rows that need not be in memory.

Training reads rows by slices and, for mini-batches, by numbers. `SlicedRows` offers both
for anything that can be sliced: `numpy.memmap`, an HDF5 or Zarr data set.
"""

from functools import cached_property

import numpy as np
from scipy import sparse

from ...numerics.moments import extremes, joint_extremes
from ...numerics.walk import blocks, rows_of_part

# Rows that are not wanted but lie between some that are: up to so many are read as well.
_GAP = 64
# Runs of consecutive rows that make a mini-batch of an array that can only be sliced.
_RUNS = 16


def is_partitioned(X):
    """Whether X is a collection of Dask; arrays of xarray are where they hold one."""
    if not hasattr(X, "__dask_graph__"):
        return False
    try:
        from dask import is_dask_collection
    except ImportError:
        return False
    return is_dask_collection(X)


def is_sliceable(X):
    """Whether X is a two-dimensional array of numbers that is best read by slices.

    A `numpy.memmap` is; other arrays of NumPy, tables and sparse matrices are not.
    """
    if isinstance(X, np.ndarray | np.generic):
        return isinstance(X, np.memmap)
    if sparse.issparse(X) or hasattr(X, "iloc") or is_partitioned(X):
        return False
    names = ("shape", "ndim", "dtype", "__getitem__")
    return all(hasattr(X, name) for name in names) and isinstance(X.dtype, np.dtype)


class SlicedRows:
    """A row-sliceable array, read as float64 or float32 some rows at a time.

    Parameters
    ----------
    array : object
        Has `shape`, `dtype`, and `array[start:stop]`.
    """

    def __init__(self, array):
        self.array, self.shape = array, tuple(array.shape)
        single = np.dtype(array.dtype) == np.float32
        self.dtype = np.dtype(np.float32 if single else np.float64)

    @property
    def nbytes(self):
        """Bytes that all rows would take in memory."""
        return self.shape[0] * self.shape[1] * self.dtype.itemsize

    def __len__(self):
        return self.shape[0]

    def __getitem__(self, rows):
        if isinstance(rows, slice):
            return np.asarray(self.array[rows], dtype=self.dtype)
        order = np.argsort(rows, kind="stable")
        wanted = np.asarray(rows)[order]
        found = np.empty((len(wanted), self.shape[1]), self.dtype)
        # Rows near each other are read together, as far as they are of one part.
        apart = (np.diff(wanted) > _GAP) | (np.diff(wanted // rows_of_part(self)) > 0)
        for place in np.split(np.arange(len(wanted)), np.flatnonzero(apart) + 1):
            if len(place):
                first, last = int(wanted[place[0]]), int(wanted[place[-1]])
                found[order[place]] = self[first : last + 1][wanted[place] - first]
        return found

    def select(self, rows):
        """Some of the rows, read when they are needed."""
        return SelectedRows(self, np.asarray(rows))

    def run_length(self, batch_size):
        """How many consecutive rows a mini-batch takes at a time.

        1 for `numpy.memmap`: mini-batches are those of the array in memory.
        """
        return 1 if isinstance(self.array, np.memmap) else max(1, batch_size // _RUNS)

    def min(self):
        """Smallest entry."""
        return self.extremes[0].min()

    def max(self):
        """Largest entry."""
        return self.extremes[1].max()

    @cached_property
    def extremes(self):
        """Smallest and largest entry of each column, (2, n_columns), from one reading."""
        return joint_extremes(extremes(rows) for _, rows in blocks(self))

    @property
    def T(self):
        """The transposed array, whose columns are read when they are needed."""
        return SlicedColumns(self)


class DerivedRows(SlicedRows):
    """Rows that are made of other ones when they are read.

    Parameters
    ----------
    source : SlicedRows
    n_rows : int
    """

    def __init__(self, source, n_rows):
        self.source, self.shape, self.dtype = source, (n_rows, source.shape[1]), source.dtype

    def run_length(self, batch_size):
        return self.source.run_length(batch_size)


class SelectedRows(DerivedRows):
    """Some rows of `SlicedRows`.

    Parameters
    ----------
    source : SlicedRows
    chosen : ndarray of int
    """

    def __init__(self, source, chosen):
        super().__init__(source, len(chosen))
        self.chosen = chosen

    def __getitem__(self, rows):
        return self.source[self.chosen[rows]]


class ClippedRows(DerivedRows):
    """`SlicedRows` whose entries lie between two numbers: others are moved there.

    Parameters
    ----------
    source : SlicedRows
    least, most : float
    """

    def __init__(self, source, least, most):
        super().__init__(source, source.shape[0])
        self.least, self.most = least, most

    def __getitem__(self, rows):
        return self.source[rows].clip(self.least, self.most)

    @property
    def extremes(self):
        return self.source.extremes.clip(self.least, self.most)


class SlicedColumns:
    """The transpose of `SlicedRows`, as the targets of an auto-encoder.

    Parameters
    ----------
    rows : SlicedRows
    """

    ndim = 2

    def __init__(self, rows):
        self.T, self.shape, self.dtype = rows, rows.shape[::-1], rows.dtype
        self.size, self.min, self.max = rows.shape[0] * rows.shape[1], rows.min, rows.max

    def __len__(self):
        return self.shape[0]

    def __getitem__(self, key):
        if not isinstance(key, tuple):
            raise ValueError("Outputs of several kinds need X in memory: pass an ndarray.")
        return self.T[key[1]].T

    def clip(self, least, most):
        """The same columns, moved between two numbers when they are read."""
        return ClippedRows(self.T, least, most).T

    def select(self, columns):
        """Some of the columns, read when they are needed."""
        return self.T.select(columns).T


def selected(X, rows):
    """Some rows of X: a copy, or read when needed."""
    return X.select(rows) if hasattr(X, "select") else X[rows]


def shuffled(X, batch_size, rng):
    """A random order of the rows of X in which mini-batches are read at bearable cost."""
    n_samples = X.shape[0]
    run = X.run_length(batch_size) if hasattr(X, "run_length") else 1
    if run == 1:
        return rng.permutation(n_samples)
    starts = rng.permutation(np.arange(0, n_samples, run))
    return np.concatenate([np.arange(start, min(start + run, n_samples)) for start in starts])


def spread_rows(n_samples, size):
    """Numbers of `size` rows, one by chance out of each of as many parts of equal length.

    The same ones in every call. At equal distances they would be all alike where rows come
    by turns, from several machines or hours of the day.
    """
    edges = np.arange(size + 1) * n_samples // size
    return np.random.RandomState(0).randint(edges[:-1], edges[1:])


def chunks(n_samples, length):
    """Slices of about equally many rows, at most `length`, that cover all rows in order."""
    count = -(-n_samples // length)
    for i in range(count):
        yield slice(i * n_samples // count, (i + 1) * n_samples // count)

"""Dask arrays as training data: checked, encoded and kept where they are."""

from dataclasses import dataclass
from operator import attrgetter

import numpy as np
from sklearn.utils.validation import check_array, validate_data

from ..numerics.moments import joint_extremes
from ..training.data.partitions import PartitionedData, RemoteRows, of_each, on_workers
from ..training.data.rows import is_partitioned
from ._data import DTYPES, refuse_dates
from ._labels import refuse_mixture
from ._weights import nonnegative_weights

_MOST_EXAMPLES = 100_000


def as_rows(X):
    """A Dask table, or a Dask array whose blocks are whole rows.

    Raises
    ------
    ValueError
        If X is another collection, or its number of columns is not known.
    """
    shape = getattr(X, "shape", None)
    if not isinstance(shape, tuple) or len(shape) != 2 or not hasattr(X, "_meta"):
        raise ValueError(f"Expected a 2D array or a table of Dask, got {X!r}.")
    if np.isnan(shape[1]):
        raise ValueError("The number of columns is not known: call X.compute_chunk_sizes() before.")
    return X.rechunk({1: -1}) if hasattr(X, "rechunk") and X.numblocks[1] > 1 else X


def one_row(X):
    """A row of zeros such as the blocks of X hold, an ndarray or a pandas table.

    A ValueError if X holds dates or times.
    """
    refuse_dates(X._meta, "X")
    if hasattr(X, "rechunk"):
        return np.zeros((1, X.shape[1]), X.dtype)
    meta = X._meta
    return type(meta)(np.zeros((1, X.shape[1])), columns=meta.columns).astype(meta.dtypes)


class Partitions:
    """`CheckedRows` on workers.

    Parameters
    ----------
    estimator : BaseEstimator
        Learns the number of features if `reset`.
    X : dask.array.Array of shape (n_samples, n_features), or a Dask table
    y : dask.array.Array or array-like, or None
        Other arrays than Dask's are sent to the workers.
    sample_weight : the same, or None
    reset : bool
    numeric : bool
        Whether targets must be finite numbers.

    Raises
    ------
    ValueError
        If arrays do not fit together, or a partition holds what can't be learned from.
    """

    # It is in the pieces.
    weight = None

    def __init__(self, estimator, X, y, sample_weight, reset, numeric):
        import dask

        X = as_rows(X)
        row, X = one_row(X), _as_array(X)
        if 0 in X.shape:
            raise ValueError(f"Expected a 2D array with rows and columns, got shape {X.shape}.")
        validate_data(estimator, row, dtype=DTYPES, reset=reset)
        columns = [_aligned(array, X) for array in (y, sample_weight)]
        task = on_workers(_checked)
        blocks = X.to_delayed().ravel().tolist()
        parts = zip(blocks, *columns, X.chunks[0], strict=True)
        # A selection of rows may have left partitions without any.
        self._pieces = dask.persist(*(task(*part, numeric) for *part, length in parts if length))
        self.shape = X.shape
        self.dtype = np.dtype(np.float32 if X.dtype == np.float32 else np.float64)
        # Computed at once, so that rows which can't be used are found before work starts.
        self._examples = of_each(self._pieces, _examples)

    def extremes(self):
        """Smallest and largest value of each feature in rows that weigh, (2, n_features).

        Without such rows, for others to object to, 0.
        """
        ends = joint_extremes(of_each(self._pieces, _extremes))
        return np.where(np.isfinite(ends), ends, 0)

    @property
    def examples(self):
        """Targets among which are all classes, or some rows of numbers or several columns."""
        return np.concatenate(self._examples)

    def encoded(self, targets):
        """The rows as `PartitionedData`, each part by ``targets(X, y, weight)``."""
        import dask

        task = on_workers(_encoded)
        shared = dask.delayed(targets, traverse=False)
        pieces = dask.persist(*(task(piece, shared) for piece in self._pieces))
        total = float(sum(of_each(pieces, attrgetter("total_weight"))))
        return PartitionedData(pieces, RemoteRows(self.shape, self.dtype), total, targets.kind)


@dataclass
class _Piece:
    """Rows of one partition."""

    X: np.ndarray
    y: np.ndarray | None
    weight: np.ndarray | None
    numeric: bool


def _as_array(X):
    """A Dask array with known chunks."""
    if hasattr(X, "to_dask_array"):
        X = X.to_dask_array(lengths=True)
    if np.isnan(X.shape).any():
        X = X.compute_chunk_sizes()
    return X


def _aligned(array, X):
    """The parts of a vector or table that belong to the partitions of X."""
    import dask.array as da

    if array is None:
        return [None] * len(X.chunks[0])
    array = _as_array(array) if is_partitioned(array) else da.from_array(np.asarray(array))
    if array.shape[0] != X.shape[0]:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: {X.shape[0]} rows of X "
            f"and {array.shape[0]} of y or sample_weight."
        )
    chunks = {0: X.chunks[0], **{axis: -1 for axis in range(1, array.ndim)}}
    return array.rechunk(chunks).to_delayed().ravel().tolist()


def _checked(X, y, weight, numeric):
    X = np.asarray(X)
    refuse_dates(X, "X")
    X = check_array(X, dtype=DTYPES, input_name="X")
    if y is not None:
        y, dtype = np.asarray(y), None
        if numeric:
            refuse_dates(y, "y")
            dtype = "numeric"
        else:
            refuse_mixture(y, "y")
        y = check_array(y, dtype=dtype, ensure_2d=False, input_name="y")
        if y.ndim == 2 and y.shape[1] == 1:
            y = y[:, 0]
    if weight is not None and np.any(weight):
        weight = nonnegative_weights(np.asarray(weight), X)
    return _Piece(X, y, weight, numeric)


def _examples(piece):
    """Examples of the targets: all classes, of numbers a few."""
    y = piece.y
    if y is None:
        return np.empty(0)
    if y.ndim == 1 and not piece.numeric:
        return np.unique(y)[:_MOST_EXAMPLES]
    return y[:100]


def _extremes(piece):
    rows = piece.X if piece.weight is None else piece.X[piece.weight > 0]
    return rows.min(axis=0, initial=np.inf), rows.max(axis=0, initial=-np.inf)


def _encoded(piece, targets):
    return targets(piece.X, piece.y, piece.weight)

"""Checks of the data that estimators are given."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from sklearn.utils.validation import _check_y, check_consistent_length, validate_data

from ..training.data.rows import SlicedRows, is_sliceable

DTYPES = (np.float64, np.float32)
_TIMES = "date", "duration", "nat", "period", "time"


@dataclass(frozen=True, eq=False)
class CheckedRows:
    """Checked rows in memory or on a disk, their targets not encoded yet.

    Attributes
    ----------
    X : ndarray, CSR array or SlicedRows of shape (n_samples, n_features)
    y : ndarray or None
    weight : ndarray of shape (n_samples,) or None
    """

    X: object
    y: np.ndarray | None
    weight: np.ndarray | None

    def encoded(self, targets):
        """The rows as `Data`, by ``targets(X, y, weight)``."""
        return targets(self.X, self.y, self.weight)


def checked(estimator, X, y="no_validation", *, reset, **options):
    """X, and y where there is one, as scikit-learn's `validate_data` would have them.

    Arrays that can be read by slices (`numpy.memmap`, HDF5, Zarr) are checked some rows
    at a time and stay where they are.

    Parameters
    ----------
    estimator : BaseEstimator
        Learns the number of features and their names if `reset`.
    X : array-like or sparse matrix of shape (n_samples, n_features)
    y : array-like, optional
        Without it X alone is checked and returned.
    reset : bool
    **options
        Of `validate_data`, about y.

    Raises
    ------
    ValueError
        If X or y is not finite, not numeric, empty, or of another shape.
    """
    refuse_dates(X, "X")
    if not is_sliceable(X):
        found = validate_data(
            estimator, X, y, accept_sparse="csr", dtype=DTYPES, reset=reset, **options
        )
        return (canonical(found[0]), found[1]) if isinstance(found, tuple) else canonical(found)
    rows = SlicedRows(X)
    if X.ndim != 2 or 0 in rows.shape or np.dtype(X.dtype).kind not in "biuf":
        validate_data(estimator, np.asarray(X[:1]), dtype=DTYPES, reset=reset)
    # They are not finite where any entry is not.
    validate_data(estimator, rows.extremes, dtype=DTYPES, reset=reset)
    if isinstance(y, str):
        return rows
    y = _check_y(y, estimator=estimator, **options)
    check_consistent_length(rows, y)
    return rows, y


def check_length(X, y):
    """Raise ValueError unless y, an ndarray, has as many targets as X has rows."""
    length = len(y) if y.ndim else "no length"
    if length != X.shape[0]:
        raise ValueError(f"X has {X.shape[0]} rows, y has {length}: pass one target a row.")


def refuse_dates(values, name):
    """Raise ValueError if an array, a list, or a column of a table holds dates or times."""
    if any(map(_is_of_time, _types(values))):
        raise ValueError(
            f"{name} holds dates or times, which are no numbers before a unit is chosen: pass, for "
            f"example, ({name} - {name}.min()) / np.timedelta64(1, 'D')."
        )


def _types(values):
    """Those of the columns of a table, else that of the array; of objects, their own."""
    # A table may have a column of the name dtype.
    if hasattr(values, "dtypes") and getattr(values, "ndim", 2) == 2:
        found = set(values.dtypes)
    elif hasattr(values, "dtype"):
        found = {values.dtype}
    elif hasattr(values, "schema"):
        found = set(values.schema.types)
    else:
        values = np.asarray(values)
        found = {values.dtype}
    if any(getattr(kind, "kind", None) == "O" or str(kind) == "Object" for kind in found):
        found |= set(map(type, np.asarray(values, dtype=object).ravel().tolist()))
    return found


def _is_of_time(kind):
    # By name, which NumPy, pandas, polars, Arrow and Python have in common.
    name = getattr(kind, "__name__", str(kind)).lower()
    return getattr(kind, "kind", None) in {"m", "M"} or name.startswith(_TIMES)


def canonical(X):
    """X itself, or a CSR copy without duplicate entries."""
    if not sparse.issparse(X):
        return X
    X = sparse.csr_array(X)
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X

"""Predictions of Dask collections: lazy ones, made block by block on the workers."""

from copy import copy
from functools import wraps

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..compiled import under_kernels
from ..training.data.rows import is_partitioned
from ._partitioned import as_rows, one_row


def lazy_on_dask(*names):
    """Class decorator: these methods, of rows alone, give lazy results for Dask's rows.

    Each block is given to the method by itself, so the results are those of NumPy, block by
    block, to the bit. A method that returns arrays gives a `dask.array.Array` with the
    chunks of the rows; where ``set_output`` makes it return tables, a Dask table. The
    outermost wrapper: what stands between it and the method runs on the workers.
    """

    def decorate(cls):
        for name in names:
            setattr(cls, name, _lazy(getattr(cls, name)))
        return cls

    return decorate


def in_memory(*arrays):
    """The same arrays; those of Dask are computed, all at once."""
    if not any(map(is_partitioned, arrays)):
        return arrays
    import dask

    # Tables have graphs of another kind, which are not computed together with those of arrays.
    return dask.compute(
        *(a.to_dask_array() if hasattr(type(a), "to_dask_array") else a for a in arrays)
    )


class BlockwiseScoreMixin:
    """The method `score`, from predictions that may have been made on Dask's workers.

    Attributes
    ----------
    _score_of : callable
        Of targets, predictions and sample weights: a function of `sklearn.metrics`.
    """

    def score(self, X, y, sample_weight=None):
        """Accuracy of a classifier (of sets of labels: all right); R^2 of a regressor.

        The mean of the R^2 of several targets.

        Parameters
        ----------
        X : {array-like, sparse matrix, Dask collection} of shape (n_samples, n_features)
        y : {array-like, Dask collection}
        sample_weight : {array-like, Dask collection} of shape (n_samples,), optional

        Returns
        -------
        float
        """
        y, predicted, weight = in_memory(y, self.predict(X), sample_weight)
        return self._score_of(y, predicted, sample_weight=weight)


def _lazy(method):
    @wraps(method)
    def of_rows(estimator, *arguments, **named):
        rows = (*arguments, *named.values())
        if not any(map(is_partitioned, rows)):
            return method(estimator, *arguments, **named)
        return _by_blocks(of_rows, estimator, *rows)

    return of_rows


def _by_blocks(method, estimator, X):
    import dask

    check_is_fitted(estimator)
    X = as_rows(X)
    with np.errstate(all="ignore"):
        # Says what comes out, and refuses rows of another length before work starts.
        example = method(estimator, one_row(X))
    call = under_kernels(_of_block)
    known = dask.delayed((method, _frozen(estimator), example[:0]), traverse=False)
    if not isinstance(example, np.ndarray) and not hasattr(X, "map_partitions"):
        import dask.dataframe as dd

        X = dd.from_dask_array(X)
    if hasattr(X, "map_partitions"):
        return X.map_partitions(call, known, meta=example[:0], enforce_metadata=False)
    layout = {"drop_axis": 1}
    if example.ndim == 2:
        layout = {"chunks": (X.chunks[0], example.shape[1:])}
    return X.map_blocks(call, known, dtype=example.dtype, meta=example[:0], **layout)


def _of_block(rows, known):
    method, estimator, nothing = known
    return method(estimator, rows) if rows.shape[0] else nothing


def _frozen(estimator):
    """What predictions need: fits to come do not change results that are not computed yet."""
    frozen = copy(estimator)
    frozen._parameters = estimator._parameters.copy()
    vars(frozen).pop("_state")
    return frozen

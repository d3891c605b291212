"""What a fitted auto-encoder says of rows: their codes, and the rows again."""

import numpy as np
from scipy import sparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_array, check_is_fitted

from ..numerics.overflow import quiet
from ..numerics.single_thread import single_thread
from ..training.data.rows import is_partitioned
from ._by_blocks import in_memory, lazy_on_dask
from ._data import DTYPES, refuse_dates
from ._numbers import clipped
from ._prediction import in_precision
from ._weights import check_weights


@lazy_on_dask("transform", "inverse_transform", "predict", "score_samples")
class ReconstructionMixin(ClassNamePrefixFeaturesOutMixin, TransformerMixin):
    """Codes of rows, rows of codes, and how well rows are explained."""

    @property
    def _n_features_out(self):
        return self.topology_.levels[self._code_level(self.topology_)].n_units

    def transform(self, X):
        """Code of each row: the activities of the code layer.

        Parameters
        ----------
        X : {array-like, sparse matrix, Dask collection} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_code_units)
            A lazy Dask array for rows of Dask; see doc/scaling.md.
        """
        X = self._check_X(X)
        units = self.topology_.levels[self._code_level(self.topology_)].units
        codes = np.empty((X.shape[0], self._n_features_out), dtype=X.dtype)
        for chunk in self._prediction_chunks(X):
            codes[chunk] = self._linearize(X[chunk]).a[units].T
        return codes

    @single_thread()
    def inverse_transform(self, X):
        """Reconstruction of rows from their codes.

        Parameters
        ----------
        X : {array-like, Dask collection} of shape (n_samples, n_code_units)
            Codes.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            A lazy Dask array for rows of Dask; see doc/scaling.md.
        """
        check_is_fitted(self)
        refuse_dates(X, "X")
        codes = check_array(X, dtype=DTYPES)
        if codes.shape[1] != self._n_features_out:
            raise ValueError(f"codes must have {self._n_features_out} columns.")
        if self.topology_.layer_sizes is None:
            raise ValueError("inverse_transform needs a layered topology.")
        first = self._code_level(self.topology_) + 1
        coefs, intercepts = self._split(self._parameters)
        layers = coefs[first:], intercepts[first:], self._network.activations[first:]
        rows = np.empty((len(codes), self.topology_.n_outputs))
        for chunk in self._prediction_chunks(codes):
            activity = codes[chunk].T.astype(float)
            for coef, intercept, activation in zip(*layers, strict=True):
                v = coef.T @ activity + intercept[:, None]
                activity = activation.value(v)
            rows[chunk] = self._bound_output.mean(v).T
        return in_precision(rows, codes.dtype)

    def predict(self, X):
        """Reconstruction of each row.

        Parameters
        ----------
        X : {array-like, Dask collection} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            A lazy Dask array for rows of Dask; see doc/scaling.md.

        Raises
        ------
        ValueError
            If X is sparse: its reconstruction is not. ``inverse_transform(transform(X))``
            computes it all the same.
        """
        X = self._check_X(X)
        if sparse.issparse(X):
            raise ValueError(
                "The reconstruction of sparse X is a dense matrix of the same shape: call "
                "inverse_transform(transform(X)) on as many rows as fit into memory."
            )
        return in_precision(self._bound_output.mean(self._output_values(X)).T, X.dtype)

    def score_samples(self, X):
        """Log-likelihood of each row given itself, nats.

        For square outputs, normal ones of variance 1, it is minus half the squared error, the
        constant ``-ln(2 pi) / 2`` of each feature left out. Unlike the fit, that depends on
        the units of the features: scale them, or the largest decide.

        Parameters
        ----------
        X : {array-like, sparse matrix, Dask collection} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
            A lazy Dask array for rows of Dask; see doc/scaling.md.

        Raises
        ------
        ValueError
            If the output can't have drawn the rows: entries outside [0, 1] of Bernoulli
            ones, negative counts.
        """
        X = self._check_X(X)
        self._targets.output.check_target(X.T)
        output, scores = self._bound_output, np.empty(X.shape[0])
        for chunk in self._prediction_chunks(X):
            rows = X[chunk]
            target = rows.toarray().T if sparse.issparse(rows) else rows.T
            v = self._linearize(rows).output_preactivations
            with quiet():
                at = output.prepared(v)
                scores[chunk] = -output.loss(at, clipped(self._targets.output, target))
        return scores

    def score(self, X, y=None, sample_weight=None):
        """Mean of `score_samples`, minus the loss; larger is better.

        Parameters
        ----------
        X : {array-like, sparse matrix, Dask collection} of shape (n_samples, n_features)
        y : ignored
        sample_weight : {array-like, Dask collection} of shape (n_samples,), optional
            Rows of weight 0 do not count; those of Dask must be possible all the same.

        Returns
        -------
        float
        """
        if not is_partitioned(X):
            (weight,) = in_memory(sample_weight)
            return -self._loss(X, None, weight)
        scores, weight = in_memory(self.score_samples(X), sample_weight)
        return float(np.average(scores, weights=check_weights(weight, scores)))

    def _code_level(self, topology):
        """The number of the code's level: the one asked for, or the narrowest hidden one.

        Raises
        ------
        ValueError
            If the network has no such level.
        """
        levels = enumerate(topology.level_outputs)
        hidden = [number for number, outputs in levels if outputs is None]
        if not hidden:
            raise ValueError(
                "hidden_layer_sizes or connectivity must name at least one hidden layer: the code."
            )
        if self.code_layer is None:
            return min(hidden, key=lambda number: topology.levels[number].n_units)
        if self.code_layer >= len(hidden):
            raise ValueError(
                f"code_layer={self.code_layer} is not one of the {len(hidden)} hidden layers."
            )
        return hidden[self.code_layer]

"""What a fitted classifier says of rows."""

import numpy as np

from ._by_blocks import lazy_on_dask
from ._prediction import in_precision


@lazy_on_dask("predict", "predict_proba", "predict_log_proba", "decision_function")
class ClassPredictionMixin:
    """Classes of rows, their probabilities and logits, from the output pre-activations."""

    def _proba(self, v):
        return self._targets.labels.probabilities(self._bound_output.mean(v).T)

    def predict(self, X):
        """Most probable class of each row (for multilabel targets a 0/1 matrix).

        Parameters
        ----------
        X : {array-like, sparse matrix, Dask collection} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_labels)
            A lazy Dask array for rows of Dask; see doc/scaling.md.
        """
        v = self._output_values(self._check_X(X))
        return self._targets.labels.decode(self._bound_output.logits(v).T)

    def predict_proba(self, X):
        """Probability of each class (of each label, for multilabel targets).

        Parameters
        ----------
        X : {array-like, sparse matrix, Dask collection} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            A lazy Dask array for rows of Dask; see doc/scaling.md.
        """
        X = self._check_X(X)
        return in_precision(self._proba(self._output_values(X)), X.dtype)

    def predict_log_proba(self, X):
        """Logarithm of `predict_proba`, finite where that rounds to 0 or 1; of the same kind."""
        X = self._check_X(X)
        v = self._output_values(X)
        logs = self._bound_output.log_mean(v)
        if logs is None:
            with np.errstate(divide="ignore"):
                return in_precision(np.log(self._proba(v)), X.dtype)
        log_proba = self._targets.labels.log_probabilities(*logs, self._targets.output.discrete)
        log_proba = in_precision(log_proba.T, X.dtype)
        if X.dtype == np.float64:
            return log_proba
        # In single precision the probability itself is rounded first near 1.
        proba = self._proba(v).astype(X.dtype)
        return np.where(proba > 0.5, np.log(np.maximum(proba, 0.5)), log_proba)

    def decision_function(self, X):
        """Logits: larger means more probable.

        Parameters
        ----------
        X : {array-like, sparse matrix, Dask collection} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,) for two classes, else (n_samples, n_classes)
            A lazy Dask array for rows of Dask; see doc/scaling.md.
        """
        X = self._check_X(X)
        logits = self._bound_output.logits(self._output_values(X)).T
        if self._targets.labels.single and logits.shape[1] == 2:
            logits = logits[:, 1:] - logits[:, :1]
        if self._targets.labels.single and logits.shape[1] == 1:
            logits = logits[:, 0]
        return in_precision(logits, X.dtype)

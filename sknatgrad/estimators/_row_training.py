"""What an auto-encoder is trained on: rows that are their own targets, and their output."""

from dataclasses import replace

from ._data import checked
from ._numbers import numeric_output, own_targets
from ._partitioned import Partitions, is_partitioned
from ._weights import check_total_weight, check_weights, without_zero_weights


class RowTrainingMixin:
    """Checks of rows before a fit; held-out ones are scored by their log-likelihood."""

    def _settings(self):
        return replace(super()._settings(), reconstructs=True)

    def _check_training_data(self, X, y, sample_weight, reset):
        if is_partitioned(X):
            parts = Partitions(self, X, None, sample_weight, reset, numeric=True)
            data = parts.encoded(own_targets, parts.shape[1], single=False)
            check_total_weight(data, "training")
            dtype, rows = parts.dtype, parts.extremes()
        else:
            X = checked(self, X, reset=reset)
            weight = check_weights(sample_weight, X)
            data, _ = without_zero_weights(own_targets(X, None, weight), None)
            dtype, rows = X.dtype, data.X
        if reset:
            self._dtype = dtype
            self._output = self._choose_output(rows)
        self._output.check_target(rows.T)
        return data, None

    def _check_known_data(self, X, y, sample_weight):
        X = self._check_X(X)
        self._output.check_target(X.T)
        return X, X.T, check_weights(sample_weight, X)

    def _choose_output(self, X):
        name = self.output
        if isinstance(name, str) and name == "auto":
            name = "bernoulli" if X.min() >= 0 and X.max() <= 1 else "square"
        return numeric_output(name, self.output_activation, X.shape[1])

    def _n_output_units(self):
        return self.n_features_in_

    def _scorer(self, held_out):
        return None

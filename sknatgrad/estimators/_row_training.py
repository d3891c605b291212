"""What an auto-encoder is trained on: rows that are their own targets, and their output."""

from ..outputs.bernoulli import in_unit_interval
from ..training.data.dataset import Data
from ..training.data.rows import is_partitioned
from ._data import checked
from ._numbers import OwnTargets, clipped, numeric_output
from ._partitioned import Partitions
from ._weights import check_weights, without_zero_weights


class RowTrainingMixin:
    """Checks of rows before a fit; held-out ones are scored by their log-likelihood."""

    def _check_training_data(self, X, y, sample_weight, reset):
        parts = None
        if is_partitioned(X):
            parts = Partitions(self, X, None, sample_weight, reset, numeric=True)
            dtype, rows = parts.dtype, parts.extremes()
        else:
            X = checked(self, X, reset=reset)
            weight = check_weights(sample_weight, X)
            data, _ = without_zero_weights(Data(X, X.T, weight), None)
            dtype, rows = X.dtype, data.X
        if reset:
            self._dtype = dtype
            self._output = self._choose_output(rows)
        self._output.check_target(rows.T)
        encode = OwnTargets(self._output)
        if parts is None:
            return encode(rows, None, data.weight), None
        return parts.encoded(encode, "inputs"), None

    def _check_known_data(self, X, y, sample_weight):
        X = self._check_X(X)
        data, _ = without_zero_weights(Data(X, X.T, check_weights(sample_weight, X)), None)
        self._output.check_target(data.target)
        return data.X, clipped(self._output, data.target), data.weight

    def _choose_output(self, X):
        name = self.output
        if isinstance(name, str) and name == "auto":
            name = "bernoulli" if in_unit_interval(X) else "square"
        return numeric_output(name, self.output_activation, X.shape[1])

    def _n_output_units(self):
        return self.n_features_in_

    def _scorer(self, held_out):
        return None

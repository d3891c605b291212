"""What an auto-encoder is trained on: rows that are their own targets, and their output."""

from ..outputs.bernoulli import in_unit_interval
from ..training.data.dataset import Data
from ..training.data.rows import is_partitioned
from ._data import CheckedRows, checked
from ._numbers import OwnTargets, numeric_output
from ._partitioned import Partitions
from ._weights import check_weights, without_zero_weights


class RowTrainingMixin:
    """Checks of rows before a fit."""

    def _checked_rows(self, X, y, sample_weight, reset):
        if is_partitioned(X):
            rows = Partitions(self, X, None, sample_weight, reset, numeric=True)
            return rows, rows.extremes()
        X, weight = _that_weigh(checked(self, X, reset=reset), sample_weight)
        return CheckedRows(X, None, weight), X

    def _learn_targets(self, y, weight):
        return OwnTargets(y.shape[1], self._choose_output(y))

    def _check_known_data(self, X, y, sample_weight):
        X, weight = _that_weigh(self._check_X(X), sample_weight)
        return X, self._targets(X, None, weight).target, weight

    def _choose_output(self, X):
        name = self.output
        if isinstance(name, str) and name == "auto":
            name = "bernoulli" if in_unit_interval(X) else "square"
        return numeric_output(name, self.output_activation, X.shape[1])


def _that_weigh(X, sample_weight):
    """Checked rows without those of weight 0, and the weights that are left."""
    data, _ = without_zero_weights(Data(X, X.T, check_weights(sample_weight, X)), None)
    return data.X, data.weight

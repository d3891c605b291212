"""What a regressor is trained on: rows with their numbers, and the output that reads these."""

import numpy as np
from sklearn.utils.validation import assert_all_finite

from ..training.data.rows import is_partitioned
from ._data import CheckedRows, check_length, checked, refuse_dates
from ._numbers import NumericTargets, as_numbers, numeric_output, refuse_sparse
from ._partitioned import Partitions
from ._weights import check_weights

_OUTPUT_OF_LOSS = {"squared_error": "square", "poisson": "poisson"}


class NumberTrainingMixin:
    """Checks of rows and numbers before a fit."""

    def _checked_rows(self, X, y, sample_weight, reset):
        refuse_sparse(y)
        if is_partitioned(X):
            rows = Partitions(self, X, y, sample_weight, reset, numeric=True)
            return rows, rows.examples
        refuse_dates(y, "y")
        X, y = checked(self, X, y, multi_output=True, y_numeric=True, reset=reset)
        # scikit-learn checks objects before they become numbers, and None becomes NaN.
        assert_all_finite(y, input_name="y")
        return CheckedRows(X, y, check_weights(sample_weight, X)), y

    def _learn_targets(self, y, weight):
        shape = y.shape[1:]
        return NumericTargets(shape, self._choose_output(shape[0] if shape else 1))

    def _check_known_data(self, X, y, sample_weight):
        X, weight = self._check_X(X), check_weights(sample_weight, X)
        if y is not None:
            y = as_numbers(y)
            check_length(X, y)
            if not np.isfinite(y).all():
                raise ValueError("y contains NaN or infinity.")
            y = self._targets(X, y, weight).target
        return X, y, weight

    def _choose_output(self, n_targets):
        name, own = self.output, _OUTPUT_OF_LOSS[vars(self)["loss"]]
        if isinstance(name, str) and name == "auto":
            name = own
        elif isinstance(name, str) and own == "poisson" != name:
            raise ValueError(
                f"loss='poisson' and output={name!r} contradict each other: set only one of them."
            )
        return numeric_output(name, self.output_activation, n_targets)

"""What a regressor is trained on: rows with their numbers, and the output that reads these."""

import numpy as np
from scipy import sparse

from ..training.data.rows import is_partitioned
from ._data import check_length, checked, refuse_dates
from ._numbers import MeanR2, NumericTargets, as_numbers, numeric_output
from ._partitioned import Partitions
from ._weights import check_weights

_OUTPUT_OF_LOSS = {"squared_error": "square", "poisson": "poisson"}


class NumberTrainingMixin:
    """Checks of rows and numbers before a fit, and the score of held-out ones."""

    def _check_training_data(self, X, y, sample_weight, reset):
        if sparse.issparse(y):
            raise ValueError("Sparse targets are not supported: pass y.toarray().")
        parts = None
        if is_partitioned(X):
            parts = Partitions(self, X, y, sample_weight, reset, numeric=True)
            dtype, y = parts.dtype, parts.targets
        else:
            refuse_dates(y, "y")
            X, y = checked(self, X, y, multi_output=True, y_numeric=True, reset=reset)
            dtype, weight = X.dtype, check_weights(sample_weight, X)
        if reset:
            self._dtype = dtype
            self._one_target = y.ndim == 1
            self._n_targets = 1 if y.ndim == 1 else y.shape[1]
            self._output = self._choose_output()
        encode = NumericTargets(self._n_targets, self._output)
        if parts is None:
            return encode(X, y, weight), y
        return parts.encoded(encode, "numbers"), y

    def _check_known_data(self, X, y, sample_weight):
        X, weight = self._check_X(X), check_weights(sample_weight, X)
        if y is not None:
            y = as_numbers(y)
            check_length(X, y)
            if not np.isfinite(y).all():
                raise ValueError("y contains NaN or infinity.")
            y = NumericTargets(self._n_targets, self._output)(X, y, weight).target
        return X, y, weight

    def _choose_output(self):
        name, own = self.output, _OUTPUT_OF_LOSS[vars(self)["loss"]]
        if isinstance(name, str) and name == "auto":
            name = own
        elif isinstance(name, str) and own == "poisson" != name:
            raise ValueError(
                f"loss='poisson' and output={name!r} contradict each other: set only one of them."
            )
        return numeric_output(name, self.output_activation, self._n_targets)

    def _n_output_units(self):
        return self._n_targets

    def _scorer(self, held_out):
        return MeanR2.on(held_out)

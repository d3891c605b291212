"""What a classifier is trained on: rows with their classes, and the output that reads these."""

import numpy as np
from sklearn.utils.validation import column_or_1d

from ..outputs import get_output
from ..training.data.rows import is_partitioned
from ._data import check_length, checked
from ._labels import (
    ClassTargets,
    Labels,
    checked_classes,
    checked_labels,
    dense_labels,
    exact,
)
from ._partitioned import Partitions
from ._weights import check_weights


class ClassTrainingMixin:
    """Checks of rows and classes before a fit, and the score of held-out ones."""

    def _learn_classes(self, y, classes):
        """The classes of a stream, from its first call."""
        if self.__sklearn_is_fitted__():
            known = self._labels.all
            if classes is not None and not np.array_equal(checked_classes(classes), known):
                raise ValueError(
                    f"classes={classes!r} differ from those of the first call: {known}."
                )
            return
        self._labels = Labels.of_stream(y, classes)
        self.classes_ = self._labels.all

    def _check_training_data(self, X, y, sample_weight, reset, named=None):
        if named is not None:
            self._learn_classes(y, *named)
        parts = None
        if is_partitioned(X):
            parts = Partitions(self, X, y, sample_weight, reset, numeric=False)
            dtype, y, weight = parts.dtype, parts.targets, None
            if self.class_weight == "balanced":
                raise ValueError(
                    "class_weight='balanced' needs all targets at once, and these lie on workers: "
                    "give a dict of weights."
                )
        else:
            X, y = checked(self, X, exact(y), multi_output=True, reset=reset)
            dtype, weight = X.dtype, check_weights(sample_weight, X)
        y = checked_labels(y)
        if reset:
            self._dtype = dtype
            if named is None and not self._keeps_classes(y):
                self._labels = Labels.of(y)
                self.classes_ = self._labels.all
            self._output = self._choose_output()
        self._labels.check_class_weight(self.class_weight)
        if reset or self.class_weight != "balanced":
            self._class_weights = self._labels.class_weights(self.class_weight, y, weight)
        encode = ClassTargets(self._labels, self._output.discrete, self._class_weights)
        if parts is None:
            return encode(X, y, weight), y
        return parts.encoded(encode, "classes" if self._output.discrete else "numbers"), y

    def _check_known_data(self, X, y, sample_weight):
        X = self._check_X(X)
        target = None
        if y is not None:
            y = dense_labels(y)
            y = column_or_1d(y) if y.ndim == 2 and y.shape[1] == 1 else y
            check_length(X, y)
            target = self._labels.encode(y, self._output.discrete)
        return X, target, check_weights(sample_weight, X)

    def _keeps_classes(self, y):
        if not (self.warm_start and hasattr(self, "_parameters")):
            return False
        if Labels.of(y) != self._labels:
            raise ValueError(
                "warm_start can only be used where `y` has the same classes as in the previous "
                f"call to fit: {self._labels.all}."
            )
        return True

    def _choose_output(self):
        name = self.output
        if isinstance(name, str) and name == "auto":
            binary = self._labels.n_columns == 1
            name = "bernoulli" if binary or not self._labels.single else "softmax"
        output = get_output(name, self.output_activation, self._labels.n_columns)
        if output.discrete and not self._labels.single:
            raise ValueError(
                f"output={output.name!r} reads one class a sample and is not compatible with "
                "multilabel targets: use 'bernoulli'."
            )
        return output

    def _n_output_units(self):
        if self._output.discrete:
            return len(self._labels.all)
        return self._labels.n_columns

    def _stratify(self, y):
        return y if self._labels.single else None

    def _scorer(self, held_out):
        return self._accuracy

    def _accuracy(self, output, v, target, weight):
        logits = output.logits(v).T
        if not self._labels.single:
            hits = (self._labels.decode(logits).T == target).all(axis=0)
        else:
            number = target if output.discrete else _class_number(target)
            hits = self._labels.numbers(logits) == number
        return float(np.average(hits, weights=weight))


def _class_number(indicator):
    """Which class a 0/1 target of one or several rows stands for."""
    return indicator[0].astype(int) if len(indicator) == 1 else indicator.argmax(axis=0)

"""What a classifier is trained on: rows with their classes, and the output that reads these."""

import numpy as np
from sklearn.utils.validation import check_is_fitted, column_or_1d

from ..outputs import get_output
from ..training.data.rows import is_partitioned
from ._class_targets import ClassTargets
from ._data import CheckedRows, check_length, checked
from ._labels import Labels, checked_classes, checked_labels, dense_labels, exact
from ._partitioned import Partitions
from ._weights import check_weights


class ClassTrainingMixin:
    """Checks of rows and classes before a fit."""

    @property
    def classes_(self):
        """The class labels in order; for multilabel targets the numbers of the labels."""
        check_is_fitted(self)
        return self._targets.labels.all

    def _checked_rows(self, X, y, sample_weight, reset):
        if is_partitioned(X):
            rows = Partitions(self, X, y, sample_weight, reset, numeric=False)
            if self.class_weight == "balanced":
                raise ValueError(
                    "class_weight='balanced' needs all targets at once, and these lie on workers: "
                    "give a dict of weights."
                )
            return rows, checked_labels(rows.examples)
        X, y = checked(self, X, exact(y), multi_output=True, reset=reset)
        weight = check_weights(sample_weight, X)
        y = checked_labels(y)
        return CheckedRows(X, y, weight), y

    def _learn_targets(self, y, weight):
        labels = Labels.of(y)
        if self.warm_start and self.__sklearn_is_fitted__() and labels != self._targets.labels:
            raise ValueError(
                "warm_start can only be used where `y` has the same classes as in the previous "
                f"call to fit: {self.classes_}."
            )
        return self._class_targets(labels, y, weight)

    def _targets_of_stream(self, y, classes):
        if not self.__sklearn_is_fitted__():
            return self._class_targets(Labels.of_stream(y, classes), y, None)
        if classes is not None and not np.array_equal(checked_classes(classes), self.classes_):
            raise ValueError(
                f"classes={classes!r} differ from those of the first call: {self.classes_}."
            )
        return self._class_targets(self._targets.labels, y, None)

    def _class_targets(self, labels, y, weight):
        output = self._choose_output(labels)
        labels.check_class_weight(self.class_weight)
        return ClassTargets(labels, output, labels.class_weights(self.class_weight, y, weight))

    def _check_known_data(self, X, y, sample_weight):
        X = self._check_X(X)
        target = None
        if y is not None:
            y = dense_labels(y)
            y = column_or_1d(y) if y.ndim == 2 and y.shape[1] == 1 else y
            check_length(X, y)
            target = self._targets.labels.encode(y, self._targets.output.discrete)
        return X, target, check_weights(sample_weight, X)

    def _choose_output(self, labels):
        name = self.output
        if isinstance(name, str) and name == "auto":
            binary = labels.n_columns == 1
            name = "bernoulli" if binary or not labels.single else "softmax"
        output = get_output(name, self.output_activation, labels.n_columns)
        if output.discrete and not labels.single:
            raise ValueError(
                f"output={output.name!r} reads one class a sample and is not compatible with "
                "multilabel targets: use 'bernoulli'."
            )
        return output

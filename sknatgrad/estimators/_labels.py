"""Class labels as numbers, and back."""

from dataclasses import dataclass
from numbers import Real

import numpy as np
from scipy import sparse
from scipy.special import log_softmax
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import assert_all_finite, column_or_1d

from ..numerics.arithmetic import safe_divide


def dense_labels(y):
    """Targets as an ndarray, an indicator matrix if they are sparse."""
    return y.toarray() if sparse.issparse(y) else np.asarray(y)


def exact(y):
    """Nullable integers and truth values of pandas as NumPy's, where no value is missing.

    scikit-learn makes floats of them, in which large ones are the same.
    """
    plain = np.asarray(y) if hasattr(y, "isna") else None
    return y if plain is None or plain.dtype.kind not in "biu" else plain


def checked_labels(y):
    """Targets of a classifier, (n_samples,) or an indicator matrix, dense.

    Raises
    ------
    ValueError
        If they are not classes, or several columns of more than two classes.

    Warns
    -----
    DataConversionWarning
        If one column stands for a vector.
    """
    refuse_mixture(y, "y")
    check_classification_targets(y)
    y = dense_labels(y)
    y = column_or_1d(y, warn=True) if y.ndim == 2 and y.shape[1] == 1 else y
    if y.ndim == 2 and type_of_target(y) == "multiclass-multioutput":
        raise ValueError(
            "y has several columns of more than two classes: fit one classifier a column, e.g. "
            "with sklearn.multioutput.MultiOutputClassifier."
        )
    return y


def checked_classes(classes):
    """Class labels in order, each once; a ValueError if they are none."""
    classes = column_or_1d(exact(classes))
    assert_all_finite(classes, input_name="classes")
    refuse_mixture(classes, "classes")
    check_classification_targets(classes)
    return np.unique(classes)


def refuse_mixture(labels, name):
    """Raise ValueError if an array holds strings and labels that are none."""
    labels = np.asarray(labels)
    if labels.dtype.kind == "O" and len({isinstance(label, str) for label in labels.flat}) > 1:
        raise ValueError(
            f"{name} must not mix strings with other labels, as they have no order: pass "
            f"{name}.astype(str)."
        )


@dataclass(frozen=True, eq=False)
class Labels:
    """The classes of a classification problem.

    Attributes
    ----------
    all : ndarray
        Sorted class labels; for multilabel targets the numbers of the labels.
    single : bool
        One class a sample, not a 0/1 matrix of labels.
    """

    all: np.ndarray
    single: bool

    @classmethod
    def of(cls, y):
        """The labels that occur in y, (n_samples,) or an indicator matrix."""
        if y.ndim == 2:
            return cls(np.arange(y.shape[1]), False)
        return cls(np.unique(y), True)

    @classmethod
    def of_stream(cls, y, classes):
        """The labels of a stream: those that are named at its first call, with targets y.

        Raises
        ------
        ValueError
            If `classes` are missing or no classes.
        """
        if type_of_target(y).startswith("multilabel"):
            return cls.of(dense_labels(y))
        if classes is None:
            raise ValueError("classes must be passed on the first call to partial_fit.")
        return cls(checked_classes(classes), True)

    def __eq__(self, other):
        return self.single == other.single and np.array_equal(self.all, other.all)

    @property
    def n_columns(self):
        """Output units for outputs that are not over classes."""
        return 1 if self.single and len(self.all) == 2 else len(self.all)

    def encode(self, y, discrete):
        """Class numbers, or 0/1 values (n_columns, n_samples).

        Raises
        ------
        ValueError
            If y holds an unknown class, or is no indicator matrix of as many labels.
        """
        if not self.single:
            if y.ndim != 2 or y.shape[1] != len(self.all):
                raise ValueError(f"y must be an indicator matrix with {len(self.all)} columns.")
            if not np.isin(y, (0, 1)).all():
                raise ValueError(
                    "y with several columns must be an indicator matrix of 0 and 1: pass "
                    "(y == value).astype(int), value being what stands for a label that applies."
                )
            return np.ascontiguousarray(y.T, dtype=float)
        if y.ndim != 1:
            raise ValueError("y must be one-dimensional: one class a sample.")
        try:
            number = np.searchsorted(self.all, y)
        except TypeError:
            raise ValueError(
                f"y holds labels of another type than the classes: pass some of {self.all}."
            ) from None
        known = self.all[np.minimum(number, len(self.all) - 1)] == y
        if not np.all(known):
            unknown = np.unique(y[~known])
            raise ValueError(f"y holds classes {unknown} that are not among {self.all}.")
        if discrete:
            return number
        if self.n_columns == 1:
            return (number == 1).astype(float)[None]
        return (number == np.arange(len(self.all))[:, None]).astype(float)

    def check_class_weight(self, class_weight):
        """See that the weights can be used, before work starts.

        Raises
        ------
        ValueError
            If samples have several labels, if a weight is negative or not finite, all are
            zero, or some speak of classes that there are not while others are left out.
        """
        if class_weight is None:
            return
        if not self.single:
            raise ValueError(
                "class_weight is for one class a sample and can't be used with multilabel targets: "
                "pass sample_weight."
            )
        if class_weight == "balanced":
            return
        weights = self._named_weights(class_weight)
        if not (np.isfinite(weights).all() and (weights >= 0).all() and weights.any()):
            raise ValueError(
                "class_weight must hold finite weights that are not negative, nor all zero."
            )
        labels = set(self.all)
        unknown, left_out = set(class_weight) - labels, labels - set(class_weight)
        if unknown and left_out:
            raise ValueError(
                f"class_weight names {unknown}, which are no classes of y; these are "
                f"{self.all.tolist()}."
            )

    def _named_weights(self, class_weight):
        weights = [class_weight.get(label, 1.0) for label in self.all]
        if not all(isinstance(weight, Real) for weight in weights):
            raise ValueError(f"class_weight must hold numbers, got {class_weight!r}.")
        return np.array(weights, dtype=float)

    def class_weights(self, class_weight, y, sample_weight):
        """What the classes weigh, (n_classes,); those not named 1. None without.

        "balanced" gives each class of the rows y the same total weight.
        """
        if class_weight is None:
            return None
        if class_weight != "balanced":
            return self._named_weights(class_weight)
        number, n_classes = self.encode(y, discrete=True), len(self.all)
        totals = np.bincount(number, sample_weight, minlength=n_classes).astype(float)
        return safe_divide(totals.sum() / np.count_nonzero(totals), totals)

    def probabilities(self, mean):
        """Expected targets (n_samples, n_units) as class probabilities."""
        mean = np.clip(mean, 0.0, 1.0)
        if not self.single:
            return mean
        if mean.shape[1] == 1 and len(self.all) == 2:
            return np.hstack([1 - mean, mean])
        total = mean.sum(axis=1, keepdims=True)
        even = np.full_like(mean, 1 / mean.shape[1])
        return np.divide(mean, total, out=even, where=total != 0)

    def log_probabilities(self, log_mean, log_complement, discrete):
        """The logarithm of `probabilities`, (n_classes, n_samples).

        Of logarithms of the expected targets and of their complements to 1, both
        (n_units, n_samples).
        """
        if discrete or not self.single:
            return log_mean
        if len(self.all) == 2:
            return np.vstack([log_complement, log_mean])
        return log_softmax(log_mean, axis=0)

    def decode(self, logits):
        """Predicted labels, from logits (n_samples, n_units).

        Means tie where they round to 0 or 1, logits do not.
        """
        if not self.single:
            return (logits > 0).astype(int)
        return self.all[self.numbers(logits)]

    def numbers(self, logits):
        """Which class is predicted, of one a sample, (n_samples,)."""
        if logits.shape[1] == 1 and len(self.all) == 2:
            return (logits[:, 0] > 0).astype(int)
        return logits.argmax(axis=1)

"""Classes as targets of a network, and how held-out ones are scored."""

from dataclasses import dataclass

import numpy as np

from ..outputs import Output
from ..training.data.dataset import Data
from ._labels import Labels
from ._weights import times_class_weight


@dataclass(frozen=True, eq=False)
class ClassTargets:
    """Makes `Data` of rows and their classes.

    Attributes
    ----------
    labels : Labels
    output : Output
    class_weight : ndarray of shape (n_classes,) or None
    """

    labels: Labels
    output: Output
    class_weight: np.ndarray | None

    def __call__(self, X, y, weight):
        """The rows X with classes y and sample weights."""
        target = self.labels.encode(y, self.output.discrete)
        if self.class_weight is None:
            return Data(X, target, weight)
        number = target if self.output.discrete else self.labels.encode(y, discrete=True)
        factor = self.class_weight[number]
        counts = np.ones(len(y)) if weight is None else weight
        return Data(X, target, times_class_weight(weight, factor), counts)

    @property
    def kind(self):
        """What targets are, as in `PartitionedData`."""
        return "classes" if self.output.discrete else "numbers"

    @property
    def n_units(self):
        """How many output units they need."""
        return len(self.labels.all) if self.output.discrete else self.labels.n_columns

    def strata(self, y):
        """Classes to keep the proportions of in a validation split, or None."""
        return y if self.labels.single else None

    def scorer(self, held_out):
        """What scores held-out `Data`: the accuracy."""
        return self._accuracy

    def _accuracy(self, output, v, target, weight):
        logits = output.logits(v).T
        if not self.labels.single:
            hits = (self.labels.decode(logits).T == target).all(axis=0)
        else:
            number = target if output.discrete else _class_number(target)
            hits = self.labels.numbers(logits) == number
        return float(np.average(hits, weights=weight))


def _class_number(indicator):
    """Which class a 0/1 target of one or several rows stands for."""
    return indicator[0].astype(int) if len(indicator) == 1 else indicator.argmax(axis=0)

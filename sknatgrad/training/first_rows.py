"""The first rows of a stream, which tell in what units the others are learnt.

One row tells no scale, and two may be near each other by chance. A stream therefore begins
anew with every call, on all rows so far, until there are enough of them: how these are
divided among calls does not matter.
"""

from copy import deepcopy
from dataclasses import dataclass

import numpy as np

from .data.rows import SlicedRows

# Rows whose means and deviations can be relied on.
MIN_ROWS = 20


@dataclass(frozen=True, eq=False)
class FirstRows:
    """Fewer than `MIN_ROWS` rows that a stream has begun with.

    Attributes
    ----------
    data : Data
        In memory.
    rng : RandomState
        As it was before the start was drawn.
    """

    data: object
    rng: np.random.RandomState

    @classmethod
    def of(cls, data, rng):
        """Copies of both, which nobody changes; None if the rows are enough."""
        if are_enough(data):
            return None
        return cls(data.rows(np.arange(data.X.shape[0])).in_memory(), deepcopy(rng))

    def and_next(self, data):
        """These rows and the next ones; the latter alone where they are many, and on disk."""
        if isinstance(data.X, SlicedRows) and are_enough(data):
            return data
        return self.data.joined(data)


def are_enough(data):
    """Whether so many rows have a weight that they tell the units."""
    weighing = data.X.shape[0] if data.weight is None else np.count_nonzero(data.weight)
    return weighing >= MIN_ROWS

"""The first rows of a stream, which tell in what units the others are learnt.

One row tells no scale, and two may be near each other by chance. A stream therefore begins
anew with every call, on all rows so far, until there are enough of them: how these are
divided among calls does not matter.
"""

from copy import deepcopy
from dataclasses import dataclass

import numpy as np

from ..network.moments import weighted_moments

# Rows whose means and deviations can be relied on.
ENOUGH = 20


@dataclass(frozen=True, eq=False)
class FirstRows:
    """Rows that a stream has begun with.

    Attributes
    ----------
    data : Data
        In memory, at most `ENOUGH` rows.
    rng : RandomState
        As it was before the start was drawn.
    """

    data: object
    rng: np.random.RandomState

    @classmethod
    def of(cls, data, rng):
        """Copies of both, which nobody changes."""
        chosen = np.arange(min(data.X.shape[0], ENOUGH))
        return cls(data.rows(chosen).in_memory(), deepcopy(rng))

    @property
    def are_many(self):
        """Whether more rows would tell more, but of targets that did not vary."""
        return self.data.X.shape[0] >= ENOUGH


def tell_units(data, output):
    """Whether rows tell the units: enough of them, and of targets that vary."""
    if data.X.shape[0] < ENOUGH:
        return False
    if not np.all(output.free_scale):
        return True
    return bool((weighted_moments(data.target.T).deviation > 0).any())

"""Units of a level whose incoming links make a stack of equal matrices."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

# One more group costs as much as so many entries of blocks.
_GROUP_PRICE = 1 << 14


@dataclass(frozen=True, eq=False)
class FanInGroup:
    """Units of one level with about equally many incoming links.

    Rows of units with fewer links than `fan_in` end in padding: zeros in all that is
    computed for the group, and no parameters.

    Parameters
    ----------
    units : ndarray of int, shape (n,)
        Numbers among the computed units.
    params : slice or ndarray of int, shape (n, 1 + fan_in)
        Where the units' rows stand in theta, bias first.
    sources : ndarray of int, shape (1, fan_in) or (n, fan_in)
        Incoming units; one row if all units share them.
    padding : ndarray of bool, shape (n, 1 + fan_in), optional
        Which entries are padding; `params` and `sources` hold any valid number there.
    """

    units: np.ndarray
    params: slice | np.ndarray
    sources: np.ndarray
    padding: np.ndarray | None = None

    @property
    def fan_in(self):
        """Largest number of incoming links of a unit, the bias not counted."""
        return self.sources.shape[1]

    @property
    def shared(self):
        """Whether all units listen to the same sources."""
        return len(self.sources) == 1

    @cached_property
    def lengths(self):
        """Parameters of each unit, (n,)."""
        if self.padding is None:
            return np.full(len(self.units), 1 + self.fan_in)
        return (~self.padding).sum(axis=1)

    @cached_property
    def gathered(self):
        """`sources` behind a column that stands for the bias: (1 or n, 1 + fan_in)."""
        return np.concatenate([self.sources[:, :1], self.sources], axis=1)

    @cached_property
    def _filled(self):
        """Entries of the flattened rows that are parameters, and their places in theta."""
        params = np.ravel(self.params)
        if self.padding is None:
            return slice(None), params
        filled = np.flatnonzero(~self.padding)
        return filled, params[filled]

    def take(self, vector):
        """The rows of these units in a vector over theta, (n, 1 + fan_in).

        Further axes of `vector` are kept.
        """
        rows = vector[self.params].reshape(len(self.units), 1 + self.fan_in, *vector.shape[1:])
        return self.pad(rows)

    def put(self, vector, rows):
        """Write rows (n, 1 + fan_in) into a vector over theta."""
        rows = rows.reshape(-1, *vector.shape[1:])
        if isinstance(self.params, slice):
            vector[self.params] = rows
        else:
            filled, params = self._filled
            vector[params] = rows[filled]

    def pad(self, rows):
        """`rows` of shape (n, 1 + fan_in, ...) with the padding set to zero, in place."""
        if self.padding is not None:
            rows[self.padding] = 0.0
        return rows

    def part(self, chosen):
        """The group of some of the units only."""
        if self.shared:
            return self
        padding = None if self.padding is None else self.padding[chosen]
        return FanInGroup(self.units[chosen], self.params[chosen], self.sources[chosen], padding)


def fan_in_groups(level):
    """Few groups of a level's units, a tuple of `FanInGroup`.

    Stacks of equal matrices are cheap to work with, one more stack is not: units whose
    fan-ins differ share a group as long as the padding costs less than another group.
    """
    if level.full:
        units = np.arange(level.units.start, level.units.stop)
        return (FanInGroup(units, level.params, level.sources[None, : level.indptr[1]]),)
    fan_in = np.diff(level.indptr)
    classes, largest, wasted = [], 0, 0
    for d in np.unique(fan_in)[::-1]:
        units = np.flatnonzero(fan_in == d)
        wasted += len(units) * ((1 + largest) ** 2 - (1 + d) ** 2)
        if not classes or wasted > _GROUP_PRICE:
            classes.append([])
            largest, wasted = d, 0
        classes[-1].append(units)
    return tuple(_group(level, np.sort(np.concatenate(units))) for units in reversed(classes))


def _group(level, units):
    first, fan_in = level.indptr[units], np.diff(level.indptr)[units]
    place = np.arange(1 + fan_in.max())
    padding = place > fan_in[:, None]
    params = level.bias[units][:, None] + np.where(padding, 0, place)
    links = first[:, None] + place[:-1]
    links[padding[:, 1:]] = first[fan_in.argmax()]
    sources = level.sources[links]
    return FanInGroup(
        level.units.start + units, params, sources, padding if padding.any() else None
    )

"""Units whose incoming links make a stack of equal matrices."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

# One more group costs as much as so many entries of blocks.
_GROUP_PRICE = 1 << 14


@dataclass(frozen=True, eq=False)
class FanInGroup:
    """Units with about equally many incoming links.

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
        place = np.zeros((len(self.sources), 1), int) if not self.fan_in else self.sources[:, :1]
        return np.concatenate([place, self.sources], axis=1)

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


def fan_in_groups(topology):
    """Few groups of all units, a tuple of `FanInGroup`.

    Stacks of equal matrices are cheap to work with, one more stack is not: units whose
    fan-ins differ share a group as long as the padding costs less than another group.
    Full levels have a group each, where units share their sources.
    """
    full = np.zeros(topology.n_units, dtype=bool)
    groups = []
    for level in topology.levels:
        if level.shares_sources:
            full[level.units] = True
            sources = level.sources[None, : level.indptr[1]]
            units = np.arange(level.units.start, level.units.stop)
            groups.append(FanInGroup(units, level.params, sources))
    fan_in = topology.fan_in()
    classes, largest, wasted = [], 0, 0
    for d in np.unique(fan_in[~full])[::-1]:
        units = np.flatnonzero(~full & (fan_in == d))
        wasted += len(units) * ((1 + largest) ** 2 - (1 + d) ** 2)
        if not classes or wasted > _GROUP_PRICE:
            classes.append([])
            largest, wasted = d, 0
        classes[-1].append(units)
    groups += [_padded(topology, np.sort(np.concatenate(units))) for units in reversed(classes)]
    return tuple(groups)


def _padded(topology, units):
    length = topology.lengths[units]
    # Long rows first: loops over units can then end where only padding is left.
    order = np.argsort(-length, kind="stable")
    units, length = units[order], length[order]
    start = topology.row_starts[units]
    place = np.arange(length.max())
    padding = place >= length[:, None]
    params = start[:, None] + np.where(padding, 0, place)
    # In the place of padding stands the unit's own first source; it is not read.
    own = np.where(length > 1, topology.source[params[:, min(1, length.max() - 1)]], 0)
    sources = np.where(padding[:, 1:], own[:, None], topology.source[params[:, 1:]])
    return FanInGroup(units, params, sources, padding if padding.any() else None)

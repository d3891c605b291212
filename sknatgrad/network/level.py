"""Units of a network that may be computed at once."""

import numpy as np

from .links import FullLinks, ParallelLinks, make_links


class Level:
    """Units that may be computed at once, all outputs or all hidden.

    Parameters
    ----------
    n_inputs : int
    first_unit, first_param : int
        Where the level starts among the computed units and in theta.
    indptr : ndarray of int, shape (n_units + 1,)
        Links (biases not counted) of the level's units.
    sources : ndarray of int, shape (n_links,)
        Incoming unit of each link, increasing within a unit; repeated for parallel
        links.

    Attributes
    ----------
    shares_sources : bool
        Whether all units listen to the same sources, so that weights are a matrix.
    """

    def __init__(self, n_inputs, first_unit, first_param, indptr, sources):
        n_units = len(indptr) - 1
        self.n_inputs, self.indptr = n_inputs, indptr
        self.units = slice(first_unit, first_unit + n_units)
        self.params = slice(first_param, first_param + n_units + len(sources))
        self.bias = first_param + indptr[:-1] + np.arange(n_units)
        fan_in = np.diff(indptr)
        repeats = (np.diff(sources) == 0) & (np.diff(self.owner) == 0)
        self.has_parallel_links = bool(repeats.any())
        rows = sources.reshape(n_units, -1) if (fan_in == fan_in[0]).all() else None
        alike = rows is not None and bool((rows == rows[:1]).all())
        self.shares_sources = alike and not self.has_parallel_links
        # Once for all units: a list of all links is as large as the weights.
        self._sources = rows[0].copy() if self.shares_sources else sources
        self.links = tuple(self._links())
        self._layouts = {}

    @property
    def n_units(self):
        """Number of units in the level."""
        return self.units.stop - self.units.start

    @property
    def sources(self):
        """Incoming unit of each link, (n_links,)."""
        return np.tile(self._sources, self.n_units) if self.shares_sources else self._sources

    @property
    def owner(self):
        """The unit that each link enters, counted within the level: (n_links,)."""
        return np.repeat(np.arange(self.n_units), np.diff(self.indptr))

    @property
    def link_params(self):
        """Position of each link in theta, (n_links,)."""
        owner = self.owner
        return self.params.start + np.arange(len(owner)) + owner + 1

    def layouts(self, kernels):
        """`links` in the layouts that serve kernels of that name."""
        if kernels not in self._layouts:
            self._layouts[kernels] = tuple(links.for_kernels(kernels) for links in self.links)
        return self._layouts[kernels]

    def __getstate__(self):
        return {**vars(self), "_layouts": {}}

    def _links(self):
        """The links from the inputs and those from other units, where there are any."""
        inputs_of = self.sources < self.n_inputs
        for from_inputs, chosen in ((True, inputs_of), (False, ~inputs_of)):
            if chosen.any():
                shift = 0 if from_inputs else self.n_inputs
                links = self._layout(chosen, shift)
                links.from_inputs = from_inputs
                yield links

    def _layout(self, chosen, shift):
        if self.shares_sources:
            columns = np.flatnonzero(chosen[: self.indptr[1]])
            rows = self.sources[columns] - shift
            consecutive = rows[-1] - rows[0] + 1 == len(rows)
            return FullLinks(
                self.n_units,
                self.params,
                slice(int(columns[0]) + 1, int(columns[-1]) + 2),
                slice(int(rows[0]), int(rows[-1]) + 1) if consecutive else rows,
            )
        params, targets = self.link_params[chosen], self.owner[chosen]
        rows = self.sources[chosen] - shift
        if not self.has_parallel_links:
            return make_links(self.n_units, params, targets, rows)
        first, last = int(rows.min()), int(rows.max())
        shape = (self.n_units, last + 1 - first)
        return ParallelLinks(shape, params, targets, rows - first, slice(first, last + 1))


def next_level(n_inputs, levels, indptr, sources):
    """The `Level` that follows the given ones."""
    unit, param = (levels[-1].units.stop, levels[-1].params.stop) if levels else (0, 0)
    return Level(n_inputs, unit, param, indptr, sources)


def mark_overwriting(levels):
    """Say which links of all levels are the first to carry values back to their sources.

    Those overwrite what is there; the units that no such link reaches are returned and must
    start from zero.
    """
    reached = np.zeros(levels[-1].units.stop, dtype=bool)
    overwritten = np.zeros_like(reached)
    for level in reversed(levels):
        for links in level.links:
            if not links.from_inputs:
                links.overwrites = not reached[links.rows].any()
                reached[links.rows] = True
                overwritten[links.rows] |= links.overwrites
    return np.flatnonzero(~overwritten)

"""Which unit listens to which: immutable directed acyclic graphs of units.

Numbering. Sources are numbered inputs first (0 .. n_inputs - 1), then the
computed units in topological order; computed unit k is source n_inputs + k.

Parameters. theta is one flat vector, unit by unit in topological order; each
unit's row holds its bias, then the weights of its incoming links by increasing
source. So the parameters of a level are one slice, and where all units of a
level listen to the same sources, that slice is a matrix.
"""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from .fan_in import fan_in_groups
from .graph import from_adjacency
from .layers import full_layers, is_matrix, layer_levels, masked_layers, random_layers
from .level import mark_overwriting


@dataclass(frozen=True, eq=False)
class Topology:
    """A directed acyclic graph of units, inputs first.

    Use a constructor: `layered`, `random_links` or `from_sparse`.

    Parameters
    ----------
    n_inputs : int
        Number of input units.
    levels : tuple of Level
        The computed units in topological order.
    outputs : ndarray of int, shape (n_outputs,)
        The output units, numbers among the computed units. An output unit may
        feed other units as well.
    layer_sizes : tuple of int or None
        Sizes of all layers, inputs first, if each level listens to the one
        before it only.
    order : ndarray of int, shape (n_units,)
        For a graph given by the user: which unit of that graph each computed
        unit is.

    Attributes
    ----------
    cleared : ndarray of int
        The units whose values start from 0 on the way back: no link overwrites them.
    """

    n_inputs: int
    levels: tuple
    outputs: np.ndarray
    layer_sizes: tuple | None = None
    order: np.ndarray | None = None
    cleared: np.ndarray = field(init=False, repr=False)

    def __post_init__(self):
        object.__setattr__(self, "cleared", mark_overwriting(self.levels))

    # ------------------------------------------------------------ constructors
    @classmethod
    def layered(cls, sizes):
        """Fully connected layers.

        Parameters
        ----------
        sizes : sequence of int
            Layer sizes, inputs first.

        Returns
        -------
        Topology

        Raises
        ------
        ValueError
            If there are fewer than two sizes, or one is below 1.
        """
        return cls._from_layers(*full_layers(sizes))

    @classmethod
    def random_links(
        cls, sizes, n_links, by="target", replace=False, random_state=None, merge=True
    ):
        """Layers joined by random links.

        Parameters
        ----------
        sizes : sequence of int
            Layer sizes, inputs first.
        n_links : int or sequence of int
            Links of each unit, for all pairs of layers or one for each.
        by : {"target", "source"} or sequence of them
            Whether each target unit draws its sources, or each source unit its
            targets (so that fan-ins differ).
        replace : bool
            Draw with replacement.
        random_state : int, RandomState instance or None
        merge : bool
            Make one link of repeated ones. False keeps them as parallel links, each
            with a weight of its own.

        Returns
        -------
        Topology

        Raises
        ------
        ValueError
            If a size or a number of links is below 1, or they do not fit together.
        """
        return cls._from_layers(*random_layers(sizes, n_links, by, replace, random_state, merge))

    @classmethod
    def from_sparse(cls, links, n_inputs=None, outputs=None):
        """The graph of given sparse matrices.

        Parameters
        ----------
        links : sequence of matrices, or one square matrix
            A sequence holds one mask (n_in, n_out) a pair of consecutive layers;
            a square matrix is an adjacency matrix whose entry [i, k] says that
            unit i feeds unit k. Non-zero entries are links.
        n_inputs : int, optional
            For an adjacency matrix: its first `n_inputs` units are the inputs
            (by default the leading units that nothing feeds).
        outputs : sequence of int, optional
            For an adjacency matrix: the output units (by default those that feed
            no other).

        Returns
        -------
        Topology

        Raises
        ------
        ValueError
            If shapes do not fit together or the graph has a cycle.
        """
        if isinstance(links, list | tuple):
            if not is_matrix(links):
                return cls._from_layers(*masked_layers(links))
            links = np.asarray(links)
        n_inputs, levels, outputs, order = from_adjacency(links, n_inputs, outputs)
        return cls(n_inputs, levels, outputs, order=order)

    @classmethod
    def _from_layers(cls, sizes, tables):
        levels = layer_levels(sizes, tables)
        outputs = np.arange(levels[-1].units.start, levels[-1].units.stop)
        return cls(sizes[0], levels, outputs, layer_sizes=tuple(sizes))

    # -------------------------------------------------------------- structure
    @cached_property
    def n_units(self):
        """Number of computed units."""
        return self.levels[-1].units.stop

    @cached_property
    def n_parameters(self):
        """Length of theta: links and biases."""
        return self.levels[-1].params.stop

    @property
    def n_outputs(self):
        """Number of output units."""
        return len(self.outputs)

    @property
    def has_parallel_links(self):
        """Whether some unit has two links from the same source."""
        return any(level.has_parallel_links for level in self.levels)

    @cached_property
    def outputs_feed_units(self):
        """Whether some output unit is also the source of a link."""
        return bool(np.isin(self.source, self.n_inputs + self.outputs).any())

    @cached_property
    def outputs_are_last(self):
        """Whether the outputs are the last level, and no other, and feed no unit."""
        return all(outputs is None for outputs in self.level_outputs[:-1])

    @property
    def n_hidden_levels(self):
        """Number of levels that are not outputs."""
        return sum(outputs is None for outputs in self.level_outputs)

    @cached_property
    def groups(self):
        """All units by fan-in, a tuple of `FanInGroup`; full levels have one each."""
        return fan_in_groups(self)

    @cached_property
    def largest_fan_in(self):
        """Links into the unit that has most of them."""
        return max(group.fan_in for group in self.groups)

    @cached_property
    def grouped_position(self):
        """Where each unit stands in the concatenation of all groups, (n_units,)."""
        return np.argsort(np.concatenate([group.units for group in self.groups]))

    @cached_property
    def bias(self):
        """Position of each unit's bias in theta, (n_units,)."""
        return np.concatenate([level.bias for level in self.levels])

    @cached_property
    def row_starts(self):
        """Where each unit's row starts in theta, and the length of theta: (n_units + 1,)."""
        return np.append(self.bias, self.n_parameters)

    @cached_property
    def lengths(self):
        """How many parameters each unit has, its bias and its links: (n_units,)."""
        return np.diff(self.row_starts)

    @cached_property
    def is_output(self):
        """Which computed units are outputs, (n_units,) of bool."""
        return self.output_number >= 0

    @cached_property
    def output_number(self):
        """Which output each computed unit is, -1 for hidden units: (n_units,) of int."""
        numbers = np.full(self.n_units, -1)
        numbers[self.outputs] = np.arange(self.n_outputs)
        return numbers

    @cached_property
    def is_weight(self):
        """Which parameters are weights, not biases: (n_parameters,) of bool."""
        mask = np.ones(self.n_parameters, dtype=bool)
        mask[self.bias] = False
        return mask

    @cached_property
    def owner(self):
        """The computed unit that each parameter enters, (n_parameters,)."""
        return np.repeat(np.arange(self.n_units), self.lengths)

    @property
    def own_bias(self):
        """Where in theta the bias of each parameter's unit stands, (n_parameters,)."""
        return self.bias[self.owner]

    @cached_property
    def source(self):
        """The source of each parameter, -1 for biases: (n_parameters,) of int."""
        sources = np.full(self.n_parameters, -1)
        for level in self.levels:
            sources[level.link_params] = level.sources
        return sources

    @cached_property
    def level_outputs(self):
        """For each level: which outputs its units are, or None for hidden units."""
        parts = [self.output_number[level.units] for level in self.levels]
        return tuple(part if part[0] >= 0 else None for part in parts)

    def fan_in(self, counted=None):
        """Links into each unit, (n_units,); from inputs only those that are `counted`."""
        if counted is None:
            return self.lengths - 1
        counts = self.by_source(counted, 1.0)[self.source]
        return np.bincount(self.owner, counts, self.n_units)

    def by_source(self, inputs, units, constant=0.0):
        """One number a source, (n_inputs + n_units + 1,): an array each, or one for all.

        The last is of the constant 1, source -1, that of the biases.
        """
        numbers = np.empty(self.n_inputs + self.n_units + 1)
        numbers[: self.n_inputs], numbers[self.n_inputs : -1] = inputs, units
        numbers[-1] = constant
        return numbers

    def __getstate__(self):
        # What is computed from the links is several times as large as the parameters.
        return {
            name: value
            for name, value in vars(self).items()
            if not isinstance(getattr(Topology, name, None), cached_property)
        }

    def row(self, unit):
        """The slice of theta that holds the parameters of one computed unit."""
        return slice(int(self.row_starts[unit]), int(self.row_starts[unit + 1]))

    def __repr__(self):
        shape = "-".join(map(str, self.layer_sizes)) if self.layer_sizes else "graph"
        return (
            f"Topology({shape}: {self.n_inputs} inputs, {self.n_units} units, "
            f"{self.n_parameters} parameters)"
        )

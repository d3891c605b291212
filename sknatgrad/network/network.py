"""A network: a topology, one activation a level, and its forward pass."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .activations import get_activation
from .inputs import as_inputs
from .linearization import Linearization
from .topology import Topology


@dataclass(frozen=True, eq=False)
class Network:
    """Units with activations; parameters are passed in, never stored.

    Parameters
    ----------
    topology : Topology
    activations : tuple of Activation
        One a level.

    Raises
    ------
    ValueError
        If there are not as many activations as levels.
    """

    topology: Topology
    activations: tuple

    def __post_init__(self):
        n_levels = len(self.topology.levels)
        if len(self.activations) != n_levels:
            raise ValueError(
                f"activations has {len(self.activations)} entries, the topology {n_levels} levels: "
                "give one for each."
            )

    @classmethod
    def build(cls, topology, hidden="tanh", output="identity"):
        """A network with given hidden and output activations.

        Parameters
        ----------
        topology : Topology
        hidden : str, Activation, or a sequence of them
            For all hidden levels, or one for each.
        output : str or Activation
            For the output levels.

        Raises
        ------
        ValueError
            If an activation is unknown or their number does not fit.
        """
        n_hidden = topology.n_hidden_levels
        names = list(hidden) if isinstance(hidden, list | tuple) else [hidden] * n_hidden
        if len(names) != n_hidden:
            raise ValueError(
                f"activation has {len(names)} entries, the network has {n_hidden} hidden levels: "
                "give one for all or one for each."
            )
        remaining = iter(names)
        return cls(
            topology,
            tuple(
                get_activation(next(remaining))
                if outputs is None
                else get_activation(output).at(outputs)
                for outputs in topology.level_outputs
            ),
        )

    @cached_property
    def spans(self):
        """The `span` of every source, 0 of inputs and of the constant; see `Topology.by_source`."""
        return self.topology.by_source(0.0, self.by_unit("span"))

    def by_unit(self, name):
        """An attribute of the activation of every unit, (n_units,)."""
        numbers = np.empty(self.topology.n_units)
        for level, activation in zip(self.topology.levels, self.activations, strict=True):
            numbers[level.units] = getattr(activation, name)
        return numbers

    def linearize(self, theta, X, sample_weight=None, empty=np.empty):
        """Forward pass that keeps what the differential needs.

        Parameters
        ----------
        theta : ndarray of shape (n_parameters,)
        X : array, sparse matrix or inputs made by `as_inputs`, (n_samples, n_inputs)
        sample_weight : ndarray of shape (n_samples,), optional
        empty : callable
            Makes uninitialised arrays; see `BufferPool`.

        Returns
        -------
        Linearization
            Costs O(links x samples).

        Raises
        ------
        ValueError
            If theta or X does not have that shape.
        """
        if np.shape(theta) != (self.topology.n_parameters,):
            raise ValueError(
                f"theta must have shape ({self.topology.n_parameters},), got {np.shape(theta)}."
            )
        inputs = as_inputs(X)
        if inputs.values.shape[0] != self.topology.n_inputs:
            raise ValueError(
                f"X has {inputs.values.shape[0]} columns, the network {self.topology.n_inputs} "
                "inputs."
            )
        return Linearization(self, theta, inputs, sample_weight, empty)

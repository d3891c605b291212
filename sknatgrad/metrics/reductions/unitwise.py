"""The unitwise reduction."""

import numpy as np

from ..linalg import centred_factor
from ._base import Reduction
from .plus_kronecker import PlusKronecker
from .recursive import RecursiveInverse

# 4 GB of blocks; beyond that qd and kron are the metrics to use.
LARGEST_BLOCKS = 500_000_000


class Unitwise(Reduction):
    """Keep the block of each unit's incoming parameters.

    Paper: Definitions "Unitwise Fisher matrix" and "Backpropagated metric".
    Invariant under affine reparametrization of units and inputs, and under affine
    recombination of the signals that a unit receives. O(n d^2) a sample to build,
    O(n d^3) to solve.
    """

    prefix = "unitwise"
    factored = True
    recursive = True

    def statistics(self, point, modulus, rng):
        return tuple(point.lin.unit_gram(point.values(modulus, rng)))

    def with_kronecker(self, share, widening=0.0):
        return PlusKronecker(self, share, widening)

    def moments(self, point, widening):
        return tuple(point.lin.unit_gram(widening=widening))

    def mixed(self, topology, statistics, moments, share):
        return tuple(
            blocks + share * blocks[:, :1, :1] * gram
            for blocks, gram in zip(statistics, moments, strict=True)
        )

    @staticmethod
    def _factors(topology, statistics, relative, absolute):
        return [
            centred_factor(blocks, relative, None if absolute is None else group.take(absolute))
            for group, blocks in zip(topology.groups, statistics, strict=True)
        ]

    def recursive_inverse(self, topology, statistics, relative=0.0, absolute=None):
        inverses = []
        for factor in self._factors(topology, statistics, relative, absolute):
            size = factor.size
            identity = np.broadcast_to(np.eye(size), (factor.n_blocks, size, size))
            inverses.append(factor.solve(identity))
        corners = np.concatenate([blocks[:, 0, 0] for blocks in statistics])
        return RecursiveInverse(topology, inverses, corners[topology.grouped_position])

    def factorize(self, topology, statistics, relative=0.0, absolute=None):
        factors = self._factors(topology, statistics, relative, absolute)

        def solve(gradient):
            step = np.empty(topology.n_parameters)
            for group, factor in zip(topology.groups, factors, strict=True):
                group.put(step, factor.solve(group.take(gradient)[:, :, None])[..., 0])
            return step

        return solve

    def block(self, topology, statistics, unit):
        number, index = locate(topology, unit)
        length = topology.groups[number].lengths[index]
        return statistics[number][index, :length, :length]

    def check(self, topology, n_rows):
        size = sum(len(group.units) * (1 + group.fan_in) ** 2 for group in topology.groups)
        if size > LARGEST_BLOCKS:
            raise ValueError(
                f"A unitwise metric of this network needs blocks of {8 * size / 1e9:.1f} GB "
                f"(units x (1 + fan-in)^2). Use its qd or kron form, or sparser connectivity."
            )


def locate(topology, unit):
    """The number of a unit's group, and its place in the group."""
    for number, group in enumerate(topology.groups):
        index = np.flatnonzero(group.units == unit)
        if len(index):
            return number, int(index[0])
    raise ValueError(f"There is no unit {unit}.")

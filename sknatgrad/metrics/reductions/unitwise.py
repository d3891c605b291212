"""The unitwise reduction."""

import numpy as np

from ..linalg import centred_factor
from ..sampled_blocks import IterativeFactor, SampledBlocks, keep_as_samples
from .plus_kronecker import Mixable
from .recursive import RecursiveInverse

# 4 GB of blocks; beyond that qd and kron are the metrics to use.
LARGEST_BLOCKS = 500_000_000


class Unitwise(Mixable):
    """Keep the block of each unit's incoming parameters.

    Paper: Definitions "Unitwise Fisher matrix" and "Backpropagated metric".
    Invariant under affine reparametrization of units and inputs, and under affine
    recombination of the signals that a unit receives. O(n d^2) a sample to build,
    O(n d^3) to solve.

    Where a full layer has a large fan-in its blocks are not formed (`SampledBlocks`);
    then O(n d) a sample and iteration, some ten or twenty to solve, and O(d^3) a layer.

    Parameters
    ----------
    tolerance : float
        Relative error of iterative solves.
    """

    prefix = "unitwise"
    factored = True
    recursive = True
    invariant = True

    def __init__(self, tolerance=1e-10):
        self.tolerance = tolerance

    def inexact(self, tolerance):
        return Unitwise(tolerance)

    def statistics(self, point, modulus, rng):
        lin, values = point.lin, point.values(modulus, rng)
        return tuple(
            SampledBlocks.of(lin, group, values)
            if keep_as_samples(group, lin.n_samples)
            else lin.group_gram(group, values)
            for group in lin.topology.groups
        )

    def condensed(self, statistics):
        return tuple(map(_formed, statistics))

    def moments(self, point, widening):
        return tuple(point.lin.unit_gram(widening=widening))

    def mixed(self, topology, statistics, moments, share):
        return tuple(
            blocks.plus_kronecker(share, gram[0])
            if isinstance(blocks, SampledBlocks)
            else blocks + share * blocks[:, :1, :1] * gram
            for blocks, gram in zip(statistics, moments, strict=True)
        )

    def _factors(self, topology, statistics, relative, absolute):
        for group, blocks in zip(topology.groups, statistics, strict=True):
            own = None if absolute is None else group.take(absolute)
            if isinstance(blocks, SampledBlocks):
                yield IterativeFactor(blocks, relative, own, self.tolerance)
            else:
                yield centred_factor(blocks, relative, own)

    def recursive_inverse(self, topology, statistics, relative=0.0, absolute=None, share=0.0):
        inverses, statistics = [], self.condensed(statistics)
        for factor in self._factors(topology, statistics, relative, absolute):
            size = factor.size
            identity = np.broadcast_to(np.eye(size), (factor.n_blocks, size, size))
            inverses.append(factor.solve(identity))
        corners = np.concatenate([blocks[:, 0, 0] for blocks in statistics])
        # The corner of K is that of A.
        mean = corners[topology.grouped_position] / (1 + share)
        return RecursiveInverse(topology, inverses, mean, share)

    def factorize(self, topology, statistics, relative=0.0, absolute=None):
        factors = list(self._factors(topology, statistics, relative, absolute))

        def solve(gradient):
            step = np.empty(topology.n_parameters)
            for group, factor in zip(topology.groups, factors, strict=True):
                group.put(step, factor.solve(group.take(gradient)[:, :, None])[..., 0])
            return step

        return solve

    def block(self, topology, statistics, unit):
        number, index = locate(topology, unit)
        blocks = statistics[number]
        if isinstance(blocks, SampledBlocks):
            return blocks.formed(slice(index, index + 1))[0]
        length = topology.groups[number].lengths[index]
        return blocks[index, :length, :length]

    def check(self, topology, n_samples, n_seeds, averaged):
        # What is kept as samples still has one matrix, that of the preconditioner.
        check_blocks(
            self.prefix,
            topology,
            lambda group: not averaged and keep_as_samples(group, n_samples),
        )


def check_blocks(form, topology, has_one_matrix):
    """Raise ValueError if blocks of (1 + fan-in)^2 numbers would take too much memory.

    Parameters
    ----------
    form : str
        The `prefix` of the reduction.
    topology : Topology
    has_one_matrix : callable
        Takes a group, says whether its units share one.
    """
    size = sum(
        (1 if has_one_matrix(group) else len(group.units)) * (1 + group.fan_in) ** 2
        for group in topology.groups
    )
    if size > LARGEST_BLOCKS:
        raise ValueError(
            f"A {form} metric of this network needs matrices of {8 * size / 1e9:.1f} GB "
            "((1 + fan-in)^2, one a unit or a full level). Use its qd form, or sparser "
            "connectivity."
        )


def _formed(blocks):
    return blocks.formed() if isinstance(blocks, SampledBlocks) else blocks


def locate(topology, unit):
    """The number of a unit's group, and its place in the group."""
    for number, group in enumerate(topology.groups):
        index = np.flatnonzero(group.units == unit)
        if len(index):
            return number, int(index[0])
    raise ValueError(f"There is no unit {unit}.")

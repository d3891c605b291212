"""The Fisher modulus."""

import numpy as np

from ._base import Modulus, block_length, sum_of_squares


class Fisher(Modulus):
    """``c_k = r_k^2 Phi_k``, Phi_k the Fisher modulus.

    Paper: Definitions "Backpropagation transfer rates" and "Fisher modulus",
    Proposition "Exact Fisher matrix for neural networks". Instead of the transfer
    rates themselves, the columns of a square root of the output's Fisher matrix
    are backpropagated: the sum of their squares is the same number for every
    output. Intrinsic; O(n_outputs) backpropagations a sample.
    """

    name = "fisher"

    def n_seeds(self, n_outputs):
        return n_outputs

    def seeds(self, point, rng):
        n_outputs, step = len(point.v), block_length(point)
        for start in range(0, n_outputs, step):
            yield point.output.fisher_factor(point.distribution, slice(start, start + step))

    def values(self, point, rng):
        topology = point.lin.topology
        if not (point.output.independent and topology.outputs_are_last):
            return super().values(point, rng)
        # The square root is diagonal: each of its columns is a value on one output.
        diagonal = point.output.fisher_diagonal(point.distribution)
        values = np.zeros((topology.n_units, point.lin.n_samples), point.lin.dtype)
        values[topology.outputs] = diagonal
        first, step = topology.levels[-1].units.start, block_length(point)
        root = np.sqrt(diagonal).astype(point.lin.dtype, copy=False)
        for start in range(0, len(diagonal), step):
            pulled = point.lin.pull_each(root, slice(start, start + step))
            values[:first] += sum_of_squares(pulled)
        return values

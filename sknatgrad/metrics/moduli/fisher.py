"""The Fisher modulus."""

from ._base import Modulus, block_length


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
            yield point.output.fisher_factor(point.v, slice(start, start + step))

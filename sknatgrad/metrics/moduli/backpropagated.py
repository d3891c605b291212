"""The backpropagated modulus."""

from ._base import Modulus


class Backpropagated(Modulus):
    """``c_k = r_k^2 m_k``, m_k the backpropagated modulus.

    Paper: Definition "Backpropagated modulus". One backward pass with squared
    weights and slopes, from the diagonal of the output's Fisher matrix. There are
    no seeds, hence no products between units and no full matrix. Intrinsic.
    """

    name = "bp"
    linear = False

    def values(self, point, rng):
        return point.lin.pull_squared(point.output.fisher_diagonal(point.distribution))

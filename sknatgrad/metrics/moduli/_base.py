"""What a modulus must offer."""

import numpy as np

from ...compiled import get_kernels, loops
from ...numerics.contracts import missing

# Numbers that are carried back at once, 32 MB.
_BLOCK_SIZE = 1 << 22


class Modulus:
    """A weight ``c_k(x)`` for each unit and sample.

    Linear moduli only say which values (seeds) to set on the output
    pre-activations: these are carried back by backpropagation, which is linear,
    and c is the sum of their squares.

    Attributes
    ----------
    linear : bool
        Whether c is a sum of squares of backpropagated seeds, so that products
        between different units, hence a full matrix, make sense.
    needs_target : bool
        Whether the true targets enter.
    vanishes_with_residual : bool
        Whether c is 0 on samples that are predicted exactly.
    random : bool
        Whether a second evaluation at the same parameters gives other numbers.
    """

    name = None
    linear = True
    needs_target = False
    vanishes_with_residual = False
    random = False

    @classmethod
    def make(cls, n_mc_samples=1):
        """The modulus, with as many drawn targets a sample if it draws any."""
        return cls()

    def n_seeds(self, n_outputs):
        """Number of backpropagations a sample."""
        return 1

    def seeds(self, point, rng):
        """Yield the seeds, arrays of shape (n_outputs, n_seeds of the block, n_samples)."""
        raise missing(self, "seeds")

    def pulled(self, point, rng):
        """Yield backpropagated seeds, arrays of shape (n_units, n_seeds, n_samples)."""
        for seed in self.seeds(point, rng):
            yield point.lin.pull(seed)

    def completed(self, squares, point):
        """`values`, from the sums of the squares of the pulled seeds; may overwrite them."""
        return squares

    def values(self, point, rng):
        """The numbers c, (n_units, n_samples).

        Parameters
        ----------
        point : LossPoint
        rng : RandomState
            Used by sampled moduli only.
        """
        total = 0.0
        for pulled in self.pulled(point, rng):
            total = total + sum_of_squares(pulled)
        return total


def sum_of_squares(pulled):
    """Sum of the squares of (n_units, n_seeds, n_samples) over the seeds."""
    if pulled.shape[1] == 1:
        return np.square(pulled[:, 0])
    if get_kernels() == "numba":
        return loops().sum_of_squares(pulled)
    return np.einsum("ufn,ufn->un", pulled, pulled)


def block_length(point):
    """How many seeds to carry back at once, so that memory stays bounded."""
    lin = point.lin
    return max(1, _BLOCK_SIZE // (lin.topology.n_units * lin.n_samples))

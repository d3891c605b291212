"""Links of which several may join the same two units."""

from functools import cached_property

import numpy as np

from .kernels import MaskedLinks


class ParallelLinks(MaskedLinks):
    """Links given one by one, repeated ones with a weight each.

    A network with parallel links computes what one with their sums does, but is not
    trained as that one: each link has a gradient and an entry in the metric of its own.
    Takes the same parameters as `MaskedLinks`.
    """

    def weights(self, theta):
        """The weights, which add up where they are used as a matrix."""
        return ParallelWeights(theta[self.params], self._flat, self.shape)


class ParallelWeights:
    """A matrix whose entries are sums over the links that share a place.

    Products of two such matrices are taken link by link: a square is a sum of squares.

    Parameters
    ----------
    values : ndarray of shape (n_links,)
    places : ndarray of int, shape (n_links,)
        In the matrix, row by row.
    shape : tuple of int
    """

    def __init__(self, values, places, shape):
        self._values, self._places, self._shape = values, places, shape

    @cached_property
    def _matrix(self):
        size = self._shape[0] * self._shape[1]
        sums = np.bincount(self._places, self._values, minlength=size)
        return sums.reshape(self._shape)

    def __mul__(self, other):
        return ParallelWeights(self._values * other._values, self._places, self._shape)

    def __matmul__(self, activities):
        return self._matrix @ activities

    @property
    def T(self):
        """The transposed matrix, an ndarray."""
        return self._matrix.T

"""Links of which several may join the same two units."""

from functools import cached_property

import numpy as np

from .listed import MaskedLinks


class ParallelLinks(MaskedLinks):
    """Links given one by one, repeated ones with a weight each.

    A network with parallel links computes what one with their sums does, but is not
    trained as that one: each link has a gradient and an entry in the metric of its own.
    Takes the same parameters as `MaskedLinks`.
    """

    def for_kernels(self, name):
        return self

    def weights(self, theta):
        """The weights, which add up where they are used as a matrix."""
        return ParallelWeights(theta[self.params], self._flat, self.shape)

    def dense(self, weights):
        return weights.matrix

    def forward(self, weights, signals, out, fresh):
        super().forward(weights.matrix, signals, out, fresh)

    def backward(self, weights, values, out, squared):
        matrix = weights.squares if squared else weights.matrix
        super().backward(matrix, values, out, squared=False)


class ParallelWeights:
    """Weights of links, some of which share a place in the matrix.

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
    def matrix(self):
        """Sums of the weights."""
        return self._sums(self._values)

    @property
    def squares(self):
        """Sums of the squared weights."""
        return self._sums(self._values**2)

    def _sums(self, values):
        size = self._shape[0] * self._shape[1]
        return np.bincount(self._places, values, minlength=size).reshape(self._shape)

"""Values that are carried through a network along its links, forwards and back."""

import math

import numpy as np

from .means import SampleMeans


class Transport(SampleMeans):
    """The differential of a network on a batch, whatever its slopes are.

    A subclass sets what they are, and `_matrices`: for each level pairs of links and their
    weights.

    Attributes
    ----------
    v : ndarray of shape (n_units, n_samples)
        Pre-activations of the computed units.
    r, r_squared : ndarray of shape (n_units, n_samples)
        Slopes and their squares.
    """

    @property
    def output_preactivations(self):
        """Pre-activations of the output units, (n_outputs, n_samples)."""
        return self.v[self.topology.outputs]

    def push(self, change):
        """Carry a change of the parameters forward.

        Parameters
        ----------
        change : ndarray of shape (n_parameters,)

        Returns
        -------
        ndarray of shape (n_outputs, n_samples)
            ``sum_i dv_o / dtheta_i change_i`` at the output units: the differential whose
            transpose `pull` is, at two forward passes.
        """
        change = change.astype(self.dtype, copy=False)
        at_v, at_a = (self._empty(self.a.shape, self.dtype) for _ in range(2))
        bias = change[self.topology.bias][:, None]
        for level, matrices in zip(self.topology.levels, self._matrices, strict=True):
            values = at_v[level.units]
            values[...] = bias[level.units]
            for links, weights in matrices:
                signals = self.inputs.values if links.from_inputs else self.a
                links.forward(links.weights(change), signals, values, False)
                if not links.from_inputs:
                    links.forward(weights, at_a, values, False)
            np.multiply(self.r[level.units], values, out=at_a[level.units])
        return at_v[self.topology.outputs]

    def pull(self, seed):
        """Backpropagate values on the output pre-activations.

        Parameters
        ----------
        seed : ndarray of shape (n_outputs, n_samples) or (n_outputs, n_seeds, n_samples)

        Returns
        -------
        ndarray of shape (n_units, n_samples) or (n_units, n_seeds, n_samples)
            ``sum_o seed_o dv_o / dv_k``: the paper's reduced backpropagation
            equation, section "Notation for neural networks".
        """
        return self._transport(seed, False, self.r)

    def pull_squared(self, seed):
        """Backpropagate with squared weights and squared slopes.

        Takes and returns arrays of shape (n_outputs, n_samples) and (n_units,
        n_samples): the recursion of the backpropagated modulus (Definition
        "Backpropagated modulus"), in pre-activations.
        """
        return self._transport(seed, True, self.r_squared)

    def pull_each(self, values, chosen):
        """Backpropagate values on single output units, each on its own.

        For networks whose outputs are their last level: what `pull` makes of the seeds
        ``diag(values)[:, chosen]`` at all other units, without the products with zeros.

        Parameters
        ----------
        values : ndarray of shape (n_outputs, n_samples)
        chosen : slice
            Of the output units, in the order of their level.

        Returns
        -------
        ndarray of shape (n_units - n_outputs, n_chosen, n_samples)
        """
        topology = self.topology
        first, values = topology.levels[-1].units.start, values[topology.level_outputs[-1]][chosen]
        pulled = self._empty((first, *values.shape), self.dtype)
        pulled[topology.cleared[topology.cleared < first]] = 0.0
        for links, weights in self._matrices[-1]:
            if not links.from_inputs:
                back = links.dense(weights)[chosen].T[:, :, None]
                pulled[links.rows] = back * values
        return self._carry(pulled, len(topology.levels) - 1, False, self.r[:, None, :])

    def _transport(self, seed, squared, slopes):
        topology = self.topology
        pulled = self._empty((topology.n_units, *seed.shape[1:]), self.dtype)
        pulled[topology.cleared] = 0.0
        if seed.ndim == 3:
            slopes = slopes[:, None, :]
        return self._carry(pulled, len(topology.levels), squared, slopes, seed)

    def _carry(self, pulled, n_levels, squared, slopes, seed=None):
        """Carry values back through the first levels, in place."""
        topology, n_columns = self.topology, math.prod(pulled.shape[1:])
        flat = pulled.reshape(len(pulled), n_columns)
        for number in reversed(range(n_levels)):
            units, outputs = topology.levels[number].units, topology.level_outputs[number]
            values = pulled[units]
            values *= slopes[units]
            if outputs is not None:
                values += seed[outputs]
            for links, weights in self._matrices[number]:
                if not links.from_inputs:
                    links.backward(weights, flat[units], flat, squared)
        return pulled

"""The differential of a network on a batch of samples.

A `Linearization` is made by a forward pass. Arrays have the unit axis first and
the sample axis last: activities ``a``, slopes ``r`` and pre-activations ``v`` of
the computed units are (n_units, n_samples). Everything that any metric of the
paper needs is one of

* ``pull(seed)``: values on the output pre-activations, carried back to every
  unit by the transposed differential (backpropagation),
* ``pull_squared(seed)``: the same with squared weights and slopes,
* ``push(change)``: what a change of the parameters makes of the output pre-activations,
* ``edge_mean(values)``: sample means of source activity times unit value on
  every parameter (the gradient; the bordering entries of a metric),
* ``unit_gram(values)``: sample means of the products of all pairs of incoming
  activities, weighted by one value a unit and sample (a metric's blocks).

All but the last cost O(links x samples), or as many times that as there are seeds; the
last O(n d^2) a sample, with n units of d sources, and O(d^2) where units share them and
`values` is left out.
"""

import math
from copy import copy
from functools import cached_property

import numpy as np

from ..compiled import get_kernels
from .inputs import Inputs
from .means import SampleMeans


class Linearization(SampleMeans):
    """A network's activities and differential on a batch.

    Parameters
    ----------
    network : Network
    theta : ndarray of shape (n_parameters,)
    inputs : Inputs
    sample_weight : ndarray of shape (n_samples,), optional
        All means over samples are weighted by it.
    empty : callable
        Makes uninitialised arrays of a given shape; see `BufferPool`.

    Attributes
    ----------
    v, a, r : ndarray of shape (n_units, n_samples)
        Pre-activations, activities and slopes of the computed units.
    a_squared, r_squared : ndarray of shape (n_units, n_samples)
    total_weight : float
        Sum of the sample weights (n_samples without weights).
    """

    def __init__(self, network, theta, inputs, sample_weight=None, empty=np.empty):
        self.network, self.inputs, self._empty = network, inputs, empty
        self.topology = network.topology
        self.n_samples, self.dtype = inputs.n_samples, inputs.values.dtype
        theta = theta.astype(self.dtype, copy=False)
        if sample_weight is None:
            self.total_weight, self.weight = float(self.n_samples), None
        else:
            self.total_weight = float(np.sum(sample_weight))
            self.weight = self._normalised(sample_weight) if self.total_weight > 0 else None
        kernels = get_kernels()
        self._matrices = [
            [(links, links.weights(theta)) for links in level.layouts(kernels)]
            for level in self.topology.levels
        ]
        self._forward(theta)

    def _forward(self, theta):
        shape = (self.topology.n_units, self.n_samples)
        self.v, self.a, self.r = (self._empty(shape, self.dtype) for _ in range(3))
        bias = theta[self.topology.bias][:, None]
        for level, activation, matrices in zip(
            self.topology.levels, self.network.activations, self._matrices, strict=True
        ):
            v = self.v[level.units]
            for number, (links, weights) in enumerate(matrices):
                signals = self.inputs.values if links.from_inputs else self.a
                links.forward(weights, signals, v, number == 0)
            if matrices:
                v += bias[level.units]
            else:
                v[...] = bias[level.units]
            activation.fill(v, self.a[level.units], self.r[level.units])

    def _normalised(self, sample_weight):
        return (sample_weight / self.total_weight).astype(self.dtype, copy=False)

    @cached_property
    def sample_share(self):
        """Normalised weight of each sample, also without weights."""
        if self.weight is not None:
            return self.weight
        return np.full(self.n_samples, 1 / self.n_samples, dtype=self.dtype)

    @property
    def output_preactivations(self):
        """Pre-activations of the output units, (n_outputs, n_samples)."""
        return self.v[self.topology.outputs]

    @staticmethod
    def joined(lins, weights):
        """The activities of several batches as those of one, for means over samples.

        Parameters
        ----------
        lins : list of Linearization
            Of one network, at any parameters.
        weights : list of float
            Total weight of each batch.
        """
        whole = copy(lins[0])
        for name in ("v", "r", "r_squared", "a_squared", "sample_share"):
            whole.__dict__.pop(name, None)
        whole.inputs = Inputs.joined([lin.inputs for lin in lins])
        whole.a = np.hstack([lin.a for lin in lins])
        whole.n_samples, whole.total_weight = whole.inputs.n_samples, float(sum(weights))
        shares = zip(lins, weights, strict=True)
        whole.weight = np.hstack([lin.sample_share * weight for lin, weight in shares])
        whole.weight = whole._normalised(whole.weight)
        return whole

    def softened(self, share):
        """The same linearization with slopes ``sqrt(r^2 + share * largest slope^2)``.

        Of hidden units only; a saturated unit then carries values back as if it
        were less so.
        """
        softened = copy(self)
        softened.__dict__.pop("r")
        softened.r_squared = self._empty(self.a.shape, self.dtype)
        softened.r_squared[...] = self.r_squared
        for level, activation, outputs in zip(
            self.topology.levels, self.network.activations, self.topology.level_outputs, strict=True
        ):
            if outputs is None:
                softened.r_squared[level.units] += share * activation.largest_slope**2
        return softened

    @cached_property
    def r(self):
        """Slopes: those of the forward pass, or the softened ones."""
        return np.sqrt(self.r_squared, out=self._empty(self.a.shape, self.dtype))

    @cached_property
    def r_squared(self):
        """Squared slopes."""
        return np.square(self.r, out=self._empty(self.a.shape, self.dtype))

    @cached_property
    def a_squared(self):
        """Squared activities."""
        return np.square(self.a, out=self._empty(self.a.shape, self.dtype))

    # -------------------------------------------------------------- transport
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
        pulled[topology.unfed[topology.unfed < first]] = 0.0
        for links, weights in self._matrices[-1]:
            if not links.from_inputs:
                back = links.dense(weights)[chosen].T[:, :, None]
                pulled[links.rows] = back * values
        return self._carry(pulled, len(topology.levels) - 1, False, self.r[:, None, :])

    def _transport(self, seed, squared, slopes):
        topology = self.topology
        pulled = self._empty((topology.n_units, *seed.shape[1:]), self.dtype)
        pulled[topology.unfed] = 0.0
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

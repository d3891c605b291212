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

from functools import cached_property

import numpy as np

from .means import normalised
from .transport import Transport


class Linearization(Transport):
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
        weight, total = None, float(inputs.n_samples)
        if sample_weight is not None:
            total = float(np.sum(sample_weight))
            weight = normalised(sample_weight, total, inputs) if total > 0 else None
        shape, dtype = (network.topology.n_units, inputs.n_samples), inputs.values.dtype
        self.v, a, self.r = (empty(shape, dtype) for _ in range(3))
        super().__init__(network, inputs, a, weight, total, empty)
        theta = theta.astype(dtype, copy=False)
        self._matrices = [
            [(links, links.weights(theta)) for links in layouts] for layouts in self._links
        ]
        self._forward(theta)

    def _forward(self, theta):
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
            if activation.fill(v, self.a[level.units], self.r[level.units]) is not None:
                kind = type(activation).__name__
                raise TypeError(f"{kind}.fill must write into a and r (doc/extending.md).")

    @cached_property
    def r_squared(self):
        """Squared slopes."""
        return np.square(self.r, out=self._empty(self.a.shape, self.dtype))

    def softened(self, share):
        """The same with slopes ``sqrt(r^2 + share * largest slope^2)``, a `Softened`."""
        return Softened(self, share)


class Softened(Transport):
    """A linearization whose slopes are ``sqrt(r^2 + share * largest slope^2)``.

    Of hidden units only; a saturated unit then carries values back as if it were less so.

    Parameters
    ----------
    lin : Linearization
    share : float
    """

    def __init__(self, lin, share):
        super().__init__(lin.network, lin.inputs, lin.a, lin.weight, lin.total_weight, lin._empty)
        self.v, self._matrices = lin.v, lin._matrices
        self.r_squared = self._empty(self.a.shape, self.dtype)
        self.r_squared[...] = lin.r_squared
        for level, activation, outputs in zip(
            self.topology.levels, self.network.activations, self.topology.level_outputs, strict=True
        ):
            if outputs is None:
                self.r_squared[level.units] += share * activation.largest_slope**2

    @cached_property
    def r(self):
        """Slopes."""
        return np.sqrt(self.r_squared, out=self._empty(self.a.shape, self.dtype))

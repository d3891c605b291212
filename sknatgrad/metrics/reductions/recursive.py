"""Inverses of unitwise metrics that follow a stream of samples."""

import numpy as np


class RecursiveInverse:
    """The inverse of each unit's block, updated by the Sherman-Morrison formula.

    Each sample contributes a matrix of rank one at each unit, so that the running
    metric ``(1 - g) A + g A(x)`` has an inverse that costs O(n d^2) a sample (paper,
    section "Adaptation to an online setting"). What is not of that form, the damping,
    fades with every update: start anew from the averaged metric now and then.

    Parameters
    ----------
    topology : Topology
    inverses : list of ndarray of shape (n, 1 + fan_in, 1 + fan_in)
        One stack a `FanInGroup`.
    share : float
        Share of the Kronecker form in the metric: samples then weigh ``c + share *
        E[c]``.
    """

    def __init__(self, topology, inverses, share=0.0):
        self.topology, self.share = topology, share
        self._inverses = [np.ascontiguousarray(inverse) for inverse in inverses]

    def update(self, lin, values, mean, weight):
        """Mix in the samples of a batch.

        Parameters
        ----------
        lin : Linearization
        values : ndarray of shape (n_units, n_samples)
            The modulus c.
        mean : ndarray of shape (n_units,)
            Its average so far.
        weight : float
            g, less than 1.
        """
        strength = (values + self.share * mean[:, None]) * (weight * lin.sample_share)
        for group, inverse in zip(self.topology.groups, self._inverses, strict=True):
            activities = lin.incoming(group)
            inverse /= 1 - weight
            for sample in range(lin.n_samples):
                self._add(inverse, activities[:, :, sample], strength[group.units, sample])

    @staticmethod
    def _add(inverse, vectors, strength):
        """Inverse of ``A_k + strength_k x_k x_k^T`` for all units k, in place."""
        images = np.matmul(inverse, vectors[:, :, None])[:, :, 0]
        gain = strength / (1 + strength * (images * vectors).sum(axis=1))
        inverse -= (gain[:, None] * images)[:, :, None] * images[:, None, :]

    def solve(self, gradient):
        """The direction for minus the gradient of the loss, (n_parameters,)."""
        step = np.empty(self.topology.n_parameters)
        for group, inverse in zip(self.topology.groups, self._inverses, strict=True):
            rows = group.take(gradient)
            group.put(step, np.matmul(inverse, rows[:, :, None])[:, :, 0])
        return step

"""Inverses of unitwise metrics that follow a stream of samples."""

import numpy as np

from ...compiled import get_kernels, loops


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
    mean : ndarray of shape (n_units,)
        The average of the modulus c so far.
    share : float
        Share of the Kronecker form in the metric: samples then weigh ``c + share *
        E[c]``.
    """

    def __init__(self, topology, inverses, mean, share=0.0):
        self.topology, self.mean, self.share = topology, mean, share
        self._inverses = [np.ascontiguousarray(inverse) for inverse in inverses]

    def update(self, lin, values, weight):
        """Mix in the samples of a batch.

        Parameters
        ----------
        lin : Linearization
        values : ndarray of shape (n_units, n_samples)
            The modulus c.
        weight : float
            g, less than 1.
        """
        self.mean = (1 - weight) * self.mean + weight * (values @ lin.sample_share)
        strength = (values + self.share * self.mean[:, None]) * (weight * lin.sample_share)
        add = loops().add_rank_one if get_kernels() == "numba" else self._add
        for group, inverse in zip(self.topology.groups, self._inverses, strict=True):
            activities, growth = lin.incoming(group), 1 / (1 - weight)
            for sample in range(lin.n_samples):
                vectors = np.ascontiguousarray(activities[:, :, sample], dtype=float)
                add(inverse, vectors, strength[group.units, sample], growth)
                growth = 1.0

    @staticmethod
    def _add(inverse, vectors, strength, growth):
        """Inverse of ``A_k / growth + strength_k x_k x_k^T`` for all units k, in place."""
        if growth != 1.0:
            inverse *= growth
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

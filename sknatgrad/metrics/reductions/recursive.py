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
        add = loops().add_samples if get_kernels() == "numba" else self._add
        # They are read-only in an estimator that has been mapped into memory, as joblib does.
        self._inverses = [np.require(each, requirements="W") for each in self._inverses]
        for group, inverse in zip(self.topology.groups, self._inverses, strict=True):
            vectors = lin.incoming(group).astype(float, copy=False)
            add(inverse, vectors, strength[group.units].astype(float), 1 / (1 - weight))

    @staticmethod
    def _add(inverse, vectors, strength, growth):
        """Inverses of ``A_k / growth + sum_s strength_ks x_ks x_ks^T``, in place.

        All samples at once: the formula of Woodbury, with square roots for symmetry.
        """
        root = np.sqrt(strength)[:, None, :]
        inverse *= growth
        images = np.matmul(inverse, vectors)
        images *= root
        inner = (vectors * root).transpose(0, 2, 1) @ images
        np.einsum("nss->ns", inner)[...] += 1.0
        inverse -= images @ np.linalg.solve(inner, images.transpose(0, 2, 1))

    def solve(self, gradient):
        """The direction for minus the gradient of the loss, (n_parameters,)."""
        step = np.empty(self.topology.n_parameters)
        for group, inverse in zip(self.topology.groups, self._inverses, strict=True):
            rows = group.take(gradient)
            group.put(step, np.matmul(inverse, rows[:, :, None])[:, :, 0])
        return step

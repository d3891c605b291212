"""A loss and its differential on one batch."""

from functools import cached_property

import numpy as np

from ..network.means import SampleMeans


class _Batch:
    """Samples and their weights, those of `lin`."""

    def __init__(self, lin):
        self.lin = lin

    @property
    def weight(self):
        """Total sample weight of the batch."""
        return self.lin.total_weight

    def mean(self, values):
        """Weighted mean over samples (the last axis), in double precision."""
        if self.lin.weight is None:
            return values.sum(axis=-1, dtype=np.float64) / values.shape[-1]
        return values @ self.lin.weight.astype(np.float64, copy=False)


class LossPoint(_Batch):
    """What is known of the loss of a network on a batch, at given parameters.

    Parameters
    ----------
    lin : Transport
    output : Output
    target : ndarray or None
        Encoded targets; None where no quantity that needs them is asked for.
    distribution : object, optional
        Of the outputs, where it is known already.
    """

    def __init__(self, lin, output, target=None, distribution=None):
        super().__init__(lin)
        self.output, self.target, self._distribution = output, target, distribution
        self._values = None, None
        self.v = lin.output_preactivations

    @property
    def distribution(self):
        """The distributions over targets, as `Output.prepared` has them."""
        if self._distribution is None:
            self._distribution = self.output.prepared(self.v)
        return self._distribution

    @cached_property
    def losses(self):
        """Loss of each sample in nats, (n_samples,)."""
        return self.output.loss(self.distribution, self.target)

    def loss(self):
        """Mean loss in nats, a float."""
        return float(self.mean(self.losses))

    @cached_property
    def backpropagated(self):
        """``-d loss / d v_k`` of each sample, (n_units, n_samples)."""
        return self.lin.pull(self.output.score(self.distribution, self.target))

    def softened(self, share):
        """The same point with softened slopes; see `Linearization.softened`."""
        return LossPoint(self.lin.softened(share), self.output, self.target, self.distribution)

    def values(self, modulus, rng=None):
        """The modulus at this point, computed once.

        A random one is drawn anew where there is an `rng` to draw from.
        """
        if self._values[0] is not modulus or (modulus.random and rng is not None):
            self._values = modulus, modulus.values(self, rng)
        return self._values[1]

    def gradient(self):
        """Minus the gradient of the mean loss: theta, then output parameters."""
        return self._gradient

    @cached_property
    def _gradient(self):
        edges = self.lin.edge_mean(self.backpropagated)
        if not self.output.n_parameters:
            return edges
        own = self.mean(self.output.parameter_score(self.v, self.target))
        return np.concatenate([edges, own])

    def products(self, changes):
        """Scalar products of changes of the parameters in the natural metric of the network.

        Parameters
        ----------
        changes : list of ndarray of shape (n_parameters,)
            With the output's own parameters.

        Returns
        -------
        ndarray of shape (n_changes, n_changes)
            ``E_x[J d_i . F J d_j]`` with F the Fisher matrix of the output: the whole
            metric, no blocks of it, at two forward passes a change.
        """
        size = self.lin.topology.n_parameters
        root = np.sqrt(self.lin.sample_share)
        rows = np.empty((len(changes), root.size * len(self.v)))
        for row, change in zip(rows, changes, strict=True):
            whitened = self.output.whitened(self.distribution, self.lin.push(change[:size]))
            if self.output.n_parameters:
                whitened = whitened + self.output.parameter_whitened(self.v, change[size:])
            row[:] = (whitened * root).ravel()
        return rows @ rows.T

    def output_metric(self):
        """Metric of the output's own parameters, (n_parameters, n_parameters).

        Paper, Remark "Metric for output parameters".
        """
        if not self.output.n_parameters:
            return np.empty((0, 0))
        factor = self.output.parameter_factor(self.v)
        weighted = factor if self.lin.weight is None else factor * self.lin.weight
        gram = np.tensordot(weighted, factor, axes=((1, 2), (1, 2)))
        return gram / self.lin.n_samples if self.lin.weight is None else gram


class JoinedPoints(_Batch):
    """The samples of several points as one batch, for a metric's statistics.

    Parameters
    ----------
    points : list of LossPoint
        Of one network, at any parameters, whose output has none of its own.
    modulus : Modulus
        It is that of the places where the points are.
    weights : list of float
        Total weight of each.
    """

    def __init__(self, points, modulus, weights):
        super().__init__(SampleMeans.joined([point.lin for point in points], weights))
        self._values = np.hstack([point.values(modulus) for point in points])

    def values(self, modulus, rng=None):
        """The modulus, (n_units, n_samples)."""
        return self._values

    def output_metric(self):
        """Metric of the output's own parameters: there are none."""
        return np.empty((0, 0))

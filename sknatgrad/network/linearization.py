"""The differential of a network on a batch of samples.

A `Linearization` is made by a forward pass. Arrays have the unit axis first and
the sample axis last: activities ``a``, slopes ``r`` and pre-activations ``v`` of
the computed units are (n_units, n_samples). Everything that any metric of the
paper needs is one of

* ``pull(seed)``: values on the output pre-activations, carried back to every
  unit by the transposed differential (backpropagation),
* ``pull_squared(seed)``: the same with squared weights and slopes,
* ``edge_mean(values)``: sample means of source activity times unit value on
  every parameter (the gradient; the bordering entries of a metric),
* ``unit_gram(values)``: sample means of the products of all pairs of incoming
  activities, weighted by one value a unit and sample (a metric's blocks).
"""

from copy import copy
from functools import cached_property

import numpy as np
from scipy import sparse

from .kernels import select, write_product

_GRAM_SIZE = 1 << 22


class Inputs:
    """Input activities of a batch, (n_inputs, n_samples), dense or sparse.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_inputs)
    dtype : numpy dtype
        float64, or float32: then the whole linearization computes with it.
    """

    def __init__(self, X, dtype=np.float64):
        if sparse.issparse(X):
            self.values = sparse.csr_array(X).astype(dtype, copy=False).T
        else:
            self.values = np.asarray(X, dtype=dtype).T
        self.n_samples, self._known = self.values.shape[1], {}

    @cached_property
    def squares(self):
        """Squared activities."""
        return self.values.power(2) if sparse.issparse(self.values) else self.values**2

    def remembered(self, key, weight, compute):
        """What `compute` returned for this key and these sample weights the last time."""
        known = self._known.get(key)
        if known is None or not np.array_equal(known[0], weight):
            known = self._known[key] = weight, compute()
        return known[1]

    def dense(self, rows):
        """The chosen input units as an ndarray."""
        if sparse.issparse(self.values):
            return self.values.tocsr()[rows].toarray()
        return self.values[rows]


def as_inputs(X):
    """X as `Inputs`; what is one already passes through."""
    return X if isinstance(X, Inputs) else Inputs(X)


class Linearization:
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
        self._matrices = [
            [(links, links.weights(theta)) for links in level.links]
            for level in self.topology.levels
        ]
        self._forward(theta)

    def _forward(self, theta):
        shape = (self.topology.n_units, self.n_samples)
        self.v, self.a, self.r = (self._empty(shape, self.dtype) for _ in range(3))
        for level, activation, matrices in zip(
            self.topology.levels, self.network.activations, self._matrices, strict=True
        ):
            v = self.v[level.units]
            for number, (links, weights) in enumerate(matrices):
                source = self.inputs.values if links.from_inputs else self.a
                write_product(weights, select(source, links.rows), v, fresh=number == 0)
            if matrices:
                v += theta[level.bias, None]
            else:
                v[...] = theta[level.bias, None]
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

    @property
    def output_activities(self):
        """Activities of the output units, (n_outputs, n_samples)."""
        return self.a[self.topology.outputs]

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
        return self._transport(seed, lambda weights: weights, self.r)

    def pull_squared(self, seed):
        """Backpropagate with squared weights and squared slopes.

        Takes and returns arrays of shape (n_outputs, n_samples) and (n_units,
        n_samples): the recursion of the backpropagated modulus (Definition
        "Backpropagated modulus"), in pre-activations.
        """
        return self._transport(seed, _square, self.r_squared)

    def _transport(self, seed, matrix_of, slopes):
        topology = self.topology
        pulled = self._empty((topology.n_units, *seed.shape[1:]), self.dtype)
        flat = pulled.reshape(topology.n_units, -1)
        flat[topology.unfed] = 0.0
        if seed.ndim == 3:
            slopes = slopes[:, None, :]
        for level, outputs, matrices in zip(
            reversed(topology.levels),
            reversed(topology.level_outputs),
            reversed(self._matrices),
            strict=True,
        ):
            values = pulled[level.units]
            values *= slopes[level.units]
            if outputs is not None:
                values += seed[outputs]
            for links, weights in matrices:
                if links.from_inputs:
                    continue
                back = matrix_of(weights).T
                if isinstance(links.rows, slice):
                    write_product(back, flat[level.units], flat[links.rows], links.fresh)
                elif links.fresh:
                    flat[links.rows] = back @ flat[level.units]
                else:
                    flat[links.rows] += back @ flat[level.units]
        return pulled

    # ------------------------------------------------------------------ means
    def edge_mean(self, values, power=1):
        """Means over samples of ``a_i^power * values_k`` on every parameter.

        Parameters
        ----------
        values : ndarray of shape (n_units, n_samples)
        power : {1, 2}

        Returns
        -------
        ndarray of shape (n_parameters,)
            At biases (a_0 = 1) the mean of ``values_k``.
        """
        if self.weight is not None:
            values = values * self.weight
        means = np.empty(self.topology.n_parameters, self.dtype)
        for level in self.topology.levels:
            target_values = values[level.units]
            means[level.bias] = target_values.sum(axis=1)
            for links in level.links:
                if links.from_inputs:
                    source = self.inputs.values if power == 1 else self.inputs.squares
                else:
                    source = self.a if power == 1 else self.a_squared
                links.edge_sums(target_values, select(source, links.rows), means)
        if self.weight is None:
            means /= self.n_samples
        return means

    def source_moments(self, widening=0.0):
        """Means over samples of the activities and of their squares.

        Parameters
        ----------
        widening : float
            Adds so much of each source's squared span (half the range of its
            activities) to its mean square.

        Returns
        -------
        ndarray of shape (2, n_inputs + n_units + 1)
            By source; the last entry (source -1) is the constant 1.
        """
        weight, n_inputs = self.sample_share, self.topology.n_inputs
        moments = np.ones((2, n_inputs + self.topology.n_units + 1), self.dtype)
        moments[0, :n_inputs] = self.inputs.values @ weight
        moments[1, :n_inputs] = self.inputs.squares @ weight
        moments[0, n_inputs:-1] = self.a @ weight
        moments[1, n_inputs:-1] = self.a_squared @ weight
        if widening:
            moments[1] += (widening * self.network.spans**2).astype(self.dtype)
        return moments

    def unit_gram(self, values=None, widening=0.0):
        """Means over samples of ``a_i a_j values_k`` for all incoming i, j of k.

        Parameters
        ----------
        values : ndarray of shape (n_units, n_samples), optional
            Not negative. Without it ``values = 1``, and units that share their
            sources share one block.
        widening : float
            Adds so much of each source's squared span to the diagonal.

        Returns
        -------
        list of ndarray of shape (n, 1 + fan_in, 1 + fan_in)
            One stack a `FanInGroup`, bias (i = 0) first; n is 1 for a group that
            shares its sources if `values` is None. O(units x fan_in^2 x samples).
        """
        blocks = [self.group_gram(group, values) for group in self.topology.groups]
        if widening:
            for number, group in enumerate(self.topology.groups):
                spans = widening * self.network.spans[group.sources] ** 2
                if spans.any():
                    np.einsum("nii->ni", blocks[number])[:, 1:] += spans.astype(self.dtype)
        return blocks

    def incoming(self, group, units=slice(None)):
        """Incoming activities of a group's units, constant first.

        Returns
        -------
        ndarray of shape (1 or n, 1 + fan_in, n_samples)
        """
        sources = group.sources[units]
        shape = (len(sources), 1 + group.fan_in, self.n_samples)
        activities = np.empty(shape, self.dtype)
        activities[:, 0] = 1.0
        is_input = sources < self.topology.n_inputs
        if is_input.all():
            activities[:, 1:] = self.inputs.dense(sources.ravel()).reshape(activities[:, 1:].shape)
        elif not is_input.any():
            activities[:, 1:] = self.a[sources - self.topology.n_inputs]
        else:
            body = activities[:, 1:]
            body[is_input] = self.inputs.dense(sources[is_input])
            body[~is_input] = self.a[sources[~is_input] - self.topology.n_inputs]
        return activities

    def shared_activities(self, group):
        """Incoming activities of a group that shares its sources, without the constant.

        Returns
        -------
        ndarray of shape (fan_in, n_samples)
            A view where the sources are consecutive inputs or units; not to be changed.
        """
        sources, n_inputs = group.sources[0], self.topology.n_inputs
        first, last = int(sources[0]), int(sources[-1])
        if (np.diff(sources) == 1).all():
            if first >= n_inputs:
                return self.a[first - n_inputs : last + 1 - n_inputs]
            if last < n_inputs and not sparse.issparse(self.inputs.values):
                return self.inputs.values[first : last + 1]
        return self.incoming(group)[0, 1:]

    def jacobian(self, pulled):
        """Derivatives of seeded output values with respect to every parameter.

        Parameters
        ----------
        pulled : ndarray of shape (n_units, n_seeds, n_samples)
            What `pull` made of the seeds.

        Returns
        -------
        ndarray of shape (n_seeds * n_samples, n_parameters)
            Scaled by the square root of the normalised sample weights, so that
            ``J^T J`` is a mean over samples.
        """
        n_rows = pulled.shape[1] * self.n_samples
        rows = np.empty((self.topology.n_parameters, n_rows))
        pulled = pulled * self._root_weight(None, None)
        for group in self.topology.groups:
            product = self.incoming(group)[:, :, None, :] * pulled[group.units, None]
            rows[group.params] = product.reshape(rows[group.params].shape)
        return rows.T

    def group_gram(self, group, values=None):
        """What `unit_gram` returns for one group, without widening.

        What depends on the inputs alone is computed once for them, if it is not larger
        than they are.
        """
        alone = values is None and group.shared and (group.sources < self.topology.n_inputs).all()
        if alone and group.fan_in < 2 * self.n_samples:
            return self.inputs.remembered(
                group, self.weight, lambda: self._group_gram(group, values)
            )
        return self._group_gram(group, values)

    def _group_gram(self, group, values):
        m = 1 + group.fan_in
        root = self._root_weight(group, values)
        count = 1 if root.ndim == 1 and group.shared else len(group.units)
        blocks = np.empty((count, m, m), self.dtype)
        shared = self.incoming(group) if group.shared else None
        step = max(1, _GRAM_SIZE // (m * self.n_samples))
        for start in range(0, count, step):
            part = slice(start, start + step)
            activities = self.incoming(group, part) if shared is None else shared
            weighted = activities * (root if root.ndim == 1 else root[part, None, :])
            blocks[part] = weighted @ weighted.transpose(0, 2, 1)
        return blocks

    def _root_weight(self, group, values):
        """Square roots of value times normalised sample weight."""
        if values is None:
            return np.sqrt(self.sample_share)
        return np.sqrt(values[group.units] * self.sample_share)


def _square(weights):
    return weights.power(2) if sparse.issparse(weights) else weights * weights

"""Means over samples of activities times values: by link, by source and by group of units."""

from functools import cached_property

import numpy as np

from ..compiled import get_kernels, loops
from .inputs import Inputs

_GRAM_SIZE = 1 << 17
# Blocks of so few samples, or of units with so few links, are faster in compiled loops.
_FEW_SAMPLES, _FEW_LINKS = 32, 8


class SampleMeans:
    """Activities of a batch and their means, link by link or group by group.

    Parameters
    ----------
    network : Network
    inputs : Inputs
    a : ndarray of shape (n_units, n_samples)
        Activities of the computed units.
    weight : ndarray of shape (n_samples,) or None
        Sample weights, of sum 1.
    total_weight : float
        What their sum was before.
    empty : callable
        Makes uninitialised arrays of a given shape; see `BufferPool`.
    """

    def __init__(self, network, inputs, a, weight, total_weight, empty=np.empty):
        self.network, self.topology, self.inputs, self.a = network, network.topology, inputs, a
        self.n_samples, self.dtype = inputs.n_samples, inputs.values.dtype
        self.weight, self.total_weight, self._empty = weight, total_weight, empty
        kernels = get_kernels()
        self._links = [level.layouts(kernels) for level in self.topology.levels]

    @staticmethod
    def joined(parts, weights):
        """Several batches as one.

        Parameters
        ----------
        parts : list of SampleMeans
            Of one network, at any parameters.
        weights : list of float
            Total weight of each.
        """
        first, inputs = parts[0], Inputs.joined([part.inputs for part in parts])
        total = float(sum(weights))
        shares = [part.sample_share * weight for part, weight in zip(parts, weights, strict=True)]
        weight = normalised(np.hstack(shares), total, inputs)
        a = np.hstack([part.a for part in parts])
        return SampleMeans(first.network, inputs, a, weight, total, first._empty)

    @cached_property
    def sample_share(self):
        """Normalised weight of each sample, also without weights."""
        if self.weight is not None:
            return self.weight
        return np.full(self.n_samples, 1 / self.n_samples, dtype=self.dtype)

    @cached_property
    def a_squared(self):
        """Squared activities."""
        return np.square(self.a, out=self._empty(self.a.shape, self.dtype))

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
        inputs, units = self.inputs.values, self.a
        if power == 2:
            inputs, units = self.inputs.squares, self.a_squared
        values, means = self._means_at_biases(values)
        for level, links in self._all_links():
            signals = inputs if links.from_inputs else units
            links.edge_sums(values[level.units], signals, means)
        return self._mean(means)

    def edge_moments(self, values):
        """The pair ``edge_mean(values, 1)``, ``edge_mean(values, 2)``."""
        values, first = self._means_at_biases(values)
        second = first.copy()
        for level, links in self._all_links():
            inside = links.from_inputs
            signals = self.inputs.values if inside else self.a
            squares = self.inputs.squares if inside else self.a_squared
            links.edge_moments(values[level.units], signals, squares, first, second)
        return self._mean(first), self._mean(second)

    def _all_links(self):
        for level, layouts in zip(self.topology.levels, self._links, strict=True):
            for links in layouts:
                yield level, links

    def _means_at_biases(self, values):
        """Values times sample weights, and a vector over theta of their sums at biases."""
        if self.weight is not None:
            values = values * self.weight
        sums = np.empty(self.topology.n_parameters, self.dtype)
        sums[self.topology.bias] = values @ np.ones(self.n_samples, self.dtype)
        return values, sums

    def _mean(self, sums):
        """Means of sums over samples whose weights may be in them already, in place."""
        if self.weight is None and self.n_samples > 1:
            sums /= self.n_samples
        return sums

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
            for group, gram in zip(self.topology.groups, blocks, strict=True):
                spans = widening * self.network.spans[group.gathered] ** 2
                spans[:, 0] = 0.0
                if spans.any():
                    np.einsum("nii->ni", gram)[...] += group.pad(spans).astype(self.dtype)
        return blocks

    def source_moments(self, widening=0.0):
        """Means over samples of the activities and of their squares.

        Parameters
        ----------
        widening : float
            Adds so much of each source's squared span to its mean square.

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

    def incoming(self, group):
        """Incoming activities of a group's units, constant first, padding last.

        Returns
        -------
        ndarray of shape (1 or n, 1 + fan_in, n_samples)
        """
        rows, first = group.gathered, self.topology.n_inputs
        if not group.fan_in:
            return np.ones((*rows.shape, self.n_samples), self.dtype)
        is_input = rows < first
        by_unit = is_input.any(axis=1)
        if not by_unit.any():
            activities = self.a.take(rows - first, axis=0)
        elif is_input.all():
            activities = self._input_rows(rows)
        else:
            activities = np.empty((*rows.shape, self.n_samples), self.dtype)
            if (is_input.all(axis=1) == by_unit).all():
                activities[by_unit] = self._input_rows(rows[by_unit])
                activities[~by_unit] = self.a.take(rows[~by_unit] - first, axis=0)
            else:
                activities[is_input] = self.inputs.dense(rows[is_input])
                activities[~is_input] = self.a[rows[~is_input] - first]
        activities[:, 0] = 1.0
        return group.pad(activities)

    def _input_rows(self, rows):
        return self.inputs.dense(rows.ravel()).reshape(*rows.shape, self.n_samples)

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
            if last < n_inputs and isinstance(self.inputs.values, np.ndarray):
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
            group.put(rows, product)
        return rows.T

    def group_gram(self, group, values=None):
        """What `unit_gram` returns for one group, without widening.

        Values may also be those of all units, (n_samples,). What depends on the inputs
        alone is computed once for them, if it is not larger than they are.
        """
        alone = values is None and group.shared and (group.sources < self.topology.n_inputs).all()
        if alone and group.fan_in < 2 * self.n_samples:
            return self.inputs.remembered(
                group, self.weight, lambda: self._group_gram(group, values)
            )
        return self._group_gram(group, values)

    def _group_gram(self, group, values):
        m = 1 + group.fan_in
        if values is not None and values.ndim == 2 and self._compiles(group):
            return self._compiled_gram(group, values)
        root = self._root_weight(group, values)
        count = 1 if root.ndim == 1 and group.shared else len(group.units)
        blocks = np.empty((count, m, m), self.dtype)
        shared = self.incoming(group) if group.shared else None
        step = max(1, _GRAM_SIZE // (m * self.n_samples))
        for start in range(0, count, step):
            part = slice(start, start + step)
            if shared is None:
                activities = self.incoming(group if step >= count else group.part(part))
            else:
                activities = shared
            weighted = activities * (root if root.ndim == 1 else root[part, None, :])
            blocks[part] = weighted @ weighted.transpose(0, 2, 1)
        return blocks

    def _compiles(self, group):
        """Whether compiled loops beat one BLAS product a unit."""
        few = self.n_samples <= _FEW_SAMPLES or group.fan_in < _FEW_LINKS
        small = few and not group.shared and isinstance(self.inputs.values, np.ndarray)
        return small and get_kernels() == "numba"

    def _compiled_gram(self, group, values):
        m = 1 + group.fan_in
        blocks = np.empty((m, m, len(group.units)), self.dtype)
        signals = self.inputs.values, self.a
        step = max(1, _GRAM_SIZE // (m * self.n_samples))
        for start in range(0, len(group.units), step):
            part = slice(start, start + step)
            rows = group.gathered[part], group.lengths[part], group.units[part]
            out = np.empty((m, m, len(rows[2])), self.dtype)
            loops().unit_gram(*rows, signals, values, self.sample_share, out)
            blocks[:, :, part] = out
        return blocks.transpose(2, 0, 1)

    def _root_weight(self, group, values):
        """Square roots of value times normalised sample weight."""
        if values is None:
            return np.sqrt(self.sample_share)
        return np.sqrt((values[group.units] if values.ndim == 2 else values) * self.sample_share)


def normalised(sample_weight, total_weight, inputs):
    """Sample weights of that sum, divided by it, in the precision of the inputs."""
    return (sample_weight / total_weight).astype(inputs.values.dtype, copy=False)

"""Different outputs for different units."""

import numpy as np

from ..network.activations_by_unit import SplitActivation
from ._base import Output


def _of_each_unit(name):
    """A property with one truth value a unit, that of the unit's own output."""

    def values(self):
        return self._by_unit(lambda output, rows: np.full(len(rows), getattr(output, name)), bool)

    return property(values)


def _of_all(name):
    """A property that is true if it is for all outputs."""
    return property(lambda self: all(getattr(output, name) for output, _ in self.groups))


class Mixed(Output):
    """Independent outputs on groups of units, e.g. Bernoulli and square columns.

    The loss is the sum of the groups' losses, the Fisher matrix is block-diagonal.
    Outputs over classes or with parameters of their own can't be mixed.

    Parameters
    ----------
    outputs : list of Output
        One an output unit; units with the same object form a group.

    Raises
    ------
    ValueError
        If there is no output, or one is over classes or has parameters of its own.
    """

    name = "mixed"
    link_name = "mixed"

    independent = _of_all("independent")
    nonnegative = _of_all("nonnegative")
    free_dispersion = _of_all("free_dispersion")
    free_scale = _of_each_unit("free_scale")
    mirrored = _of_each_unit("mirrored")
    multiplicative = _of_each_unit("multiplicative")

    def __init__(self, outputs):
        if not len(outputs):
            raise ValueError("output must have one entry an output unit, got an empty list.")
        for output in outputs:
            if output.discrete:
                raise ValueError(f"output {output.name!r} reads classes and can't be mixed.")
            if output.start(1).size:
                raise ValueError(f"output {output.name!r} has own parameters and can't be mixed.")
        distinct = {id(output): output for output in outputs}
        self.groups = [
            (output, np.flatnonzero([other is output for other in outputs]))
            for output in distinct.values()
        ]
        self.activation = SplitActivation(
            tuple((rows, output.activation) for output, rows in self.groups)
        )

    @property
    def target_range(self):
        def ends(output, rows):
            return np.tile(output.target_range or (-np.inf, np.inf), (len(rows), 1))

        return tuple(self._by_unit(ends).T[:, :, None])

    def _by_unit(self, compute, dtype=float):
        parts = [(rows, compute(output, rows)) for output, rows in self.groups]
        n_units = sum(len(rows) for rows, _ in parts)
        whole = np.empty((n_units, *parts[0][1].shape[1:]), dtype=dtype)
        for rows, part in parts:
            whole[rows] = part
        return whole

    def check_target(self, target):
        for output, rows in self.groups:
            output.check_target(target[rows])

    def loss_unit(self, moments):
        """The smallest of the groups', so that what each of them gains counts."""
        return min(output.loss_unit(moments.of(rows)) for output, rows in self.groups)

    def loss(self, v, target):
        groups = self.groups
        return sum(output.loss(output.prepared(v[rows]), target[rows]) for output, rows in groups)

    def score(self, v, target):
        return self._by_unit(
            lambda output, rows: output.score(output.prepared(v[rows]), target[rows])
        )

    def fisher_factor(self, v, columns=slice(None)):
        chosen = np.arange(len(v))[columns]
        factor = np.zeros((len(v), len(chosen), v.shape[1]))
        for output, rows in self.groups:
            places = np.flatnonzero(np.isin(chosen, rows))
            own = np.searchsorted(rows, chosen[places])
            factor[np.ix_(rows, places)] = output.fisher_factor(output.prepared(v[rows]), own)
        return factor

    def fisher_diagonal(self, v):
        return self._by_unit(lambda output, rows: output.fisher_diagonal(output.prepared(v[rows])))

    def sample(self, v, rng):
        return self._by_unit(lambda output, rows: output.sample(output.prepared(v[rows]), rng))

    def mean(self, v):
        return self._by_unit(lambda output, rows: output.mean(v[rows]))

    def logits(self, v):
        return self._by_unit(lambda output, rows: output.logits(v[rows]))

    def starting_point(self, moments, total_weight, n_outputs):
        def point(output, rows):
            found = output.starting_point(moments.of(rows), total_weight, len(rows))
            return np.column_stack(found or (np.zeros(len(rows)), np.ones(len(rows))))

        return tuple(self._by_unit(point).T)

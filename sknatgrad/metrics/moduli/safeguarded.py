"""A modulus that does not vanish where its unit or the output is saturated."""

import numpy as np

from ._base import Modulus
from .backpropagated import Backpropagated

_BACKPROPAGATED_SHARE = 1e-3


class Safeguarded(Modulus):
    """Another modulus with softened slopes, plus shares that do not vanish with it.

    Metrics speak of infinitesimal steps. Where a unit is saturated, or the output is
    certain and wrong, a modulus vanishes faster than the gradient, and finite steps
    become enormous; the length of the common step then collapses. Three intrinsic
    changes keep them bounded:

    * slopes r are replaced by ``sqrt(r^2 + softening * largest slope^2)``, so that a
      saturated hidden unit counts as one that can come back;
    * ``outer_product * (d loss / d v_k)^2 / max(1, loss / n_outputs)`` is added, so that
      the first-order gain of each unit's step stays below ``1 / outer_product`` nats, or
      as many times the loss an output where that is more: residuals of large counts
      are many nats, and a step may gain them;
    * hidden units have ``influence`` times the mean of their level added. The step of a
      unit with next to no influence on the output, because its outgoing weights happen
      to be small, is that divided into its small gradient: it would be thrown into
      saturation, and by how much would be a matter of rounding errors.

    A modulus that itself vanishes with the residuals (the outer product) gets a share
    of the backpropagated modulus as well: without it, residuals of the size of rounding
    errors ask for steps of the inverse size.

    Intrinsic under affine reparametrization if the other modulus is.

    Parameters
    ----------
    base : Modulus
    outer_product : float
    softening, influence : float
    """

    needs_target = True

    def __init__(self, base, outer_product, softening, influence=0.0):
        self.base, self.outer_product, self.softening = base, outer_product, softening
        self.influence = influence
        self.name, self.linear, self.random = base.name, base.linear, base.random

    def n_seeds(self, n_outputs):
        return self.base.n_seeds(n_outputs) + 1

    def pulled(self, point, rng):
        yield from self.base.pulled(point.softened(self.softening), rng)
        yield np.sqrt(self._share(point)) * point.backpropagated[:, None, :]

    def values(self, point, rng):
        values = self.base.values(point.softened(self.softening), rng)
        squares = np.square(point.backpropagated)
        squares *= self._share(point)
        squares += values
        return self.completed(squares, point)

    def _share(self, point):
        """Share of the outer product, (n_samples,)."""
        return self.outer_product / np.maximum(1.0, point.losses / len(point.v))

    def completed(self, squares, point):
        if self.base.vanishes_with_residual:
            softened = point.softened(self.softening)
            squares = squares + _BACKPROPAGATED_SHARE * Backpropagated().values(softened, None)
        if not self.influence:
            return squares
        topology = point.lin.topology
        for level, outputs in zip(topology.levels, topology.level_outputs, strict=True):
            if outputs is None:
                own = squares[level.units]
                own += self.influence * own.mean(axis=0)
        return squares

"""Diagonal reductions, and none at all."""

import numpy as np

from ...numerics.arithmetic import safe_divide
from ._base import Reduction
from .plus_kronecker import Mixable


class Diagonal(Mixable):
    """Keep ``A_00`` and ``A_ii``.

    Invariant when activities are scaled, not when they are shifted. With the
    backpropagated modulus: diagonal Gauss-Newton (paper, after Definition
    "Quasi-diagonal backpropagated metric gradient"). O(n d).
    """

    prefix = "diag"

    def statistics(self, point, modulus, rng):
        return (point.lin.edge_mean(point.values(modulus, rng), power=2),)

    def moments(self, point, widening):
        return (point.lin.source_moments(widening)[1],)

    def mixed(self, topology, statistics, moments, share):
        (second,) = statistics
        weight = share * second[topology.own_bias]
        return (second + weight * moments[0][topology.source],)

    def _damped(self, statistics, relative, absolute):
        damped = (1 + relative) * statistics[0]
        return damped if absolute is None else damped + absolute

    def factorize(self, topology, statistics, relative=0.0, absolute=None):
        damped = self._damped(statistics, relative, absolute)
        return lambda gradient: safe_divide(gradient, damped)

    def block(self, topology, statistics, unit):
        return np.diag(self._damped(statistics, 0.0, None)[topology.row(unit)])


class RootDiagonal(Diagonal):
    """Square root of the diagonal.

    With the outer-product modulus, the paper's batch AdaGrad (section "A first
    experimental comparison"): the root mean square of each gradient component.
    Damping stands inside the square root. Not invariant. O(n d).
    """

    prefix = "root_diag"
    natural = False

    def with_kronecker(self, share, widening=0.0):
        return self

    def _damped(self, statistics, relative, absolute):
        return np.sqrt(super()._damped(statistics, relative, absolute))


class Euclidean(Reduction):
    """The identity matrix: plain gradient. Takes no damping. Not invariant."""

    prefix = "euclidean"
    constant = True
    natural = False

    def statistics(self, point, modulus, rng):
        return ()

    def factorize(self, topology, statistics, relative=0.0, absolute=None):
        return lambda gradient: gradient

    def block(self, topology, statistics, unit):
        row = topology.row(unit)
        return np.eye(row.stop - row.start)

"""A metric with a share of its own Kronecker form."""

from ._base import Reduction


class PlusKronecker(Reduction):
    """``A + share * K``, where ``K_ij = E[a_i a_j] E[c]`` at each unit.

    A unitwise metric does not see samples on which a unit's modulus c vanishes:
    there the unit is saturated or the output certain, to first order. A large
    step undoes that. The Kronecker form of the same modulus counts a change of the
    unit equally on all samples, so a share of it bounds the change everywhere. It
    has the invariances of A.

    With a widening K has ``E[a_i^2] + widening * span_i^2`` on its diagonal, the span
    being half the range of the activity. A saturated unit hardly varies, and a metric
    that measures signals by their own variance asks for weights of the inverse size
    from it; in K it counts as one that varies a little.

    Parameters
    ----------
    base : Reduction
        Offers ``moments(point, widening)``, means of products of activities alone, and
        ``mixed(topology, statistics, moments, share)``, its statistics of A + share K.
    share, widening : float
    """

    def __init__(self, base, share, widening=0.0):
        self.base, self.share, self.widening = base, share, widening
        self.prefix, self.needs_seeds = base.prefix, base.needs_seeds
        self.factored, self.recursive = base.factored, base.recursive
        self.invariant = base.invariant

    def statistics(self, point, modulus, rng):
        return (
            *self.base.statistics(point, modulus, rng),
            *self.base.moments(point, self.widening),
        )

    def _mixed(self, topology, statistics):
        middle = len(statistics) // 2
        return self.base.mixed(topology, statistics[:middle], statistics[middle:], self.share)

    def factorize(self, topology, statistics, relative=0.0, absolute=None):
        mixed = self._mixed(topology, statistics)
        return self.base.factorize(topology, mixed, relative, absolute)

    def recursive_inverse(self, topology, statistics, relative=0.0, absolute=None):
        mixed = self._mixed(topology, statistics)
        inverse = self.base.recursive_inverse(topology, mixed, relative, absolute)
        # The corner of K is that of A.
        inverse.mean, inverse.share = inverse.mean / (1 + self.share), self.share
        return inverse

    def block(self, topology, statistics, unit):
        return self.base.block(topology, self._mixed(topology, statistics), unit)

    def inexact(self, tolerance):
        return PlusKronecker(self.base.inexact(tolerance), self.share, self.widening)

    def condensed(self, statistics):
        return self.base.condensed(statistics)

    def check(self, topology, n_samples, n_seeds, averaged):
        self.base.check(topology, n_samples, n_seeds, averaged)

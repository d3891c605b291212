"""A metric with a share of its own Kronecker form."""

from ._base import Reduction


class PlusKronecker(Reduction):
    """``A + share * K``, where ``K_ij = E[a_i a_j] E[c]`` at each unit.

    A unitwise metric does not see samples on which a unit's modulus c vanishes:
    there the unit is saturated or the output certain, to first order. A large
    step undoes that. The Kronecker form of the same modulus counts a change of the
    unit equally on all samples, so a share of it bounds the change everywhere. It
    has the invariances of A.

    Parameters
    ----------
    base : Reduction
        Offers ``moments(point)``, means of products of activities alone, and
        ``mixed(topology, statistics, moments, share)``, its statistics of A + share K.
    share : float
    """

    def __init__(self, base, share):
        self.base, self.share = base, share
        self.prefix, self.needs_seeds = base.prefix, base.needs_seeds
        self.invariant = base.invariant

    def statistics(self, point, modulus, rng):
        return (*self.base.statistics(point, modulus, rng), *self.base.moments(point))

    def _mixed(self, topology, statistics):
        middle = len(statistics) // 2
        return self.base.mixed(topology, statistics[:middle], statistics[middle:], self.share)

    def factorize(self, topology, statistics, relative=0.0, absolute=None):
        mixed = self._mixed(topology, statistics)
        return self.base.factorize(topology, mixed, relative, absolute)

    def block(self, topology, statistics, unit):
        return self.base.block(topology, self._mixed(topology, statistics), unit)

    def check(self, topology, n_rows):
        self.base.check(topology, n_rows)

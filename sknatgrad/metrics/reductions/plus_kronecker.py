"""A metric with a share of its own Kronecker form."""

from ...numerics.contracts import missing
from ._base import Reduction


class PlusKronecker(Reduction):
    """``A + share * K``, where ``K_ij = E[a_i a_j] E[c]`` at each unit.

    A unitwise metric does not see samples on which a unit's modulus c vanishes:
    there the unit is saturated or the output certain, to first order. A large
    step undoes that. The Kronecker form of the same modulus counts a change of the
    unit equally on all samples, so a share of it bounds the change everywhere. It
    has the invariances of A.

    With a widening K has ``E[a_i^2] + widening * span_i^2`` on its diagonal
    (`Activation.span`). A saturated unit hardly varies, a rectified one may be active in a
    few rows only, and a metric that measures signals by their own size asks for weights of
    the inverse size from them; in K they count as units that vary a little.

    Parameters
    ----------
    base : Mixable
    share, widening : float
    """

    def __init__(self, base, share, widening=0.0):
        self.base, self.share, self.widening = base, share, widening
        for name in ("needs_seeds", "factored", "recursive", "natural", "invariant"):
            setattr(self, name, getattr(base, name))

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
        return self.base.recursive_inverse(topology, mixed, relative, absolute, self.share)

    def block(self, topology, statistics, unit):
        return self.base.block(topology, self._mixed(topology, statistics), unit)

    def inexact(self, tolerance):
        return PlusKronecker(self.base.inexact(tolerance), self.share, self.widening)

    def condensed(self, statistics):
        return self.base.condensed(statistics)

    def check(self, topology, n_samples, n_seeds, averaged):
        self.base.check(topology, n_samples, n_seeds, averaged)


class Mixable(Reduction):
    """A reduction whose statistics can have those of its own Kronecker form added."""

    def moments(self, point, widening):
        """Means of products of activities alone: the statistics where ``c = 1``."""
        raise missing(self, "moments")

    def mixed(self, topology, statistics, moments, share):
        """The statistics of ``A + share * K``, from those of A and the moments."""
        raise missing(self, "mixed")

    def recursive_inverse(self, topology, statistics, relative=0.0, absolute=None, share=0.0):
        """The inverse as a `RecursiveInverse`, where `recursive` says so.

        Arguments as of `factorize`; `share` is that of K in mixed statistics.
        """
        raise missing(self, "recursive_inverse")

    def with_kronecker(self, share, widening=0.0):
        return PlusKronecker(self, share, widening)

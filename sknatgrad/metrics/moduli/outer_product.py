"""The outer-product modulus."""

import numpy as np

from ._base import Modulus


class OuterProduct(Modulus):
    """``c_k = (d loss / d v_k)^2`` at the true target.

    Paper: Definition "Outer product metric". Intrinsic, and free: its only seed
    is the one that the gradient has backpropagated already.
    """

    name = "op"
    needs_target = True

    def n_seeds(self, n_outputs):
        return 1

    def pulled(self, point, rng):
        yield point.backpropagated[:, None, :]


class WithOuterProduct(Modulus):
    """``c_k + share * (d loss / d v_k)^2``: another modulus plus a share of this one.

    A unit that is saturated on the wrong side has a vanishing Fisher modulus and a
    gradient that does not vanish; the outer product is large exactly there, and
    keeps the first-order gain of each unit's step below ``1 / share`` nats.
    Intrinsic if the other modulus is.

    Parameters
    ----------
    base : Modulus
    share : float
    """

    needs_target = True

    def __init__(self, base, share):
        self.base, self.share = base, share
        self.name, self.linear, self.random = base.name, base.linear, base.random

    def n_seeds(self, n_outputs):
        return self.base.n_seeds(n_outputs) + 1

    def pulled(self, point, rng):
        yield from self.base.pulled(point, rng)
        yield np.sqrt(self.share) * point.backpropagated[:, None, :]

    def values(self, point, rng):
        return self.base.values(point, rng) + self.share * point.backpropagated**2

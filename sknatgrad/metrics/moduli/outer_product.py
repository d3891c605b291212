"""The outer-product modulus."""

from ._base import Modulus


class OuterProduct(Modulus):
    """``c_k = (d loss / d v_k)^2`` at the true target.

    Paper: Definition "Outer product metric". Intrinsic, and free: its only seed
    is the one that the gradient has backpropagated already.
    """

    name = "op"
    needs_target = True
    vanishes_with_residual = True

    def pulled(self, point, rng):
        yield point.backpropagated[:, None, :]

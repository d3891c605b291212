"""A metric that the paper's Monte-Carlo rows may be of."""

from ...metrics import MonteCarlo


class DrawnAndTrue(MonteCarlo):
    """``c_k``: the Monte-Carlo modulus plus the outer product.

    This is what a program computes if it adds up ``(d loss(y) / d v_k)^2`` in each backward
    pass, for the drawn target and then for the true one. With one draw it comes nearer
    to the paper's rows "Monte Carlo" than its equation does. doc/paper.md says how it
    was picked, and why that is weak evidence.
    """

    name = "mc_fisher_and_op"
    needs_target = True

    def n_seeds(self, n_outputs):
        return 1 + super().n_seeds(n_outputs)

    def pulled(self, point, rng):
        yield from super().pulled(point, rng)
        yield point.backpropagated[:, None, :]

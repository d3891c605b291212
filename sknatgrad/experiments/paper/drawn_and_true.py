"""The Monte-Carlo metric that the paper seems to have run."""

from ...metrics import MonteCarlo


class DrawnAndTrue(MonteCarlo):
    """``c_k``: the Monte-Carlo modulus plus the outer product.

    What a program comes to that adds up ``(d loss(y) / d v_k)^2`` in each backward
    pass, for the drawn target and then for the true one. With one draw it gives the
    paper's rows "Monte Carlo", which its equation does not; see doc/paper.md.
    """

    name = "mc_fisher_and_op"
    needs_target = True

    def n_seeds(self, n_outputs):
        return 1 + super().n_seeds(n_outputs)

    def pulled(self, point, rng):
        yield from super().pulled(point, rng)
        yield point.backpropagated[:, None, :]

"""The Kronecker-like reduction: one second-moment matrix a level."""

import numpy as np

from ...numerics.arithmetic import safe_divide
from ..linalg import centred_factor
from ..ridge import shared_ridge_factor
from ._base import Reduction
from .unitwise import check_blocks, locate

# An eigendecomposition costs as much as so many Cholesky factors.
_EIGEN_PRICE = 8


class Kronecker(Reduction):
    """Replace ``E[a_i a_j c_k]`` by ``E[a_i a_j] E[c_k]``.

    Not in the paper: the unitwise metric as if a unit's inputs and its modulus
    were independent. Units that share their sources share one matrix, so a fully
    connected level needs one factorisation. Invariant under what the unitwise
    metrics are. Per sample and full level O(d^2), and one O(d^3) solve; absolute
    damping that differs from unit to unit costs one solve each.

    Parameters
    ----------
    widening : float
        See `PlusKronecker`.
    """

    prefix = "kron"
    factored = True
    invariant = True

    def __init__(self, widening=0.0):
        self.widening = widening

    def with_kronecker(self, share, widening=0.0):
        return self if widening == self.widening else Kronecker(widening)

    def statistics(self, point, modulus, rng):
        values = point.values(modulus, rng)
        return (point.mean(values), *point.lin.unit_gram(widening=self.widening))

    def factorize(self, topology, statistics, relative=0.0, absolute=None):
        """See `Reduction.factorize`; gradients may have an axis of several right sides."""
        modulus, *grams = statistics
        solvers = []
        for group, gram in zip(topology.groups, grams, strict=True):
            strength = modulus[group.units]
            if absolute is None:
                solvers.append(_shared_solver(centred_factor(gram, relative), strength))
            else:
                solvers.append(_damped_solver(gram, strength, relative, group.take(absolute)))

        def solve(gradient):
            step = np.empty_like(gradient)
            for group, solver in zip(topology.groups, solvers, strict=True):
                rows = group.take(gradient)
                group.put(step, solver(rows.reshape(*rows.shape[:2], -1)))
            return step

        return solve

    def check(self, topology, n_samples, n_seeds, averaged):
        check_blocks(self.prefix, topology, lambda group: group.shared)

    def block(self, topology, statistics, unit):
        modulus, *grams = statistics
        number, index = locate(topology, unit)
        gram, length = grams[number], topology.groups[number].lengths[index]
        return modulus[unit] * gram[index if len(gram) > 1 else 0, :length, :length]


def _damped_solver(gram, strength, relative, absolute):
    """Solve with ``strength_k * gram + absolute_k``, in one go where that is possible."""
    if len(gram) == 1 and len(strength) >= _EIGEN_PRICE and (absolute == absolute[:1]).all():
        factor = shared_ridge_factor(gram[0], strength, absolute[0], relative)
        if factor.sound:
            return factor.solve
    blocks = strength.astype(gram.dtype)[:, None, None] * gram
    return centred_factor(blocks, relative, absolute).solve


def _shared_solver(factor, strength):
    """Solve with ``strength_k * gram``, one factorisation for all units that share it."""
    scale = safe_divide(1.0, strength)

    def solve(rhs):
        with np.errstate(over="ignore", invalid="ignore"):
            rhs = np.nan_to_num(rhs * scale[:, None, None], posinf=0.0, neginf=0.0)
        if factor.n_blocks == len(rhs):
            return factor.solve(rhs)
        n, m, k = rhs.shape
        columns = rhs.transpose(1, 0, 2).reshape(1, m, n * k)
        return factor.solve(columns).reshape(m, n, k).transpose(1, 0, 2)

    return solve

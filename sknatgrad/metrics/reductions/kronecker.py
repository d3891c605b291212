"""The Kronecker-like reduction: one second-moment matrix a level."""

import numpy as np

from ..linalg import centred_solve
from ._base import Reduction
from .unitwise import locate


class Kronecker(Reduction):
    """Replace ``E[a_i a_j c_k]`` by ``E[a_i a_j] E[c_k]``.

    Not in the paper: the unitwise metric as if a unit's inputs and its modulus
    were independent. Units that share their sources share one matrix, so a fully
    connected level needs one factorisation. Invariant under what the unitwise
    metrics are. Per sample O(d^2) a full level, and one O(d^3) solve; absolute
    damping differs from unit to unit and costs one solve each.
    """

    prefix = "kron"

    def statistics(self, point, modulus, rng):
        values = modulus.values(point, rng)
        return (point.mean(values), *point.lin.unit_gram())

    def solve(self, topology, statistics, gradient, relative=0.0, absolute=None):
        """Solve; `gradient` may have a second axis of several right-hand sides."""
        modulus, *grams = statistics
        step = np.empty_like(gradient)
        for group, gram in zip(topology.groups, grams, strict=True):
            strength = modulus[group.units]
            rhs = group.take(gradient).reshape(len(group.units), 1 + group.fan_in, -1)
            if absolute is not None:
                blocks = strength[:, None, None] * gram
                solution = centred_solve(blocks, rhs, relative, group.take(absolute))
            else:
                solution = _shared_solve(gram, rhs, strength, relative)
            group.put(step, solution)
        return step

    def block(self, topology, statistics, unit):
        modulus, *grams = statistics
        group, index = locate(topology, unit)
        gram = grams[group]
        return modulus[unit] * gram[index if len(gram) > 1 else 0]


def _shared_solve(gram, rhs, strength, relative):
    """Solve with ``strength_k * gram``, one factorisation for all units that share it."""
    scale = np.divide(1.0, strength, out=np.zeros_like(strength), where=strength > 0)
    with np.errstate(over="ignore", invalid="ignore"):
        rhs = np.nan_to_num(rhs * scale[:, None, None], posinf=0.0, neginf=0.0)
    if len(gram) == len(rhs):
        return centred_solve(gram, rhs, relative)
    n, m, k = rhs.shape
    columns = rhs.transpose(1, 0, 2).reshape(1, m, n * k)
    return centred_solve(gram, columns, relative).reshape(m, n, k).transpose(1, 0, 2)

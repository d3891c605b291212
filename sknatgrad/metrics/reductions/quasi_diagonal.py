"""The quasi-diagonal reduction."""

import numpy as np

from ...compiled import get_kernels, loops
from ...numerics.arithmetic import rounding, safe_divide
from ..linalg import centred_moments, centred_variance
from .plus_kronecker import Mixable

_NOTHING = np.empty(0)


class QuasiDiagonal(Mixable):
    """Keep ``A_00``, ``A_0i`` and ``A_ii``.

    The reduced matrix is ``diag(A) + v v^T / A_00 - diag(v v^T / A_00)`` with v
    the first row of A (paper, section "Quasi-diagonal reduction of a unitwise
    metric"): weights and bias as in A, weights among each other only through the
    bias. Positive definite, unlike the arrow matrix of the kept entries. Its
    inverse is the rule of Proposition "Quasi-diagonal gradient step". Invariant
    under affine reparametrization of units and inputs. O(n d).
    """

    prefix = "qd"
    invariant = True

    def statistics(self, point, modulus, rng):
        return point.lin.edge_moments(point.values(modulus, rng))

    def moments(self, point, widening):
        return tuple(point.lin.source_moments(widening))

    def mixed(self, topology, statistics, moments, share):
        weight = share * statistics[0][topology.own_bias]
        return tuple(
            kept + weight * moment[topology.source]
            for kept, moment in zip(statistics, moments, strict=True)
        )

    def factorize(self, topology, statistics, relative=0.0, absolute=None):
        first, second = statistics
        if get_kernels() == "numba":
            return _compiled_rule(topology.row_starts, first, second, relative, absolute)
        bias, lengths = topology.bias, topology.lengths
        corner, damping = first[bias], 0.0
        if absolute is not None and absolute[bias].any():
            # The reduction of the damped matrix, not the damped reduction.
            if relative:
                damping = centred_variance(np.repeat(corner, lengths), first, second) * relative
            corner, relative = corner + absolute[bias], 0.0
        mean, variance, error = centred_moments(np.repeat(corner, lengths), first, second)
        variance *= 1 + relative
        variance += damping
        if absolute is not None:
            variance += absolute * (absolute > error)
        inverse = safe_divide(1.0, variance)
        mean[bias] = 0.0
        inverse[bias] = 0.0

        def solve(gradient):
            at_bias = gradient[bias]
            step = np.repeat(at_bias, lengths)
            step *= mean
            np.subtract(gradient, step, out=step)
            step *= inverse
            step[bias] = safe_divide(at_bias, corner) - np.add.reduceat(mean * step, bias)
            return step

        return solve

    def block(self, topology, statistics, unit):
        first, second = (part[topology.row(unit)] for part in statistics)
        matrix = np.outer(safe_divide(first, first[0]), first)
        matrix[0] = matrix[:, 0] = first
        np.fill_diagonal(matrix, second)
        return matrix


def _compiled_rule(starts, first, second, relative, absolute):
    """The same map as `QuasiDiagonal.factorize`, in compiled loops."""
    mean, variance = np.empty(len(first)), np.empty(len(first))
    damping = _NOTHING if absolute is None else absolute
    error = rounding(second)
    loops().factor_quasi_diagonal(starts, first, second, relative, damping, error, mean, variance)

    def solve(gradient):
        step = np.empty(len(mean))
        loops().solve_quasi_diagonal(starts, mean, variance, gradient, step)
        return step

    return solve

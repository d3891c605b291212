"""The full metric with a share of its own Kronecker form."""

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from ..linalg import centred_variance
from ..moduli import sum_of_squares
from ._base import Reduction
from .kronecker import Kronecker


class FullPlusKronecker(Reduction):
    """``A + share * K`` over all parameters; see `PlusKronecker`.

    Relative damping is that of K. With fewer rows (samples times seeds) than
    parameters the solve is done in the dual, where K is what is inverted.

    Parameters
    ----------
    base : Full
    share, widening : float
    """

    needs_seeds = True
    factored = True
    invariant = True

    def __init__(self, base, share, widening=0.0):
        self.share, self.widening = share, widening
        self._full, self._kronecker = base, Kronecker()

    def statistics(self, point, modulus, rng):
        # Sampled seeds must be the same for both parts.
        drawn = list(modulus.pulled(point, rng))
        values = sum(sum_of_squares(pulled) for pulled in drawn)
        values = modulus.completed(values, point)
        lin = point.lin
        n_rows = lin.n_samples * sum(pulled.shape[1] for pulled in drawn)
        matrix = self._full.stacked(lin, drawn, n_rows)
        return matrix, point.mean(values), *point.lin.unit_gram(widening=self.widening)

    def combine(self, parts):
        parts = list(parts)
        full = self._full.combine([(weight, part[:1]) for weight, part in parts])
        return full + super().combine([(weight, part[1:]) for weight, part in parts])

    def factorize(self, topology, statistics, relative=0.0, absolute=None):
        matrix, modulus, *grams = statistics
        kronecker = (self.share * modulus, *grams)
        if len(matrix) == topology.n_parameters:
            matrix = matrix + self._kronecker.to_dense(topology, kronecker)
            damping = relative / self.share * self._variance(topology, kronecker)
            damping = damping if absolute is None else damping + absolute
            return self._full.factorize(topology, (matrix,), absolute=damping)
        invert = self._kronecker.factorize(topology, kronecker, relative / self.share, absolute)
        # (K + U^T U)^-1 g = K^-1 g - K^-1 U^T (1 + U K^-1 U^T)^-1 U K^-1 g
        spread = invert(np.ascontiguousarray(matrix.T))
        kernel = matrix @ spread
        kernel[np.diag_indices_from(kernel)] += 1.0
        kernel = cho_factor(kernel)

        def solve(gradient):
            first = invert(gradient)
            return first - spread @ cho_solve(kernel, matrix @ first)

        return solve

    def _variance(self, topology, kronecker):
        """Centred variances of K on the weights, 0 on the biases."""
        modulus, *grams = kronecker
        variance = np.zeros(topology.n_parameters)
        for group, gram in zip(topology.groups, grams, strict=True):
            diagonal = np.einsum("nii->ni", gram)
            centred = centred_variance(gram[:, :1, 0], gram[:, 0], diagonal)
            group.put(variance, modulus[group.units, None] * centred)
        return np.where(topology.is_weight, variance, 0.0)

    def block(self, topology, statistics, unit):
        row = topology.row(unit)
        own = self._full.to_dense(topology, statistics[:1])[row, row]
        return own + self.share * self._kronecker.block(topology, statistics[1:], unit)

    def to_dense(self, topology, statistics):
        kronecker = self._kronecker.to_dense(topology, statistics[1:])
        return self._full.to_dense(topology, statistics[:1]) + self.share * kronecker

    def check(self, topology, n_samples, n_seeds, averaged):
        self._full.check(topology, n_samples, n_seeds, averaged)

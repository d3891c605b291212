"""The curvature of the likelihood along the weights, and what it determines."""

import numpy as np

from ..metrics import Backpropagated, Kronecker, Metric, QuasiDiagonal
from ..metrics.linalg import centred_variance, safe_divide, without_bias

# Largest fan-in whose second moments are diagonalised. Units that do not share them must
# not cost more all together than that.
LARGEST_SPECTRUM = 500


class _Residuals:
    """Puts ``E[r r^T]``, r the score at the outputs, before a reduction's statistics.

    Its diagonal only where there are many outputs.
    """

    def statistics(self, point, modulus, rng):
        score = point.output.score(point.distribution, point.target)
        weight = 1 / score.shape[1] if point.lin.weight is None else point.lin.weight
        weighted = score * weight
        if len(score) > LARGEST_SPECTRUM:
            products = np.einsum("kn,kn->k", weighted, score)
        else:
            products = weighted @ score.T
        return (products, *super().statistics(point, modulus, rng))


class _Kronecker(_Residuals, Kronecker):
    """The Kronecker form."""


class _QuasiDiagonal(_Residuals, QuasiDiagonal):
    """The quasi-diagonal form."""


class Curvature:
    """The backpropagated metric times the number of observations, at some parameters.

    In coordinates in which the penalty is a multiple of the identity, where biases
    are as they fit best. Kronecker form, or quasi-diagonal where that costs more than a
    full level of fan-in `LARGEST_SPECTRUM`. O(n d^2 + d^3) on n samples a full level of
    fan-in d, or a unit of other levels.

    Parameters
    ----------
    objective : Objective
        With a penalty.
    evaluation : Evaluation

    Attributes
    ----------
    squares : ndarray of shape (n_parameters,)
        Of the parameters.
    """

    def __init__(self, objective, evaluation):
        topology = self._topology = objective.network.topology
        self.squares = evaluation.parameters[: topology.n_parameters] ** 2
        costs = [len(group.sources) * group.fan_in**3 for group in topology.groups]
        narrow = max(costs) <= LARGEST_SPECTRUM**3
        form, spectrum = (_Kronecker, _kronecker) if narrow else (_QuasiDiagonal, _quasi_diagonal)
        metric = Metric(Backpropagated(), form())
        _, ((residuals, *moments), _) = objective.differentiate(evaluation, metric)
        with np.errstate(over="ignore", invalid="ignore"):
            expected, self._parts = spectrum(topology, objective.penalty, moments)
        squares = residuals if residuals.ndim == 1 else residuals.diagonal()
        self._dispersion = float(safe_divide(squares.sum(), expected.sum()))
        self._scale_is_free = np.all(objective.output.free_scale)
        self._independent = 1.0 if self._scale_is_free else _independent(residuals)
        self._observed = objective.penalty.weight * topology.n_outputs * self._independent

    @property
    def finite(self):
        """Whether nothing has overflowed."""
        return all(np.isfinite(values).all() for values, _ in self._parts)

    def determined(self, strength):
        """The degree to which the data determine each weight, (n_parameters,), 0 to 1.

        ``sum_j V_ij^2 l_j / (l_j + strength)`` with V the eigenvectors, l the
        eigenvalues.
        """
        degrees = np.zeros(self._topology.n_parameters)
        for group, (values, vectors) in zip(self._topology.groups, self._parts, strict=True):
            share = safe_divide(values, values + strength)
            if vectors is not None:
                share = np.matmul(vectors**2, share[:, :, None] if len(vectors) > 1 else share.T)
                share = share[:, :, 0] if len(vectors) > 1 else share[0].T
            group.put(degrees, np.pad(share, ((0, 0), (1, 0))))
        return degrees

    def variance(self, free):
        """Of the noise, if the data determine `free` degrees of freedom.

        The unit of the loss: 1 where the output knows how noisy it is.
        """
        return self._of_residuals(free) if self._scale_is_free else 1.0

    def noise(self, free):
        """What the residuals say of it.

        Where the output claims to know: half of that, and what labels of a row that go
        together count for less.
        """
        seen = self._of_residuals(free)
        return seen if self._scale_is_free else seen**0.5 / self._independent

    def _of_residuals(self, free):
        return self._dispersion / max(1 - free / self._observed, 0.1)


def _independent(residuals):
    """Share of the outputs that are independent, from their correlations R: K / |R|^2."""
    if residuals.ndim == 1:
        return 1.0
    scale = np.sqrt(residuals.diagonal())
    correlations = safe_divide(residuals, scale[:, None] * scale)
    return safe_divide(len(scale), float((correlations**2).sum())) or 1.0


def _kronecker(topology, penalty, moments):
    """Expected squares of the residuals; eigenvalues and eigenvectors of each group."""
    modulus, *grams = moments
    parts = []
    for group, gram in zip(topology.groups, grams, strict=True):
        scale = np.sqrt(group.take(penalty.relative())[: len(gram), 1:])
        _, covariance = without_bias(gram)
        covariance = safe_divide(covariance, scale[:, :, None] * scale[:, None, :])
        values, vectors = np.linalg.eigh(covariance)
        strength = penalty.weight * modulus[group.units][:, None]
        parts.append((strength * np.maximum(values, 0.0), vectors))
    return modulus[topology.outputs], parts


def _quasi_diagonal(topology, penalty, moments):
    border, diagonal = moments
    corner = border[topology.bias]
    variance = centred_variance(corner[topology.owner], border, diagonal)
    values = penalty.weight * safe_divide(variance, penalty.relative())
    parts = [(group.take(values)[:, 1:], None) for group in topology.groups]
    return corner[topology.outputs], parts

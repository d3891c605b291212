"""The curvature of the likelihood along the weights, and what it determines."""

from functools import cached_property

import numpy as np
from scipy.linalg.lapack import dpstrf

from ...metrics import QuasiDiagonal, Reduction
from ...metrics.linalg import centred_variance, without_bias
from ...numerics.arithmetic import safe_divide
from .noise import Noise

# Largest fan-in whose second moments are diagonalised. Units that do not share them must
# not cost more all together than that.
LARGEST_SPECTRUM = 500


class _Blocks(Reduction):
    """Blocks of the metric; of units that share their sources only the mean.

    Not a second moment of the sources alone: a saturated unit hears no more of a sample,
    and samples that saturate units are often those with the largest activities.
    """

    def statistics(self, point, modulus, rng):
        values, lin = point.values(modulus, rng), point.lin
        blocks = [
            lin.group_gram(group, values[group.units].mean(axis=0) if group.shared else values)
            for group in lin.topology.groups
        ]
        return (point.mean(values), *blocks)


class Curvature:
    """The backpropagated metric times the number of observations, at some parameters.

    In coordinates in which the penalty is a multiple of the identity, where biases
    are as they fit best. Units that share their sources have one block, which is right
    for their sum, in proportion to their own moduli. Quasi-diagonal where the blocks
    cost more than a full level of fan-in `LARGEST_SPECTRUM`. O(n d^2 + d^3) on n samples
    a full level of fan-in d, or a unit of other levels; O(n d^2 + n^3) if n is small.

    Parameters
    ----------
    objective : Objective
        With a penalty.
    evaluation : Evaluation

    Attributes
    ----------
    noise : Noise
    squares : ndarray of shape (n_parameters,)
        Of the parameters.
    size : float
        Of the weights: their squares in coordinates in which the penalty is the identity.
    n_hidden_levels : int
    """

    def __init__(self, objective, evaluation):
        topology = self._topology = objective.network.topology
        self._weights = evaluation.parameters[: topology.n_parameters]
        self._relative = objective.penalty.relative
        costs = [len(group.sources) * group.fan_in**3 for group in topology.groups]
        self._narrow = max(costs) <= LARGEST_SPECTRUM**3
        blocks = _Blocks() if self._narrow else QuasiDiagonal()
        self.noise, self._statistics = Noise.measured(objective, evaluation, blocks)
        self._weight = objective.penalty.weight

    @cached_property
    def squares(self):
        return self._weights**2

    @cached_property
    def size(self):
        return float(self._relative @ self.squares)

    @property
    def n_hidden_levels(self):
        return self._topology.n_hidden_levels

    @cached_property
    def _spectra(self):
        """A `_Spectrum` of each group."""
        spectra = _of_blocks if self._narrow else _of_diagonals
        return list(spectra(self._topology, self._relative, self._weight, self._statistics))

    @cached_property
    def _eigenvalues(self):
        """Those of all groups."""
        return np.concatenate([spectrum.values.ravel() for spectrum in self._spectra])

    @cached_property
    def _along(self):
        """Squares of the weights along all eigenvectors, in the order of the eigenvalues."""
        weights = self._weights * np.sqrt(self._relative)
        along = []
        for group, spectrum in zip(self._topology.groups, self._spectra, strict=True):
            along.append(spectrum.along(group.take(weights)[:, 1:]).ravel())
        return np.square(np.concatenate(along))

    @property
    def finite(self):
        """Whether nothing has overflowed."""
        return bool(np.isfinite(self._eigenvalues).all())

    def free(self, strength):
        """How many degrees of freedom the data determine, the sum of `determined`."""
        return float(_shares(self._eigenvalues, strength).sum())

    def noise_unit(self, strength):
        """`Noise.unit` where the penalty has that strength."""
        return self.noise.unit(self.free(strength))

    def determined(self, strength, of_inputs=False):
        """The degree to which the data determine each weight, (n_parameters,), 0 to 1.

        ``sum_j V_ij^2 l_j / (l_j + strength)`` with V the eigenvectors, l the
        eigenvalues. If `of_inputs`, units that listen to no input are left out, as 0.
        """
        degrees = np.zeros(self._topology.n_parameters)
        for group, spectrum in zip(self._topology.groups, self._spectra, strict=True):
            if not of_inputs or _hears_inputs(self._topology, group):
                share = spectrum.back(_shares(spectrum.values, strength))
                group.put(degrees, np.pad(share, ((0, 0), (1, 0))))
        return degrees

    def weighed(self, strength, power):
        """`free`, and degrees of freedom and squares of the weights as far as data determine them.

        ``sum_i g_i``, ``sum_i g_i^(p + 1)`` and ``sum_i g_i^p z_i^2`` along the eigenvectors, with
        ``g_i = l_i / (l_i + strength)`` and p the power; of power 0 the sums of all.
        """
        if not power:
            free = self.free(strength)
            return free, free, self.size
        share = _shares(self._eigenvalues, strength)
        weight = share**power
        return float(share.sum()), float(weight @ share), float(weight @ self._along)

    def volume(self, strength):
        """``sum_i ln(1 + l_i / strength) / 2``: how much larger the prior's volume is, nats."""
        return np.log1p(self._eigenvalues / strength).sum() / 2


def _shares(values, strength):
    """``l / (l + strength)``, the strength positive."""
    total = values + strength
    return np.divide(values, total, out=total)


def _hears_inputs(topology, group):
    """Whether a unit of the group listens to an input."""
    return bool((group.sources < topology.n_inputs).any())


class _Spectrum:
    """Eigenvalues and eigenvectors of the blocks of a group.

    Parameters
    ----------
    matrices : ndarray of shape (1 or n_units, d, d)
        Positive semi-definite. A single one of low rank is decomposed as such: of its
        eigenvalues all but zeros are found.
    scale : float or ndarray of shape (n_units, 1)
        What its eigenvalues are multiplied by, unit by unit.
    with_vectors : bool
        Whether eigenvectors are asked for; otherwise they cost another decomposition.
    """

    def __init__(self, matrices, scale, with_vectors):
        self._matrices, self._scale, self._with_vectors = matrices, scale, with_vectors
        self._factor = _low_rank_factor(matrices[0]) if len(matrices) == 1 else None

    @cached_property
    def values(self):
        """Eigenvalues, (n_units, rank)."""
        if not np.isfinite(self._matrices).all():
            # Of which LAPACK makes numbers, or an error.
            return np.full(self._matrices.shape[:2], np.nan)
        values = self._decomposed[0] if self._with_vectors else np.linalg.eigvalsh(self._core)
        return self._scale * np.maximum(values, 0.0)

    @property
    def _core(self):
        """Matrices with the same eigenvalues, but for zeros."""
        factor = self._factor
        return self._matrices if factor is None else (factor.T @ factor)[None]

    @cached_property
    def _decomposed(self):
        values, vectors = np.linalg.eigh(self._core)
        if self._factor is not None:
            vectors = self._factor @ safe_divide(vectors, np.sqrt(np.maximum(values, 0.0)))
        return values, vectors

    def along(self, rows):
        """Rows (n_units, d) in the coordinates of the eigenvectors, (n_units, rank)."""
        return _times(rows, self._decomposed[1])

    def back(self, shares):
        """``sum_j V_ij^2 share_j``, (n_units, d), of shares (n_units, rank)."""
        return _times(shares, np.square(self._decomposed[1]).swapaxes(1, 2))


class _Diagonal:
    """The same of diagonal matrices, given by their entries."""

    def __init__(self, values):
        self.values = values

    def along(self, rows):
        return rows

    back = along


def _times(rows, matrices):
    """Each row times its matrix, or the one of all."""
    if len(matrices) == 1:
        return rows @ matrices[0]
    return np.einsum("ni,nij->nj", rows, matrices)


def _of_blocks(topology, relative, weight, statistics):
    modulus, *blocks = statistics
    for group, block in zip(topology.groups, blocks, strict=True):
        scale = np.sqrt(group.take(relative)[: len(block), 1:])
        _, covariance = without_bias(block)
        covariance = safe_divide(covariance, scale[:, :, None] * scale[:, None, :])
        share = 1.0
        if len(block) == 1:
            share = safe_divide(modulus[group.units], block[:, 0, 0])[:, None]
        # Directions are asked for by features, and where data determine little at first.
        with_vectors = topology.n_hidden_levels > 1 or _hears_inputs(topology, group)
        yield _Spectrum(covariance, weight * share, with_vectors)


def _low_rank_factor(matrix):
    """L with ``L L^T = matrix``, positive semi-definite, of at most half the rank; or None."""
    triangle, pivots, rank, _ = dpstrf(matrix, lower=1)
    if 2 * rank > len(matrix) or not np.isfinite(matrix).all():
        return None
    factor = np.empty((len(matrix), rank))
    factor[pivots - 1] = np.tril(triangle[:, :rank])
    return factor


def _of_diagonals(topology, relative, weight, statistics):
    border, diagonal = statistics
    corner = border[topology.own_bias]
    values = safe_divide(centred_variance(corner, border, diagonal), relative)
    for group in topology.groups:
        yield _Diagonal(weight * group.take(values)[:, 1:])

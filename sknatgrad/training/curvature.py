"""The curvature of the likelihood along the weights, and what it determines."""

from functools import cached_property

import numpy as np
from scipy.linalg.lapack import dpstrf

from ..metrics import Backpropagated, Metric, QuasiDiagonal, Reduction
from ..metrics.linalg import centred_variance, safe_divide, without_bias

# Largest fan-in whose second moments are diagonalised. Units that do not share them must
# not cost more all together than that.
LARGEST_SPECTRUM = 500
# Share of the observations that is left to tell of the noise, at least. Blocks count more
# degrees of freedom than there are: of few labels, which are not noisier than probabilities
# say, they would ask for a penalty that leaves nothing.
FEWEST_LEFT, FEWEST_LEFT_OF_LABELS = 0.1, 0.5


class _Observed(Reduction):
    """What the outputs and the labels are, and another reduction's statistics.

    That is the mean squares of the scores at the outputs, what the outputs expect them to
    be, and second moments of what tells how far outputs go together.
    """

    def __init__(self, base=None):
        self.base = base

    def statistics(self, point, modulus, rng):
        score = point.output.score(point.distribution, point.target)
        squares = score**2 @ point.lin.sample_share
        expected = point.mean(point.values(modulus, rng)[point.lin.topology.outputs])
        more = () if self.base is None else self.base.statistics(point, modulus, rng)
        return (squares, expected, _second_moments(point, score), *more)


def _second_moments(point, score):
    """``E[(1, s) (1, s)^T]``, s the residuals; where their scale is known, the labels.

    Labels as the scores at equal outputs: affine in them. Empty where it would be too
    large.
    """
    if len(score) > LARGEST_SPECTRUM:
        return np.empty((0, 0))
    output = point.output
    if not output.free_dispersion:
        score = output.score(output.prepared(np.ones_like(point.v)), point.target)
    rows = np.vstack([np.ones(len(point.lin.sample_share)), score])
    return (rows * point.lin.sample_share) @ rows.T


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


class Noise:
    """What the residuals at some parameters say of the noise, relative to what is expected.

    Parameters
    ----------
    objective : Objective
        With a penalty.
    evaluation : Evaluation
    base : Reduction, optional
        Statistics to compute beside.

    Attributes
    ----------
    scale_is_free : bool
        Whether the output leaves it to the residuals how noisy targets are.
    """

    def __init__(self, objective, evaluation, base=None):
        metric = Metric(Backpropagated(), _Observed(base))
        _, (statistics, _) = objective.differentiate(evaluation, metric)
        squares, expected, moments, *self._statistics = statistics
        self.scale_is_free = objective.output.free_dispersion
        tell = _of_free_scale if self.scale_is_free else _of_known_scale
        self._noise, count = tell(squares, expected, moments)
        self._weight = objective.penalty.weight
        self._observed = self._weight * count

    def variance(self, free):
        """Of the noise, if the data determine `free` degrees of freedom.

        The unit of the loss: 1 where the output knows how noisy it is.
        """
        return self.noise(free) if self.scale_is_free else 1.0

    def noise(self, free):
        """What the residuals say of it."""
        fewest = FEWEST_LEFT if self.scale_is_free else FEWEST_LEFT_OF_LABELS
        return self._noise / max(1 - free / self._observed, fewest)


class Curvature(Noise):
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
    squares : ndarray of shape (n_parameters,)
        Of the parameters.
    size : float
        Of the weights: their squares in coordinates in which the penalty is the identity.
    n_hidden_levels : int
    """

    def __init__(self, objective, evaluation):
        topology = self._topology = objective.network.topology
        self._weights = evaluation.parameters[: topology.n_parameters]
        self._relative = objective.penalty.relative()
        costs = [len(group.sources) * group.fan_in**3 for group in topology.groups]
        self._narrow = max(costs) <= LARGEST_SPECTRUM**3
        super().__init__(objective, evaluation, _Blocks() if self._narrow else QuasiDiagonal())

    @property
    def squares(self):
        return self._weights**2

    @cached_property
    def size(self):
        return float(self._relative @ self.squares)

    @property
    def n_hidden_levels(self):
        return self._topology.n_hidden_levels

    @cached_property
    def _parts(self):
        """Eigenvalues of each group, and the eigenvectors or None."""
        spectrum = _of_blocks if self._narrow else _of_diagonals
        with np.errstate(over="ignore", invalid="ignore"):
            parts = spectrum(self._topology, self._relative, self._statistics)
            return [(self._weight * values, vectors) for values, vectors in parts]

    @cached_property
    def _eigenvalues(self):
        """Those of all groups."""
        return np.concatenate([values.ravel() for values, _ in self._parts])

    @cached_property
    def _along(self):
        """Squares of the weights along all eigenvectors, in the order of the eigenvalues."""
        weights = self._weights * np.sqrt(self._relative)
        along = []
        for group, (_, vectors) in zip(self._topology.groups, self._parts, strict=True):
            rows = group.take(weights)[:, 1:]
            along.append((rows if vectors is None else _times(rows, vectors)).ravel())
        return np.square(np.concatenate(along))

    @property
    def finite(self):
        """Whether nothing has overflowed."""
        return bool(np.isfinite(self._eigenvalues).all())

    def free(self, strength):
        """How many degrees of freedom the data determine, the sum of `determined`."""
        return float(_shares(self._eigenvalues, strength).sum())

    def determined(self, strength):
        """The degree to which the data determine each weight, (n_parameters,), 0 to 1.

        ``sum_j V_ij^2 l_j / (l_j + strength)`` with V the eigenvectors, l the
        eigenvalues.
        """
        degrees = np.zeros(self._topology.n_parameters)
        for group, (values, vectors) in zip(self._topology.groups, self._parts, strict=True):
            share = _shares(values, strength)
            if vectors is not None:
                share = _times(share, np.square(vectors).swapaxes(1, 2))
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
    """``l / (l + strength)``."""
    total = values + strength
    return safe_divide(values, total, out=total)


def _times(rows, matrices):
    """Each row times its matrix, or the one of all."""
    if len(matrices) == 1:
        return rows @ matrices[0]
    return np.einsum("ni,nij->nj", rows, matrices)


def _of_free_scale(squares, expected, moments):
    """Noise variance and number of outputs where the outputs leave the noise free.

    With S the covariance of the residuals, relative to the variances that are expected
    (1 of a square loss, the means of counts), ``|S|^2 / tr S`` and ``(tr S)^2 / |S|^2``: of
    equal and independent outputs, the variance of each and their number. Outputs that
    go together are one with as many times the noise; those without noise, constant or
    learnt exactly, leave that of the others as it is.
    """
    covariance = without_bias(moments)[1] if moments.size else np.diag(squares)
    size = np.sqrt(expected)
    covariance = safe_divide(safe_divide(covariance, size), size[:, None])
    trace, size = np.trace(covariance), np.square(covariance).sum()
    noise = float(safe_divide(size, trace))
    return noise, float(safe_divide(trace**2, size)) or 1.0


def _of_known_scale(squares, expected, moments):
    """The same where the outputs claim to know how noisy they are.

    Half of their dispersion, in logarithms, and what labels of a row that go together
    count for less: by their covariance C, ``|C|^2`` is that many times the same without
    products between labels.
    """
    noise = float(safe_divide(squares.sum(), expected.sum())) ** 0.5
    if not moments.size:
        return noise, len(squares)
    covariance = without_bias(moments)[1]
    size, trace = np.square(covariance).sum(), np.trace(covariance)
    together = safe_divide(size, np.square(covariance.diagonal()).sum()) or 1.0
    return noise * float(together), float(safe_divide(trace**2, size)) or 1.0


def _of_blocks(topology, relative, statistics):
    modulus, *blocks = statistics
    for group, block in zip(topology.groups, blocks, strict=True):
        scale = np.sqrt(group.take(relative)[: len(block), 1:])
        _, covariance = without_bias(block)
        covariance = safe_divide(covariance, scale[:, :, None] * scale[:, None, :])
        values, vectors = _spectrum(covariance)
        share = 1.0
        if len(block) == 1:
            share = safe_divide(modulus[group.units], block[:, 0, 0])[:, None]
        yield share * np.maximum(values, 0.0), vectors


def _spectrum(matrices):
    """Eigenvalues and eigenvectors of a stack; of a single one of low rank, all but zeros."""
    factor = _low_rank_factor(matrices[0]) if len(matrices) == 1 else None
    if factor is None:
        return np.linalg.eigh(matrices)
    values, vectors = np.linalg.eigh(factor.T @ factor)
    vectors = factor @ safe_divide(vectors, np.sqrt(np.maximum(values, 0.0)))
    return values[None], vectors[None]


def _low_rank_factor(matrix):
    """L with ``L L^T = matrix``, positive semi-definite, of at most half the rank; or None."""
    triangle, pivots, rank, _ = dpstrf(matrix, lower=1)
    if 2 * rank > len(matrix) or not np.isfinite(matrix).all():
        return None
    factor = np.empty((len(matrix), rank))
    factor[pivots - 1] = np.tril(triangle[:, :rank])
    return factor


def _of_diagonals(topology, relative, statistics):
    border, diagonal = statistics
    corner = border[topology.bias][topology.owner]
    values = safe_divide(centred_variance(corner, border, diagonal), relative)
    for group in topology.groups:
        yield group.take(values)[:, 1:], None

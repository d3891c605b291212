"""Blocks of units that share their sources, as the samples that make them.

The block of a unit of fan-in d has ``(1 + d)^2`` entries and costs ``O(N d^2 + d^3)`` to
form and factor. But the product of the blocks of all n units of a level with one vector
each is two matrix products with the activities they share, ``O(N n d)``, what a gradient
costs. So a direction is some ten gradients away, by conjugate gradients.
"""

from copy import copy

import numpy as np

from ..numerics.arithmetic import rounding, safe_divide
from .conjugate_gradients import conjugate_gradients
from .linalg import CentredFactor, ScaledFactor, centred_variance, without_bias

# The directions of blocks are exact to rounding errors, and two equivalent fits stay together
# for longer: below this fan-in that is worth what blocks cost (doc/metrics.md).
SMALLEST_FAN_IN = 128
# So many numbers are never too many.
_SMALL = 1 << 22
# Numbers in the blocks that are formed at once.
_FORMED_SIZE = 1 << 24
# Under absolute damping one preconditioner serves units whose metrics differ by this factor.
_BIN_RATIO, _MOST_BINS = 4.0, 8
# Rounding errors end the convergence in single precision.
_SMALLEST_ERROR = 64.0
# Residuals may be so much larger than errors in the norm of the metric.
_RESIDUAL_RATIO = 100.0


def keep_as_samples(group, n_samples):
    """Whether a group's blocks are better left as samples, a choice by sizes alone.

    The samples must not take more memory than the blocks, unless it is little.
    """
    m, n = 1 + group.fan_in, len(group.units)
    small = n_samples * (m + n) <= max(n * m * m, _SMALL)
    return group.shared and group.fan_in >= SMALLEST_FAN_IN and small


class SampledBlocks:
    """The blocks ``A_k = sum_x s_k(x) a(x) a(x)^T + w_k K`` of a group's units.

    They can be weighted and added like the arrays of blocks that they stand for; sums
    become such an array when the samples would take more memory than it.

    Parameters
    ----------
    group : FanInGroup
        Its units share their sources.
    parts : list of pairs (activities, strength)
        Arrays of shape (fan_in, n_samples), without the constant a_0 = 1, and (n,
        n_samples).
    weight : ndarray of shape (n,), optional
        The numbers w.
    gram : ndarray of shape (1 + fan_in, 1 + fan_in), optional
        K.
    """

    # Sums of an array and this are ours to make.
    __array_ufunc__ = None

    def __init__(self, group, parts, weight=None, gram=None):
        self.group, self.parts, self.weight, self.gram = group, parts, weight, gram
        self.dtype = parts[0][0].dtype

    @classmethod
    def of(cls, lin, group, values):
        """Those of the modulus `values` at a linearization."""
        strength = values[group.units] * lin.sample_share
        return cls(group, [(lin.shared_activities(group), strength)])

    @property
    def n_samples(self):
        """Samples that make the blocks."""
        return sum(activities.shape[1] for activities, _ in self.parts)

    # ------------------------------------------------------------------- sums
    def __rmul__(self, weight):
        if self.gram is not None:  # statistics are averaged before K is added
            return NotImplemented
        return SampledBlocks(self.group, [(a, weight * strength) for a, strength in self.parts])

    def __add__(self, other):
        if self.gram is not None:
            return NotImplemented
        if isinstance(other, SampledBlocks):
            parts = self.parts + other.parts
            if keep_as_samples(self.group, self.n_samples + other.n_samples):
                return SampledBlocks(self.group, parts)
            other = other.formed()
        return self.formed() + other

    __radd__ = __add__

    def plus_kronecker(self, share, gram):
        """``A_k + share * E[c_k] * gram``."""
        return SampledBlocks(self.group, self.parts, share * self.mean_modulus(), gram)

    # ---------------------------------------------------------------- entries
    def mean_modulus(self):
        """``sum_x s_k(x)``, (n,)."""
        return sum(strength.sum(axis=1, dtype=float) for _, strength in self.parts)

    def formed(self, units=slice(None)):
        """The blocks of some units, (n, 1 + fan_in, 1 + fan_in)."""
        m = 1 + self.group.fan_in
        count = len(self.group.units[units])
        blocks = np.zeros((count, m, m), self.dtype)
        for activities, strength in self.parts:
            for block, row in zip(blocks, strength[units], strict=True):
                block += _gram(activities, row)
        if self.gram is not None:
            blocks += self.weight[units, None, None] * self.gram
        return blocks

    def bordering(self):
        """``A_00`` (n,), and ``A_0i`` and ``A_ii`` (n, fan_in), of every unit."""
        corner = self.mean_modulus()
        border = sum(strength @ activities.T for activities, strength in self.parts)
        diagonal = sum(strength @ np.square(activities).T for activities, strength in self.parts)
        if self.gram is not None:
            corner = corner + self.weight * self.gram[0, 0]
            border = border + self.weight[:, None] * self.gram[0, 1:]
            diagonal = diagonal + self.weight[:, None] * self.gram.diagonal()[1:]
        return corner, border, diagonal

    def common_gram(self):
        """A matrix that all ``A_k / A_00`` resemble.

        K if there is one, else their mean. It changes with the activities as they do.
        """
        if self.gram is not None:
            return self.gram
        scale = safe_divide(1.0, self.mean_modulus())
        scale = (scale / max(1, np.count_nonzero(scale))).astype(self.dtype)
        return sum(_gram(activities, scale @ strength) for activities, strength in self.parts)


def _gram(activities, weights):
    """``sum_x weight a a^T`` with a_0 = 1 first."""
    root = np.sqrt(weights)
    weighted = np.empty((1 + len(activities), len(root)), activities.dtype)
    weighted[0] = root
    np.multiply(activities, root, out=weighted[1:])
    return weighted @ weighted.T


class IterativeFactor:
    """``A + damping`` for sampled blocks, solved by preconditioned conjugate gradients.

    Takes what `CentredFactor` takes, and solves to a given error. Units that do not
    converge in as many iterations as cost what their block does are solved with it; so
    are those whose solution leaves a residual, as of a singular system, and undamped ones with
    fewer samples than weights, which converge too slowly to tell.

    Parameters
    ----------
    blocks : SampledBlocks
    relative : float
    absolute : ndarray of shape (n, 1 + fan_in) or None
    tolerance : float
        See `conjugate_gradients`.

    Notes
    -----
    O(m^3) to build, for the Cholesky factor of the matrix that serves all units; O(n m N
    + n m^2) an iteration.
    """

    def __init__(self, blocks, relative, absolute, tolerance):
        self._blocks, self._relative, self._absolute = blocks, relative, absolute
        self._tolerance = max(tolerance, _SMALLEST_ERROR * np.finfo(blocks.dtype).eps)
        self._system = _CentredSystem(blocks, relative, absolute)
        size = 1 + blocks.group.fan_in
        determined = relative > 0 or absolute is not None or blocks.n_samples >= size
        self._max_iter = max(32, size // 2) if determined else 0

    def solve(self, rhs):
        """Solve for right-hand sides of shape (n, m, 1)."""
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            target = self._system.centre(rhs[:, :, 0])
            centred, converged = conjugate_gradients(
                copy(self._system), target, self._tolerance, self._max_iter
            )
            converged &= self._is_solution(centred, target)
            solution = self._system.uncentre(centred)[:, :, None]
        left = np.flatnonzero(~converged)
        step = max(1, _FORMED_SIZE // rhs.shape[1] ** 2)
        for start in range(0, len(left), step):
            units = left[start : start + step]
            absolute = None if self._absolute is None else self._absolute[units]
            factor = CentredFactor(self._blocks.formed(units), self._relative, absolute)
            solution[units] = factor.solve(rhs[units])
        return solution

    def _is_solution(self, centred, target):
        """Whether the residual is small.

        A singular system may have drifted along its kernel. Relative damping leaves one to units
        that are on in few samples.
        """
        residual = target - self._system.product(centred)
        sizes = [
            np.einsum("nm,nm->n", vectors, self._system.precondition(vectors))
            for vectors in (residual, target)
        ]
        return sizes[0] <= (_RESIDUAL_RATIO * self._tolerance) ** 2 * sizes[1]


class _CentredSystem:
    """The damped blocks in coordinates where the common mean of each activity is 0.

    ``b + w . a = (b + w . mean) + w . (a - mean)``: the bias changes, the weights do not.
    """

    def __init__(self, blocks, relative, absolute):
        self.parts, self.dtype = blocks.parts, blocks.dtype
        corner, border, diagonal = blocks.bordering()
        self.damping = relative * centred_variance(corner[:, None], border, diagonal)
        self.bias_damping = np.zeros_like(corner)
        if absolute is not None:
            self.bias_damping = self.bias_damping + absolute[:, 0]
            self.damping = self.damping + absolute[:, 1:]
        gram = blocks.common_gram().astype(float)
        self.corner = gram[0, 0]
        self.mean, self.covariance = without_bias(gram)
        self.share = blocks.weight
        self._choose_preconditioners(corner, gram.diagonal()[1:], relative, absolute)

    def _choose_preconditioners(self, corner, second, relative, absolute):
        error = rounding(np.empty(0, self.dtype))
        variance = self.covariance.diagonal()
        shared = relative * np.where(variance > error * second, variance, 0.0)
        self._bin = np.zeros(len(corner), dtype=int)
        if absolute is not None and corner.any():
            with np.errstate(divide="ignore"):
                level = -np.log(corner / corner.max()) / np.log(_BIN_RATIO)
            self._bin = np.minimum(level, _MOST_BINS - 1).astype(int)
        self._factors = {}
        for number in np.unique(self._bin):
            own, bias, damping = self._bin == number, 0.0, shared
            if absolute is not None:
                bias, *rest = safe_divide(absolute[own].mean(axis=0), corner[own].mean())
                damping = shared + np.array(rest)
            matrix = self.covariance + bias * np.outer(self.mean, self.mean)
            matrix[np.diag_indices_from(matrix)] += damping
            floor = error * (second + damping)
            factor = ScaledFactor(matrix[None], floor[None], error)
            self._factors[number] = self.corner + bias, factor

    def centre(self, gradient):
        """A gradient with respect to the centred parameters."""
        centred = gradient.astype(float)
        centred[:, 1:] -= centred[:, :1] * self.mean
        return centred

    def uncentre(self, step):
        """Parameters for the activities as they are."""
        step = step.copy()
        step[:, 0] -= step[:, 1:] @ self.mean
        return step

    def product(self, vectors):
        weights = vectors[:, 1:]
        bias = vectors[:, 0] - weights @ self.mean
        image = np.empty_like(vectors)
        damped = self.bias_damping * bias
        image[:, 0], image[:, 1:] = damped, self.damping * weights
        total = damped
        narrow, offset = weights.astype(self.dtype, copy=False), bias.astype(self.dtype)[:, None]
        for activities, strength in self.parts:
            response = narrow @ activities
            response += offset
            response *= strength
            sums = response.sum(axis=1, dtype=float)
            image[:, 0] += sums
            image[:, 1:] += response @ activities.T
            total = total + sums
        image[:, 1:] -= total[:, None] * self.mean
        if self.share is not None:
            image[:, 0] += self.share * self.corner * vectors[:, 0]
            image[:, 1:] += self.share[:, None] * (weights @ self.covariance)
        return image

    def precondition(self, residual):
        step = np.empty_like(residual)
        for number, (corner, factor) in self._factors.items():
            own = self._bin == number
            step[own, 0] = safe_divide(residual[own, 0], corner)
            step[own, 1:] = factor.solve(residual[own, 1:].T[None])[0].T
        return step

    def keep(self, chosen):
        if chosen.all():
            return
        self.parts = [(activities, strength[chosen]) for activities, strength in self.parts]
        self.damping, self.bias_damping = self.damping[chosen], self.bias_damping[chosen]
        self._bin = self._bin[chosen]
        if self.share is not None:
            self.share = self.share[chosen]

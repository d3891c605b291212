"""What residuals say of the noise of targets."""

from dataclasses import dataclass

import numpy as np

from ...metrics import Backpropagated, Metric, Reduction
from ...metrics.linalg import without_bias
from ...numerics.arithmetic import safe_divide

# Largest number of outputs whose covariance is looked at.
LARGEST_COVARIANCE = 500
# Share of the observations that is left to tell of the noise, at least. Blocks count more
# degrees of freedom than there are: of few labels, which are not noisier than probabilities
# say, they would ask for a penalty that leaves nothing.
FEWEST_LEFT, FEWEST_LEFT_OF_LABELS, FEW_LABELS = 0.1, 0.5, 1000
# Power of the dispersion of labels that is taken for their noise, and in networks with several
# hidden levels: the more these learn by heart, the less of noise is to be seen.
POWER, POWER_OF_DEEP = 1.0, 0.75


class _Observed(Reduction):
    """Statistics of the outputs and the targets, and those of another reduction.

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
    if len(score) > LARGEST_COVARIANCE:
        return np.empty((0, 0))
    output = point.output
    if not output.free_dispersion:
        score = output.score(output.prepared(np.ones_like(point.v)), point.target)
    rows = np.vstack([np.ones(len(point.lin.sample_share)), score])
    return (rows * point.lin.sample_share) @ rows.T


@dataclass(frozen=True)
class Noise:
    """What the residuals at some parameters say of the noise, relative to what is expected.

    Attributes
    ----------
    dispersion : float
        Of the residuals as they are.
    n_observed : float
        Independent observations.
    n_targets : float
        Independent targets of a row; 1 where a row has one class.
    pull : float
        Targets of a row that pull at the weights that they share: the same, but of K equally
        frequent classes K - 2, at least 1, where there are not several hidden levels.
    scale_is_free : bool
        Whether the output leaves it to the residuals how noisy targets are.
    """

    dispersion: float
    n_observed: float
    n_targets: float
    pull: float
    scale_is_free: bool

    @classmethod
    def measured(cls, objective, evaluation, beside=None):
        """The noise, and the statistics of another reduction of the backpropagated metric.

        Parameters
        ----------
        objective : Objective
            With a penalty.
        evaluation : Evaluation
        beside : Reduction, optional
            What to compute in the same pass over the rows.
        """
        metric = Metric(Backpropagated(), _Observed(beside))
        at = evaluation.parameters, metric, None, evaluation.points
        statistics, _ = objective.statistics(*at)
        squares, expected, moments, *others = statistics
        free = objective.output.free_dispersion
        deep = objective.network.topology.n_hidden_levels > 1
        if free:
            dispersion, count = _of_free_scale(squares, expected, moments)
        else:
            together, count = _of_labels(moments, len(squares))
            dispersion = float(safe_divide(squares.sum(), expected.sum()))
            dispersion = together * dispersion ** (POWER_OF_DEEP if deep else POWER)
        n_observed = objective.penalty.weight * count
        if objective.output.independent:
            n_targets = pull = count
        else:
            n_targets, pull = 1.0, 1.0 if deep else max(1.0, count - 1)
        return cls(dispersion, n_observed, n_targets, pull, free), others

    def unit(self, free):
        """Of the loss: the variance, or 1 where the output knows how noisy it is."""
        return self.variance(free) if self.scale_is_free else 1.0

    def variance(self, free):
        """The dispersion, if fitting has taken so many degrees of freedom off the residuals."""
        few_labels = not self.scale_is_free and self.n_observed <= FEW_LABELS
        fewest = FEWEST_LEFT_OF_LABELS if few_labels else FEWEST_LEFT
        return self.dispersion / max(1 - free / self.n_observed, fewest)


def _of_free_scale(squares, expected, moments):
    """Noise variance and number of outputs where the outputs leave the noise free.

    With S the covariance of the residuals, relative to the variances that are expected
    (1 of a square loss, the means of counts), ``|S|^2 / tr S`` and ``(tr S)^2 / |S|^2``: of
    equal and independent outputs, the variance of each and their number. Outputs that
    go together are one with as many times the noise; those without noise, constant or
    learnt exactly, leave that of the others as it is.
    """
    covariance = without_bias(moments)[1] if moments.size else np.diag(squares)
    deviation = np.sqrt(expected)
    covariance = safe_divide(safe_divide(covariance, deviation), deviation[:, None])
    trace, square = np.trace(covariance), np.square(covariance).sum()
    noise = float(safe_divide(square, trace))
    return noise, float(safe_divide(trace**2, square)) or 1.0


def _of_labels(moments, n_outputs):
    """How much less labels of a row count that go together, and the number of outputs.

    By their covariance C, ``|C|^2`` is that many times the same without products between
    labels.
    """
    if not moments.size:
        return 1.0, n_outputs
    covariance = without_bias(moments)[1]
    size, trace = np.square(covariance).sum(), np.trace(covariance)
    together = safe_divide(size, np.square(covariance.diagonal()).sum()) or 1.0
    return float(together), float(safe_divide(trace**2, size)) or 1.0

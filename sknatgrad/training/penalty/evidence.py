"""How strong a penalty the data ask for."""

from dataclasses import replace

import numpy as np
from scipy.optimize import brentq

from ...numerics.arithmetic import safe_divide
from .curvature import Curvature
from .l2 import Strength
from .noise import Noise

# The temperature is 1 / (1 + CROWDING * weights per target), at least COLDEST. Each block counts
# the directions that its unit shares with others: the fewer rows there are, the more of what is
# counted they do not determine. Labels are told from noise by fewer rows than numbers.
CROWDING, CROWDING_OF_LABELS, COLDEST = 0.25, 0.015, 0.5
# The temperature of numbers, times this where there are several hidden levels: the more they learn
# by heart, the less of noise is to be seen.
OF_DEEP = 2.0
# In units of the noise variance: the strength at the start, and the least. Below that,
# separable classes are fitted with weights that grow until the curvature, hence what it
# asks for, is gone. Networks with several hidden levels learn numbers exactly before the first
# estimate, and then there is no noise to be seen.
START, START_OF_DEEP, LEAST_STRENGTH = 0.2, 5.0, 0.3
# The first estimate comes after EARLIEST steps, then for SEARCH passes one after each, or after as
# many as have EVERY steps: a fit needs some steps to follow, and in a small one an estimate costs
# as much as a step. Later only the factors of the features and the noise of numbers and counts
# follow, after every LATER passes.
EARLIEST, SEARCH = 8, 20
EVERY, LATER = 2, 5
# The prior knowledge that features are alike, in links of each: the larger, the more alike are
# their strengths.
LIKENESS = 0.5
_EXACT = 1e-10
# An estimate needs at least so many directions that the data determine: with less, weights have
# shrunk to 0 and the strength would grow without end.
LEAST_FREE = 1.0


class Evidence:
    """The strength of an L2 penalty that maximises the evidence of the data.

    With a Gaussian prior of precision ``a`` on the weights z in standard coordinates,
    and a Gaussian approximation of the likelihood whose curvature is the
    backpropagated metric times the number of samples, the most probable a satisfies
    ``a = T s^2 g / sum z^2`` where ``g = sum_i l_i / (l_i + a)`` counts the directions
    that the data determine, l_i being the eigenvalues of that curvature, and s^2 is the
    noise variance (MacKay, *Neural Computation* 4, 1992). T is a `temperature`, 1
    where there are many rows for each weight and down to 1/2 where there are few: g, a sum over
    blocks, is then more than they can determine. Of numbers it is twice that where there are
    several hidden levels. With one, mini-batches, which forget less of what they have learnt by
    heart, have 1 / T in its place for a of numbers and counts.

    All this holds at the most probable weights. Before that, those that data do not determine are
    what they were at the start, the more so the more hidden levels L there are, and say that
    weights are large. So directions count by ``g_i^p`` with ``g_i = l_i / (l_i + a)`` and
    ``p = 1 - 1 / L`` (`selectivity`): ``a = T s^2 sum g_i^(p + 1) / sum g_i^p z_i^2``, which holds
    there as well.

    The noise variance is the dispersion of the residuals, in units of the variance that
    the outputs themselves speak of, corrected for the g degrees of freedom. Square and
    Poisson losses leave it free, as targets may be expressed in any units; of several targets,
    noisy ones count for more. Others say that it is 1, but labels are often cleaner than
    that; where there are several hidden levels, the dispersion's power 3/4 is taken. Labels of
    a row that go together are fewer observations than they seem.

    One number a for all layers: with one a layer, rescaling layers against each other
    would lower the penalty without end. The weights of each feature have theirs
    multiplied by a factor of their own (automatic relevance determination), at which
    the same equation holds for them, but for a Gamma prior; the factors leave the penalty
    of all features as it is. Features without relevance are thus forgotten. The prior's
    mean is 1, or the larger the fewer rows a feature's variance comes from
    (`InputScale.prior_precision`): else rare words and dark pixels learn their rows by heart.

    Everything is expressed in standard coordinates (`Curvature`), so that it is intrinsic.

    Parameters
    ----------
    steps_a_pass : int
    n_passes : int
        Of passes so far, those whose strength was looked for like this.
    learnt : bool
        Whether there were others: there is something to see before the first pass.
    features : float or ndarray of shape (n_inputs,)
        Mean of the Gamma prior of the features' factors.
    n_weights : float
        Of sources that vary.
    deep : bool
        Whether several learn numbers.
    """

    def __init__(
        self,
        steps_a_pass=1,
        n_passes=0,
        learnt=False,
        features=1.0,
        n_weights=0.0,
        deep=False,
    ):
        self.n_passes, self._whole = n_passes, steps_a_pass == 1
        self._blank = not (n_passes or learnt)
        self._first = 0 if learnt and not n_passes else -(-EARLIEST // steps_a_pass)
        self._every = -(-EVERY // steps_a_pass)
        self._last = self._first + SEARCH
        self.features = features
        self._n_weights, self._deep = n_weights, deep

    @property
    def searching(self):
        """Whether the strength is still being estimated; a perfect fit ends no training before."""
        return self.n_passes < self._last

    @property
    def due(self):
        """Whether to change the strength before the next pass.

        The first pass of mini-batches has no penalty, so that it is what as many calls
        of `partial_fit` are.
        """
        if self._blank:
            return self._whole
        if self.n_passes > self._last:
            return self.n_passes % LATER == 0
        since = self.n_passes - self._first
        return since >= 0 and since % self._every == 0

    def end_pass(self):
        """Count a pass."""
        self.n_passes += 1
        self._blank = False

    def strength(self, objective, evaluation):
        """The `Strength` that the data ask for; as it is where they do not tell.

        Parameters
        ----------
        objective : Objective
            Of all rows, or of a sample of them.
        evaluation : Evaluation
            At the parameters of the moment.
        """
        penalty = objective.penalty
        if self._blank:
            noise, _ = Noise.measured(objective, evaluation)
            unit, alpha = noise.unit(0.0), penalty.strength.alpha
            if not penalty.strength.fixed:
                # Many classes would be learnt by heart before there is an estimate.
                alpha = noise.pull * (START_OF_DEEP if self._deep else START) * unit
            found = replace(penalty.strength, alpha=alpha, noise_unit=unit)
        else:
            found = self._estimate(penalty, Curvature(objective, evaluation))
        return found if np.isfinite(found.alpha) and found.alpha > 0 else penalty.strength

    def _estimate(self, penalty, curvature):
        """The strengths that are asked for, of all weights and of each feature."""
        alpha = penalty.strength.alpha
        if not penalty.strength.fixed:
            settled = self.n_passes > self._last and alpha > 0
            alpha = (self._held if settled else self._most_probable)(penalty, curvature)
        if not np.isfinite(alpha):
            return Strength(alpha)
        features = self._of_features(penalty, curvature, alpha)
        noise_unit = curvature.noise_unit(alpha)
        return replace(penalty.strength, alpha=alpha, features=features, noise_unit=noise_unit)

    def temperature(self, noise, n_rows):
        """T, the lower, the fewer targets there are for the weights.

        Parameters
        ----------
        noise : Noise
        n_rows : float
            Those that are observations.
        """
        crowding = CROWDING if noise.scale_is_free else CROWDING_OF_LABELS
        found = max(COLDEST, 1 / (1 + crowding * self._n_weights / (noise.n_targets * n_rows)))
        return OF_DEEP * found if self._deep else found

    @staticmethod
    def _held(penalty, curvature):
        """The strength as it is, in units of the noise.

        Estimates go on as long as the fit is one of what all data say. Later ones, of a
        fit that has begun to learn noise by heart, would ask for less and less.
        """
        last = penalty.strength
        known = last.noise_unit
        return last.alpha * (curvature.noise_unit(last.alpha) / known if known else 1.0)

    def _most_probable(self, penalty, curvature):
        """The strength of all weights at which the equation holds.

        Where nothing tells, NaN, or the least in place of one that was no estimate.

        With one hidden level what is asked for falls as the strength grows, so there is one.
        """
        least = LEAST_STRENGTH * curvature.noise.unit(0.0)
        if not (0 < curvature.size < np.inf and curvature.finite and least > 0):
            return np.nan

        power = selectivity(curvature.n_hidden_levels)
        temperature = self.temperature(curvature.noise, penalty.weight)
        if curvature.noise.scale_is_free and not (self._whole or self._deep):
            temperature = 1 / temperature

        def asked(alpha):
            free, counted, size = curvature.weighed(alpha, power)
            per_square = counted / size if size else 0.0
            wanted = temperature * curvature.noise.variance(free) * per_square
            return max(wanted, LEAST_STRENGTH * curvature.noise.unit(free))

        found = _crossing(asked, least)
        if curvature.free(found) >= LEAST_FREE:
            return found
        return least if penalty.strength.noise_unit is None else np.nan

    def _of_features(self, penalty, curvature, alpha):
        """Factors of the features' strengths, (n_inputs,)."""
        free, before = curvature.free(alpha), penalty.strength.features
        temperature = self.temperature(curvature.noise, penalty.weight)
        tempered = temperature * curvature.noise.variance(free)
        if penalty.strength.fixed and free > 0:
            # At which the equation would hold for all of them.
            tempered = alpha * curvature.size / free
        if not tempered > 0:
            return before
        free = penalty.by_feature(curvature.determined(alpha, of_inputs=True))
        size, links = penalty.by_feature(penalty.standard * curvature.squares), penalty.n_links
        likeness = LIKENESS * links
        expected = safe_divide(likeness, self.features)
        factors = safe_divide(free + likeness, size * (alpha / tempered) + expected)
        penalised = size.sum() if before is None else size @ before
        factors *= safe_divide(penalised, factors @ size)
        return np.where(links > 0, factors, 1.0)


def selectivity(n_hidden_levels):
    """Power of the degree to which data determine a weight, by which it counts in an estimate."""
    return 1 - 1 / n_hidden_levels


def _crossing(asked, least):
    """The strength that is what it asks for, at least `least`, which asks for more."""
    most = asked(least)
    while most < np.inf and asked(most) > most:
        most *= 10
    if not least < most < np.inf:
        return most
    ends = np.log(least), np.log(most) + _EXACT
    return float(np.exp(brentq(lambda log: np.log(asked(np.exp(log))) - log, *ends, xtol=_EXACT)))

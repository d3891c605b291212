"""What loss to expect on new rows, from the rows of the training."""

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri

from ...metrics import Fisher, Metric, Reduction
from ...numerics.arithmetic import safe_divide
from .noise import Noise

# Numbers of rows times outputs, and of products, up to which degrees of freedom are counted.
LARGEST_KERNEL, LARGEST_COST = 2000, 2e10
# Of all degrees of freedom, those that are left to the residuals, at least.
_FEWEST_LEFT = 1e-3


def can_be_told(network, n_samples):
    """Whether `expected_loss` is cheap enough.

    It costs O(N^2 c + N^3), N being rows times outputs, and c units and sources of each full
    level and links of the others.
    """
    size = n_samples * network.topology.n_outputs
    each = sum(
        len(group.units) + group.fan_in if group.shared else len(group.units) * (1 + group.fan_in)
        for group in network.topology.groups
    )
    return size <= LARGEST_KERNEL and size**2 * each <= LARGEST_COST


def expected_loss(objective, evaluation):
    """The mean loss to be expected on new rows.

    With g the degrees of freedom that the fit takes (`degrees_of_freedom`), W the number of
    rows and N that of independent observations (`Noise`), it is

    * ``loss / (1 - g / N)^2`` where the output leaves the noise free, which is generalised
      cross-validation (Golub, Heath and Wahba, *Technometrics* 21, 1979), and
    * ``loss + g / W`` where it says how noisy labels are, the network information criterion
      (Murata, Yoshizawa and Amari, *IEEE Trans. Neural Networks* 5, 1994).

    Both are right to first order in g; the first blames fits that leave nothing to the
    residuals. The second does not: where labels are learnt by heart the curvature of the
    likelihood is gone, and with it g.

    Parameters
    ----------
    objective : Objective
        With a penalty that is not 0.
    evaluation : Evaluation
        At the least penalised loss.

    Returns
    -------
    float
        In the unit of the loss.
    """
    free = degrees_of_freedom(objective, evaluation)
    if not objective.output.free_dispersion:
        return evaluation.data_loss + free / objective.penalty.weight
    noise, _ = Noise.measured(objective, evaluation)
    return evaluation.data_loss / max(1 - free / noise.n_observed, _FEWEST_LEFT) ** 2


def degrees_of_freedom(objective, evaluation):
    """How many degrees of freedom of the outputs the rows determine.

    With J the derivatives of the outputs of all rows, times the square root of the outputs'
    Fisher matrix, in coordinates in which the penalty is ``alpha |z|^2 / 2``, it is ``tr K
    (K + alpha)^-1``, ``K = J J^T``: exact, where the blocks of `Curvature` count what units
    share once for each of them. Biases, which are not penalised, count as weights of one more
    feature; others are taken about their mean. So it is intrinsic.

    Parameters
    ----------
    objective : Objective
        With a penalty that is not 0.
    evaluation : Evaluation

    Returns
    -------
    float
    """
    penalty = objective.penalty
    kernel = penalty.weight * _kernel(objective, evaluation)
    alpha = penalty.strength.alpha
    kernel[np.diag_indices_from(kernel)] += alpha
    factor, failed = dpotrf(kernel, lower=1)
    inverse, failed_too = dpotri(factor, lower=1)
    if failed or failed_too:
        return float(len(kernel))
    return len(kernel) - alpha * float(np.trace(inverse))


class _Factors(Reduction):
    """What a full Fisher matrix is made of: values at all units, and the activities they meet.

    The rows of the square root of the matrix are their products, which are not formed.
    """

    needs_seeds = True

    def statistics(self, point, modulus, rng):
        pulled = np.concatenate(list(modulus.pulled(point, rng)), axis=1, dtype=float)
        share = point.lin.sample_share.astype(float)
        groups = point.lin.topology.groups
        activities = (point.lin.incoming(group).astype(float) for group in groups)
        return (np.sqrt(share) * pulled, share, *activities)

    def combine(self, parts):
        weights, parts = zip(*parts, strict=True)
        pulled, share, *activities = zip(*parts, strict=True)
        return (
            _side_by_side(np.sqrt(w) * one for w, one in zip(weights, pulled, strict=True)),
            _side_by_side(w * one for w, one in zip(weights, share, strict=True)),
            *map(_side_by_side, activities),
        )


def _side_by_side(arrays):
    return np.concatenate(list(arrays), axis=-1)


def _kernel(objective, evaluation):
    """K for rows of mean weight 1 / n_samples, (N, N)."""
    metric = Metric(Fisher(), _Factors())
    at = evaluation.parameters, metric, None, evaluation.points
    (pulled, share, *activities), _ = objective.statistics(*at)
    total = 0.0
    for group, rows in zip(objective.network.topology.groups, activities, strict=True):
        of_weights = np.sqrt(group.take(objective.penalty.relative))
        of_biases = objective.penalty.of_biases[group.units, None]
        scale = of_weights / of_biases
        scale[:, 0] = 1.0
        rows[:, 1:] -= (rows[:, 1:] @ share)[:, :, None]
        signals = pulled[group.units] / of_biases[:, :, None]
        if group.shared:
            # Units of one level differ by what their biases differ by.
            total += _products(signals, safe_divide(rows[0], scale[0][:, None]))
        else:
            for own, heard, by in zip(signals, rows, scale, strict=True):
                total += _products(own[None], safe_divide(heard, by[:, None]))
    return total


def _products(signals, activities):
    """``sum_ki (d_k a_i) (d_k a_i)^T`` of values (k, seeds, n) and activities (i, n)."""
    n_seeds, signals = signals.shape[1], signals.reshape(len(signals), -1)
    products = signals.T @ signals
    products *= np.tile(activities.T @ activities, (n_seeds, n_seeds))
    return products

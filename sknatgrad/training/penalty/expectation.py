"""What loss to expect on new rows, from the rows of the training."""

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri

from ...metrics import Fisher, Metric, Reduction
from ...numerics.arithmetic import safe_divide

# Numbers of rows, and of products, up to which degrees of freedom are counted.
LARGEST_KERNEL, LARGEST_COST = 2000, 2e10
# Of all degrees of freedom, those that are left to the residuals, at least.
_FEWEST_LEFT = 1e-3


def can_be_told(network, n_samples):
    """Whether `expected_loss` is cheap enough.

    Of full levels: it costs O(n^2 c + n^3), n being rows, and c units and sources of all levels.
    """
    groups = network.topology.groups
    each = sum(len(group.units) + group.fan_in for group in groups)
    full = all(group.shared for group in groups)
    return full and n_samples <= LARGEST_KERNEL and n_samples**2 * each <= LARGEST_COST


def expected_loss(objective, evaluation):
    """The mean loss to be expected on new rows.

    It is ``loss / (1 - g / n)^2`` with g the degrees of freedom that the fit takes
    (`degrees_of_freedom`) and n the number of observations, the weight of the penalty:
    generalised cross-validation (Golub, Heath and Wahba, *Technometrics* 21, 1979). A fit that
    leaves nothing to the residuals is not thought well of.

    Parameters
    ----------
    objective : Objective
        With a penalty that is not 0, of full levels and one output.
    evaluation : Evaluation
        At the least penalised loss.

    Returns
    -------
    float
        In the unit of the loss.
    """
    left = 1 - degrees_of_freedom(objective, evaluation) / objective.penalty.weight
    return evaluation.data_loss / max(left, _FEWEST_LEFT) ** 2


def degrees_of_freedom(objective, evaluation):
    """How many degrees of freedom of the output the rows determine.

    With J the derivatives of the output of all rows, times the square root of its Fisher
    matrix, in coordinates in which the penalty is ``alpha |z|^2 / 2``, it is ``tr K
    (K + alpha)^-1``, ``K = J J^T``: exact, where the blocks of `Curvature` count what units
    share once for each of them. Biases, which are not penalised, count as weights of one more
    feature; others are taken about their mean. So it is intrinsic.

    Parameters
    ----------
    objective : Objective
        With a penalty that is not 0, of full levels and one output.
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
        (pulled,) = modulus.pulled(point, rng)
        pulled = pulled[:, 0].astype(float)
        share = point.lin.sample_share.astype(float)
        groups = point.lin.topology.groups
        activities = (point.lin.incoming(group)[0].astype(float) for group in groups)
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
    """K for rows of mean weight 1 / n, (n, n)."""
    metric = Metric(Fisher(), _Factors())
    at = evaluation.parameters, metric, None, evaluation.points
    (pulled, share, *activities), _ = objective.statistics(*at)
    total = 0.0
    for group, rows in zip(objective.network.topology.groups, activities, strict=True):
        of_biases = objective.penalty.of_biases[group.units, None]
        # Weights of units that share their sources differ by what their biases differ by.
        scale = np.sqrt(group.take(objective.penalty.relative)[0]) / of_biases[0]
        scale[0] = 1.0
        rows[1:] -= (rows[1:] @ share)[:, None]
        rows, signals = safe_divide(rows, scale[:, None]), pulled[group.units] / of_biases
        products = signals.T @ signals
        products *= rows.T @ rows
        total += products
    return total

"""What loss to expect on new rows, from the rows of the training."""

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri

from ...metrics import Fisher, Metric, Reduction
from ...numerics.arithmetic import safe_divide

# Targets of all rows, and products, up to which degrees of freedom are counted.
LARGEST_KERNEL, LARGEST_COST = 2000, 2e10
# Of all degrees of freedom, those that are left to the residuals, at least.
_FEWEST_LEFT = 1e-3


def can_be_told(network, n_samples):
    """Whether `expected_loss` is cheap enough.

    Of full levels: it costs O(n^2 c + n^3), n being the targets of all rows, and c units and
    sources of all levels.
    """
    groups, n_targets = network.topology.groups, n_samples * network.topology.n_outputs
    each = sum(len(group.units) + group.fan_in for group in groups)
    full = all(group.shared for group in groups)
    return full and n_targets <= LARGEST_KERNEL and n_targets**2 * each <= LARGEST_COST


def expected_loss(objective, evaluation):
    """The mean loss to be expected on new rows.

    It is ``loss / (1 - g / n)^2`` with g the degrees of freedom that the fit takes
    (`degrees_of_freedom`) and n the number of observations, the weight of the penalty:
    generalised cross-validation (Golub, Heath and Wahba, *Technometrics* 21, 1979). Of several
    targets it is the sum over them. A fit that leaves nothing to the residuals is not thought well
    of.

    Parameters
    ----------
    objective : Objective
        With a penalty that is not 0, of full levels; of one output, or of square losses.
    evaluation : Evaluation
        At the least penalised loss.

    Returns
    -------
    float
        In the unit of the loss.
    """
    residuals, free = _residuals_and_freedom(objective, evaluation)
    squares = residuals.diagonal()
    left = np.maximum(1 - free / objective.penalty.weight, _FEWEST_LEFT)
    return evaluation.data_loss * float(safe_divide(squares, squares.sum()) @ left**-2)


def degrees_of_freedom(objective, evaluation):
    """How many degrees of freedom the rows determine, those of each output, (n_outputs,).

    With J the derivatives of the outputs of all rows, times the square root of their Fisher
    matrix, in coordinates in which the penalty is ``alpha |z|^2 / 2``, ``H = K (K + alpha)^-1``
    says how the fit follows the targets, ``K = J J^T``: exact, where the blocks of `Curvature`
    count what units share once for each of them. Biases, which are not penalised, count as weights
    of one more feature; others are taken about their mean. So it is intrinsic.

    The degrees of freedom of an output are the trace of its block of H, and of the blocks that say
    how it follows other outputs, as far as their residuals go together: the fit of copies of a
    target follows each of them, and all have the same noise.

    Parameters
    ----------
    objective : Objective
        With a penalty that is not 0, of full levels.
    evaluation : Evaluation

    Returns
    -------
    ndarray of shape (n_outputs,)
    """
    return _residuals_and_freedom(objective, evaluation)[1]


def _residuals_and_freedom(objective, evaluation):
    """Second moments of the scores of all outputs, and `degrees_of_freedom`."""
    residuals, kernel = _residuals_and_kernel(objective, evaluation)
    alpha, n_outputs = objective.penalty.strength.alpha, len(residuals)
    kernel *= objective.penalty.weight
    kernel[np.diag_indices_from(kernel)] += alpha
    factor, failed = dpotrf(kernel, lower=1)
    inverse, failed_too = dpotri(factor, lower=1)
    if failed or failed_too:
        # Which leaves nothing to the residuals.
        return residuals, np.full(n_outputs, objective.penalty.weight)
    blocks = inverse.reshape(n_outputs, -1, n_outputs, len(kernel) // n_outputs)
    # Of the inverse there is the lower triangle.
    lower = np.einsum("kili->kl", blocks)
    left = alpha * (np.tril(lower) + np.tril(lower, -1).T)
    follows = np.eye(n_outputs) * (len(kernel) // n_outputs) - left
    together = safe_divide(residuals, residuals.diagonal()[:, None])
    np.fill_diagonal(together, 1.0)
    return residuals, (follows * together).sum(axis=1)


class _Factors(Reduction):
    """Residuals, and what a full Fisher matrix is made of: values at all units, and activities.

    The rows of the square root of the matrix are their products, which are not formed.
    """

    needs_seeds = True

    def statistics(self, point, modulus, rng):
        (pulled,) = modulus.pulled(point, rng)
        share = point.lin.sample_share.astype(float)
        score = point.output.score(point.distribution, point.target)
        groups = point.lin.topology.groups
        activities = (point.lin.incoming(group)[0].astype(float) for group in groups)
        moments = (score * share) @ score.T
        return (moments, np.sqrt(share) * pulled.astype(float), share, *activities)

    def combine(self, parts):
        weights, parts = zip(*parts, strict=True)
        residuals, pulled, share, *activities = zip(*parts, strict=True)
        return (
            sum(w * one for w, one in zip(weights, residuals, strict=True)),
            _side_by_side(np.sqrt(w) * one for w, one in zip(weights, pulled, strict=True)),
            _side_by_side(w * one for w, one in zip(weights, share, strict=True)),
            *map(_side_by_side, activities),
        )


def _side_by_side(arrays):
    return np.concatenate(list(arrays), axis=-1)


def _residuals_and_kernel(objective, evaluation):
    """Second moments of the scores of all outputs, and K for rows of mean weight 1 / n.

    The entries of K are those of all rows for the first output, for the second, and so on.
    """
    metric = Metric(Fisher(), _Factors())
    at = evaluation.parameters, metric, None, evaluation.points
    (residuals, pulled, share, *activities), _ = objective.statistics(*at)
    total = 0.0
    for group, rows in zip(objective.network.topology.groups, activities, strict=True):
        of_biases = objective.penalty.of_biases[group.units, None, None]
        # Weights of units that share their sources differ by what their biases differ by.
        scale = np.sqrt(group.take(objective.penalty.relative)[0]) / of_biases[0, 0]
        scale[0] = 1.0
        rows[1:] -= (rows[1:] @ share)[:, None]
        rows = safe_divide(rows, scale[:, None])
        signals = (pulled[group.units] / of_biases).reshape(len(of_biases), -1)
        products = signals.T @ signals
        products *= np.tile(rows.T @ rows, residuals.shape)
        total += products
    return residuals, total

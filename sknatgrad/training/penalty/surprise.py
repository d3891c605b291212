"""What a fit is compared by where each has found a penalty of its own."""

import numpy as np

from .curvature import Curvature


def surprise(objective, evaluation, curvature=None):
    """Minus the logarithm of the evidence, up to a constant.

    ``W loss / s^2 + K W ln(s^2) / 2 + sum_i ln(1 + l_i / a) / 2``, in the notation of
    `Evidence`, with W the weight of the rows and K the number of outputs: Laplace's
    approximation. A start that fits better because it has found a weaker penalty pays
    for the directions that the penalty leaves to the data. O(.) of `Curvature`.

    Parameters
    ----------
    objective : Objective
        With the penalty that was found; of all rows or of a sample of them.
    evaluation : Evaluation
        At the parameters that were.
    curvature : Curvature, optional
        There, if it is known.

    Returns
    -------
    float
        Nats.
    """
    curvature = curvature or Curvature(objective, evaluation)
    alpha = objective.penalty.strength.alpha
    if not curvature.finite:
        return np.inf
    weight, unit = objective.penalty.weight, curvature.noise_unit(alpha)
    n_labels = weight * objective.network.topology.n_outputs
    with np.errstate(divide="ignore", invalid="ignore"):
        fit = np.divide(weight * evaluation.loss, unit) + n_labels * np.log(unit) / 2
    return float(fit + curvature.volume(alpha))

"""What independent starts are compared by."""

import numpy as np

from .curvature import Curvature


def criterion(objective, parameters, by_evidence):
    """The less, the better is a fit of these rows.

    Parameters
    ----------
    objective : Objective
        With the penalty as it is at the end; of all rows or of a sample of them.
    parameters : ndarray
    by_evidence : bool
        Whether the strength of the penalty was found by `Evidence`. Otherwise it is the
        same for all starts, and the penalised loss, which they minimise, says it all.

    Returns
    -------
    float
        Nats, or a penalised mean loss. Not finite where there is no telling.
    """
    evaluation = objective.evaluate(parameters)
    if by_evidence and objective.penalises:
        return _surprise(objective, evaluation)
    return evaluation.loss


def _surprise(objective, evaluation):
    """Minus the logarithm of the evidence, up to a constant.

    ``W loss / s^2 + K W ln(s^2) / 2 + sum_i ln(1 + l_i / a) / 2``, in the notation of
    `Evidence`, with W the weight of the rows and K the number of outputs: Laplace's
    approximation. A start that fits better because it has found a weaker penalty pays
    for the directions that the penalty leaves to the data. O(.) of `Curvature`.
    """
    curvature, alpha = Curvature(objective, evaluation), objective.penalty.strength.alpha
    if not curvature.finite:
        return np.inf
    weight, unit = objective.penalty.weight, curvature.noise_unit(alpha)
    n_labels = weight * objective.network.topology.n_outputs
    with np.errstate(divide="ignore", invalid="ignore"):
        fit = np.divide(weight * evaluation.loss, unit) + n_labels * np.log(unit) / 2
    return float(fit + curvature.volume(alpha))

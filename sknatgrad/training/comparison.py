"""What fits of the same rows are compared by."""

import numpy as np

from ..numerics.overflow import quiet
from ..numerics.single_thread import single_thread
from .assembly import make_objective, make_penalty, make_validator
from .penalty.expectation import can_be_told, expected_loss
from .penalty.surprise import surprise


@single_thread()
@quiet()
def compared_by(task, state, validation=None):
    """What a fit that has ended is compared by; the less, the better.

    Where rows are held out (see `session.run`), a pair: minus the best validation score, and the
    loss of these rows, which tells equal scores apart. Else the penalised loss, which all fits
    minimise; but where each has found a penalty of its own, that would favour the one with the
    weakest, and it is the `expected_loss` on new rows where that can be told, else minus the
    logarithm of the evidence.

    Returns
    -------
    float or tuple of float
        Not finite where there is no telling.
    """
    if validation is not None:
        score, loss = make_validator(task, state, *validation)(state.path.average)
        return (loss if score is None else -score), loss
    model, settings, data = task
    objective = penalised_objective(task, state)
    adapts = settings.adapts_alpha(model.network)
    if not (adapts and objective.penalises):
        return objective.evaluate(state.path.average).loss
    if expects(model, data):
        return expected_loss(objective, objective.evaluate(state.path.average))
    objective = objective.sampled()
    return surprise(objective, objective.evaluate(state.path.average))


def penalised_objective(task, state):
    """What a fit has minimised."""
    task = task._replace(data=task.data.in_units_of(state.row_weight))
    penalty = make_penalty(task, state) if state.strength.alpha > 0 else None
    return make_objective(task, state.coordinates, penalty)


def expects(model, data):
    """Whether fits are compared by their `expected_loss`.

    Of numbers with a square loss. Labels and counts leave no curvature where they are learnt by
    heart.
    """
    return (
        model.network.topology.n_hidden_levels > 0
        and bool(np.all(model.output.free_scale))
        and not data.whole_batches_only
        and can_be_told(model.network, data.X.shape[0])
    )

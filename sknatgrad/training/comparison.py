"""What fits of the same rows are compared by."""

from ..numerics.overflow import quiet
from ..numerics.single_thread import single_thread
from .assembly import make_objective, make_penalty
from .penalty.evidence import sample
from .penalty.expectation import can_be_told, expected_loss
from .penalty.surprise import surprise


@single_thread()
@quiet()
def compared_by(model, settings, data, state):
    """What a fit that has ended is compared by; the less, the better.

    Where rows are held out, a pair: minus the best validation score, and its lowest loss,
    which tells equal scores apart. Else the penalised loss, which all fits minimise; but
    where each has found a penalty of its own, that would favour the one with the weakest,
    and it is the `expected_loss` on new rows where that can be told, else minus the logarithm
    of the evidence.

    Returns
    -------
    float or tuple of float
        Not finite where there is no telling.
    """
    if state.history.best_held_out is not None:
        score, loss = state.history.best_held_out
        return -score, loss
    data = data.in_units_of(state.row_weight)
    penalty = make_penalty(model, data, state) if state.strength.alpha > 0 else None
    objective = make_objective(model, settings, data, state.coordinates, penalty)
    adapts = settings.adapts_alpha(model.network)
    if not (adapts and objective.penalises):
        return objective.evaluate(state.path.average).loss
    if expects(model, objective.n_samples):
        return expected_loss(objective, objective.evaluate(state.path.average))
    if not data.whole_batches_only:
        objective = sample(objective)
    return surprise(objective, objective.evaluate(state.path.average))


def expects(model, n_samples):
    """Whether fits are compared by their `expected_loss`.

    Of numbers, and of labels in several hidden levels; with one, evidence is the better judge.
    Neither where only some outputs know how noisy their targets are, nor of densities, whose
    loss has no least value.
    """
    output, network = model.output, model.network
    deep_labels = output.known_dispersion and network.topology.n_hidden_levels > 1
    told = (output.free_dispersion or deep_labels) and output.nonnegative
    return bool(told) and can_be_told(network, n_samples)

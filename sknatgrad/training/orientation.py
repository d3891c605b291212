"""Which way round inputs and targets are read, so that those of the other sign start alike.

A skewed column has the sign of its skewness. A symmetric one, of as many ones as zeros, say,
gets that of what goes together with it: a target that of the skewed inputs, an input that
of the targets.
"""

from dataclasses import replace

import numpy as np
from scipy import sparse

from ..network import Network, Topology
from .data.coordinates import Coordinates
from .data.evaluation import Evaluation
from .start import free_outputs
from .state import Model

# What rounding errors leave of covariances, in deviations, that are 0, and of sums of such terms.
_NOTHING, _NOTHING_IN_SINGLE = 1e-9, 1e-5
# More covariances than that would be more numbers than most networks have.
_MOST = 10**7


def oriented(model, standard, data):
    """The standard `Coordinates` with the signs of inputs and targets.

    Parameters
    ----------
    model : Model
    standard : Coordinates
        Where skewed inputs have their sign already.
    data : Data

    Returns
    -------
    Coordinates
        The sign is 1 where nothing tells one: in data that are symmetric in all, and above
        10^7 covariances. Targets that are the inputs have the signs of these. Costs a
        gradient of a linear network where something is symmetric, else nothing.
    """
    inputs, outputs = standard.inputs, standard.outputs
    mirrored = np.zeros(model.network.topology.n_outputs, dtype=bool)
    if outputs is not None:
        mirrored |= model.output.mirrored
    known = np.where(inputs.symmetric, 0.0, np.sign(inputs.scale))
    if data.reconstructs:
        inputs = inputs.turned(_turns(model, standard, data, known, known)[0])
        signs = inputs.scale
    else:
        signs = data.target_moments.signs() if mirrored.any() else np.ones(len(mirrored))
        turns, signs = _turns(model, standard, data, known, np.where(mirrored, signs, 1.0))
        inputs = inputs.turned(turns)
    if outputs is not None:
        outputs = outputs.turned(np.where(mirrored & (signs < 0), -1.0, 1.0))
    return replace(standard, inputs=inputs, outputs=outputs)


def _turns(model, standard, data, known, signs):
    """-1 or 1 of each input; and signs of the targets, found where they were 0.

    `known` are the signs of skewed inputs, 0 of others.
    """
    symmetric = np.broadcast_to(standard.inputs.symmetric, known.shape)
    undecided = symmetric.any() or not (data.reconstructs or signs.all())
    if not undecided or len(known) * len(signs) > _MOST:
        return np.ones(len(known)), signs
    cubes = _covariances(model, standard, data) ** 3
    if not data.reconstructs:
        signs = np.where(signs == 0, _sign(cubes * np.abs(known)), signs)
    return np.where(symmetric & (_sign(cubes.T * signs) < 0), -1.0, 1.0), signs


def _covariances(model, standard, data):
    """Of targets and inputs in standard coordinates, (n_outputs, n_inputs).

    They are minus the gradient of a linear network that says of all rows the same.
    """
    n_outputs, n_inputs = model.network.topology.n_outputs, model.network.topology.n_inputs
    network = Network.build(Topology.layered([n_inputs, n_outputs]), output=model.output.activation)
    linear, inputs = Model(network, model.output), standard.inputs
    # Sparse rows stay sparse: their centre is taken off afterwards.
    scaled = inputs.without_centre() if sparse.issparse(data.X) else inputs
    coordinates = Coordinates(network, scaled, free_outputs(linear, standard.outputs))
    start = Coordinates(network, outputs=standard.outputs)
    start = start.outward(np.zeros(network.topology.n_parameters))
    start = replace(coordinates, inputs=None).inward(start)
    objective = data.objective(linear, None, coordinates, np.float64)
    parameters = np.concatenate([start, model.output.start(n_outputs)])
    gradient, _ = objective.differentiate(Evaluation.without_loss(parameters))
    found = gradient[: len(start)].reshape(n_outputs, 1 + n_inputs)
    found = found[:, 1:] - found[:, :1] * ((inputs.centre - scaled.centre) / inputs.divisor)
    nothing = _NOTHING_IN_SINGLE if data.X.dtype == np.float32 else _NOTHING
    return np.where(np.abs(found) > nothing * _spread(data, coordinates), found, 0.0)


def _spread(data, coordinates):
    """Deviations of the targets in these coordinates, (n_outputs, 1); 1 of class numbers."""
    if data.target_moments is None:
        return 1.0
    scale = 1.0 if coordinates.outputs is None else np.abs(coordinates.outputs.scale)
    return np.reshape(data.target_moments.deviation / scale, (-1, 1))


def _sign(terms):
    """Of the sum of each row, 0 where it is a rounding error of its terms."""
    total, size = terms.sum(axis=1), np.abs(terms).sum(axis=1)
    return np.where(np.abs(total) > _NOTHING * size, np.sign(total), 0.0)

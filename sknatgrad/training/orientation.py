"""Which way round inputs and targets are read, so that those of the other sign start alike.

A skewed column has the sign of its skewness. A symmetric one, of as many ones as zeros, say,
gets that of what goes together with it: a target that of the skewed inputs, an input that
of the targets.
"""

from dataclasses import replace

import numpy as np

from ..network import Network, Topology
from .data.coordinates import Coordinates
from .start import free_outputs
from .state import Model

# Numbers of size 1 that rounding errors may leave of nothing.
_NOTHING = {np.dtype(np.float32): 1e-5}
_NOTHING_IN_DOUBLE = 1e-9
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
        The sign is 1 where nothing tells one: in data that are symmetric in all. Targets that
        are the inputs have the signs of these. Costs a pass over the targets, and where
        something is symmetric a gradient of a linear network.
    """
    inputs, outputs = standard.inputs, standard.outputs
    known = np.where(inputs.symmetric, 0.0, np.sign(inputs.scale))
    signs = known if data.reconstructs else _of_skewness(model, outputs, data)
    turn = np.ones(len(known))
    undecided = np.any(inputs.symmetric) or (signs == 0).any()
    if undecided and len(known) * len(signs) <= _MOST:
        cubes = _covariances(model, standard, data) ** 3
        if not data.reconstructs:
            signs = np.where(signs == 0, _sign(cubes * np.abs(known)), signs)
        turn = np.where(inputs.symmetric & (_sign(cubes.T * signs) < 0), -1.0, 1.0)
    inputs = inputs.turned(turn)
    if outputs is not None:
        if data.reconstructs:
            signs = np.where(model.output.mirrored, inputs.scale, 1.0)
        outputs = outputs.turned(np.where(signs < 0, -1.0, 1.0))
    return replace(standard, inputs=inputs, outputs=outputs)


def _of_skewness(model, outputs, data):
    """-1, 1, or 0 without skewness, (n_outputs,); 1 of targets that have no other sign."""
    mirrored = model.output.mirrored
    if outputs is None or not np.any(mirrored):
        return np.ones(model.network.topology.n_outputs)
    return np.where(mirrored, data.target_moments.signs(), 1.0)


def _covariances(model, standard, data):
    """Of targets and inputs in standard coordinates, (n_outputs, n_inputs).

    They are minus the gradient of a linear network that says of all rows the same.
    """
    shape = model.network.topology.n_outputs, model.network.topology.n_inputs
    network = Network.build(Topology.layered(shape[::-1]), output=model.output.activation)
    linear = Model(network, model.output)
    outputs = standard.outputs
    coordinates = Coordinates(network, standard.inputs, free_outputs(linear, outputs))
    start = Coordinates(network, outputs=outputs).outward(np.zeros(network.topology.n_parameters))
    start = replace(coordinates, inputs=None).inward(start)
    objective = data.objective(linear, None, coordinates, np.float64)
    at = objective.evaluate(np.concatenate([start, model.output.start(shape[0])]))
    gradient, _ = objective.differentiate(at)
    found = gradient[: len(start)].reshape(shape[0], -1)[:, 1:]
    return np.where(np.abs(found) > _NOTHING.get(data.X.dtype, _NOTHING_IN_DOUBLE), found, 0.0)


def _sign(terms):
    """Of the sum of each row, 0 where it is a rounding error of its terms."""
    total, size = terms.sum(axis=1), np.abs(terms).sum(axis=1)
    return np.where(np.abs(total) > _NOTHING_IN_DOUBLE * size, np.sign(total), 0.0)

"""Where a training starts, and the coordinates in which it works."""

import numpy as np
from scipy import sparse

from ..network import initialize
from .coordinates import Coordinates, OutputScale


def standard_coordinates(model, data, streaming):
    """Inputs and outputs centred and scaled by the data."""
    inputs = data.scale
    topology = model.network.topology
    if streaming:
        inputs = inputs.with_fallback()
    point = model.output.starting_point(data.target, data.weight, topology.n_outputs)
    if point is None or topology.outputs_feed_units:
        return Coordinates(model.network, inputs)
    centre, scale = point
    if streaming:
        size = np.abs(centre)
        scale = np.where(scale > 0, scale, np.where(size > 0, size, 1.0))
    return Coordinates(model.network, inputs, OutputScale(centre, scale))


def training_coordinates(model, settings, standard, data):
    """Those in which steps are taken: of the data as given unless nothing depends on them."""
    if not settings.invariant:
        return Coordinates(model.network)
    inputs = standard.inputs
    if sparse.issparse(data.X):
        inputs = inputs.without_centre()
    return Coordinates(model.network, inputs, _free_outputs(model, standard))


def _free_outputs(model, standard):
    """The standard coordinates of those outputs whose targets can be told in any units."""
    outputs, free = standard.outputs, model.output.free_scale
    if outputs is None or not np.any(free):
        return None
    moving = free & (outputs.scale > 0)
    return OutputScale(np.where(free, outputs.centre, 0.0), np.where(moving, outputs.scale, 1.0))


def untold_scale(model, standard, coordinates):
    """The scale of the targets, where training takes them as given; None elsewhere."""
    outputs = _free_outputs(model, standard)
    if outputs is None or coordinates.outputs is not None:
        return None
    with np.errstate(over="ignore"):
        square = outputs.scale**2
    usable = np.isfinite(square).all() and square.min() >= np.finfo(float).tiny
    return OutputScale(np.zeros_like(square), outputs.scale) if usable else None


def start_parameters(model, standard, rng):
    """Initial parameters for the data as given."""
    moving = (standard.inputs.scale != 0).astype(float)
    theta = initialize(model.network, rng, 0.0, moving)
    theta[_straight(model.network.topology)] = 0.0
    own = model.output.start(model.network.topology.n_outputs)
    return standard.outward(np.concatenate([theta, own]))


def _straight(topology):
    """Links from an input straight to an output: no symmetry is to be broken there."""
    is_output = np.zeros(topology.n_units, dtype=bool)
    is_output[topology.outputs] = True
    straight = is_output[topology.owner] & topology.is_weight
    straight[straight] = topology.source[straight] < topology.n_inputs
    return straight

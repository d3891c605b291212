"""Where a training starts, and the coordinates in which it works."""

from dataclasses import replace

import numpy as np
from scipy import sparse

from ..network import initialize
from .data.coordinates import Coordinates
from .data.scaling import OutputScale


def standard_outputs(task):
    """The `OutputScale` of the targets, None where an output has neither one nor a sign."""
    model, settings, data = task
    n_outputs = model.network.topology.n_outputs
    point = model.output.starting_point(data.target_moments, data.total_weight, n_outputs)
    if point is None and not np.any(model.output.mirrored):
        return None
    centre, scale = point or (np.zeros(n_outputs), np.ones(n_outputs))
    if settings.streaming:
        size = np.abs(centre)
        scale = np.where(scale > 0, scale, np.where(size > 0, size, 1.0))
    return OutputScale(centre, scale)


def standard_coordinates(task, outputs):
    """Inputs and outputs centred and scaled by the data."""
    model, settings, data = task
    inputs = data.scale.with_fallback() if settings.streaming else data.scale
    if model.network.topology.outputs_feed_units:
        outputs = None
    return Coordinates(model.network, inputs, outputs)


def training_coordinates(task, standard):
    """Those in which steps are taken: of the data as given unless nothing depends on them."""
    model, settings, data = task
    if not settings.invariant:
        return Coordinates(model.network)
    inputs = standard.inputs
    if sparse.issparse(data.X):
        inputs = inputs.without_centre()
    # Steps on whole batches are rounded themselves; thousands on mini-batches let errors grow.
    rounded = not (settings.streaming or settings.whole_batches(data.X.shape[0]))
    return Coordinates(model.network, inputs, free_outputs(model, standard.outputs), rounded)


def free_outputs(model, outputs):
    """The standard coordinates of those outputs whose targets can be expressed in any units."""
    free = model.output.free_scale
    if outputs is None or not np.any(free):
        return None
    moving = free & (outputs.scale != 0)
    return OutputScale(np.where(free, outputs.centre, 0.0), np.where(moving, outputs.scale, 1.0))


def raw_target_scale(model, outputs, coordinates):
    """The scale of the targets, where training takes them as given; None elsewhere."""
    outputs = free_outputs(model, outputs)
    if outputs is None or coordinates.outputs is not None:
        return None
    square = outputs.scale**2
    usable = np.isfinite(square).all() and square.min() >= np.finfo(float).tiny
    return outputs if usable else None


def target_factor(topology, outputs):
    """What scales weights as if the outputs had unit scale; `outputs` an `OutputScale`."""
    if outputs is None:
        return np.ones(topology.n_parameters)
    scale = np.ones(topology.n_units)
    scale[topology.outputs] = outputs.scale
    return topology.by_source(1.0, scale, 1.0)[topology.source] / scale[topology.owner]


def start_parameters(model, standard, coordinates, rng):
    """Initial parameters of a network in `coordinates`, drawn in those called `standard`."""
    moving = standard.inputs.varies.astype(float)
    theta = initialize(model.network, rng, 0.0, moving, bias_scale=1.0)
    theta[_straight(model.network.topology)] = 0.0
    own = model.output.start(model.network.topology.n_outputs)
    if coordinates.inputs is not None:
        # Expressed for the data as given, biases are large where inputs are far from 0.
        inputs = standard.inputs.relative_to(coordinates.inputs, coordinates.rounded)
        standard, coordinates = replace(standard, inputs=inputs), replace(coordinates, inputs=None)
    return coordinates.inward(standard.outward(np.concatenate([theta, own])))


def _straight(topology):
    """Links from an input straight to an output: no symmetry is to be broken there."""
    straight = topology.is_output[topology.owner] & topology.is_weight
    straight[straight] = topology.source[straight] < topology.n_inputs
    return straight

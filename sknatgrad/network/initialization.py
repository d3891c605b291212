"""Initial parameters that correspond from one way of writing numbers to another.

The paper (section "A first experimental comparison", "Initialization") draws the
weights of a tanh network with standard deviation 1 / sqrt(fan-in) and zero
biases, and those of a logistic network so that both compute the same function.
Here that is one rule for all activations: weights are drawn for signals that are
centred and scaled, and rewritten for the signals as they are.
"""

import numpy as np


def initialize(network, rng, centre=0.0, scale=1.0):
    """Random initial parameters.

    A unit with incoming signals ``a_i`` of typical centre ``m_i`` and half range
    ``s_i`` starts with the pre-activation ``(2 / g) sum_i z_i (a_i - m_i) / s_i``,
    where g is the gain of its activation and the z_i are independent normal numbers
    of variance 1 / fan-in. For tanh (g = 2, m = 0, s = 1) and logistic units (g = 1,
    m = s = 1/2) these are the paper's two cases.

    Parameters
    ----------
    network : Network
    rng : RandomState
    centre, scale : float or ndarray of shape (n_inputs,)
        Centre and scale of the inputs: 0 and 1 (the paper's tanh network), 1/2 and
        1/2 (its logistic network, inputs in [0, 1]), or mean and standard deviation
        of the data, which makes the start indifferent to the units of features. Where
        the scale is 0 the weights start at 0: a constant input says nothing. A negative
        scale reads the input with the opposite sign.

    Returns
    -------
    theta : ndarray of shape (n_parameters,)
    """
    topology = network.topology
    centre, scale = _signals(network, centre, scale)
    is_weight = topology.is_weight
    source, owner = topology.source[is_weight], topology.owner[is_weight]
    fan_in = np.bincount(owner, minlength=topology.n_units)
    drawn = rng.standard_normal(len(owner)) / np.sqrt(fan_in[owner])
    factor = (scale[source] * _gains(network)[owner]) / 2
    weights = np.divide(drawn, factor, out=np.zeros_like(drawn), where=factor != 0)
    theta = np.zeros(topology.n_parameters)
    theta[is_weight] = weights
    shifts = np.bincount(owner, weights * centre[source], minlength=topology.n_units)
    theta[topology.bias] = -shifts
    return theta


def standard_factor(network, scale=1.0):
    """What to multiply parameters with to get weights in standard coordinates.

    Parameters
    ----------
    network : Network
    scale : float or ndarray of shape (n_inputs,)
        Scale of the inputs; constant inputs (scale 0) are taken as they are.

    Returns
    -------
    ndarray of shape (n_parameters,)
        ``g s_i / 2`` at weights, see `initialize`; 0 at biases. 1 in tanh units that
        listen to tanh units or standardised inputs.
    """
    topology = network.topology
    scale = np.where(np.equal(scale, 0), 1.0, np.abs(scale))
    scales = np.append(_signals(network, 0.0, scale)[1], 0.0)
    return scales[topology.source] * _gains(network)[topology.owner] / 2


def _gains(network):
    gain = np.empty(network.topology.n_units)
    for level, activation in zip(network.topology.levels, network.activations, strict=True):
        gain[level.units] = activation.input_gain
    return gain


def _signals(network, centre, scale):
    """Centre and scale of every source, inputs first."""
    n_inputs = network.topology.n_inputs
    centres, scales = [np.broadcast_to(centre, n_inputs)], [np.broadcast_to(scale, n_inputs)]
    for level, activation in zip(network.topology.levels, network.activations, strict=True):
        centres.append(np.broadcast_to(activation.midpoint, level.n_units))
        scales.append(np.broadcast_to(activation.half_range, level.n_units))
    return np.concatenate(centres).astype(float), np.concatenate(scales).astype(float)

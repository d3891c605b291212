"""Initial parameters that correspond from one way of writing numbers to another.

The paper (section "A first experimental comparison", "Initialization") draws the
weights of a tanh network with standard deviation 1 / sqrt(fan-in) and zero
biases, and those of a logistic network so that both compute the same function.
Here that is one rule for all activations: weights are drawn for signals that are
centred and scaled, and rewritten for the signals as they are. Biases may be drawn like
them: the always active unit 0 of the paper is then one more signal.
"""

import numpy as np


def initialize(network, rng, centre=0.0, scale=1.0, bias_scale=0.0):
    """Random initial parameters.

    A unit with incoming signals ``a_i`` of typical centre ``m_i`` and half range
    ``s_i`` starts with the pre-activation ``(2 / g) sum_i z_i (a_i - m_i) / s_i``,
    where g is the gain of its activation and the z_i are independent normal numbers
    of variance 1 / fan-in, signals without scale not counted. For tanh (g = 2, m = 0, s = 1)
    and logistic units (g = 1, m = s = 1/2) these are the paper's two cases. Hidden units that
    listen to inputs only get ``bias_scale`` times ``(2 / g) z_0`` more, z_0 being one more
    such number: the kinks, or the steepest points, of all units are at the mean of the inputs
    otherwise, those of units with a single input nowhere else.

    Rectified units say less and less in deep networks: what all samples have in common
    grows from layer to layer, what tells them apart shrinks. Those that feed hidden
    units therefore start in pairs, two by two in their level: the second has the weights
    of the first with the opposite sign, and so have its links to the units above,
    wherever both have the link. A pair computes an odd function of v to which both signs
    of v contribute, for ReLU a linear one (Balduzzi et al., 2017, "looks linear").

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
    bias_scale : float
        The constant signal that the biases of these units are weights of: 0 in the paper.

    Returns
    -------
    theta : ndarray of shape (n_parameters,)

    References
    ----------
    D. Balduzzi, M. Frean, L. Leary, J. P. Lewis, K. W.-D. Ma, B. McWilliams, The shattered
    gradients problem, ICML 2017, arXiv:1702.08591, section 4.
    """
    topology = network.topology
    centre = topology.by_source(centre, network.by_unit("midpoint"))
    scale = topology.by_source(scale, network.by_unit("half_range"))
    is_weight = topology.is_weight
    source, owner = topology.source[is_weight], topology.owner[is_weight]
    moving = scale[source] != 0
    fan_in = np.maximum(topology.fan_in(scale[: topology.n_inputs] != 0), 1)
    pairs, drawn = _opposite_units(network), np.zeros(len(owner))
    drawn[moving] = rng.standard_normal(np.count_nonzero(moving))
    drawn = _opposed(topology, pairs, source, owner, drawn) / np.sqrt(fan_in[owner])
    factor = scale[source] * network.by_unit("input_gain")[owner] / 2
    weights = np.divide(drawn, factor, out=np.zeros_like(drawn), where=factor != 0)
    theta = np.zeros(topology.n_parameters)
    theta[is_weight] = weights
    shifts = np.bincount(owner, weights * centre[source], minlength=topology.n_units)
    theta[topology.bias] = -shifts
    if bias_scale:
        theta[topology.bias] += bias_scale * _biases(network, pairs, rng) / np.sqrt(fan_in)
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
    scale = topology.by_source(scale, network.by_unit("half_range"))
    return scale[topology.source] * standard_bias_factor(network)[topology.owner]


def standard_bias_factor(network):
    """The same of biases, ``g / 2`` of each unit: (n_units,), 1 of tanh units."""
    return network.by_unit("input_gain") / 2


def _opposed(topology, pairs, source, owner, drawn):
    """The numbers drawn for the links, made opposite where units are."""
    first, sign = pairs
    if (sign > 0).all():
        return drawn
    target = topology.n_inputs + owner
    _, drawn_for, pair = np.unique(
        first[target] * len(first) + first[source], return_index=True, return_inverse=True
    )
    return sign[target] * sign[source] * drawn[drawn_for[pair]]


def _biases(network, pairs, rng):
    """Drawn like weights for a signal of 1, but for the fan-in.

    0 where units are not hidden, or listen to others.
    """
    topology = network.topology
    first, sign = (of[topology.n_inputs :] for of in pairs)
    drawn = sign * rng.standard_normal(topology.n_units)[first - topology.n_inputs]
    above = topology.owner[topology.is_weight & (topology.source >= topology.n_inputs)]
    drawn[above] = drawn[topology.is_output] = 0.0
    return 2 * drawn / network.by_unit("input_gain")


def _opposite_units(network):
    """Of every source, the first of its pair, and its sign in it; itself and 1 if alone."""
    topology = network.topology
    first = np.arange(topology.n_inputs + topology.n_units)
    sign = np.ones(len(first))
    # Parallel links of a pair would be copies of one another for ever.
    if topology.has_parallel_links:
        return first, sign
    feeds_hidden = np.zeros(len(first), dtype=bool)
    feeds_hidden[topology.source[topology.is_weight & ~topology.is_output[topology.owner]]] = True
    feeds_hidden[topology.n_inputs + np.asarray(topology.outputs)] = False
    for level, activation in zip(topology.levels, network.activations, strict=True):
        if activation.one_sided:
            units = np.arange(topology.n_units)[level.units]
            units = topology.n_inputs + units[feeds_hidden[topology.n_inputs + units]]
            second = units[1::2]
            first[second], sign[second] = units[: 2 * len(second) : 2], -1.0
    return first, sign

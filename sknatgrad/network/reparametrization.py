"""The same function of the input, written with other numbers.

Each function returns a network that computes the same outputs. What training
makes of two such networks is what invariance is about (paper, section "Invariance
properties").
"""

import numpy as np

from .activations import Sigmoid, get_activation
from .activations_by_unit import AffineActivation
from .network import Network


def reparametrize(network, theta, alpha=1.0, beta=0.0, gamma=1.0):
    """(alpha, beta, gamma)-affine reparametrization of hidden units.

    Paper, section "Invariance properties": unit k sends ``a' = alpha s(gamma v') +
    beta`` instead of ``a = s(v)``; incoming weights are divided by gamma, outgoing
    ones by alpha, and the biases of the units it feeds make up for beta.

    Parameters
    ----------
    network : Network
    theta : ndarray of shape (n_parameters,)
    alpha, beta, gamma : float or ndarray of shape (n_units,)
        One value for each computed unit, the outputs' values included but ignored:
        outputs keep their parametrization.

    Returns
    -------
    network : Network
    theta : ndarray of shape (n_parameters,)

    Raises
    ------
    ValueError
        If an alpha or gamma is 0, or an array does not have that shape.
    """
    topology = network.topology
    hidden = ~topology.is_output
    alpha, beta, gamma = (
        np.where(hidden, _one_each(name, x, topology.n_units), default).astype(float)
        for name, x, default in (("alpha", alpha, 1.0), ("beta", beta, 0.0), ("gamma", gamma, 1.0))
    )
    if not (alpha.all() and gamma.all()):
        raise ValueError("alpha and gamma must not be 0.")
    activations = tuple(
        activation
        if outputs is not None
        else AffineActivation(activation, alpha[u], beta[u], gamma[u])
        for activation, outputs, u in zip(
            network.activations,
            topology.level_outputs,
            [level.units for level in topology.levels],
            strict=True,
        )
    )
    rewritten = _rewrite(topology, theta, (1.0, alpha), (0.0, beta), gamma)
    return Network(topology, activations), rewritten


def rescale_inputs(network, theta, scale=1.0, shift=0.0):
    """Parameters for inputs ``scale * x + shift`` instead of x.

    ``scale=-1, shift=1`` exchanges 0 and 1.

    Parameters
    ----------
    network : Network
    theta : ndarray of shape (n_parameters,)
    scale, shift : float or ndarray of shape (n_inputs,)

    Returns
    -------
    theta : ndarray of shape (n_parameters,)

    Raises
    ------
    ValueError
        If a scale is 0, or an array does not have that shape.
    """
    topology = network.topology
    scale = _one_each("scale", scale, topology.n_inputs)
    shift = _one_each("shift", shift, topology.n_inputs)
    if not scale.all():
        raise ValueError("scale must not be 0.")
    return _rewrite(topology, theta, (scale, 1.0), (shift, 0.0), np.ones(topology.n_units))


def convert_sigmoids(network, theta, to):
    """Write all sigmoid units, outputs included, with another sigmoid.

    Other units, those that `reparametrize` made among them, stay as they are.

    Between "logistic" and "tanh" these are the paper's equations for weights and
    biases (section "Gradient descents and metrics", "from sigmoid to tanh"); there
    the inputs are rewritten as well: see `rescale_inputs`. A Bernoulli output must
    be given the new output activation.

    Parameters
    ----------
    network : Network
    theta : ndarray of shape (n_parameters,)
    to : str or Activation
        "logistic", "tanh" or "scaled_tanh".

    Returns
    -------
    network : Network
    theta : ndarray of shape (n_parameters,)

    Raises
    ------
    ValueError
        If `to` is not a sigmoid.
    """
    target = get_activation(to)
    if not isinstance(target, Sigmoid):
        raise ValueError(f"to={to!r} is not a sigmoid: use logistic, tanh or scaled_tanh.")
    topology = network.topology
    scale, gamma = np.ones((2, topology.n_units))
    shift = np.zeros(topology.n_units)
    activations = []
    for level, activation in zip(topology.levels, network.activations, strict=True):
        if isinstance(activation, Sigmoid):
            ratio = (target.high - target.low) / (activation.high - activation.low)
            scale[level.units] = ratio
            shift[level.units] = target.low - ratio * activation.low
            gamma[level.units] = target.gain / activation.gain
            activation = target
        activations.append(activation)
    rewritten = _rewrite(topology, theta, (1.0, scale), (0.0, shift), gamma)
    return Network(topology, tuple(activations)), rewritten


def _one_each(name, values, count):
    """One value for each, from an array of them or a single one."""
    if np.shape(values) not in ((), (count,)):
        raise ValueError(
            f"{name} must be a number or have shape ({count},), not {np.shape(values)}."
        )
    return np.broadcast_to(values, count)


def _rewrite(topology, theta, scale, shift, gamma):
    """Parameters for sources ``scale a + shift`` and pre-activations ``v / gamma``.

    `scale` and `shift` are pairs, those of the inputs and those of the units.
    """
    if np.shape(theta) != (topology.n_parameters,):
        raise ValueError(
            f"theta must have shape ({topology.n_parameters},), not {np.shape(theta)}."
        )
    rewritten = theta / topology.by_source(*scale, constant=1.0)[topology.source]
    shift = topology.by_source(*shift)[topology.source]
    moved = np.bincount(topology.owner, rewritten * shift, minlength=topology.n_units)
    rewritten[topology.bias] -= moved
    return rewritten / gamma[topology.owner]

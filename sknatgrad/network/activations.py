"""Activation functions, as functions of the pre-activation.

An activation maps the pre-activations ``v`` of a group of units, an array of
shape (n_units, n_samples), to their activities ``a = s(v)`` and slopes
``r = s'(v)``. A new activation is one class here and one entry of
`ACTIVATIONS`.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import log_expit

from ..compiled import COMPILED_SIZE, get_kernels, loops
from ..numerics.contracts import misregistered, missing

# expit(-300) is 5e-131: far below any use, and its square does not underflow.
_LARGEST_EXPONENT = {np.dtype(np.float64): 300.0, np.dtype(np.float32): 40.0}
# A little more than what exp makes 0.
_SMALLEST_LOGARITHM = -700.0
# Of r / a, which has a pole where a = 0.
_LARGEST_RATE = 1e12


class Activation:
    """Base class: an almost everywhere differentiable function of v.

    Attributes
    ----------
    midpoint, half_range : float or ndarray of shape (n_units,)
        Centre and half width of the typical activities; they place the
        initial weights of the units downstream.
    input_gain : float or ndarray of shape (n_units,)
        The slope scale ``g``: initial pre-activations have a standard
        deviation near ``2 / g``, where the unit is neither linear nor
        saturated (paper, section "A first experimental comparison",
        "Initialization").
    largest_slope : float or ndarray of shape (n_units, 1)
        Supremum of ``abs(s')``.
    span : float or ndarray of shape (n_units,)
        Activities that are much smaller carry no signal: half of their range; of rectified
        units, which have none, a fifth of the typical one; 0 if any size is usual.
    logistic_gain : float or None
        ``g`` if the activation is an affine function of ``expit(g v)``, so that
        its activity can be read as a probability; None otherwise.
    linear : bool
        Whether activities are the pre-activations themselves.
    one_sided : bool
        Whether units respond to one sign of v only. Where they feed hidden units they
        start in opposite pairs, see `initialize`.
    """

    midpoint = 0.0
    half_range = 1.0
    input_gain = 2.0
    linear = False
    one_sided = False
    largest_slope = 1.0
    span = 0.0
    logistic_gain = None

    def at(self, units):
        """That of some of its units, in their order."""
        return self

    def fill(self, v, a, r):
        """Write activities and slopes into the arrays `a` and `r`."""
        raise missing(self, "fill")

    def value_and_slope(self, v):
        """Activities and slopes, two new arrays of the shape of `v`."""
        a, r = np.empty_like(v), np.empty_like(v)
        self.fill(v, a, r)
        return a, r

    def value(self, v):
        """Activities only."""
        return self.value_and_slope(v)[0]

    def log_value(self, v):
        """Logarithm of abs(a), and its derivative with respect to v.

        Where a vanishes the logarithm is floored and the derivative is 0.
        """
        a, r = self.value_and_slope(v)
        size = np.abs(a)
        logarithm = np.full_like(size, _SMALLEST_LOGARITHM)
        np.log(size, out=logarithm, where=~(size <= math.exp(_SMALLEST_LOGARITHM)))
        rate = np.divide(r, a, out=np.zeros_like(a), where=size > 0)
        return logarithm, np.clip(rate, -_LARGEST_RATE, _LARGEST_RATE)


def fill_logistic(z, p, limit):
    """``p = expit(z)``, and ``expit(-z)`` in place of z, for ``abs(z) <= limit``.

    Both keep their relative accuracy.
    """
    np.negative(z, out=z)
    z.clip(-limit, limit, out=z)
    np.exp(z, out=z)
    np.add(z, 1.0, out=p)
    np.reciprocal(p, out=p)
    z *= p


@dataclass(frozen=True)
class Sigmoid(Activation):
    """``low + (high - low) expit(gain v)``: logistic, tanh and their kin.

    The slope is computed from ``exp(-gain v)``, never as ``a (1 - a)``, so that
    it keeps its relative accuracy however saturated the unit is, on both sides
    alike.
    """

    low: float
    high: float
    gain: float

    @property
    def midpoint(self):
        return (self.low + self.high) / 2

    @property
    def half_range(self):
        return (self.high - self.low) / 2

    @property
    def input_gain(self):
        return self.gain

    @property
    def span(self):
        return self.half_range

    @property
    def largest_slope(self):
        return (self.high - self.low) * self.gain / 4

    @property
    def logistic_gain(self):
        return self.gain

    def fill(self, v, a, r):
        span, limit = self.high - self.low, _LARGEST_EXPONENT[r.dtype]
        if v.size <= COMPILED_SIZE and get_kernels() == "numba":
            loops().sigmoid(v, self.gain, self.low, span, limit, a, r)
            return
        np.multiply(v, self.gain, out=r)
        fill_logistic(r, a, limit)
        r *= a
        if span * self.gain != 1.0:
            r *= span * self.gain
        if span != 1.0:
            a *= span
        if self.low != 0.0:
            a += self.low

    def log_value(self, v):
        if self.low != 0.0:
            return super().log_value(v)
        gain = self.gain
        return math.log(self.high) + log_expit(gain * v), gain * np.exp(log_expit(-gain * v))


class ReLU(Activation):
    """``max(v, 0)``, slope 0 at 0."""

    # Half of the units are off: weights larger by sqrt(2) keep the variance.
    input_gain = np.sqrt(2.0)
    one_sided = True

    @property
    def span(self):
        return self.half_range / 5

    def fill(self, v, a, r):
        np.maximum(v, 0.0, out=a)
        np.greater(v, 0, out=r)


class LogReLU(ReLU):
    """``ln(1 + max(v, 0))``, slope 0 at 0: the natural-logarithm rectified linear unit.

    Where it is on it does not saturate, as tanh does, and it grows too slowly for an outlier to
    drown the other units, as it does with ReLU.

    References
    ----------
    Y. Liu, J. Zhang, C. Gao, J. Qu, L. Ji, Natural-logarithm-rectified activation function
    in convolutional neural networks, 2019, arXiv:1908.03682.
    """

    input_gain = 2.0
    # Root mean square of max(v, 0), v normal of variance 1.
    half_range = np.sqrt(0.5)

    def fill(self, v, a, r):
        np.maximum(v, 0.0, out=r)
        r += 1.0
        # Not log1p, which takes five times as long in single precision, for digits that the
        # sums over units lose in any case.
        np.log(r, out=a)
        np.divide(v > 0, r, out=r)


class Identity(Activation):
    """``v`` itself: a linear unit."""

    linear = True

    def fill(self, v, a, r):
        a[...] = v
        r[...] = 1.0


ACTIVATIONS = {
    "logistic": Sigmoid(0.0, 1.0, 1.0),
    "tanh": Sigmoid(-1.0, 1.0, 2.0),
    "scaled_tanh": Sigmoid(-1.7159, 1.7159, 4.0 / 3.0),
    "relu": ReLU(),
    "log_relu": LogReLU(),
    "identity": Identity(),
}


def get_activation(activation):
    """The `Activation` of that name; an `Activation` passes through.

    Raises
    ------
    ValueError
        If the name is unknown.
    TypeError
        If something else is registered.
    """
    if isinstance(activation, Activation):
        return activation
    if not isinstance(activation, str) or activation not in ACTIVATIONS:
        raise ValueError(
            f"Unknown activation {activation!r}: choose one of {sorted(ACTIVATIONS)} "
            "or pass an Activation object."
        )
    found = ACTIVATIONS[activation]
    if not isinstance(found, Activation):
        raise misregistered(activation, found, "an Activation object")
    return found

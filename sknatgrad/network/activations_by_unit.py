"""Activations that differ from unit to unit of a level."""

from dataclasses import dataclass

import numpy as np

from .activations import Activation


@dataclass(frozen=True, eq=False)
class AffineActivation(Activation):
    """``alpha s(gamma v) + beta`` with one (alpha, beta, gamma) a unit.

    What a unit becomes under the paper's affine reparametrization (section
    "Invariance properties").

    Parameters
    ----------
    base : Activation
        The activation s.
    alpha, beta, gamma : ndarray of shape (n_units,)
        Scale and shift of the activity, scale of the pre-activation.
    """

    base: Activation
    alpha: np.ndarray
    beta: np.ndarray
    gamma: np.ndarray

    @property
    def midpoint(self):
        return self.alpha * self.base.midpoint + self.beta

    @property
    def half_range(self):
        return self.alpha * self.base.half_range

    @property
    def input_gain(self):
        return self.gamma * self.base.input_gain

    @property
    def one_sided(self):
        return self.base.one_sided

    @property
    def span(self):
        return np.abs(self.alpha) * self.base.span

    @property
    def largest_slope(self):
        return np.abs(self.alpha * self.gamma)[:, None] * self.base.largest_slope

    def fill(self, v, a, r):
        self.base.fill(v * self.gamma[:, None], a, r)
        a *= self.alpha[:, None]
        a += self.beta[:, None]
        r *= (self.alpha * self.gamma)[:, None]


def _of_each_unit(name, shape=(-1,)):
    """A property with one number a unit, that of the unit's own activation."""

    def values(self):
        numbers = np.empty(sum(len(rows) for rows, _ in self.parts))
        for rows, activation in self.parts:
            numbers[rows] = np.ravel(getattr(activation, name))
        return numbers.reshape(shape)

    return property(values)


@dataclass(frozen=True, eq=False)
class SplitActivation(Activation):
    """Different activations for different units of a level.

    Parameters
    ----------
    parts : tuple of pairs (ndarray of int, Activation)
        Which units of the level have which activation.
    """

    parts: tuple

    midpoint = _of_each_unit("midpoint")
    half_range = _of_each_unit("half_range")
    input_gain = _of_each_unit("input_gain")
    span = _of_each_unit("span")
    largest_slope = _of_each_unit("largest_slope", shape=(-1, 1))

    def fill(self, v, a, r):
        for rows, activation in self.parts:
            a[rows], r[rows] = activation.value_and_slope(v[rows])

    def at(self, units):
        places = [(np.flatnonzero(np.isin(units, rows)), part) for rows, part in self.parts]
        return SplitActivation(tuple((rows, part) for rows, part in places if len(rows)))

"""An L2 penalty on weights in standard coordinates."""

from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np


@dataclass(frozen=True, eq=False)
class Strength:
    """How strongly weights are penalised.

    Attributes
    ----------
    alpha : float
        Strength of all weights.
    features : ndarray of shape (n_inputs,), optional
        What the weights of each input have theirs multiplied by; 1 without.
    noise_unit : float, optional
        `Noise.unit` where `alpha` was estimated: what the noise makes the loss there.
    n_passes : int
        Passes since it has been looked for.
    fixed : bool
        Whether `alpha` stays as it is, whatever data and noise say; the features' factors are
        looked for all the same.
    """

    alpha: float = 0.0
    features: np.ndarray | None = None
    noise_unit: float | None = None
    n_passes: int = 0
    fixed: bool = False

    def times(self, factor):
        """The same strength of a loss that is so many times as large."""
        noise_unit = None if self.noise_unit is None else factor * self.noise_unit
        return replace(self, alpha=factor * self.alpha, noise_unit=noise_unit)

    def of_features(self, n_inputs):
        """Strength of the weights of each input, (n_inputs,)."""
        return self.alpha * (np.ones(n_inputs) if self.features is None else self.features)


class Penalty:
    """``sum_i c_i w_i^2 / 2`` with ``c_i = strength_i s_i / W``.

    Parameters
    ----------
    topology : Topology
    standard : ndarray of shape (n_parameters,)
        s: the squares of the factors by which weights become those in standard
        coordinates; 0 for biases.
    weight : float
        W, the total weight of the samples.
    strength : Strength
    of_biases : ndarray of shape (n_units,), optional
        The factors by which biases would become those in standard coordinates; 1 without.

    Attributes
    ----------
    relative : ndarray of shape (n_parameters,)
        c where ``alpha = 1`` and ``W = 1``.
    coefficients : ndarray of shape (n_parameters,)
        c, the second derivatives.
    """

    def __init__(self, topology, standard, weight, strength, of_biases=None):
        self._topology, self.standard, self.weight = topology, standard, weight
        self.of_biases = np.ones(topology.n_units) if of_biases is None else of_biases
        self._become(strength)

    def of(self, strength):
        """The penalty of that strength on the same weights."""
        other = copy(self)
        other._become(strength)
        return other

    def _become(self, strength):
        self.strength, features, self.relative = strength, strength.features, self.standard
        if features is not None:
            self.relative = self.standard * np.append(features, 1.0)[self.feature]
        self.coefficients = self.relative * (strength.alpha / self.weight)

    @cached_property
    def feature(self):
        """Which input a weight listens to, `n_inputs` for all other parameters."""
        topology = self._topology
        heard = topology.is_weight & (topology.source < topology.n_inputs)
        return np.where(heard, topology.source, topology.n_inputs)

    @cached_property
    def n_links(self):
        """How many penalised weights listen to each input, (n_inputs,)."""
        return self.by_feature(self.standard > 0)

    def by_feature(self, values):
        """Sums over the weights of each input, (n_inputs,), of values of all parameters."""
        return np.bincount(self.feature, values)[: self._topology.n_inputs]

    def slope(self, parameters):
        """Its gradient, (n_parameters,); parameters of the output are not penalised."""
        return self.coefficients * parameters[: len(self.coefficients)]

    def at(self, parameters):
        """Its value, a float."""
        return 0.5 * float(self.slope(parameters) @ parameters[: len(self.coefficients)])

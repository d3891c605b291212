"""Softmax over classes, plain and with trainable coefficients."""

import numpy as np

from ._base import Output
from .categorical import Categorical


class Softmax(Output):
    """``P(k) = exp(a_k) / sum exp(a)`` with linear output units.

    Paper: Example "... two classification interpretations", with the identity
    activation on the last layer as its footnote has it.
    """

    name = "softmax"
    link_name = "softmax"
    discrete = True

    def _objection(self, activation):
        if not activation.linear:
            return "the softmax output has linear units; use 'identity'."

    def prepared(self, v):
        return Categorical.from_logits(self.logits(v))

    def _categorical(self, v):
        return v if isinstance(v, Categorical) else self.prepared(v)

    def loss(self, v, target):
        return self._categorical(v).loss(target)

    def score(self, v, target):
        return self._categorical(v).residual(target)

    def fisher_factor(self, v, columns=slice(None)):
        return self._categorical(v).fisher_factor(columns)

    def whitened(self, v, change):
        return self._categorical(v).whitened(change)

    def fisher_diagonal(self, v):
        distribution = self._categorical(v)
        return distribution.p * distribution.q

    def sample(self, v, rng):
        return self._categorical(v).sample(rng)

    def mean(self, v):
        return self._categorical(v).p

    def logits(self, v):
        return v

    def log_mean(self, v):
        return self._categorical(v).log_probabilities()


class ScaledSoftmax(Softmax):
    """``P(k) = exp(t_k a_k) / sum exp(t a)`` with trainable coefficients t.

    Paper: Remark "Metric for output parameters". The coefficients are parameters
    of the output, not of a unit; they are trained in the metric that the Fisher
    metric on the output distribution induces on them,
    ``E_x[a_j a_k (p_j delta_jk - p_j p_k)]``, whatever the metric of the network.

    Parameters
    ----------
    activation : str or Activation
    coefficients : ndarray of shape (n_outputs,), optional
        The values t; ones at the start.
    """

    name = "scaled_softmax"

    def __init__(self, activation="auto", coefficients=None):
        super().__init__(activation)
        self.coefficients = coefficients
        self.n_parameters = 0 if coefficients is None else len(coefficients)

    def start(self, n_outputs):
        return np.ones(n_outputs)

    def with_parameters(self, parameters):
        return ScaledSoftmax(self.activation, parameters)

    @property
    def _t(self):
        return self.coefficients[:, None]

    def score(self, v, target):
        return self._t * super().score(v, target)

    def fisher_factor(self, v, columns=slice(None)):
        return self._t[:, :, None] * super().fisher_factor(v, columns)

    def whitened(self, v, change):
        return super().whitened(v, self._t * change)

    def fisher_diagonal(self, v):
        return self._t**2 * super().fisher_diagonal(v)

    def logits(self, v):
        return self._t * v

    def parameter_score(self, v, target):
        return v * self._categorical(v).residual(target)

    def parameter_factor(self, v):
        return v[:, None, :] * self._categorical(v).fisher_factor()

    def parameter_whitened(self, v, change):
        return super().whitened(v, change[:, None] * v)

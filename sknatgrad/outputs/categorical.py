"""Distributions over classes from one logit a class.

Shared by the softmax and the spherical outputs, which differ in how a unit's
pre-activation becomes a logit.
"""

from dataclasses import dataclass

import numpy as np

from ..compiled import COMPILED_SIZE, get_kernels, loops


@dataclass(frozen=True)
class Categorical:
    """Softmax of logits, accurate at both ends.

    Attributes
    ----------
    p, q : ndarray of shape (n_classes, n_samples)
        Probabilities, and their complements to 1 without cancellation.
    log_odds : ndarray of shape (n_classes, n_samples)
        Logit minus the largest logit of the sample.
    log_total : ndarray of shape (n_samples,)
        ``ln sum exp(log_odds)``, at least 0.
    """

    p: np.ndarray
    q: np.ndarray
    log_odds: np.ndarray
    log_total: np.ndarray

    @classmethod
    def from_logits(cls, logits):
        """The distribution with these logits (n_classes, n_samples)."""
        if logits.size <= COMPILED_SIZE and get_kernels() == "numba":
            p, q, log_odds = (np.empty_like(logits) for _ in range(3))
            log_total = np.empty_like(logits[0])
            loops().categorical(logits, p, q, log_odds, log_total)
            return cls(p, q, log_odds, log_total)
        best = logits.argmax(axis=0)
        sample = np.arange(logits.shape[1])
        log_odds = logits - logits[best, sample]
        p = np.exp(log_odds)
        p[best, sample] = 0.0
        rest = p.sum(axis=0)
        p[best, sample] = 1.0
        p /= 1.0 + rest
        q = 1.0 - p
        # The others' sum, not 1 - p: right to the last digit when p is near 1.
        q[best, sample] = rest / (1.0 + rest)
        return cls(p, q, log_odds, np.log1p(rest))

    def loss(self, target):
        """``-ln p`` of the target class, (n_samples,)."""
        return self.log_total - self.log_odds[target, np.arange(len(target))]

    def residual(self, target):
        """One-hot target minus probabilities."""
        sample = np.arange(len(target))
        residual = -self.p
        residual[target, sample] = self.q[target, sample]
        return residual

    def fisher_factor(self, columns=slice(None)):
        """``S_of = sqrt(p_f) (delta_of - p_o)``: the Fisher matrix of the logits."""
        chosen = np.arange(len(self.p))[columns]
        factor = -self.p[:, None, :] * np.sqrt(self.p[None, chosen])
        factor[chosen, np.arange(len(chosen))] = np.sqrt(self.p[chosen]) * self.q[chosen]
        return factor

    def whitened(self, change):
        """``S^T change``: of the logits, whose common shift changes nothing."""
        best = self.log_odds.argmax(axis=0)
        change = change - change[best, np.arange(len(best))]
        return np.sqrt(self.p) * (change - (self.p * change).sum(axis=0))

    def sample(self, rng):
        """Class numbers drawn by inversion of one uniform number a sample."""
        uniform = rng.uniform(size=self.p.shape[1])
        below = np.cumsum(self.p, axis=0) < uniform
        return np.minimum(below.sum(axis=0), len(self.p) - 1)

    def log_probabilities(self):
        """Logarithms of p and of q, (n_classes, n_samples) each."""
        with np.errstate(divide="ignore"):
            return self.log_odds - self.log_total, np.log(self.q)

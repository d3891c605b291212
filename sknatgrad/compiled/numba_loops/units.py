"""Functions of what units have: activations, outputs, moduli."""

import numpy as np

from ._common import compiled


@compiled
def sigmoid(v, gain, low, span, limit, a, r):
    """Activities ``low + span expit(gain v)`` and their slopes."""
    for k in range(v.shape[0]):
        for j in range(v.shape[1]):
            z = -gain * v[k, j]
            z = limit if z > limit else -limit if z < -limit else z
            e = np.exp(z)
            p = 1 / (1 + e)
            a[k, j] = low + span * p
            r[k, j] = span * gain * (e * p * p)


@compiled
def categorical(logits, p, q, log_odds, log_total):
    """Softmax of logits: see `Categorical`, whose attributes are written to."""
    for j in range(logits.shape[1]):
        best = 0
        for k in range(logits.shape[0]):
            best = k if logits[k, j] > logits[best, j] else best
        rest = logits[0, j] * 0
        for k in range(logits.shape[0]):
            log_odds[k, j] = logits[k, j] - logits[best, j]
            p[k, j] = np.exp(log_odds[k, j])
            rest += p[k, j] if k != best else 0.0
        for k in range(logits.shape[0]):
            p[k, j] /= 1 + rest
            q[k, j] = 1 - p[k, j]
        # The others' sum, not 1 - p: right to the last digit when p is near 1.
        p[best, j], q[best, j] = 1 / (1 + rest), rest / (1 + rest)
        log_total[j] = np.log1p(rest)


@compiled
def sum_of_squares(pulled):
    """Sum of squares over the middle axis."""
    n_units, n_seeds, n_samples = pulled.shape
    total = np.zeros((n_units, n_samples), pulled.dtype)
    for k in range(n_units):
        for f in range(n_seeds):
            for s in range(n_samples):
                total[k, s] += pulled[k, f, s] * pulled[k, f, s]
    return total

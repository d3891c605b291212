"""Fits of many classes of which features say little: whole batches, and their first strength.

Run as ``python tests/benchmarks/bench_classes.py``. Defaults, 20 normal features, logits that are
linear in them; means over three draws of the log-loss on 4000 new rows.
"""

import warnings
from unittest import mock

import numpy as np
from threadpoolctl import threadpool_limits

from sknatgrad import RiemannianMLPClassifier
from sknatgrad.training.penalty import evidence

N_FEATURES, N_TEST, N_DRAWS = 20, 4000, 3
# Classes, rows, deviation of the logits.
TASKS = [(5, 500, 1), (10, 500, 1), (20, 1000, 1), (30, 800, 1), (50, 500, 1), (50, 1000, 2)]
TASKS += [(20, 1000, 3), (50, 1000, 5)]


def draw(rng, n_classes, n_samples, deviation):
    """Rows, classes and their true probabilities."""
    X = rng.normal(size=(n_samples, N_FEATURES))
    logits = X @ rng.normal(scale=deviation / np.sqrt(N_FEATURES), size=(N_FEATURES, n_classes))
    odds = np.exp(logits - logits.max(axis=1, keepdims=True))
    y = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
    return X, y, odds / odds.sum(axis=1, keepdims=True)


def losses(n_classes, n_train, deviation, seed):
    """Those of frequencies, both fits, and the truth, on the rows of classes that were seen."""
    rng = np.random.default_rng(seed)
    X, y, p = draw(rng, n_classes, n_train + N_TEST, deviation)
    frequency = np.bincount(y[:n_train], minlength=n_classes) / n_train
    new = np.flatnonzero(frequency[y] > 0)
    new = new[new >= n_train]
    clf = RiemannianMLPClassifier(random_state=seed)

    def ours():
        return clf.fit(X[:n_train], y[:n_train]).loss(X[new], y[new])

    with mock.patch.object(evidence, "START", evidence.START / max(1, n_classes - 2)):
        alike = ours()
    return -np.log(frequency[y[new]]).mean(), ours(), alike, -np.log(p[new, y[new]]).mean()


def main():
    """Print the table."""
    print("| classes | rows | logits | frequencies | default | from alpha = 0.2 | the truth |")
    print("|---|---|---|---|---|---|---|")
    with threadpool_limits(limits=1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for task in TASKS:
            means = np.mean([losses(*task, seed) for seed in range(N_DRAWS)], axis=0)
            print("| " + " | ".join([*map(str, task), *(f"{m:.2f}" for m in means)]) + " |")


if __name__ == "__main__":
    main()

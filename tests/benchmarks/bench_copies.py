"""Fits of rows that are repeated: copies told from observations, and every row counted.

Run as ``python tests/benchmarks/bench_copies.py``. Defaults, 300 rows and some of them again; means
over three draws of log-loss or R^2 on 2000 new rows.
"""

import warnings
from unittest import mock

import numpy as np
from threadpoolctl import threadpool_limits

from sknatgrad import RiemannianMLPClassifier, RiemannianMLPRegressor
from sknatgrad.training.data.dataset import Data

N_TRAIN, N_TEST, N_DRAWS = 300, 2000, 3


def weak_labels(rng, n_samples):
    """Twenty normal features, two of which move the odds."""
    X = rng.normal(size=(n_samples, 20))
    odds = X[:, 0] + X[:, 1]
    return X, (rng.random(n_samples) < 1 / (1 + np.exp(-odds))).astype(int)


def a_line(rng, n_samples):
    """One of twenty normal features, and as much noise."""
    X = rng.normal(size=(n_samples, 20))
    return X, X[:, 0] + rng.normal(size=n_samples)


def categories(rng, n_samples):
    """Eight features of three values, and labels of which a tenth is wrong."""
    X = rng.integers(0, 3, size=(n_samples, 8)).astype(float)
    wrong = rng.random(n_samples) < 0.1
    return X, ((X[:, :2].sum(axis=1) > 1.5) != wrong).astype(int)


def once(rng, y):
    return np.arange(len(y))


def thrice(rng, y):
    return np.tile(np.arange(len(y)), 3)


def bootstrapped(rng, y):
    return rng.integers(0, len(y), len(y))


TASKS = {
    "weak labels, log-loss": (weak_labels, RiemannianMLPClassifier),
    "a line, R^2": (a_line, RiemannianMLPRegressor),
    "categories, log-loss": (categories, RiemannianMLPClassifier),
}
ROWS = {
    "once": once,
    "three times": thrice,
    "bootstrapped": bootstrapped,
}


def score(draw, estimator, choose, seed):
    """Log-loss of the classifier, R^2 of the regressor."""
    rng = np.random.default_rng(seed)
    X, y = draw(rng, N_TRAIN + N_TEST)
    rows = choose(rng, y[:N_TRAIN])
    model = estimator(random_state=seed).fit(X[rows], y[rows])
    measure = model.loss if estimator is RiemannianMLPClassifier else model.score
    return measure(X[N_TRAIN:], y[N_TRAIN:])


def mean_score(task, choose):
    return np.mean([score(*task, choose, seed) for seed in range(N_DRAWS)])


def counting_all(self, copies=True, counted=Data.n_observed):
    """Every row as an observation."""
    return counted(self, copies=False)


def main():
    """Print the table."""
    print("| data | rows | copies told apart | every row counted |")
    print("|---|---|---|---|")
    with threadpool_limits(limits=1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, task in TASKS.items():
            for rows, choose in ROWS.items():
                told = mean_score(task, choose)
                with mock.patch.object(Data, "n_observed", counting_all):
                    counted = mean_score(task, choose)
                print(f"| {name} | {rows} | {told:.3f} | {counted:.3f} |", flush=True)


if __name__ == "__main__":
    main()

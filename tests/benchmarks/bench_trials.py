"""Scores where other penalties are tried, and where the first fit with evidence is the last.

Run as ``python tests/benchmarks/bench_trials.py``, with ``--hidden 100 100`` for two layers of 100
units. Defaults otherwise; means over three draws of the data and starts of R^2 on 1000 new rows
without noise, in brackets that of each. Seconds of a fit on one thread (and of what draws the
data), and how many times those of evidence alone.
"""

import argparse
import time
import warnings
from unittest import mock

import numpy as np
from sklearn.datasets import make_friedman1, make_regression
from threadpoolctl import threadpool_limits

from sknatgrad import RiemannianMLPRegressor
from sknatgrad.training import trials

N_TEST = 1000


def normal(function, noise=0.0):
    """Normal features; noise in deviations of the signal."""

    def draw(rng, n_samples, n_features):
        X = rng.normal(size=(n_samples, n_features))
        signal = function(X)
        return X, signal, signal + noise * signal.std() * rng.normal(size=n_samples)

    return draw


def uniform(function, size=1.0, noise=0.0):
    """Features between -size and size."""

    def draw(rng, n_samples, n_features):
        X = rng.uniform(-size, size, size=(n_samples, n_features))
        signal = function(X)
        return X, signal, signal + noise * signal.std() * rng.normal(size=n_samples)

    return draw


def products(X):
    return (X[:, :-1] * X[:, 1:]).sum(axis=1)


def rosenbrock(X):
    return (100 * (X[:, 1:] - X[:, :-1] ** 2) ** 2 + (1 - X[:, :-1]) ** 2).sum(axis=1)


def spectra(rng, n_samples, n_features):
    """Features that five hidden variables make, one of which is the target."""
    hidden = rng.normal(size=(n_samples, 5))
    X = hidden @ rng.normal(size=(5, n_features)) + rng.normal(size=(n_samples, n_features))
    return X, hidden[:, 0], hidden[:, 0] + 0.1 * rng.normal(size=n_samples)


def correlated(rng, n_samples, n_features):
    """Features of effective rank ten."""
    seed = rng.integers(2**31)
    X, y = make_regression(n_samples, n_features, effective_rank=10, noise=0.5, random_state=seed)
    return X, y, y


def friedman(rng, n_samples, n_features):
    X, signal = make_friedman1(n_samples, n_features, random_state=rng.integers(2**31))
    return X, signal, signal + rng.normal(size=n_samples)


# What draws features, signal and targets; training rows, and features.
TASKS = {
    "squares": (normal(lambda X: (X**2).sum(axis=1)), 500, 15),
    "squares, 1000 rows": (normal(lambda X: (X**2).sum(axis=1)), 1000, 30),
    "products": (uniform(products), 300, 8),
    "products, noise": (uniform(products, noise=0.3), 300, 8),
    "Rosenbrock": (uniform(rosenbrock, 2.0), 100, 5),
    "norm": (normal(lambda X: np.sqrt((X**2).sum(axis=1))), 100, 10),
    "sin 15x": (uniform(lambda X: np.sin(15 * X[:, 0]), noise=0.05), 50, 1),
    "Friedman": (friedman, 200, 10),
    "spectra": (spectra, 40, 1000),
    "correlated": (correlated, 200, 400),
    "a line, noise": (normal(lambda X: X[:, 0], noise=1.0), 200, 20),
    "a line, much noise": (normal(lambda X: X[:, 0], noise=8.0), 150, 20),
    "a line, wide": (normal(lambda X: X[:, 0], noise=1.0), 100, 200),
}

DEEP = {
    "a line, noise": (normal(lambda X: X[:, 0], noise=2.0), 300, 20),
    "a line, noise, 1000 rows": (normal(lambda X: X[:, 0], noise=2.0), 1000, 20),
    "sin 15x": (uniform(lambda X: np.sin(15 * X[:, 0]), noise=0.1), 300, 1),
    "Friedman": (friedman, 200, 10),
}


def score(hidden, draw, n_train, n_features, seed):
    """R^2 on new rows."""
    X, signal, y = draw(np.random.default_rng(seed), n_train + N_TEST, n_features)
    model = RiemannianMLPRegressor(hidden_layer_sizes=hidden, random_state=seed).fit(
        X[:n_train], y[:n_train]
    )
    return model.score(X[n_train:], signal[n_train:])


def timed(hidden, task):
    """Scores of three seeds, and processor time."""
    start = time.process_time()
    return [score(hidden, *task, seed) for seed in range(3)], time.process_time() - start


def row(name, hidden, task):
    """A line of the table."""
    found, long = timed(hidden, task)
    with mock.patch.object(trials, "_has_settled", lambda *arguments: False):
        alone, short = timed(hidden, task)
    cells = (
        f"{np.mean(scores):.2f} ({', '.join(f'{one:.2f}' for one in scores)})"
        for scores in (found, alone)
    )
    cost = f"{long / 3:.2g} s, {long / short:.1f} x"
    return f"| {name} | {task[1]} x {task[2]} | " + " | ".join(cells) + f" | {cost} |"


def main(hidden, tasks):
    """Print the table."""
    print("| data | rows x features | with trials | evidence alone | a fit with trials |")
    print("|---|---|---|---|---|")
    with threadpool_limits(limits=1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, task in tasks.items():
            print(row(name, hidden, task), flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hidden", type=int, nargs="+", default=[100], help="layer sizes")
    hidden = parser.parse_args().hidden
    main(hidden, DEEP if len(hidden) > 1 else TASKS)

"""Noisy tables around the size up to which batches are whole by default.

Run as ``python tests/benchmarks/bench_batches.py``. Fifty normal features; the mean of numbers, and
the logarithm of that of counts, linear in them; three times as much noise as signal. Means over
five draws of the squared error against the true mean, in units of its variance: a constant has 1.
"""

import warnings

import numpy as np
from threadpoolctl import threadpool_limits

from sknatgrad import RiemannianMLPRegressor

N_FEATURES, N_TEST, N_DRAWS = 50, 3000, 5
SIZES = 1000, 1500, 2000, 3000, 5000


def numbers(rng, n_samples):
    """Features, means, and targets with normal noise."""
    X = rng.normal(size=(n_samples, N_FEATURES))
    mean = X @ rng.normal(size=N_FEATURES) / np.sqrt(N_FEATURES)
    return X, mean, mean + rng.normal(scale=1.8, size=n_samples)


def counts(rng, n_samples):
    """Features, means, and counts that are drawn from them."""
    X = rng.normal(size=(n_samples, N_FEATURES))
    mean = np.exp(0.5 * X @ rng.normal(size=N_FEATURES) / np.sqrt(N_FEATURES))
    return X, mean, rng.poisson(mean)


def error(draw, loss, n_train, seed, batch_size):
    """Squared error on new rows, in units of the variance of the means."""
    X, mean, y = draw(np.random.default_rng(seed), n_train + N_TEST)
    model = RiemannianMLPRegressor(loss, batch_size=batch_size, random_state=seed)
    predicted = model.fit(X[:n_train], y[:n_train]).predict(X[n_train:])
    return np.mean((predicted - mean[n_train:]) ** 2) / mean[n_train:].var()


def main():
    """Print the table."""
    print("| data | rows | default | whole batches | mini-batches of a tenth |")
    print("|---|---|---|---|---|")
    with threadpool_limits(limits=1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for draw, loss in ((numbers, "squared_error"), (counts, "poisson")):
            for n_train in SIZES:
                errors = [
                    np.mean([error(draw, loss, n_train, seed, size) for seed in range(N_DRAWS)])
                    for size in ("auto", n_train, n_train // 10)
                ]
                cells = " | ".join(f"{each:.2f}" for each in errors)
                print(f"| {draw.__name__} | {n_train} | {cells} |", flush=True)


if __name__ == "__main__":
    main()

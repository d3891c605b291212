"""Tables around the size up to which batches are whole by default.

Run as ``python tests/benchmarks/bench_batches.py``. Fifty normal features; the mean of numbers, and
the logarithm of that of counts, linear in them; three times as much noise as signal. Means over
five draws of the squared error against the true mean, in units of its variance: a constant has 1.

With ``--cuts``: 1500 rows of public tables with more, two cuts each; test losses of whole batches
as shares of those of mini-batches of a tenth, and by how much their accuracy is higher.
"""

import argparse
import warnings

import data_sets
import numpy as np
from threadpoolctl import threadpool_limits

from sknatgrad import RiemannianMLPClassifier, RiemannianMLPRegressor

N_FEATURES, N_TEST, N_DRAWS = 50, 3000, 5
SIZES = 1000, 1500, 2000, 3000, 5000
SEVERAL = "mnist letter optdigits texture penbased satimage reuters_r8 kr-vs-k nursery splice"
TWO = "spambase chess phoneme banana ada ring"
N_CUT = 1500


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


def cut(name, seed):
    """Logarithm of the ratio of the losses, and difference of the accuracies, of one cut."""
    X, y = data_sets.load(name)
    order = np.random.RandomState(seed).permutation(X.shape[0])
    train, test = order[:N_CUT], order[N_CUT : N_CUT + 4000]
    test = test[np.isin(y[test], y[train])]
    fits = [
        RiemannianMLPClassifier(batch_size=size, random_state=seed).fit(X[train], y[train])
        for size in (N_CUT, N_CUT // 10)
    ]
    whole, parts = ([clf.loss(X[test], y[test]), clf.score(X[test], y[test])] for clf in fits)
    return np.log(whole[0] / parts[0]), whole[1] - parts[1]


def print_cuts():
    """Print the table of public tables."""
    print("| data | loss | accuracy |")
    print("|---|---|---|")
    for kind, names in (("several classes", SEVERAL), ("two classes", TWO)):
        found = {
            name: np.mean([cut(name, seed) for seed in range(2)], axis=0) for name in names.split()
        }
        found[f"*{kind}*"] = np.mean([*found.values()], axis=0)
        for name, (loss, accuracy) in found.items():
            print(f"| {name} | {np.exp(loss):.3f} | {accuracy:+.4f} |", flush=True)


def print_noisy():
    """Print the table of noisy ones."""
    print("| data | rows | default | whole batches | mini-batches of a tenth |")
    print("|---|---|---|---|---|")
    for draw, loss in ((numbers, "squared_error"), (counts, "poisson")):
        for n_train in SIZES:
            errors = [
                np.mean([error(draw, loss, n_train, seed, size) for seed in range(N_DRAWS)])
                for size in ("auto", n_train, n_train // 10)
            ]
            cells = " | ".join(f"{each:.2f}" for each in errors)
            print(f"| {draw.__name__} | {n_train} | {cells} |", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cuts", action="store_true", help="of public tables")
    with threadpool_limits(limits=1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (print_cuts if parser.parse_args().cuts else print_noisy)()

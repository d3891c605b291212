"""Where training in batches of 1 to 500 rows ends, against the whole batch.

Run as ``python tests/benchmarks/bench_mini_batches.py``. Excess of the training loss in
nats over that of a converged linear model (counts, rare events: the model is linear), and
log-losses of a held-out third of digits and of noisy classes, after at most 50 passes (5 of
one row each) with defaults otherwise. Then R^2 of regression streams, of ten rows a call, one
row of which has a feature far away from the others. One BLAS thread.
"""

import warnings

import numpy as np
from sklearn.datasets import load_digits, make_classification
from sklearn.model_selection import train_test_split

from sknatgrad import RiemannianMLPClassifier, RiemannianMLPRegressor

SIZES = (1, 5, 50, 500)
FAR = (0.0, 1e3, 1e6)
STREAMS = {
    "linear": {"hidden_layer_sizes": ()},
    "10 ReLUs": {"hidden_layer_sizes": (10,), "activation": "relu"},
    "10 log_relu": {"hidden_layer_sizes": (10,)},
    "10 tanh": {"hidden_layer_sizes": (10,), "activation": "tanh"},
}


def counts(rate, n_samples=2000):
    """Features far from the origin, and counts of that mean."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_samples, 3))
    return 100 * X + 1e4, rng.poisson(rate * np.exp(X @ [0.5, -0.3, 0.0]))


def linear(batch_size, y, X, **parameters):
    """Excess of the loss over the converged model's."""
    kind = RiemannianMLPRegressor if parameters else RiemannianMLPClassifier
    common = {"hidden_layer_sizes": (), "random_state": 0, "alpha": 0.0, **parameters}
    best = kind(**common, metric="bp", max_iter=200, tol=1e-12).fit(X, y).loss(X, y)
    passes = 5 if batch_size == 1 else 50
    return kind(**common, batch_size=batch_size, max_iter=passes).fit(X, y).loss(X, y) - best


def held_out(batch_size, X, y):
    """Log-loss of a third of the rows."""
    X, X_test, y, y_test = train_test_split(X, y, test_size=1 / 3, random_state=0, stratify=y)
    passes = 5 if batch_size == 1 else 50
    clf = RiemannianMLPClassifier(
        (50,), alpha=0.0, batch_size=batch_size, max_iter=passes, random_state=0
    )
    return clf.fit(X, y).loss(X_test, y_test)


def after_an_outlier(far, n_samples=1000, **parameters):
    """R^2 of all other rows after a stream in which one feature of one row is that large."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_samples, 4))
    y = X @ [1.0, -1.0, 0.5, 0.0] + 0.6 * rng.normal(size=n_samples)
    X[77, 0] += far
    reg = RiemannianMLPRegressor(random_state=0, **parameters)
    for rows in np.array_split(np.arange(n_samples), n_samples // 10):
        reg.partial_fit(X[rows], y[rows])
    return reg.score(np.delete(X, 77, axis=0), np.delete(y, 77))


def cases():
    """Name and function of the batch size, one a line of the table."""
    for rate in (0.1, 1.0, 1e3, 1e6):
        X, y = counts(rate)
        yield f"counts of mean {rate:g}", lambda b, X=X, y=y: linear(b, y, X, loss="poisson")
    X, y = counts(0.1)
    yield "rare events", lambda b: linear(b, (y > 0).astype(int), X)
    X, y = load_digits(return_X_y=True)
    yield "digits", lambda b, X=X, y=y: held_out(b, X, y)
    X, y = make_classification(1500, 20, n_informative=5, flip_y=0.3, random_state=0)
    yield "noisy classes", lambda b, X=X, y=y: held_out(b, X, y)


def main():
    """Print the table."""
    warnings.simplefilter("ignore")
    print(f"{'':24s}" + "".join(f"{size:>10d}" for size in SIZES))
    for name, run in cases():
        print(f"{name:24s}" + "".join(f"{run(size):10.4f}" for size in SIZES), flush=True)
    print(f"\n{'R^2 of streams':24s}" + "".join(f"{far:>10g}" for far in FAR))
    for name, parameters in STREAMS.items():
        scores = [after_an_outlier(far, **parameters) for far in FAR]
        print(f"{name:24s}" + "".join(f"{score:10.3f}" for score in scores), flush=True)


if __name__ == "__main__":
    main()

"""Mini-batch and online passes: time a pass against scikit-learn's Adam, rows a second.

Run as ``python tests/benchmarks/bench_passes.py [--kernels numba] [--online]``.
Mini-batches: 20000 rows of 784 random single-precision features, 784-100-10, batches of 500;
a pass is the mean of twenty, the difference between fits of 22 and of two: processor time,
interleaved, medians of three. Online: digits, 64-50-10, one row a step, best of five
interleaved. One BLAS thread.
"""

import argparse
import time
import warnings

import numpy as np
from sklearn.datasets import load_digits
from sklearn.neural_network import MLPClassifier
from threadpoolctl import threadpool_limits

from sknatgrad import RiemannianMLPClassifier, set_kernels

QUIET = {"tol": 0.0, "n_iter_no_change": 10**6, "random_state": 0}


def seconds(estimator, X, y, passes):
    """Processor seconds of a fit of so many passes."""
    estimator.set_params(max_iter=passes)
    start = time.process_time()
    estimator.fit(X, y)
    return time.process_time() - start


def mini_batches():
    """Seconds a pass of Adam and of ours."""
    rng = np.random.default_rng(0)
    X = rng.random((20_000, 784), dtype=np.float32)
    y = rng.integers(10, size=20_000)
    estimators = {"Adam": MLPClassifier(batch_size=500, **QUIET)}
    for metric in ("euclidean", "qd_bp", "kron_bp"):
        estimators[metric] = RiemannianMLPClassifier(
            activation="tanh", metric=metric, batch_size=500, **QUIET
        )
    times = {name: [] for name in estimators}
    for _ in range(3):
        for name, estimator in estimators.items():
            times[name].append((seconds(estimator, X, y, 22) - seconds(estimator, X, y, 2)) / 20)
    adam = np.median(times["Adam"])
    for name, values in times.items():
        print(
            f"{name:10s} {np.median(values):6.3f} s a pass  {np.median(values) / adam:5.2f} x Adam"
        )


def online():
    """Rows a second, one row a step."""
    X, y = load_digits(return_X_y=True)
    best = dict.fromkeys(("euclidean", "qd_bp", "kron_bp", "bp"), np.inf)
    for _ in range(5):
        for metric in best:
            estimator = RiemannianMLPClassifier((50,), "tanh", metric=metric, batch_size=1, **QUIET)
            best[metric] = min(best[metric], seconds(estimator, X, y, 1))
    for metric, value in best.items():
        print(f"{metric:10s} {len(X) / value:8.0f} rows a second")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kernels", choices=("numpy", "numba"), default="numpy")
    parser.add_argument("--online", action="store_true", help="single rows only")
    arguments = parser.parse_args()
    set_kernels(arguments.kernels)
    with threadpool_limits(1):
        np.ones((1500, 1500)) @ np.ones((1500, 1500))
        if not arguments.online:
            mini_batches()
        online()

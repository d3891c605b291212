"""Time to a training log-loss of 0.01 on digits, against scikit-learn's Adam.

Run as ``python tests/benchmarks/bench_digits.py``. Raw pixels for ours, standardised
ones for Adam (its defaults otherwise), 64-100-10, all 1797 rows, one BLAS thread, ours
without penalty. The runs are interleaved; processor time from the start of ``fit`` to
the end of the pass that gets there, medians of seven.
"""

import time
import warnings

import numpy as np
from sklearn.datasets import load_digits
from sklearn.neural_network import MLPClassifier
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from sknatgrad import RiemannianMLPClassifier

TARGET = 0.01


def timed(estimator, X, y):
    """Processor seconds of a fit."""
    start = time.process_time()
    estimator.fit(X, y)
    return time.process_time() - start


def passes_to_target(estimator, X, y):
    """Passes until the loss curve is below the target."""
    curve = np.array(estimator.fit(X, y).loss_curve_)
    return int(np.argmax(curve <= TARGET)) + 1 if curve.min() <= TARGET else None


def main():
    """Print the table."""
    warnings.simplefilter("ignore")
    X, y = load_digits(return_X_y=True)
    Z = StandardScaler().fit_transform(X)
    quiet = {"tol": 0.0, "n_iter_no_change": 10**6, "random_state": 0}
    runs = {"Adam": (MLPClassifier(max_iter=300, **quiet), Z)}
    for metric in ("kron_bp", "bp", "qd_bp", "qd_fisher"):
        ours = RiemannianMLPClassifier(
            activation="tanh", metric=metric, alpha=0.0, max_iter=60, **quiet
        )
        runs[metric] = (ours, X)
    times = {name: [] for name in runs}
    with threadpool_limits(1):
        np.ones((1500, 1500)) @ np.ones((1500, 1500))
        needed = {name: passes_to_target(est, data, y) for name, (est, data) in runs.items()}
        for name, (estimator, _) in runs.items():
            estimator.set_params(max_iter=needed[name])
        for _ in range(7):
            for name, (estimator, data) in runs.items():
                times[name].append(timed(estimator, data, y))
    adam = np.median(times["Adam"])
    for name, seconds in times.items():
        share = np.median(seconds) / adam
        print(
            f"{name:10s} {needed[name]:4d} passes  {np.median(seconds):6.3f} s  {share:5.2f} x Adam"
        )


if __name__ == "__main__":
    main()

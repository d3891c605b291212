"""Single against double precision: time of a step, and what training reaches.

Run as ``python tests/benchmarks/bench_precision.py``. Steps are those of `suite.py` on
784-100-10 with 2048 rows; the losses are those of whole fits on digits, over some seeds.
"""

import argparse

import numpy as np
from bench_steps import measure
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split
from sklearn.utils._testing import ignore_warnings
from suite import Case
from threadpoolctl import threadpool_limits

from sknatgrad import RiemannianMLPClassifier, Topology
from sknatgrad.training import Data, Objective

METRICS = ["euclidean", "qd_bp", "qd_fisher", "kron_bp", "bp"]


def seconds_a_step(dtype):
    """The steps, by metric, in that precision."""
    case = Case(Topology.layered([784, 100, 10]), 2048)
    data = case.objective.data
    data = Data(data.X.astype(dtype), data.target)
    case.objective = Objective(case.model, data, dtype=dtype)
    return {name: case.step(name) for name in METRICS}


@ignore_warnings(category=ConvergenceWarning)
def quality(metric, dtype, seed):
    """Training loss and test accuracy after 20 whole-batch steps on digits, without penalty."""
    X, y = load_digits(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X.astype(dtype), y, random_state=seed)
    fit = RiemannianMLPClassifier(
        (150,), "tanh", metric=metric, alpha=0.0, max_iter=20, random_state=seed
    )
    fit.set_params(batch_size=len(X)).fit(X, y)
    return fit.loss_, fit.score(X_test, y_test)


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--seeds", type=int, default=4)
    arguments = parser.parse_args()
    with threadpool_limits(1):
        np.ones((1500, 1500)) @ np.ones((1500, 1500))
        steps = {
            (name, dtype): step
            for dtype in (np.float64, np.float32)
            for name, step in seconds_a_step(dtype).items()
        }
        times = measure(steps, arguments.repeats)
        for name in METRICS:
            double, single = times[name, np.float64], times[name, np.float32]
            print(f"{name:10s} {1e3 * double:7.1f} ms, single {1e3 * single:7.1f}: ", end="")
            print(f"{double / single:.2f} x faster; log10 loss and accuracy:", end="")
            for dtype in (np.float64, np.float32):
                found = [quality(name, dtype, seed) for seed in range(arguments.seeds)]
                loss, score = (
                    np.mean(np.log10([f[0] for f in found])),
                    np.mean([f[1] for f in found]),
                )
                print(f"  {loss:.2f} {score:.4f}", end="")
            print()


if __name__ == "__main__":
    main()

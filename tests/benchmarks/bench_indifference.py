"""How far default fits part when features are written in other units.

    python tests/benchmarks/bench_indifference.py [DATA ...] [--activation NAME]

On the data sets of `bench_race.py`, one hidden layer of 100 units: the largest difference of
a test row's prediction after whole trainings, in probability or deviations of the target,
and behind it that of the median row. Sparse data are not shifted.
"""

import argparse
import warnings

import numpy as np
from bench_race import HIDDEN, NAMES, load_task
from scipy import sparse
from threadpoolctl import threadpool_limits

from sknatgrad import RiemannianMLPClassifier, RiemannianMLPRegressor


def changes(X):
    """Name and function of each change that these rows allow."""
    factors = 10 ** np.random.default_rng(0).uniform(-6, 6, size=X.shape[1])
    scales = {
        "1000 x": lambda X: 1000 * X,
        "columns x 1e-6 to 1e6": lambda X: X @ sparse.diags_array(factors),
    }
    shifts = {"x + 1000": lambda X: X + 1e3, "1 - x": lambda X: 1 - X}
    return scales | dict.fromkeys(shifts) if sparse.issparse(X) else scales | shifts


def answers(task, change, activation):
    """Predictions for the test rows of a fit of changed rows, and the passes it took."""
    if task.kind in ("regression", "multioutput"):
        model = RiemannianMLPRegressor("squared_error", HIDDEN, activation, random_state=0)
        predict = model.predict
    else:
        model = RiemannianMLPClassifier(HIDDEN, activation, random_state=0)
        predict = model.predict_proba
    model.fit(change(task.X_train.astype(float)), task.y_train)
    return np.asarray(predict(change(task.X_test.astype(float)))), model.n_iter_


def parted(task, change, activation, known):
    """Difference from the answers that are known: of the worst row, and the median one."""
    difference = (
        np.abs(answers(task, change, activation)[0] - known).reshape(len(known), -1).max(axis=1)
    )
    return f"{difference.max():.0e}, {np.median(difference):.0e}"


def main(names, activation):
    """Print a Markdown table."""
    header = list(changes(np.empty((0, 1))))
    print("| data | passes | " + " | ".join(header) + " |")
    print("|---" * (2 + len(header)) + "|")
    for name in names:
        task = load_task(name, 0)
        known, n_passes = answers(task, lambda X: X, activation)
        cells = [
            "" if change is None else parted(task, change, activation, known)
            for change in changes(task.X_train).values()
        ]
        print(f"| {name} | {n_passes} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="DATA", help=f"of {', '.join(NAMES)}")
    parser.add_argument("--activation", default=RiemannianMLPClassifier().activation)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        main(arguments.names or NAMES, arguments.activation)

"""How far default fits part when features are written in other units.

    python tests/benchmarks/bench_indifference.py [DATA ...] [--activation NAME] [--hidden 100 100]
        [--unbounded] [--starts 12]

On the data sets of `bench_race.py`: the largest difference of a test row's prediction after
whole trainings, in probability or deviations of the target, and behind it that of the median
row. One hidden layer of 100 units, or others; `--unbounded` lets late momentum be as large as
it likes; `--starts` has as many starts, a row each. Sparse data are not shifted.
"""

import argparse
import itertools
import warnings
from unittest import mock

import numpy as np
from bench_race import HIDDEN, NAMES, load_task
from scipy import sparse
from threadpoolctl import threadpool_limits

from sknatgrad import RiemannianMLPClassifier, RiemannianMLPRegressor
from sknatgrad.training.steps import momentum


def changes(X):
    """Name and function of each change that these rows allow."""
    factors = 10 ** np.random.default_rng(0).uniform(-6, 6, size=X.shape[1])
    scales = {
        "1000 x": lambda X: 1000 * X,
        "columns x 1e-6 to 1e6": lambda X: X @ sparse.diags_array(factors),
    }
    shifts = {"x + 1000": lambda X: X + 1e3, "1 - x": lambda X: 1 - X}
    return scales | dict.fromkeys(shifts) if sparse.issparse(X) else scales | shifts


def answers(task, change, **network):
    """Predictions for the test rows of a fit of changed rows, and the passes it took."""
    if task.kind in ("regression", "multioutput"):
        model = RiemannianMLPRegressor(**network)
        predict = model.predict
    else:
        model = RiemannianMLPClassifier(**network)
        predict = model.predict_proba
    model.fit(change(task.X_train.astype(float)), task.y_train)
    return np.asarray(predict(change(task.X_test.astype(float)))), model.n_iter_


def parted(task, change, known, **network):
    """Difference from the answers that are known: of the worst row, and the median one."""
    difference = np.abs(answers(task, change, **network)[0] - known)
    difference = difference.reshape(len(known), -1).max(axis=1)
    return f"{difference.max():.0e}, {np.median(difference):.0e}"


def main(names, n_starts, **network):
    """Print a Markdown table."""
    header = list(changes(np.empty((0, 1))))
    print("| data | passes | " + " | ".join(header) + " |")
    print("|---" * (2 + len(header)) + "|")
    for name, start in itertools.product(names, range(n_starts)):
        task, network["random_state"] = load_task(name, 0), start
        known, n_passes = answers(task, lambda X: X, **network)
        cells = [
            "" if change is None else parted(task, change, known, **network)
            for change in changes(task.X_train).values()
        ]
        print(f"| {name} | {n_passes} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="DATA", help=f"of {', '.join(NAMES)}")
    parser.add_argument("--activation", default=RiemannianMLPClassifier().activation)
    parser.add_argument("--hidden", type=int, nargs="+", default=HIDDEN, help="layer sizes")
    parser.add_argument("--unbounded", action="store_true", help="no bound on late momentum")
    parser.add_argument("--starts", type=int, default=1, help="how many (default: 1)")
    arguments = parser.parse_args()
    free_steps = np.inf if arguments.unbounded else momentum.FREE_STEPS
    network = {
        "hidden_layer_sizes": tuple(arguments.hidden),
        "activation": arguments.activation,
    }
    warnings.simplefilter("ignore")
    with threadpool_limits(1), mock.patch.object(momentum, "FREE_STEPS", free_steps):
        main(arguments.names or NAMES, arguments.starts, **network)

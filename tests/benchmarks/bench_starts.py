"""Held-out scores of the best of several starts, as chosen and by the training loss.

Run as ``python tests/benchmarks/bench_starts.py``. Five folds, three seeds; R^2 of regressions,
minus the log-loss of classifications.
"""

import argparse
import warnings
from unittest import mock

import numpy as np
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_wine,
    make_classification,
    make_friedman1,
)
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score
from threadpoolctl import threadpool_limits

from sknatgrad import RiemannianMLPClassifier, RiemannianMLPRegressor
from sknatgrad.training import starts

TASKS = {
    "diabetes, 10": (load_diabetes(return_X_y=True), 10),
    "Friedman, 20": (make_friedman1(400, 10, noise=2.0, random_state=0), 20),
    "breast cancer, 20": (load_breast_cancer(return_X_y=True), 20),
    "noisy labels, 20": (
        make_classification(600, 20, n_informative=5, flip_y=0.3, random_state=1),
        20,
    ),
    "wine, 20": (load_wine(return_X_y=True), 20),
}


def score(data, n_units, seed, n_init, activation):
    """The mean over the folds."""
    X, y = data
    settings = {"hidden_layer_sizes": n_units, "activation": activation}
    settings |= {"random_state": seed, "n_init": n_init}
    folds = {"n_splits": 5, "shuffle": True, "random_state": seed}
    if y.dtype.kind == "f":
        model, folds = RiemannianMLPRegressor(**settings), KFold(**folds)
    else:
        model, folds = RiemannianMLPClassifier(**settings), StratifiedKFold(**folds)
    scoring = "r2" if y.dtype.kind == "f" else "neg_log_loss"
    return cross_val_score(model, X, y, cv=folds, scoring=scoring).mean()


def last_loss(task, state, validation):
    """What `compared_by` would say if the training loss alone counted."""
    return state.history.losses[-1]


def print_row(name, n_init, activation):
    """A row of a Markdown table."""
    values = [
        np.mean([score(*task, seed, n_init, activation) for seed in range(3)])
        for task in TASKS.values()
    ]
    print(f"| {name} | " + " | ".join(f"{value:.3f}" for value in values) + " |", flush=True)


def main():
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--activation", default=RiemannianMLPClassifier().activation)
    parser.add_argument("--starts", type=int, nargs="+", default=[1, 5, 15])
    arguments = parser.parse_args()
    print("| starts | " + " | ".join(TASKS) + " |")
    print("|---" * (1 + len(TASKS)) + "|")
    with threadpool_limits(1):
        for n_init in arguments.starts:
            print_row(f"{n_init}", n_init, arguments.activation)
        for n_init in arguments.starts:
            if n_init > 1:
                with mock.patch.object(starts, "compared_by", last_loss):
                    print_row(f"{n_init}, by training loss", n_init, arguments.activation)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()

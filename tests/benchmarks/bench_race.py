"""Our defaults on raw data against scikit-learn's MLP on scaled data, over real data sets.

    python tests/benchmarks/bench_race.py run [DATA ...] [--seeds 0 1 2] [--only ours] --out FOLDER
    python tests/benchmarks/bench_race.py table --out FOLDER [FOLDER ...]
    python tests/benchmarks/bench_race.py compare --out FOLDER [FOLDER ...]

`run` keeps one small file a fit and skips those that are there; `table` reads them, and
`compare` our fits of several folders, made with other parameters (`--set`). All
networks have one hidden layer of 100 units; everything else is a default: ours on the data
as they are, and without penalty; scikit-learn's with Adam at three rates and with L-BFGS on
scaled features. One thread; times are processor time. Targets of regression are scaled for
all, to mean 0 and deviation 1, so that losses are comparable.
"""

import argparse
import itertools
import json
from pathlib import Path

import data_sets
import numpy as np
from race_tables import print_comparison, print_tables
from recorded_fits import Task, fit_ours, fit_sklearn, loss, score
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits
from sklearn.model_selection import train_test_split
from threadpoolctl import threadpool_limits

SCIKIT = {
    "digits": (load_digits, "multiclass"),
    "breast_cancer": (load_breast_cancer, "binary"),
    "diabetes": (load_diabetes, "regression"),
}
GROUPS = {
    role: [
        name
        for name, spec in data_sets.DATASETS.items()
        if spec.role == role and spec.task != "autoencode"
    ]
    for role in ("core", "extra", "more", "wide", "unseen")
}
NAMES = [*SCIKIT, *GROUPS["core"], *GROUPS["extra"]]
HIDDEN = (100,)
# Curves keep at most so many points.
LONGEST_CURVE = 60
COMPETITORS = {
    "ours": (fit_ours, {}),
    "no penalty": (fit_ours, {"alpha": 0.0}),
    "adam": (fit_sklearn, {}),
    "adam 1e-4": (fit_sklearn, {"learning_rate_init": 1e-4}),
    "adam 1e-2": (fit_sklearn, {"learning_rate_init": 1e-2}),
    "l-bfgs": (fit_sklearn, {"solver": "lbfgs"}),
}


def load_task(name, seed):
    """Training and test rows; targets of regression in units of their deviation."""
    if name in SCIKIT:
        loader, kind = SCIKIT[name]
        X, y = loader(return_X_y=True)
        stratify = None if kind == "regression" else y
        rows = train_test_split(
            np.arange(len(y)), test_size=0.2, random_state=seed, stratify=stratify
        )
    else:
        kind = data_sets.DATASETS[name].task
        X, y = data_sets.load(name)
        rows = data_sets.split(name, y, seed)
        if name == "diamonds":
            y = np.log1p(y)
    train, test = rows
    if kind in ("regression", "multioutput"):
        y = (y - y[train].mean(0)) / y[train].std(0)
    return Task(kind, X[train], y[train], X[test], y[test])


def measure(task, competitor, seed, options, hidden=HIDDEN):
    """Curves of one fit: seconds, training and test loss, test score."""
    fit, parameters = COMPETITORS[competitor]
    if fit is fit_ours:
        parameters = parameters | options
    kept, seen = fit(task, hidden_layer_sizes=hidden, random_state=seed, **parameters)
    points = range(len(kept))
    if len(kept) > LONGEST_CURVE:
        # Early passes are the ones that matter in a race.
        points = np.unique(np.geomspace(1, len(kept), LONGEST_CURVE).round().astype(int)) - 1
    curve = [
        {
            "passes": int(i) + 1,
            "seconds": kept[i][0],
            "train": loss(task, kept[i][1], seen.X_train, seen.y_train),
            "test": loss(task, kept[i][1], seen.X_test, seen.y_test),
        }
        for i in points
    ]
    final = score(task, kept[-1][1], seen.X_test, seen.y_test)
    return {"curve": curve, "score": final, "passes": len(kept), "seconds": kept[-1][0]}


def run(names, seeds, competitors, out, options, hidden=HIDDEN):
    """Fit what is not in the folder yet, the competitors side by side."""
    out.mkdir(parents=True, exist_ok=True)
    for name in names:
        for seed in seeds:
            missing = [c for c in competitors if not _file(out, name, c, seed).exists()]
            task = load_task(name, seed) if missing else None
            for competitor in missing:
                result = measure(task, competitor, seed, options, hidden)
                print(
                    f"{name:14s} {seed} {competitor:10s} {result['passes']:4d} passes "
                    f"{result['seconds']:8.2f} s  train {result['curve'][-1]['train']:.4g}  "
                    f"test {result['curve'][-1]['test']:.4g}  score {result['score']:.4f}",
                    flush=True,
                )
                _file(out, name, competitor, seed).write_text(json.dumps(result))


def _file(out, name, competitor, seed):
    return out / f"{name}--{competitor.replace(' ', '_')}--{seed}.json"


def main():
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["run", "table", "compare"])
    groups = [f"{group}: {', '.join(GROUPS[group])}" for group in ("more", "wide", "unseen")]
    known = "; ".join([", ".join(NAMES), *groups])
    parser.add_argument("names", nargs="*", metavar="DATA", help=f"sets or groups: {known}")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--only", nargs="+", choices=list(COMPETITORS), default=list(COMPETITORS))
    parser.add_argument("--out", type=Path, nargs="+", required=True)
    parser.add_argument("--hidden", type=int, nargs="+", default=HIDDEN, help="layer sizes")
    parser.add_argument("--set", default="{}", help="parameters of ours, as JSON")
    arguments = parser.parse_args()
    if arguments.what == "run":
        with threadpool_limits(limits=1):
            options = json.loads(arguments.set)
            groups = [GROUPS.get(name, [name]) for name in arguments.names or NAMES]
            names = list(itertools.chain.from_iterable(groups))
            hidden = tuple(arguments.hidden)
            run(names, arguments.seeds, arguments.only, arguments.out[0], options, hidden)
    elif arguments.what == "table":
        print_tables(arguments.out)
    else:
        print_comparison(arguments.out)


if __name__ == "__main__":
    main()

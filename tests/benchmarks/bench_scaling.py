"""What a step on a cluster costs besides its arithmetic, and how far that carries.

Run as ``python tests/benchmarks/bench_scaling.py``. A cluster of two processes on this
machine gives three figures: time a task, time a byte of what comes back, and time a row
and parameter. From these the script computes where a step of `qd_bp` stops being bound by
arithmetic, for more rows and workers than this machine could hold. `--quick` measures
with fewer repetitions.
"""

import argparse
import time
import warnings
from itertools import pairwise

import dask.array as da
import numpy as np
from distributed import Client, LocalCluster

from sknatgrad import RiemannianMLPClassifier, get_metric
from sknatgrad.training.data.partitions import PartitionedObjective
from sknatgrad.training.steps.safeguards import training_metric

ROWS, WORKERS = [1e6, 1e8, 1e10], [10, 100, 1000]
SIZES = {"100-50-2": (100, 50, 2), "1000-100-10": (1000, 100, 10)}
# Of the inputs.
PARTITION_BYTES = 1e9
# Evaluations of the loss a step, as the line search needs as a rule.
TRIALS = 2


class Recorder:
    """Keeps the objective of a fit, to time its steps alone."""

    def __init__(self):
        self.objective = None

    def __enter__(self):
        self._init = original = PartitionedObjective.__init__

        def init(objective, *arguments):
            original(objective, *arguments)
            self.objective = objective

        PartitionedObjective.__init__ = init
        return self

    def __exit__(self, *exception):
        PartitionedObjective.__init__ = self._init


def step_seconds(n_partitions, rows, n_inputs, n_hidden, repeats):
    """Seconds of a step (gradient, metric and two trials), and the number of parameters."""
    rng = np.random.default_rng(0)
    X = da.from_array(rng.standard_normal((n_partitions * rows, n_inputs)), (rows, -1))
    y = np.arange(n_partitions * rows) % 2
    metric = training_metric(get_metric("qd_bp"), guarded=True)
    with Recorder() as recorder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = RiemannianMLPClassifier((n_hidden,), metric="qd_bp", max_iter=1, random_state=0)
        fit.fit(X, y)
        objective, parameters = recorder.objective, fit._parameters
        seconds = []
        for k in range(1 + repeats):
            start = time.perf_counter()
            evaluation = objective.evaluate(parameters + 1e-6 * k)
            objective.evaluate(parameters)
            objective.differentiate(evaluation, metric)
            seconds.append(time.perf_counter() - start)
    return float(np.median(seconds[1:])), len(parameters)


def measured(repeats):
    """Seconds a task, a byte that comes back, and a floating-point operation."""
    few, _ = step_seconds(2, 10, 10, 2, repeats)
    many, _ = step_seconds(66, 10, 10, 2, repeats)
    # A partition has a task for each of three passes, and as many additions.
    task = (many - few) / 64 / (2 * (1 + TRIALS))
    small, n_small = step_seconds(16, 10, 10, 10, repeats)
    large, n_large = step_seconds(16, 10, 1000, 300, repeats)
    # Gradient and the two vectors of the metric, of each partition and each partial sum.
    byte = (large - small) / (16 * 2 * 3 * 8 * (n_large - n_small))
    rows = 20_000
    heavy, n_parameters = step_seconds(4, rows, 200, 50, repeats)
    operation = 2 * (heavy - few) / (4 * rows * operations_a_row(n_parameters))
    return task, byte, operation


def operations_a_row(n_parameters):
    """Multiplications and additions of two trials, gradient and `qd_bp` statistics."""
    return (2 * TRIALS + 2 + 2 + 4) * n_parameters


def predicted(n_rows, n_workers, sizes, costs):
    """Seconds of arithmetic, of communication and of the scheduler, of one step."""
    task, byte, operation = costs
    n_parameters = sum((1 + a) * b for a, b in pairwise(sizes))
    n_partitions = max(n_workers, 8 * sizes[0] * n_rows / PARTITION_BYTES)
    arithmetic = n_rows * operations_a_row(n_parameters) * operation / n_workers
    # Sums are added on the workers: each handles its share of them.
    returned = 2 * n_partitions * 3 * 8 * n_parameters * byte / n_workers
    sent = n_workers * (1 + TRIALS) * 8 * n_parameters * byte
    return arithmetic, returned + sent, 2 * (1 + TRIALS) * n_partitions * task


def main():
    """Print the measurements and the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    repeats = 2 if parser.parse_args().quick else 7
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster),
    ):
        costs = measured(repeats)
    print("seconds a task {:.2e}, a byte {:.2e}, an operation {:.2e}".format(*costs))
    print("network        rows workers  arithmetic  communication  scheduler   bound by")
    for name, sizes in SIZES.items():
        for n_rows in ROWS:
            for n_workers in WORKERS:
                parts = predicted(n_rows, n_workers, sizes, costs)
                bound = ("arithmetic", "communication", "scheduler")[int(np.argmax(parts))]
                figures = "  ".join(f"{seconds:11.3g}" for seconds in parts)
                print(f"{name:12s} {n_rows:6.0e} {n_workers:7d} {figures}   {bound}")


if __name__ == "__main__":
    main()

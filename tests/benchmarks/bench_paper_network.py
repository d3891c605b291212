"""Cost of a step on the paper's network, each metric against a plain gradient step.

Run as ``python tests/benchmarks/bench_paper_network.py [--kernels numba]``. The sparse
auto-encoder of the paper's section 5: 100-30-10-30-100, ``connectivity="paper"``, 16 binary
strings, Bernoulli output, whole batches, absolute damping 1e-4, adaptive rate from 0.01. All
methods take their steps in turn, in one process on one BLAS thread; figures are minima over
rounds of processor time. The first row is a gradient descent as one would write it by hand
with SciPy's sparse matrices, the same adaptive rate included.
"""

import argparse
import time

import numpy as np
from scipy import sparse
from scipy.special import expit
from threadpoolctl import threadpool_limits

from sknatgrad import Network, Topology, get_metric, get_output, initialize, set_kernels
from sknatgrad.training import BatchPass, Data, Descent, Model, Objective, RunningMetric
from sknatgrad.training.steps.rules import Adaptive

SIZES, LINKS, SIDES = (100, 30, 10, 30, 100), 5, ("source", "source", "target", "target")
# The paper's Table 1.
PAPER = {
    "euclidean": 1.0,
    "adagrad": 1.25,
    "diag_bp": 1.30,
    "qd_bp": 1.35,
    "bp": 2.4,
    "unitwise_op": 2.5,
    "qd_mc_fisher": 2.6,
    "unitwise_mc_fisher": 3.6,
    "qd_fisher": 3.6,
    "unitwise_fisher": 4.8,
    "fisher": 1100.0,
}
HAND_WRITTEN = "hand-written"


class HandWritten:
    """Gradient descent on the same network, with SciPy's sparse matrices."""

    def __init__(self, topology, theta, X):
        self.X, self.rate, self.levels, first = X.T, 0.01, [], 0
        for level, n_in in zip(topology.levels, SIZES[:-1], strict=True):
            columns, first = level.sources - first, first + n_in
            weights = (theta[level.link_params], columns, level.indptr)
            matrix = sparse.csr_matrix(weights, shape=(level.n_units, n_in))
            rows = np.repeat(np.arange(level.n_units), np.diff(level.indptr))
            self.levels.append((matrix, theta[level.bias][:, None], rows, columns))
        self.activities, self.loss = self.forward(self.levels)

    def forward(self, levels):
        """Activities of all layers, and the mean loss."""
        activities = [self.X]
        for matrix, bias, _, _ in levels[:-1]:
            activities.append(expit(matrix @ activities[-1] + bias))
        matrix, bias, _, _ = levels[-1]
        v = matrix @ activities[-1] + bias
        activities.append(expit(v))
        loss = np.logaddexp(0.0, v) - self.X * v
        return activities, loss.sum(axis=0).mean()

    def step(self):
        """One step of the paper's adaptive rule."""
        delta, moved = (self.X - self.activities[-1]) / self.X.shape[1], []
        for (matrix, bias, rows, columns), a in zip(
            reversed(self.levels), reversed(self.activities[:-1]), strict=True
        ):
            slope = np.einsum("en,en->e", delta[rows], a[columns])
            weights = matrix.data + self.rate * slope
            changed = sparse.csr_matrix((weights, matrix.indices, matrix.indptr), matrix.shape)
            new_bias = bias + self.rate * delta.sum(axis=1, keepdims=True)
            moved.insert(0, (changed, new_bias, rows, columns))
            if a is not self.X:
                delta = (matrix.T @ delta) * a * (1 - a)
        activities, loss = self.forward(moved)
        if loss <= self.loss:
            self.levels, self.activities, self.loss = moved, activities, loss
            self.rate *= 1.1
        else:
            self.rate /= 2


def problem(seed=0):
    """Network, initial parameters and data of the paper's experiment."""
    rng = np.random.RandomState(seed)
    topology = Topology.random_links(SIZES, LINKS, SIDES, replace=True, random_state=rng)
    network = Network.build(topology, "logistic", "logistic")
    X = (rng.uniform(size=(16, SIZES[0])) < 0.5).astype(float)
    return network, initialize(network, rng, 0.5, 0.5), X


def training_step(name, network, theta, X):
    """One step of our own training, as the estimators take it."""
    metric = get_metric(name)
    objective = Objective(
        Model(network, get_output("bernoulli")), Data(X, np.ascontiguousarray(X.T))
    )
    descent, running = Descent(metric, 1e-4, "absolute"), RunningMetric(metric, 0.0)
    rng = np.random.RandomState(0)
    passes = BatchPass(objective, theta, descent, running, Adaptive(0.01), rng)
    return passes.run


def measure(steps, rounds, slow, length):
    """Smallest processor seconds a step: each round takes `length` steps of every method."""
    times = {name: [] for name in steps}
    for number in range(rounds):
        for name, step in steps.items():
            if name in slow and number % 20:
                continue
            count = 1 if name in slow else length
            start = time.process_time()
            for _ in range(count):
                step()
            times[name].append((time.process_time() - start) / count)
    return {name: min(seconds) for name, seconds in times.items()}


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--length", type=int, default=10, help="steps a round of each method")
    parser.add_argument("--metrics", nargs="*", default=list(PAPER))
    parser.add_argument("--kernels", choices=("numpy", "numba"), default="numpy")
    arguments = parser.parse_args()
    set_kernels(arguments.kernels)
    network, theta, X = problem()
    with threadpool_limits(1):
        np.ones((1500, 1500)) @ np.ones((1500, 1500))
        steps = {HAND_WRITTEN: HandWritten(network.topology, theta, X).step}
        for name in ["euclidean", *(n for n in arguments.metrics if n != "euclidean")]:
            steps[name] = training_step(name, network, theta, X)
        times = measure(steps, arguments.rounds, {"fisher"}, arguments.length)
    plain = times["euclidean"]
    print(f"{arguments.kernels:20s} {'us a step':>10s} {'x plain':>9s} {'paper':>7s}")
    for name, seconds in times.items():
        paper = f"{PAPER[name]:7.2f}" if name in PAPER else ""
        print(f"{name:20s} {1e6 * seconds:10.1f} {seconds / plain:9.2f} {paper}")


if __name__ == "__main__":
    main()

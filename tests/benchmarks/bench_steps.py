"""Cost of one training step of every metric, relative to a plain gradient step.

Run as ``python tests/benchmarks/bench_steps.py``. All methods are measured in one
process, interleaved, on one BLAS thread; the figures are medians of processor time,
so that ratios hold on a busy machine. The first row is a forward and backward pass
written by hand with NumPy.
"""

import argparse
import time
from itertools import pairwise

import numpy as np
from sklearn.datasets import load_digits
from threadpoolctl import threadpool_limits

from sknatgrad import METRICS, Network, Topology, get_metric, get_output, initialize
from sknatgrad.training import (
    BatchPass,
    Coordinates,
    Data,
    Descent,
    Model,
    Objective,
    RunningMetric,
)
from sknatgrad.training.steps.rules import Constant
from sknatgrad.training.steps.safeguards import safeguarded


def hand_written(X, y, sizes, rng):
    """One gradient step of a tanh-softmax network, as one would write it by hand."""
    W = [rng.standard_normal((m, n)) / np.sqrt(m) for m, n in pairwise(sizes)]
    b = [np.zeros(n) for n in sizes[1:]]
    onehot = np.eye(sizes[-1])[y]

    def step():
        hidden = [X]
        for i in range(len(W) - 1):
            hidden.append(np.tanh(hidden[-1] @ W[i] + b[i]))
        logits = hidden[-1] @ W[-1] + b[-1]
        logits -= logits.max(axis=1, keepdims=True)
        e = np.exp(logits)
        total = e.sum(axis=1, keepdims=True)
        p = e / total
        -(onehot * (logits - np.log(total))).sum(axis=1).mean()
        delta = (p - onehot) / len(X)
        for i in range(len(W) - 1, -1, -1):
            gradient, offset = hidden[i].T @ delta, delta.sum(axis=0)
            if i:
                delta = (delta @ W[i].T) * (1 - hidden[i] ** 2)
            W[i] -= 1e-6 * gradient
            b[i] -= 1e-6 * offset

    return step


class TwoTrials(Constant):
    """What a line search costs as a rule: two forward passes a step."""

    def search(self, objective, start, direction, slope):
        self._trial(objective, start, direction, self.rate)
        return super().search(objective, start, direction, slope)


def training_step(name, X, y, network, theta, scale, guarded, rule):
    """One step of our own training at a constant, tiny rate."""
    metric = get_metric(name)
    used = safeguarded(metric) if guarded else metric
    model, coordinates = Model(network, get_output("softmax")), Coordinates(network, scale)
    objective = Objective(model, Data(X, y), coordinates=coordinates)
    descent = Descent(used, 1e-2, "relative")
    passes = BatchPass(
        objective,
        theta,
        descent,
        RunningMetric(used, 0.0),
        rule(1e-9),
        np.random.RandomState(0),
    )
    return passes.run


def measure(steps, repeats):
    """Median processor seconds of each step, interleaved."""
    times = {name: [] for name in steps}
    for step in steps.values():
        step()
    for _ in range(repeats):
        for name, step in steps.items():
            start = time.process_time()
            step()
            times[name].append(time.process_time() - start)
    return {name: float(np.median(t)) for name, t in times.items()}


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hidden", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=30)
    parser.add_argument("--metrics", nargs="*")
    parser.add_argument(
        "--trials", type=int, choices=(1, 2), default=1, help="forward passes a step"
    )
    arguments = parser.parse_args()
    X, y = load_digits(return_X_y=True)
    sizes = [64, arguments.hidden, 10]
    network = Network.build(Topology.layered(sizes))
    scale = Data(X, y).scale
    theta = initialize(network, np.random.RandomState(0))
    slow = {"fisher", "mc_fisher", "op"}
    rule = TwoTrials if arguments.trials == 2 else Constant
    names = arguments.metrics or [name for name in METRICS if name not in slow]
    with threadpool_limits(1):
        np.ones((1500, 1500)) @ np.ones((1500, 1500))
        steps = {"hand-written": hand_written(X, y, sizes, np.random.default_rng(0))}
        for name in ["euclidean", *(n for n in names if n != "euclidean")]:
            for guarded in (False, True):
                label = f"{name} (safeguarded)" if guarded else name
                steps[label] = training_step(name, X, y, network, theta, scale, guarded, rule)
        times = measure(steps, arguments.repeats)
    plain = times["euclidean"]
    print(f"digits, {'-'.join(map(str, sizes))}, {len(X)} rows, one BLAS thread")
    for name, seconds in times.items():
        print(f"{name:36s} {1e3 * seconds:8.2f} ms  {seconds / plain:6.2f} x plain")


if __name__ == "__main__":
    main()

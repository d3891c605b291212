"""Unitwise directions of one full level: blocks against samples, by sizes.

Run as ``python tests/benchmarks/bench_unitwise.py``. The costs are those of statistics and
solve of `bp` as training uses it, in steps of the plain gradient of the same network;
the error is that of the direction found by conjugate gradients.
"""

import argparse

import numpy as np
from bench_steps import measure
from threadpoolctl import threadpool_limits

from sknatgrad import Network, Topology, get_metric, get_output, initialize
from sknatgrad.metrics.reductions import unitwise
from sknatgrad.training import Data, Model, Objective
from sknatgrad.training.steps.safeguards import training_metric


def compare(fan_in, n_units, n_rows, repeats):
    """Costs with blocks and with samples, and the relative error of the latter."""
    rng = np.random.RandomState(0)
    factors = rng.standard_normal((fan_in, 30)) / 5
    X = rng.standard_normal((n_rows, 30)) @ factors.T + 0.5 * rng.standard_normal((n_rows, fan_in))
    network = Network.build(Topology.layered([fan_in, n_units, 10]))
    objective = Objective(
        Model(network, get_output("softmax")), Data(X, rng.randint(10, size=n_rows))
    )
    theta = initialize(network, rng)
    metric = training_metric(get_metric("bp"), guarded=True)
    directions = {}

    def plain():
        objective.differentiate(objective.evaluate(theta))

    def step(samples):
        unitwise.keep_as_samples = lambda group, n: samples and group.fan_in == fan_in
        gradient, statistics = objective.differentiate(objective.evaluate(theta), metric)
        directions[samples] = metric.solve(network.topology, statistics, gradient, 1e-2)

    times = measure(
        {"plain": plain, "blocks": lambda: step(False), "samples": lambda: step(True)}, repeats
    )
    error = np.linalg.norm(directions[True] - directions[False]) / np.linalg.norm(directions[False])
    return times["blocks"] / times["plain"], times["samples"] / times["plain"], error


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fan-in", type=int, nargs="*", default=[32, 48, 64, 128, 256, 784])
    parser.add_argument("--rows", type=int, nargs="*", default=[64, 512, 2048])
    parser.add_argument("--units", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    print(f"{arguments.units} units, costs in plain gradient steps, one BLAS thread")
    print("fan-in   rows   blocks  samples     error")
    with threadpool_limits(1):
        np.ones((1500, 1500)) @ np.ones((1500, 1500))
        for fan_in in arguments.fan_in:
            for n_rows in arguments.rows:
                blocks, samples, error = compare(fan_in, arguments.units, n_rows, arguments.repeats)
                print(f"{fan_in:6d} {n_rows:6d} {blocks:8.1f} {samples:8.1f}   {error:.1e}")


if __name__ == "__main__":
    main()

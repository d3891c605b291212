"""Cost of steps on a large sparse network, against the memory's bandwidth.

Run as ``python tests/benchmarks/bench_sparse.py [--kernels numba]``. 2000-20000-20000-10000
with 20 links a unit (1,000,000 links) and a batch of 256 by default. Every product of a
plain step (forward, backward, gradient) must read one row of activities a link; the bound
is the time in which a copy moves as many bytes. One BLAS thread, processor time, minima of
interleaved rounds.
"""

import argparse
import time

import numpy as np
from threadpoolctl import threadpool_limits

from sknatgrad import Network, Topology, get_metric, get_output, initialize, set_kernels
from sknatgrad.training import BatchPass, Data, Descent, Model, Objective, RunningMetric
from sknatgrad.training.steps.rules import Constant


def copy_rate(size=1 << 26):
    """Bytes a second that a copy of a large array reads and writes."""
    source, target, best = np.ones(size // 8), np.empty(size // 8), np.inf
    for _ in range(7):
        start = time.process_time()
        target[...] = source
        best = min(best, time.process_time() - start)
    return 2 * size / best


def training_step(name, network, theta, X, y):
    """One step at a constant, tiny rate, absolute damping."""
    metric = get_metric(name)
    objective = Objective(Model(network, get_output("square")), Data(X, y))
    descent = Descent(metric, 1e-4, "absolute")
    rng, running = np.random.RandomState(0), RunningMetric(metric, 0.0)
    passes = BatchPass(objective, theta, descent, running, Constant(1e-9), rng)
    return passes.run


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="*", default=[2000, 20_000, 20_000, 10_000])
    parser.add_argument("--fan-in", type=int, default=20)
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--kernels", choices=("numpy", "numba"), default="numpy")
    parser.add_argument("--metrics", nargs="*", default=["diag_bp", "qd_bp", "bp"])
    arguments = parser.parse_args()
    set_kernels(arguments.kernels)
    rng = np.random.RandomState(0)
    topology = Topology.random_links(arguments.sizes, arguments.fan_in, random_state=rng)
    network = Network.build(topology, "tanh")
    theta = initialize(network, rng)
    X = rng.standard_normal((arguments.batch, arguments.sizes[0]))
    y = rng.standard_normal((arguments.sizes[-1], arguments.batch))
    n_links = topology.n_parameters - topology.n_units
    with threadpool_limits(1):
        rate = copy_rate()
        steps = {
            name: training_step(name, network, theta, X, y)
            for name in ["euclidean", *arguments.metrics]
        }
        times = {name: np.inf for name in steps}
        for _ in range(1 + arguments.rounds):
            for name, step in steps.items():
                start = time.process_time()
                step()
                times[name] = min(times[name], time.process_time() - start)
    inner = n_links - arguments.fan_in * arguments.sizes[1]
    bound = (2 * n_links + inner) * arguments.batch * 8 / rate
    print(f"{topology!r}: {n_links} links, batch {arguments.batch}, {arguments.kernels}")
    print(f"copy {rate / 1e9:.1f} GB/s: bound of a plain step {bound:.3f} s")
    for name, seconds in times.items():
        print(
            f"{name:12s} {seconds:8.3f} s  {seconds / bound:6.2f} x bound  "
            f"{seconds / times['euclidean']:6.2f} x plain"
        )


if __name__ == "__main__":
    main()

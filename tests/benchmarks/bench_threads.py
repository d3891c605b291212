"""What threads gain on a large whole batch.

Run as ``python tests/benchmarks/bench_threads.py`` on a machine that is idle otherwise:
the figures are wall-clock times, medians of interleaved steps.
"""

import argparse
import time

import numpy as np
from threadpoolctl import threadpool_limits

from sknatgrad import Network, Topology, get_metric, get_output, initialize
from sknatgrad.training import Data, Model, Objective
from sknatgrad.training.steps.safeguards import training_metric


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--sizes", type=int, nargs="*", default=[784, 100, 10])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=7)
    arguments = parser.parse_args()
    rng = np.random.RandomState(0)
    X = rng.standard_normal((arguments.rows, arguments.sizes[0]))
    y = rng.randint(arguments.sizes[-1], size=arguments.rows)
    network = Network.build(Topology.layered(arguments.sizes))
    theta = initialize(network, rng)
    objective = Objective(Model(network, get_output("softmax")), Data(X, y))
    print(f"{'-'.join(map(str, arguments.sizes))}, {arguments.rows} rows, seconds a step")
    with threadpool_limits(1):
        for name in ("euclidean", "qd_bp", "kron_bp"):
            metric, times = training_metric(get_metric(name), guarded=True), {}
            for _ in range(arguments.repeats):
                for n_threads in (1, arguments.threads):
                    objective.n_threads = n_threads
                    start = time.perf_counter()
                    objective.differentiate(objective.evaluate(theta), metric)
                    times.setdefault(n_threads, []).append(time.perf_counter() - start)
            one, many = (float(np.median(times[n])) for n in (1, arguments.threads))
            print(
                f"{name:12s} 1 thread {one:.3f}, {arguments.threads}: {many:.3f}, {one / many:.2f}x"
            )


if __name__ == "__main__":
    main()

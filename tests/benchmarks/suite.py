"""The cost of a step of every metric, on all kinds of networks and batches.

Run as ``python tests/benchmarks/suite.py [--json FILE]``; ``--quick`` is a form for tests.
Steps are what whole-batch training does: loss, gradient, statistics with the safeguards,
and the direction; ratios are to a plain gradient step of the same network and batch, on
one BLAS thread, medians of interleaved processor times. Absolute rates are shares of what
the same process reaches in one large matrix product, or moves in one large copy. A dash
stands for what would take more than the limits of time or memory.
"""

import argparse
import json
import time
import tracemalloc
from itertools import pairwise

import numpy as np
from bench_steps import measure
from scipy import sparse
from threadpoolctl import threadpool_limits

from sknatgrad import METRICS, Network, Topology, get_metric, get_output, initialize
from sknatgrad.metrics.sampled_blocks import keep_as_samples
from sknatgrad.training import Data, Model, Objective
from sknatgrad.training.steps.safeguards import training_metric

FULL = {
    "64-100-10": [64, 100, 10],
    "784-100-10": [784, 100, 10],
    "784-1000-500-250-30 auto-encoder": [784, 1000, 500, 250, 30, 250, 500, 1000, 784],
    "10000 sparse-100-10": [10_000, 100, 10],
}
FAN_INS, UNITS = (5, 20, 100), (100, 1000, 10_000, 100_000)
BATCHES, ALL_ROWS = (1, 16, 500), 2048
SLOW = ("fisher", "mc_fisher", "op")
# Numbers in blocks, and seconds of one step, that are too many.
LARGEST_BLOCKS = 10**8


def sparse_topology(sizes, fan_in):
    """Layers whose units listen to so many units of the layer before, from a random one on."""
    rng, masks = np.random.RandomState(0), []
    for n_in, n_out in pairwise(sizes):
        d = min(fan_in, n_in)
        sources = (rng.randint(n_in, size=(n_out, 1)) + np.arange(d) * (n_in // d)) % n_in
        targets = np.repeat(np.arange(n_out), d)
        masks.append(
            sparse.coo_array((np.ones(n_out * d), (sources.ravel(), targets)), (n_in, n_out))
        )
    return Topology.from_sparse(masks)


class Case:
    """A network with data, and its steps in any metric.

    Parameters
    ----------
    topology : Topology
    n_rows : int
    sparse_inputs : bool
        A share of 1/200 of the inputs is not 0.
    real : bool
        Targets are numbers, not classes.
    """

    def __init__(self, topology, n_rows, sparse_inputs=False, real=False):
        rng = np.random.RandomState(0)
        self.topology, self.n_rows = topology, n_rows
        self.density = 1 / 200 if sparse_inputs else 1.0
        shape = (n_rows, topology.n_inputs)
        if sparse_inputs:
            X = sparse.random_array(shape, density=self.density, rng=rng, format="csr")
        else:
            X = rng.standard_normal(shape)
        y = rng.randint(topology.n_outputs, size=n_rows)
        if real:
            y = rng.standard_normal((topology.n_outputs, n_rows))
        network = Network.build(topology)
        self.theta = initialize(network, rng)
        self.model = Model(network, get_output("square" if real else "softmax"))
        self.objective = Objective(self.model, Data(X, y))

    def step(self, name):
        """A function that makes one step, or None if that would be too large."""
        metric = training_metric(get_metric(name), guarded=True)
        if not self._bearable(metric):
            return None
        rng = np.random.RandomState(0)

        def step():
            evaluation = self.objective.evaluate(self.theta)
            gradient, statistics = self.objective.differentiate(evaluation, metric, rng)
            metric.solve(self.topology, statistics, gradient, 1e-2)

        return step

    def _bearable(self, metric):
        try:
            metric.check(self.topology, self.n_rows, averaged=False)
        except ValueError:
            return False
        if metric.reduction.prefix not in ("unitwise", "kron"):
            return True
        kron = metric.reduction.prefix == "kron"
        return all(
            self._n_blocks(group, kron) * (1 + group.fan_in) ** 2 <= LARGEST_BLOCKS
            for group in self.topology.groups
        )

    def _n_blocks(self, group, kron):
        alone = group.shared and (kron or keep_as_samples(group, self.n_rows))
        return 1 if alone else len(group.units)

    def operations(self):
        """Floating-point operations of a plain step: forward, gradient, and back."""
        first, *later = (len(level.sources) for level in self.topology.levels)
        return 2 * self.n_rows * (2 * self.density * first + 3 * sum(later))

    def bytes_moved(self):
        """Bytes that a plain step reads and writes if nothing but single arrays stays in caches.

        A full level reads the activities of its sources once a product, a sparse one once
        a link.
        """
        moved = 8 * self.n_rows * self.topology.n_units
        for number, level in enumerate(self.topology.levels):
            links = len(level.sources)
            sources = level.indptr[1] if level.shares_sources else links
            density = 1.0 if number else self.density
            moved += 2 * (density * self.n_rows * sources + links)
        return 8 * moved


def machine_rates(quick):
    """Operations a second of a large product, bytes a second of a large copy."""
    n, large = (500, np.ones(1 << 20)) if quick else (1500, np.ones(1 << 24))
    A, copy = np.ones((n, n)), np.empty_like(large)
    times = measure({"product": lambda: A @ A, "copy": lambda: np.copyto(copy, large)}, 3)
    return 2 * n**3 / times["product"], 2 * large.nbytes / times["copy"]


def peak_bytes(step):
    """Most memory that a step allocates at once."""
    tracemalloc.start()
    step()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def timed(case, names, repeats, limit):
    """Seconds and peak bytes of a step of each metric; None where it is too long or large."""
    steps, first = {}, {}
    for name in names:
        step = case.step(name)
        if step is None:
            continue
        start = time.process_time()
        step()
        first[name] = time.process_time() - start
        if first[name] <= limit:
            steps[name] = step
    quick = {name: step for name, step in steps.items() if first[name] < limit / 4}
    seconds = {**first, **(measure(quick, repeats) if quick else {})}
    peaks = {name: peak_bytes(step) for name, step in steps.items()}
    return {name: (seconds[name], peaks[name]) if name in steps else None for name in names}


def cases(quick):
    """Yield (network, batch, function that makes the `Case`)."""
    full = {"64-20-3": [64, 20, 3]} if quick else FULL
    fan_ins, units = ((5,), (100,)) if quick else (FAN_INS, UNITS)
    batches = (16,) if quick else (*BATCHES, ALL_ROWS)
    for name, sizes in full.items():
        for n_rows in batches:
            options = {"sparse_inputs": "sparse" in name, "real": "auto" in name}
            yield (
                name,
                n_rows,
                lambda s=sizes, n=n_rows, o=options: Case(Topology.layered(s), n, **o),
            )
    for d in fan_ins:
        for n in units:
            for n_rows in batches:
                yield (
                    f"{n} units, fan-in {d}",
                    n_rows,
                    lambda n=n, d=d, r=n_rows: Case(sparse_topology([n, n, 10], d), r),
                )


def table(arguments, rates):
    """Rows of results, one a network and batch."""
    chosen = arguments.metrics or [name for name in METRICS if name not in SLOW]
    names = ["euclidean", *(name for name in chosen if name != "euclidean")]
    network, known = None, []
    for name, n_rows, make in cases(arguments.quick):
        if arguments.only not in name:
            continue
        # What is too long for a batch is so for a larger one.
        network, left = name, known if name == network else names
        if "euclidean" not in left:
            continue
        case = make()
        result = timed(case, left, arguments.repeats, arguments.limit)
        known = [metric for metric in names if result.get(metric) is not None]
        if "euclidean" not in known:
            continue
        plain, _ = result["euclidean"]
        yield {
            "network": network,
            "rows": n_rows,
            "seconds": plain,
            "gemm_share": case.operations() / plain / rates[0],
            "bandwidth_share": case.bytes_moved() / plain / rates[1],
            "ratios": {m: result[m][0] / plain if m in known else None for m in names},
            "megabytes": {m: result[m][1] / 1e6 if m in known else None for m in names},
        }


# By rows, units, fan-in and outputs: what is varied, and the paper's exponents.
GROWTH = {
    "rows": {"euclidean": 1, "qd_bp": 1, "bp": 1, "qd_fisher": 1, "unitwise_fisher": 1},
    "units": {"euclidean": 1, "qd_bp": 1, "bp": 1, "qd_fisher": 1, "unitwise_fisher": 1},
    "fan-in": {"euclidean": 1, "qd_bp": 1, "bp": 2, "qd_fisher": 1, "unitwise_fisher": 2},
    "outputs": {"euclidean": 0, "qd_bp": 0, "bp": 0, "qd_fisher": 1, "unitwise_fisher": 1},
}


def growing(what, factor, quick):
    """A sparse case, one of whose sizes is multiplied."""
    sizes = {"rows": 500, "units": 1000, "fan-in": 20, "outputs": 4}
    if quick:
        sizes = {"rows": 40, "units": 50, "fan-in": 4, "outputs": 2}
    sizes[what] *= factor
    n, d = sizes["units"], sizes["fan-in"]
    return Case(sparse_topology([n, n, n, sizes["outputs"]], d), sizes["rows"])


def slopes(quick, repeats):
    """Log-log slopes of the cost with each size, between 1 and 4 times a first one."""
    factors = (1, 4) if quick else (1, 2, 4)
    found = {}
    for what, expected in GROWTH.items():
        costs = {name: [] for name in expected}
        for factor in factors:
            case = growing(what, factor, quick)
            for name, seconds in measure({m: case.step(m) for m in expected}, repeats).items():
                costs[name].append(seconds)
        found[what] = {
            name: {
                "slope": float(np.polyfit(np.log(factors), np.log(costs[name]), 1)[0]),
                "paper": expected[name],
            }
            for name in expected
        }
    return found


def show(row):
    """Print one row of the table."""
    print(
        f"\n{row['network']}, {row['rows']} rows: plain {1e3 * row['seconds']:.3g} ms, "
        f"{row['gemm_share']:.0%} of the product's rate, {row['bandwidth_share']:.0%} of the copy's"
    )
    for name, ratio in row["ratios"].items():
        memory = row["megabytes"][name]
        print(f"  {name:20s}", "-" if ratio is None else f"{ratio:8.2f} x {memory:9.1f} MB")


DOCUMENTED = ("diag_bp", "qd_bp", "qd_fisher", "kron_bp", "bp", "unitwise_fisher")


def markdown(rows):
    """The table of doc/performance.md."""
    head = ["network", "rows", "plain, ms", "product", "copy", *(f"`{m}`" for m in DOCUMENTED)]
    lines = [head, ["---"] * len(head)]
    for row in rows:
        ratios = [row["ratios"].get(name) for name in DOCUMENTED]
        lines.append(
            [row["network"], str(row["rows"]), f"{1e3 * row['seconds']:.3g}"]
            + [f"{row[key]:.0%}" for key in ("gemm_share", "bandwidth_share")]
            + ["-" if ratio is None else f"{float(f'{ratio:.2g}'):g}" for ratio in ratios]
        )
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main():
    """Print the tables, and write them if asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small networks only")
    parser.add_argument("--metrics", nargs="*", help="these only")
    parser.add_argument("--only", default="", help="networks whose name has this in it")
    parser.add_argument("--json", help="file to write")
    parser.add_argument("--markdown", action="store_true", help="print the documented table")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--limit", type=float, default=2.0, help="seconds of a step, at most")
    arguments = parser.parse_args()
    with threadpool_limits(1):
        rates = machine_rates(arguments.quick)
        print(f"product {rates[0] / 1e9:.1f} Gflop/s, copy {rates[1] / 1e9:.1f} GB/s")
        rows = []
        for row in table(arguments, rates):
            rows.append(row)
            show(row)
        growth = slopes(arguments.quick, arguments.repeats)
    print("\nlog-log slopes (the paper's)")
    for what, found in growth.items():
        print(f"  {what:8s}", *(f"{m} {s['slope']:.2f} ({s['paper']})" for m, s in found.items()))
    if arguments.markdown:
        print(markdown(rows))
    if arguments.json:
        with open(arguments.json, "w") as file:
            result = {"flops": rates[0], "bytes": rates[1], "steps": rows, "slopes": growth}
            json.dump(result, file, indent=1)


if __name__ == "__main__":
    main()

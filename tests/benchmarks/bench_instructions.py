"""Instructions of one training step of every metric, on small problems.

Run as ``python tests/benchmarks/bench_instructions.py [--kernels numba] [--json FILE]``.
Seconds of small steps waver on a shared machine; the number of instructions does not. Problems
are the paper's network on 16 rows, 64-100-10 on 16 rows of digits, and 64-50-10 on digits with
one row a step, where a step is one row. Counted are instructions of user code by ``perf stat``
where the system permits it, else by valgrind's callgrind. Each count is a difference: processes
that are copies of one another, start-up, imports and a first call behind them, take N and 3N
steps. It must come out within 1 % the same in every repeat.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import warnings
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import bench_paper_network
import numpy as np
from bench_passes import QUIET
from bench_steps import training_step
from sklearn.datasets import load_digits
from suite import SLOW

from sknatgrad import METRICS, Network, RiemannianMLPClassifier, Topology, initialize
from sknatgrad.training import Data
from sknatgrad.training.steps.rules import Constant

TOLERANCE = 0.01
REPRODUCIBLE = {"PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


# --------------------------------------------------------------------------- problems
def paper(metric):
    """Steps on the paper's auto-encoder: a function of their number returns the losses."""
    step = bench_paper_network.training_step(metric, *bench_paper_network.problem())
    return lambda n: [step()[1] for _ in range(n)]


def batch(metric):
    """The same for 64-100-10, safeguarded, at a constant and tiny rate."""
    X, y = (rows[:16] for rows in load_digits(return_X_y=True))
    network = Network.build(Topology.layered([64, 100, 10]))
    theta = initialize(network, np.random.RandomState(0))
    scale = Data(X, None).scale
    step = training_step(metric, X, y, network, theta, scale, True, Constant)
    return lambda n: [step()[1] for _ in range(n)]


def online(metric):
    """Fits of 64-50-10 with one row a step: of so many passes, each over 100 rows."""
    X, y = (rows[:100] for rows in load_digits(return_X_y=True))
    estimator = RiemannianMLPClassifier((50,), "tanh", metric=metric, batch_size=1, **QUIET)
    return lambda n: estimator.set_params(max_iter=n).fit(X, y).loss_curve_


# Function, what to call it, N calls, and steps in each of them.
PROBLEMS = {
    "paper": (paper, "100-30-10-30-100 sparse, 16 rows", 10, 1),
    "batch": (batch, "64-100-10, 16 rows", 10, 1),
    "online": (online, "64-50-10, one row", 1, 100),
}


def jobs(problem, metrics):
    """Triples (problem, metric, N); matrices of the whole network are for whole batches."""
    known = [name for name in metrics if problem != "online" or name not in SLOW]
    return [(problem, name, 1 if name in SLOW else PROBLEMS[problem][2]) for name in known]


# ------------------------------------------------------------------- what is counted
@cache
def warm(problem, metric):
    """The function that takes steps, called once."""
    steps = PROBLEMS[problem][0](metric)
    steps(1)
    return steps


def take_steps(folder, listed):
    """Take so many steps of a (problem, metric) in a copy of this process each.

    A copy leaves its losses in `folder`, in a file of its process number, which is printed.
    """
    warnings.simplefilter("ignore")
    for problem, metric, n in listed:
        steps = warm(problem, metric)
        copy = os.fork()
        if not copy:
            losses = [float(loss) for loss in steps(n)]
            Path(folder, f"losses.{os.getpid()}").write_text(json.dumps(losses))
            os._exit(0)
        if os.waitpid(copy, 0)[1]:
            raise SystemExit(f"{problem}, {metric}: {n} steps failed")
        print(copy, flush=True)


def check_steps(few, many, n):
    """See that N and 3N steps were taken, from one start, and led somewhere.

    Single ones may be rejected, and leave the loss as it was.

    Raises
    ------
    RuntimeError
        If not.
    """
    taken = len(few) == n and len(many) == 3 * n and many[:n] == few
    if not (taken and np.isfinite(many).all() and len(set(many)) > 1):
        raise RuntimeError(f"{n} and {3 * n} steps were asked for; losses are {few} and {many}")


# ------------------------------------------------------------------------ the counters
@dataclass(frozen=True)
class Counter:
    """A program that counts the instructions of a command.

    Attributes
    ----------
    command : tuple of str
        Writes files ``{folder}/count*``.
    pattern : str
        Where the number is in such a file.
    copies : bool
        Whether copies of a process have files of their own, which end in its number.
    """

    command: tuple
    pattern: str
    copies: bool

    def works(self):
        """Whether it is there, and permitted."""
        with tempfile.TemporaryDirectory() as folder:
            try:
                self._run(folder, ["true"], {})
            except (FileNotFoundError, RuntimeError):
                return False
            return self._read(next(Path(folder).glob("count*"))) is not None

    def measure(self, listed, kernels):
        """Yield (instructions, losses) of each job (problem, metric, steps)."""
        for part in [listed] if self.copies else [[job] for job in listed]:
            with tempfile.TemporaryDirectory() as folder:
                command = [sys.executable, __file__, "--take", folder, json.dumps(part)]
                copies = self._run(folder, command, {"SKNATGRAD_KERNELS": kernels})
                for copy in copies.split():
                    losses = json.loads(Path(folder, f"losses.{copy}").read_text())
                    file = f"count.{copy}" if self.copies else "count"
                    yield self._read(Path(folder, file)), losses

    def _run(self, folder, command, environment):
        command = [*(part.format(folder=folder) for part in self.command), *command]
        environment = {**os.environ, **REPRODUCIBLE, **environment}
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"{' '.join(command)}\n{done.stdout[-500:]}{done.stderr[-1500:]}")
        return done.stdout

    def _read(self, file):
        found = re.search(self.pattern, file.read_text(), re.MULTILINE)
        return found and int(found[1])


_PERF = "perf", "stat", "-x,", "-e", "instructions:u", "-o", "{folder}/count"
_VALGRIND = "valgrind", "-q", "--tool=callgrind", "--callgrind-out-file={folder}/count.%p"
COUNTERS = {
    "perf": Counter(_PERF, r"^(\d+),", copies=False),
    "callgrind": Counter(_VALGRIND, r"^summary: (\d+)", copies=True),
}


def choose(names):
    """Name of the first counter that works.

    Raises
    ------
    SystemExit
        If none does.
    """
    for name in names:
        if COUNTERS[name].works():
            return name
    raise SystemExit(
        "Neither perf (Linux's perf tools, where kernel.perf_event_paranoid is 2 or less and the "
        "processor's counters can be seen) nor valgrind can count instructions here: install the "
        "package valgrind."
    )


def per_step(counter, listed, kernels):
    """Instructions a step of each job (problem, metric, N): count and losses are checked."""
    pairs = [(problem, metric, k * n) for problem, metric, n in listed for k in (1, 3)]
    counted = list(counter.measure(pairs, kernels))
    found = {}
    for job, (few, first), (many, then) in zip(listed, counted[::2], counted[1::2], strict=True):
        problem, metric, n = job
        check_steps(first, then, n)
        found[problem, metric] = (many - few) / (2 * n * PROBLEMS[problem][3])
    return found


def repeated(counter, listed, kernels, repeats):
    """Mean of `per_step` over repeats, and the largest relative difference among them.

    Raises
    ------
    RuntimeError
        If that is larger than `TOLERANCE`.
    """
    runs = [per_step(counter, listed, kernels) for _ in range(repeats)]
    means, spread = {}, {}
    for key in runs[0]:
        values = [run[key] for run in runs]
        means[key] = float(np.mean(values))
        spread[key] = (max(values) - min(values)) / means[key]
    worst = max(spread, key=spread.get)
    if not spread[worst] <= TOLERANCE:
        raise RuntimeError(f"{worst}: counts differ by {spread[worst]:.1%} from repeat to repeat")
    return means, spread[worst]


# ------------------------------------------------------------------------------ results
def readable(count):
    """Thousands or millions."""
    return f"{count / 1e3:.0f} k" if count < 1e6 else f"{count / 1e6:.3g} M"


def table(means, metrics, problems):
    """The table of doc/performance.md: instructions, and relative to a plain step."""
    head = ["", *(cell for name in problems for cell in (PROBLEMS[name][1], "x plain"))]
    lines = [head, ["---"] * len(head)]
    for metric in metrics:
        line = [f"`{metric}`"]
        for problem in problems:
            count, plain = means.get((problem, metric)), means[problem, "euclidean"]
            line += ["-", "-"] if count is None else [readable(count), f"{count / plain:.2f}"]
        lines.append(line)
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def parsed():
    """Arguments of the command."""
    parser = argparse.ArgumentParser(description=__doc__)
    # The whole Fisher matrix is linear algebra alone, and takes callgrind minutes a step.
    small = [name for name in METRICS if name != "fisher"]
    parser.add_argument("--metrics", nargs="*", default=small, choices=list(METRICS))
    parser.add_argument("--problems", nargs="*", default=list(PROBLEMS), choices=list(PROBLEMS))
    parser.add_argument("--kernels", choices=("numpy", "numba"), default="numpy")
    parser.add_argument("--counter", choices=list(COUNTERS), help="else the first that works")
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--json", help="file to write")
    parser.add_argument("--take", nargs=2, metavar=("FOLDER", "JOBS"), help=argparse.SUPPRESS)
    return parser.parse_args()


def main():
    """Print the table, and write it if asked to."""
    arguments = parsed()
    if arguments.take:
        folder, listed = arguments.take
        take_steps(folder, json.loads(listed))
        return
    name = choose([arguments.counter] if arguments.counter else COUNTERS)
    metrics = ["euclidean", *(m for m in arguments.metrics if m != "euclidean")]
    listed = [job for problem in arguments.problems for job in jobs(problem, metrics)]
    counter, kernels = COUNTERS[name], arguments.kernels
    means, spread = repeated(counter, listed, kernels, arguments.repeats)
    print(
        f"instructions a step, {kernels} kernels, counted by {name}; {arguments.repeats} ", end=""
    )
    print(f"repeats differ by {spread:.2%} at most\n")
    print(table(means, metrics, arguments.problems))
    if arguments.json:
        steps = [{"problem": p, "metric": m, "instructions": c} for (p, m), c in means.items()]
        result = {"counter": name, "kernels": kernels, "spread": spread, "steps": steps}
        Path(arguments.json).write_text(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()

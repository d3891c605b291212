"""The paper's tables with our numbers beside its own, and two of ours."""

from dataclasses import dataclass

import numpy as np

from ..table import number, plus_minus
from .methods import FULL_STEPS_OF_PAPER
from .problem import ACTIVATIONS
from .published import BUDGET, ITERATIONS, LOSSES, implied_cost

TABLE_2 = "Table 2: average loss per sample in bits, with its standard deviation over the runs"
MONTE_CARLO = "What the paper's Monte-Carlo rows may be: the same with other metrics"
SAME = 1e-6  # bits: what counts as the same loss
SOLVED = 0.01  # bits: what counts as learnt


@dataclass(frozen=True)
class Table:
    """A table and what it says.

    Attributes
    ----------
    title : str
    header : list of str
    rows : list of list of str
    notes : str
    """

    title: str
    header: list
    rows: list
    notes: str


# ---------------------------------------------------------------------------- Table 1
def cost_table(experiment, costs):
    """Table 1: what a step costs, and the iterations that equal time buys."""
    rows = []
    for method in experiment.methods:
        ratio = costs.relative(method.name)
        low_high = ITERATIONS.get(method.name)
        implied = implied_cost(method.name)
        rows.append(
            [
                method.title,
                f"{1e3 * costs.seconds[method.name]:.3g}",
                _cost(ratio),
                "-" if implied is None else _cost(implied),
                f"{BUDGET / ratio:,.0f}",
                "-" if low_high is None else " to ".join(f"{n:,}" for n in sorted(set(low_high))),
            ]
        )
    return Table(
        "Table 1: iterations of equal execution time",
        [
            "method",
            "ms\na step",
            "cost of a step\n(backpropagation 1)",
            "the paper's\ncost",
            "iterations of\nequal time",
            "the paper's\niterations",
        ],
        rows,
        "Processor time on one thread, methods taking turns; median.",
    )


def _cost(ratio):
    return f"{ratio:.2f}" if ratio < 100 else f"{ratio:.0f}"


# ---------------------------------------------------------------------------- Table 2
def loss_table(experiment, results, title=TABLE_2):
    """Table 2: loss at the end, and how far it is from the paper's."""
    rows = []
    for method in experiment.methods:
        if method.metric == "fisher" and method.n_steps > FULL_STEPS_OF_PAPER:
            rows.append(_loss_row(experiment, results, method, FULL_STEPS_OF_PAPER))
        rows.append(_loss_row(experiment, results, method, method.n_steps))
    header = ["method", "iterations"]
    for activation in ACTIVATIONS:
        header += [activation, f"the paper's\n{activation}", "apart by"]
    return Table(
        title,
        header,
        rows,
        f"{experiment.n_runs} runs. Apart by: our mean minus the paper's, in units of the paper's "
        "standard deviation.",
    )


def _loss_row(experiment, results, method, step):
    row = [method.title, f"{step:,}"]
    same_as = method.metric.replace("and_op", "fisher")
    published = LOSSES.get(same_as, [None] * len(ACTIVATIONS))
    for activation, theirs in zip(ACTIVATIONS, published, strict=True):
        ours = mean_and_deviation(results.losses(experiment.name, method.name, activation, step))
        row.append(plus_minus(*ours, 2))
        row.append("-" if theirs is None else plus_minus(*theirs, 1))
        row.append("-" if theirs is None else f"{(ours[0] - theirs[0]) / theirs[1]:+.1f}")
    return row


def mean_and_deviation(losses):
    """Mean and standard deviation of a sample."""
    return float(np.mean(losses)), float(np.std(losses, ddof=1)) if len(losses) > 1 else np.nan


def links_table(experiments, results):
    """What the way of drawing links does to Table 2."""
    names = {"parallel": "autoencoder", "merged": "merged_links", "distinct": "distinct_links"}
    rows = []
    for method in experiments["merged_links"].methods:
        for activation, (mean, deviation) in zip(ACTIVATIONS, LOSSES[method.name], strict=True):
            losses = [results.losses(name, method.name, activation) for name in names.values()]
            ours = [plus_minus(*mean_and_deviation(runs), 2) for runs in losses]
            title = f"{method.title}, {activation}"
            rows.append([title, plus_minus(mean, deviation, 1), *ours])
    n_runs = ", ".join(str(experiments[name].n_runs) for name in names.values())
    return Table(
        "How links are drawn: loss in bits",
        ["method", "the paper's", *names],
        rows,
        "Links drawn with replacement, repeated ones kept as parallel links, or merged; or drawn "
        f"without replacement. Runs: {n_runs}.",
    )


# ------------------------------------------------------------------ beyond the paper
def digits_table(experiment, results, costs):
    """How many iterations, and how much time, digits take."""
    rows = []
    for method in experiment.methods:
        seconds = costs.seconds[method.name]
        steps = [
            _steps_to(SOLVED, *results.curves(experiment.name, method.name, activation))
            for activation in ACTIVATIONS
        ]
        rows.append(
            [
                method.title,
                _cost(costs.relative(method.name)),
                *(number(count, 0) for count in steps),
                *(number(count * seconds, 2) for count in steps),
            ]
        )
    return Table(
        f"Digits: iterations and seconds to a training log-loss of {SOLVED:g} bits",
        [
            "method",
            "cost\nof a step",
            *(f"iterations,\n{activation}" for activation in ACTIVATIONS),
            *(f"seconds,\n{activation}" for activation in ACTIVATIONS),
        ],
        rows,
        f"Medians of {experiment.n_runs} runs, counted where losses are recorded; seconds are "
        "iterations times measured processor time of one.",
    )


def _steps_to(target, steps, bits):
    """Median over runs of the first recorded step with a loss of at most `target`."""
    reached = bits <= target
    first = np.where(reached.any(axis=1), steps[reached.argmax(axis=1)], np.inf)
    return float(np.median(first))


def one_start_table(experiment, results):
    """For how long both implementations have the same loss."""
    rows = []
    for method in experiment.methods:
        steps, apart = differences(experiment, results, method.name)
        together = [steps_together(steps, run) for run in apart]
        final = [
            float(np.mean(results.losses(experiment.name, method.name, activation)))
            for activation in ACTIVATIONS
        ]
        rows.append(
            [
                method.title,
                f"{min(together)} to {max(together)}",
                f"{np.median(together):.0f}",
                f"{np.median(apart[:, -1]):.1e}",
                *(number(bits, 2) for bits in final),
            ]
        )
    return Table(
        f"One start, both implementations: steps that they agree to {SAME:g} bits",
        [
            "method",
            "steps\ntogether",
            "median",
            f"bits apart after\n{experiment.methods[0].n_steps} steps",
            *(f"loss at the\nend, {activation}" for activation in ACTIVATIONS),
        ],
        rows,
        f"Of {experiment.n_runs} runs; agreement is looked at where losses are recorded.",
    )


def differences(experiment, results, method):
    """Steps, and by how much the losses of both implementations differ in every run."""
    steps, logistic = results.curves(experiment.name, method, "logistic")
    return steps, np.abs(logistic - results.curves(experiment.name, method, "tanh")[1])


def steps_together(steps, apart):
    """The last recorded step before two losses first differ."""
    different = np.flatnonzero(~(apart <= SAME))
    if not len(different):
        return int(steps[-1])
    return int(steps[different[0] - 1]) if different[0] else 0

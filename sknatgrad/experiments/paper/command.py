"""The command ``python -m sknatgrad paper``, once its arguments are read."""

from dataclasses import dataclass
from pathlib import Path

from ..progress import ProgressBar
from .campaign import carry_out
from .costs import known_costs
from .experiment import experiments
from .ones import learn_ones_and_zeros
from .published import N_RUNS
from .report import as_text, make_figures, make_tables, write_figures, write_tables
from .store import Store

_ROUNDS, _QUICK_ROUNDS = 15, 3
QUICK_RUNS = 2


@dataclass(frozen=True)
class Order:
    """What is asked for.

    Attributes
    ----------
    n_runs : int
    n_jobs : int
    folder : Path
    quick : bool
        Few runs, a twentieth of the steps.
    seed : int
    draw : bool
        Make figures.
    """

    n_runs: int
    n_jobs: int
    folder: Path
    quick: bool = False
    seed: int = 0
    draw: bool = True

    @classmethod
    def of(cls, arguments):
        """What arguments of the command line ask for."""
        return cls(
            arguments.runs or (QUICK_RUNS if arguments.quick else N_RUNS),
            arguments.jobs,
            arguments.out,
            arguments.quick,
            arguments.seed,
            draw=not arguments.no_plot,
        )


def reproduce(order):
    """Run all experiments, print the tables and write tables and figures.

    Parameters
    ----------
    order : Order

    Returns
    -------
    Results

    Raises
    ------
    OSError
        If the folder can't be written to.
    """
    chosen = experiments(order.n_runs)
    if order.quick:
        chosen = {name: experiment.shortened() for name, experiment in chosen.items()}
    order.folder.mkdir(parents=True, exist_ok=True)
    print(_preface(order), flush=True)
    rounds = _QUICK_ROUNDS if order.quick else _ROUNDS
    costs = {
        name: known_costs(chosen[name], rounds, order.folder / f"costs-{name}.json")
        for name in ("autoencoder", "digits")
    }
    trainings = [t for experiment in chosen.values() for t in experiment.trainings(order.seed)]
    trainings.sort(key=lambda training: training.run)  # whole runs, should it be interrupted
    results = carry_out(trainings, Store(order.folder / "runs"), order.n_jobs, _Progress(trainings))
    tables = make_tables(chosen, results, costs)
    print("", *map(as_text, tables), sep="\n\n", flush=True)
    print(f"\nTables: {write_tables(tables, order.folder, _preface(order))}", flush=True)
    if order.draw:
        ones = learn_ones_and_zeros(order.n_runs, order.seed)
        _draw(make_figures(chosen, results, costs, ones), order.folder)
    return results


def _preface(order):
    length = "; a twentieth of the steps" if order.quick else ""
    return f"The paper's experiments: {order.n_runs} runs, seed {order.seed}{length}."


def _draw(made, folder):
    try:
        write_figures(made, folder / "figures")
    except ImportError as missing:
        print(f"No figures. {missing}")
    else:
        print(f"Figures: {folder / 'figures'}")


class _Progress:
    """Says how far the trainings are."""

    def __init__(self, trainings):
        self._trainings, self._bar = trainings, None

    def begin(self, missing, n_known, reasons):
        """Before the first training."""
        n_missing = len(missing)
        found = [f"{n_known} of {len(self._trainings)} results are there"]
        found += [f"{count} left out ({reason})" for reason, count in reasons.items()]
        print(f"{', '.join(found)}: {n_missing} trainings to do.", flush=True)
        self._bar = ProgressBar(n_missing)

    def end(self, training, curve):
        """After each training."""
        self._bar.advance(
            f"{training.experiment.name}, run {training.run + 1}: {training.method.name}, "
            f"{training.activation}, {curve.bits[-1]:.2f} bits"
        )

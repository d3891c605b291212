"""The command line: ``python -m sknatgrad``."""

import argparse
import os
import sys
import textwrap
from pathlib import Path

from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from . import __version__
from .experiments.arguments import character, metric_names, share, whole_number
from .experiments.csv_table import TableError, read_table
from .experiments.dataset import TASKS, make_dataset
from .experiments.paper import N_RUNS, QUICK_RUNS, Order, reproduce
from .experiments.progress import ProgressLines
from .experiments.race import run_race, standard_competitors
from .experiments.report import format_short_table, format_table, save_figure
from .experiments.table_race import split_and_encode, table_competitors
from .metrics import METRICS

PROGRAM = "python -m sknatgrad"
HIDDEN_UNITS = 100
DEFAULT_METRICS = "qd_bp,kron_bp,bp,qd_fisher,euclidean"
# As shells have it for programs ended by Ctrl-C and by a closed pipe.
INTERRUPTED, CLOSED = 130, 141

TABLE_METRICS = "our default, qd_bp and kron_bp"
CONTESTANTS = """\
Methods named after a metric: RiemannianMLPClassifier on the features as they are.
Adam (scikit-learn): MLPClassifier on standardised features. Everything else is at its default.
"""
DESCRIPTION = """\
Race on the handwritten digits that scikit-learn ships: the same small network,
trained in several metrics on raw pixels, and by scikit-learn's own MLPClassifier
(Adam, default settings) on standardised ones. Prints one table and draws the
training curves. The command "race" holds it on a table of your own.
"""
TABLE_CONTESTANTS = """\
Methods named after a metric: our networks on the features as encoded. Adam (scikit-learn) and
the linear model: on standardised ones. Everything else is at its default.
"""
TABLE_DESCRIPTION = """\
Race on a table of your own: our networks, as they come, against scikit-learn's
network (Adam), linear model and gradient boosted trees. The file is text with a
header line, perhaps gzipped. Columns are numbers, or else categories, one input a
level. Entries that are empty, NA, NaN, null or ? are missing.
"""
TABLE_EPILOG = f"""\
examples:
  {PROGRAM} race --data wine.csv --target quality
  {PROGRAM} race --data sales.csv.gz --target price --task regression
  {PROGRAM} race --data umsatz.csv --target Preis --separator ";" --out results

exit status:
  0 all went well, 1 a competitor could not be trained or output not be written,
  2 wrong arguments or a table that can't be learnt from, {INTERRUPTED} interrupted
"""
PAPER_DESCRIPTION = """\
The paper's experiments: its Tables 1 and 2 with its own numbers beside ours, its
figures, and what it could not run (the full natural gradient to 200 steps, equal starts
under relative damping, a classification). Takes about 50 minutes of processor time.
Results of every run are kept, so an interrupted command goes on where it ended.
"""
EPILOG = f"""\
metrics:
{textwrap.indent(textwrap.fill(", ".join(METRICS), 76), "  ")}
  Full metrics (fisher, mc_fisher, op) take minutes on this network.
  euclidean is the plain gradient, as a control.

examples:
  {PROGRAM}
  {PROGRAM} --metrics qd_bp,diag_bp,adagrad --no-plot
  {PROGRAM} --seed 1 --max-iter 1000 --out results
  {PROGRAM} race --data FILE.csv --target COLUMN

exit status:
  0 all went well, 1 a competitor could not be trained or output not be written,
  2 wrong arguments, {INTERRUPTED} interrupted
"""


def main(argv=None):
    """Run the command line.

    Parameters
    ----------
    argv : list of str, optional
        Arguments; those of the process by default.

    Returns
    -------
    int
        Exit status.
    """
    arguments, unknown = build_parser().parse_known_args(argv)
    if unknown:
        arguments.parser.error(f"unrecognized arguments: {' '.join(unknown)}")
    try:
        status = arguments.run(arguments)
        sys.stdout.flush()
    except KeyboardInterrupt:
        print("\nInterrupted.", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        drop_output()
        return CLOSED
    except OSError as problem:
        drop_output()
        print(f"{PROGRAM}: {problem}", file=sys.stderr)
        return 1
    return status


def drop_output():
    """Leave nothing to be flushed at exit to where nothing can be written any more."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def build_parser():
    """The parser; ``run`` carries out what was asked for, ``parser`` is the one of the command."""
    parser = argparse.ArgumentParser(
        prog=PROGRAM,
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"sknatgrad {__version__}")
    add_common_options(parser, DEFAULT_METRICS)
    parser.set_defaults(run=race_on_digits, parser=parser)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    add_table_race(commands)
    add_paper(commands)
    return parser


def add_common_options(parser, metrics, inherit=False):
    """Options of all races; `inherit` leaves those not given as the main parser has them."""

    def default(value):
        return argparse.SUPPRESS if inherit else value

    parser.add_argument(
        "--metrics",
        type=metric_names,
        default=default(None),
        metavar="LIST",
        help=f"metrics to train in, parted by commas (default: {metrics})",
    )
    parser.add_argument(
        "--seed",
        type=whole_number(0, 2**32 - 1),
        default=default(0),
        metavar="N",
        help="of the split and of the initial weights (default: 0)",
    )
    parser.add_argument(
        "--max-iter",
        type=whole_number(1),
        default=default(None),
        metavar="N",
        help="largest number of passes of the networks (default: 200, the default of all of them)",
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=default(Path()),
        metavar="FOLDER",
        help="where the figure goes (default: the current folder)",
    )
    parser.add_argument(
        "--no-plot", action="store_true", default=default(False), help="print the table only"
    )


def add_table_race(commands):
    """The command ``race``."""
    parser = commands.add_parser(
        "race",
        help="the race on a table of your own",
        description=TABLE_DESCRIPTION,
        epilog=TABLE_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--data", required=True, metavar="FILE", help="CSV, or CSV.gz")
    parser.add_argument("--target", required=True, metavar="COLUMN", help="what to predict")
    parser.add_argument("--task", choices=TASKS, help="default: guessed from the target")
    parser.add_argument(
        "--test-size",
        type=share,
        default=0.25,
        metavar="SHARE",
        help="of the rows set apart for the test (default: %(default)s)",
    )
    parser.add_argument(
        "--separator",
        type=character,
        default=",",
        metavar="CHARACTER",
        help='between fields, or "tab" (default: "%(default)s")',
    )
    add_common_options(parser, TABLE_METRICS, inherit=True)
    parser.set_defaults(run=race_on_table, parser=parser)


def add_paper(commands):
    """The command ``paper``."""
    parser = commands.add_parser(
        "paper",
        help="the paper's tables and figures",
        description=PAPER_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    number = {"type": whole_number(1), "metavar": "N"}
    runs = f"independent runs (default: {N_RUNS}, the paper's; {QUICK_RUNS} with --quick)"
    parser.add_argument("--runs", **number, help=runs)
    parser.add_argument("--jobs", **number, default=1, help="trainings at once (default: 1)")
    parser.add_argument(
        "--out", type=Path, default=Path("results"), metavar="FOLDER", help="(default: results)"
    )
    parser.add_argument("--quick", action="store_true", help="a twentieth of the steps")
    parser.add_argument("--seed", type=whole_number(0, 2**32 - 1), default=0, metavar="N")
    parser.add_argument("--no-plot", action="store_true", help="print the tables only")
    parser.set_defaults(run=reproduce_paper, parser=parser)


def reproduce_paper(arguments):
    """The paper's experiments; returns the exit status."""
    if not can_write(arguments, always=True):
        return 2
    try:
        reproduce(Order.of(arguments))
    except OSError as problem:
        print(f"{PROGRAM} paper: can't keep the results: {problem}", file=sys.stderr)
        return 1
    return 0


def race_on_digits(arguments):
    """The race on digits; returns the exit status."""
    if not can_write(arguments):
        return 2
    X, y = load_digits(return_X_y=True)
    split = train_test_split(X, y, stratify=y, random_state=arguments.seed)
    X_train, X_test, y_train, y_test = split
    network = f"{X.shape[1]}-{HIDDEN_UNITS}-{len(set(y))}"
    limit = "" if arguments.max_iter is None else f"; at most {arguments.max_iter} passes"
    print(
        f"Data set: digits, {len(X_train)} training and {len(X_test)} test rows of raw pixels, "
        f"0 to 16\nNetwork: {network}; one thread; seed {arguments.seed}{limit}\n{CONTESTANTS}",
        flush=True,
    )
    competitors = standard_competitors(
        arguments.metrics or metric_names(DEFAULT_METRICS),
        (HIDDEN_UNITS,),
        arguments.seed,
        arguments.max_iter,
    )
    progress = ProgressLines([competitor.name for competitor in competitors])
    results = run_race(competitors, X_train, y_train, X_test, y_test, progress)
    print(f"\n{format_table(results)}\n", flush=True)
    failed = any(result.error for result in results)
    if not arguments.no_plot and any(result.losses for result in results):
        title = f"Training on digits, {network} network"
        failed |= not draw(results, arguments.out / "sknatgrad-digits.png", title)
    return int(failed)


def race_on_table(arguments):
    """The race on the user's table; returns the exit status."""
    if not can_write(arguments):
        return 2
    try:
        table = read_table(arguments.data, arguments.separator)
        dataset = make_dataset(table, arguments.target, arguments.task)
        split = split_and_encode(dataset, arguments.test_size, arguments.seed)
    except TableError as problem:
        print(f"{PROGRAM} race: {problem}", file=sys.stderr)
        return 2
    print_table_report(arguments, table, dataset, split)
    regression = dataset.task == "regression"
    competitors = table_competitors(
        dataset.task, arguments.metrics, arguments.seed, arguments.max_iter
    )
    names = [competitor.name for competitor in competitors]
    loss = {"loss_name": "RMSE", "show": "{:.5g}".format} if regression else {}
    results = run_race(competitors, *split, ProgressLines(names, **loss))
    print(f"\n{format_short_table(results, regression)}\n", flush=True)
    failed = any(result.error for result in results)
    if not arguments.no_plot and any(result.losses for result in results):
        stem = Path(arguments.data).name.split(".")[0]
        title = f"Training on {Path(arguments.data).name}"
        loss = {"target": None, "ylabel": "training loss (half the squared error)"}
        path = arguments.out / f"sknatgrad-{stem}.png"
        failed |= not draw(results, path, title, **(loss if regression else {}))
    return int(failed)


def print_table_report(arguments, table, dataset, split):
    """What was read, and who will race on it."""
    lines = [
        f"Table: {arguments.data}, {table.n_rows} rows, {len(table.names)} columns.",
        *table.notes,
        *dataset.report,
        *split.report,
        f"Rows: {len(split.y_train)} for training, {len(split.y_test)} for the test"
        f"{', stratified' if dataset.task == 'classification' else ''}; seed {arguments.seed}.",
    ]
    text = [textwrap.fill(line, 96, subsequent_indent="  ") for line in lines]
    print("\n".join(text), TABLE_CONTESTANTS, sep="\n\n", flush=True)


def can_write(arguments, always=False):
    """Make the folder of --out if it will be needed; whether that went well."""
    if always or not arguments.no_plot:
        try:
            arguments.out.mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            print(f"{PROGRAM}: can't make the folder of --out: {problem}", file=sys.stderr)
            return False
    return True


def draw(results, path, title, **kwargs):
    """Save the figure and say so; whether nothing went wrong."""
    try:
        save_figure(results, path, title, **kwargs)
    except ImportError as missing:
        print(f"No figure. {missing}")
    except OSError as problem:
        print(f"{PROGRAM}: can't save the figure: {problem}", file=sys.stderr)
        return False
    else:
        print(f"Training curves: {path.resolve()}")
    return True


if __name__ == "__main__":
    sys.exit(main())

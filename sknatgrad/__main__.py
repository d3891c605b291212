"""The command line: ``python -m sknatgrad``."""

import os
import sys
import textwrap
from pathlib import Path

from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from .experiments.arguments import metric_names
from .experiments.csv_table import TableError, read_table
from .experiments.dataset import make_dataset
from .experiments.paper import Order, reproduce
from .experiments.parser import (
    DEFAULT_METRICS,
    EXIT_CLOSED,
    EXIT_INTERRUPTED,
    PROGRAM,
    RESULTS,
    build_parser,
)
from .experiments.progress import ProgressLines
from .experiments.race import run_race, standard_competitors
from .experiments.report import format_short_table, format_table, save_figure
from .experiments.table_race import split_and_encode, table_competitors

HIDDEN_UNITS = 100
CONTESTANTS = """\
Methods named after a metric: RiemannianMLPClassifier on the features as they are.
Adam (scikit-learn): MLPClassifier on standardised features. Everything else is at its default.
"""
TABLE_CONTESTANTS = """\
Methods named after a metric: our networks on the features as encoded. Adam (scikit-learn) and
the linear model: on standardised ones. Everything else is at its default.
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
    parser = build_parser(race_on_digits, race_on_table, reproduce_paper)
    arguments, unknown = parser.parse_known_args(argv)
    if unknown:
        arguments.parser.error(f"unrecognized arguments: {' '.join(unknown)}")
    try:
        status = arguments.run(arguments)
        sys.stdout.flush()
    except KeyboardInterrupt:
        print("\nInterrupted.", file=sys.stderr)
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        flush_or_drop()
        return EXIT_CLOSED
    except OSError as problem:
        print(f"{PROGRAM}: {problem}", file=sys.stderr)
        flush_or_drop()
        return 1
    return status


def flush_or_drop():
    """Leave nothing to be flushed at exit to where nothing can be written any more."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def reproduce_paper(arguments):
    """The paper's experiments; returns the exit status."""
    if arguments.metrics or arguments.max_iter:
        arguments.parser.error("--metrics and --max-iter are options of races.")
    arguments.out = arguments.out or RESULTS
    if not can_write(arguments.out):
        return 2
    reproduce(Order.of(arguments))
    return 0


def race_on_digits(arguments):
    """The race on digits; returns the exit status."""
    if not (arguments.no_plot or can_write(figure_folder(arguments))):
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
    title = f"Training on digits, {network} network"
    return finish(results, format_table(results), arguments, "digits", title=title)


def race_on_table(arguments):
    """The race on the user's table; returns the exit status."""
    if not (arguments.no_plot or can_write(figure_folder(arguments))):
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
        dataset.task,
        arguments.metrics,
        arguments.seed,
        arguments.max_iter,
        n_inputs=split.X_train.shape[1],
    )
    names = [competitor.name for competitor in competitors]
    said = {"loss_name": "RMSE", "show": "{:.5g}".format} if regression else {}
    results = run_race(competitors, *split, ProgressLines(names, **said))
    drawn = {"target": None, "ylabel": "training loss (half the squared error)"}
    file = Path(arguments.data).name
    return finish(
        results,
        format_short_table(results, regression),
        arguments,
        file.split(".")[0],
        title=f"Training on {file}",
        **(drawn if regression else {}),
    )


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


def figure_folder(arguments):
    """Where the figure of a race goes."""
    return arguments.out or Path()


def can_write(folder):
    """Make the folder of --out; whether that went well."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        print(f"{PROGRAM}: can't make the folder of --out: {problem}", file=sys.stderr)
        return False
    return True


def finish(results, table, arguments, name, **figure):
    """Print the table of a race and draw its curves; returns the exit status."""
    print(f"\n{table}\n", flush=True)
    failed = any(result.error for result in results)
    if not arguments.no_plot and any(result.losses for result in results):
        failed |= not draw(results, figure_folder(arguments) / f"sknatgrad-{name}.png", **figure)
    return int(failed)


def draw(results, path, **figure):
    """Save the figure and say so; whether nothing went wrong."""
    try:
        save_figure(results, path, **figure)
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

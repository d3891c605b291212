"""The command line: ``python -m sknatgrad``."""

import argparse
import difflib
import sys
import textwrap
from pathlib import Path

from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from . import __version__
from .experiments.race import format_table, run_race, save_figure, standard_competitors
from .experiments.table import number
from .metrics import ALIASES, METRICS

PROGRAM = "python -m sknatgrad"
HIDDEN_UNITS = 100
DEFAULT_METRICS = "qd_bp,kron_bp,bp,qd_fisher,euclidean"
INTERRUPTED = 130

CONTESTANTS = """\
Methods named after a metric: RiemannianMLPClassifier on the features as they are.
Adam (scikit-learn): MLPClassifier on standardised features. Everything else is at its default.
"""
DESCRIPTION = """\
Race on the handwritten digits that scikit-learn ships: the same small network,
trained in several metrics on raw pixels, and by scikit-learn's own MLPClassifier
(Adam, default settings) on standardised ones. Prints one table and draws the
training curves.
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

exit status:
  0 all went well, 1 a competitor could not be trained or the figure not be saved,
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
    arguments = build_parser().parse_args(argv)
    try:
        return arguments.run(arguments)
    except KeyboardInterrupt:
        print("\nInterrupted.", file=sys.stderr)
        return INTERRUPTED


def build_parser():
    """The parser; ``run`` is the function that carries out what was asked for."""
    parser = argparse.ArgumentParser(
        prog=PROGRAM,
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"sknatgrad {__version__}")
    parser.add_argument(
        "--metrics",
        type=metric_names,
        default=DEFAULT_METRICS,
        metavar="LIST",
        help="metrics to train in, parted by commas (default: %(default)s)",
    )
    parser.add_argument(
        "--seed",
        type=whole_number(0, 2**32 - 1),
        default=0,
        metavar="N",
        help="of the split and of the initial weights (default: %(default)s)",
    )
    parser.add_argument(
        "--max-iter",
        type=whole_number(1),
        metavar="N",
        help="largest number of passes over the data, for all methods (default: 200, the "
        "default of all of them)",
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=Path(),
        metavar="FOLDER",
        help="where sknatgrad-digits.png goes (default: the current folder)",
    )
    parser.add_argument("--no-plot", action="store_true", help="print the table only")
    parser.set_defaults(run=race_on_digits)
    return parser


def metric_names(text):
    """The metrics of a list with commas, each once."""
    names = list(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    if not names:
        raise argparse.ArgumentTypeError("name at least one metric.")
    known = [*METRICS, *ALIASES]
    for name in names:
        if name not in known:
            close = difflib.get_close_matches(name, known, n=1)
            hint = f"Did you mean {close[0]!r}? " if close else ""
            raise argparse.ArgumentTypeError(
                f"unknown metric {name!r}. {hint}Known: {', '.join(known)}."
            )
    return names


def whole_number(smallest, largest=None):
    """A parser of integers within bounds."""

    def parse(text):
        try:
            value = int(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number.") from None
        if value < smallest or (largest is not None and value > largest):
            bound = f"at least {smallest}" if value < smallest else f"at most {largest}"
            raise argparse.ArgumentTypeError(f"must be {bound}, got {value}.")
        return value

    return parse


def race_on_digits(arguments):
    """The race; returns the exit status."""
    if not arguments.no_plot:
        try:
            arguments.out.mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            print(f"{PROGRAM}: can't make the folder of --out: {problem}", file=sys.stderr)
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
        arguments.metrics, (HIDDEN_UNITS,), arguments.seed, arguments.max_iter
    )
    progress = ProgressLines([competitor.name for competitor in competitors])
    results = run_race(competitors, X_train, y_train, X_test, y_test, progress)
    print(f"\n{format_table(results)}\n", flush=True)
    failed = any(result.error for result in results)
    if not arguments.no_plot and any(result.losses for result in results):
        title = f"Training on digits, {network} network"
        failed |= not draw(results, arguments.out / "sknatgrad-digits.png", title)
    return int(failed)


def draw(results, path, title):
    """Save the figure and say so; whether nothing went wrong."""
    try:
        save_figure(results, path, title)
    except ImportError as missing:
        print(f"No figure. {missing}")
    except OSError as problem:
        print(f"{PROGRAM}: can't save the figure: {problem}", file=sys.stderr)
        return False
    else:
        print(f"Training curves: {path.resolve()}")
    return True


class ProgressLines:
    """One line a competitor: rewritten on a terminal, else printed when it is done.

    Parameters
    ----------
    names : list of str
    stream : file, optional
        Standard output by default.
    """

    def __init__(self, names, stream=None):
        self.stream = sys.stdout if stream is None else stream
        self.width = max(map(len, names))

    def __call__(self, name, result):
        """Say that a competitor starts, or what came of it."""
        live = self.stream.isatty()
        start = f"{name:<{self.width}}  "
        if result is None and live:
            self._write(f"{start}training ...\r")
        elif result is not None:
            self._write(f"{start}{self._outcome(result)}\n")

    @staticmethod
    def _outcome(result):
        if result.error:
            return f"failed: {result.error}"
        loss = number(result.train_loss, 5)
        return f"{result.n_passes:4d} passes, {result.seconds:6.2f} s, training log-loss {loss}"

    def _write(self, text):
        self.stream.write(text)
        self.stream.flush()


if __name__ == "__main__":
    sys.exit(main())

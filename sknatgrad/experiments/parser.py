"""The arguments of ``python -m sknatgrad``."""

import argparse
import textwrap
from pathlib import Path

from .._version import __version__
from ..metrics import METRICS
from .arguments import character, metric_names, share, whole_number
from .dataset import TASKS
from .paper import N_RUNS, QUICK_RUNS

PROGRAM = "python -m sknatgrad"
DEFAULT_METRICS = "qd_bp,kron_bp,bp,qd_fisher,euclidean"
# Where the paper's experiments keep what they find.
RESULTS = Path("results")
# As shells have it for programs ended by Ctrl-C and by a closed pipe.
EXIT_INTERRUPTED, EXIT_CLOSED = 130, 141

TABLE_METRICS = "our default, qd_bp and kron_bp"
DESCRIPTION = """\
Race on the handwritten digits that scikit-learn ships: the same small network,
trained in several metrics on raw pixels, and by scikit-learn's own MLPClassifier
(Adam, default settings) on standardised ones. Prints one table and draws the
training curves. The command "race" holds it on a table of your own.
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
  2 wrong arguments or a table that can't be learnt from, {EXIT_INTERRUPTED} interrupted
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
  2 wrong arguments, {EXIT_INTERRUPTED} interrupted
"""


def build_parser(race_on_digits, race_on_table, reproduce_paper):
    """The parser of all commands.

    Its arguments hold ``run``, the function that carries out the command, and ``parser``, whose
    errors are the command's own. Options before the name of a command hold for it, too.
    """
    parser = argparse.ArgumentParser(prog=PROGRAM, **_text(DESCRIPTION, EPILOG))
    parser.add_argument("--version", action="version", version=f"sknatgrad {__version__}")
    add_race_options(parser, DEFAULT_METRICS)
    add_common_options(parser, "folder of the figure (default: the current one)")
    parser.set_defaults(run=race_on_digits, parser=parser)
    # Here, not with the options: a command's own defaults would hide what stands before it.
    parser.set_defaults(metrics=None, max_iter=None, seed=0, out=None, no_plot=False)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    add_table_race(commands).set_defaults(run=race_on_table)
    add_paper(commands).set_defaults(run=reproduce_paper)
    return parser


def add_race_options(parser, metrics):
    """Options of all races, with no defaults of their own."""
    parser.add_argument(
        "--metrics",
        type=metric_names,
        default=argparse.SUPPRESS,
        metavar="LIST",
        help=f"metrics to train in, parted by commas (default: {metrics})",
    )
    parser.add_argument(
        "--max-iter",
        type=whole_number(1),
        default=argparse.SUPPRESS,
        metavar="N",
        help="largest number of passes of the networks (default: 200, the default of all of them)",
    )


def add_common_options(parser, folder):
    """Options of all commands, with no defaults of their own."""
    parser.add_argument(
        "--seed",
        type=whole_number(0, 2**32 - 1),
        default=argparse.SUPPRESS,
        metavar="N",
        help="seed of everything random (default: 0)",
    )
    parser.add_argument(
        "--out", type=Path, default=argparse.SUPPRESS, metavar="FOLDER", help=folder
    )
    parser.add_argument(
        "--no-plot", action="store_true", default=argparse.SUPPRESS, help="print tables only"
    )


def add_table_race(commands):
    """The command ``race``; its parser."""
    about = "the race on a table of your own"
    parser = commands.add_parser("race", help=about, **_text(TABLE_DESCRIPTION, TABLE_EPILOG))
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
    add_race_options(parser, TABLE_METRICS)
    add_common_options(parser, "folder of the figure (default: the current one)")
    parser.set_defaults(parser=parser)
    return parser


def add_paper(commands):
    """The command ``paper``; its parser."""
    about = "the paper's tables and figures"
    parser = commands.add_parser("paper", help=about, **_text(PAPER_DESCRIPTION))
    number = {"type": whole_number(1), "metavar": "N"}
    runs = f"independent runs (default: {N_RUNS}, the paper's; {QUICK_RUNS} with --quick)"
    parser.add_argument("--runs", **number, help=runs)
    parser.add_argument("--jobs", **number, default=1, help="trainings at once (default: 1)")
    parser.add_argument("--quick", action="store_true", help="a twentieth of the steps")
    add_common_options(parser, f"folder of runs, tables and figures (default: {RESULTS})")
    parser.set_defaults(parser=parser)
    return parser


def _text(description, epilog=None):
    return {
        "description": description,
        "epilog": epilog,
        "formatter_class": argparse.RawDescriptionHelpFormatter,
    }

"""What came of a race, as a table or as a figure."""

from math import floor, log10

import numpy as np

from ..plotting.curves import TrainingCurveDisplay, two_panels
from .race import TARGET
from .table import number, text_table


def format_table(results):
    """The results as text: one aligned table and what its columns mean.

    Parameters
    ----------
    results : list of Result

    Returns
    -------
    str
    """
    header = [
        "method",
        "passes",
        "seconds",
        "training\nlog-loss",
        "test\nlog-loss",
        "test\naccuracy",
        f"passes\nto {TARGET:g}",
        f"seconds\nto {TARGET:g}",
        "notes",
    ]
    table = text_table(header, [_row(r) for r in results], left=(0, len(header) - 1))
    return f"{table}\n\n{_footnotes(results)}"


def _row(result):
    passes, seconds = result.reached(TARGET) or (None, np.nan)
    return [
        result.name,
        "-" if result.error else str(result.n_passes),
        number(result.seconds, 2),
        number(result.train_loss, 5),
        number(result.test_loss, 4),
        number(result.test_score, 4),
        "-" if passes is None else str(passes),
        number(seconds, 2),
        ", ".join(result.notes),
    ]


def _footnotes(results):
    lines = [
        "Log-losses: nats, over all rows of a set, after training. Seconds: of one fit, on one",
        f"thread. To {TARGET:g}: until the training curve first gets there. A pass goes once over",
        "the training rows; trial evaluations of a line search count in the seconds only.",
        "Curves of sknatgrad are without the penalty, whose strength is found on the way: they",
        "rise where it grows.",
    ]
    return "\n".join(lines + _on_even_times(results))


def _on_even_times(results):
    even = [r.name for r in results if r.losses and not r.times_measured]
    if not even:
        return []
    return [
        f"The curve of {', '.join(even)} is scikit-learn's loss_curve_: the mean of the",
        "mini-batch losses during a pass, penalty included. Its times are the time of the fit",
        "divided evenly among the passes.",
    ]


def format_short_table(results, regression=False):
    """Test results as text: one aligned table and what its columns mean.

    Parameters
    ----------
    results : list of Result
        Of a race, whatever the methods.
    regression : bool, default=False
        R^2 and root mean squared error instead of accuracy and log-loss.

    Returns
    -------
    str
    """
    score, loss = ("R^2", "RMSE") if regression else ("accuracy", "log-loss")
    header = ["method", f"test\n{score}", f"test\n{loss}", "seconds", "passes", "notes"]
    digits = _decimals(r.test_loss for r in results) if regression else 4
    rows = [
        [
            result.name,
            number(result.test_score, 4),
            number(result.test_loss, digits),
            number(result.seconds, 2),
            str(result.n_passes) if result.losses else "-",
            ", ".join(result.notes),
        ]
        for result in results
    ]
    table = text_table(header, rows, left=(0, len(header) - 1))
    unit = "RMSE: in units of the target" if regression else "Log-loss: nats"
    lines = [
        f"{unit}. Seconds: of one fit, on one thread, encoding left out.",
        "Passes: over the training rows, of the methods that keep a training curve.",
    ]
    return "\n".join([table, "", *lines, *_on_even_times(results)])


def _decimals(values):
    """As many decimals as show four digits of the smallest positive value."""
    positive = [value for value in values if 0 < value < np.inf]
    return max(0, min(12, 3 - floor(log10(min(positive))))) if positive else 4


def save_figure(results, path, title="", target=TARGET, ylabel="training log-loss (nats)"):
    """Training curves of a race against passes and against seconds, as an image.

    Parameters
    ----------
    results : list of Result
    path : str or Path
    title : str, default=""
    target : float or None, default=0.05
        Marked by a thin line.
    ylabel : str, default="training log-loss (nats)"

    Raises
    ------
    ImportError
        If matplotlib is missing.
    """
    shown = [result for result in results if result.losses]
    display = TrainingCurveDisplay(
        losses=[result.losses for result in shown],
        names=[result.name for result in shown],
        times=[result.times for result in shown],
    )
    two_panels(display, title, target, ylabel).savefig(path, dpi=150)

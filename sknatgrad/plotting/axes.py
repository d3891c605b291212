"""What all plots of losses have in common: figures, axes and lines."""

from contextlib import contextmanager
from itertools import cycle

_LABELS = {"passes": "passes over the data", "seconds": "seconds"}
# Okabe and Ito's colours, told apart by colour-blind readers too; each comes with its
# own marker and, after one round, with another dash pattern.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X")
_DASHES = ("-", "--", ":")


def new_figure(width, height, rows=1, columns=1, **sharing):
    """A figure that pyplot does not know of, and its axes."""
    with needs_matplotlib():
        from matplotlib.figure import Figure
    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False, **sharing)
    for ax in axes.flat:
        ax.grid(alpha=0.25, linewidth=0.6)
        ax.spines[["top", "right"]].set_visible(False)
    return figure, axes


def axes_or_new(ax):
    """The axes that are given, or those of a new figure of pyplot."""
    if ax is not None:
        return ax
    with needs_matplotlib():
        import matplotlib.pyplot as plt
    return plt.subplots(layout="constrained")[1]


def check_against(against):
    """Refuse what training curves are not drawn against."""
    if against not in _LABELS:
        raise ValueError(f"against must be 'passes' or 'seconds', got {against!r}.")


def label_training(ax, against):
    """Axes and legend of training curves."""
    label_axes(ax, _LABELS[against], "training loss")
    ax.legend(frameon=False)


def label_axes(ax, xlabel, ylabel):
    """Logarithmic axes, with numbers as they are written elsewhere."""
    ax.set(xscale="log", yscale="log", xlabel=xlabel, ylabel=ylabel)
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter("{x:g}")


def line_styles():
    """Endless line styles; the end of a line carries its marker."""
    for dashes in cycle(_DASHES):
        for colour, marker in zip(_COLOURS, _MARKERS, strict=True):
            yield {"color": colour, "marker": marker, "linestyle": dashes, "linewidth": 1.8}


def line_options(style, given):
    """Keywords of a line: its style, and what a user gives in its place, short names included."""
    from matplotlib.cbook import normalize_kwargs
    from matplotlib.lines import Line2D

    return {**style, **normalize_kwargs(given, Line2D)}


@contextmanager
def needs_matplotlib():
    """Say how to get matplotlib where it is missing."""
    try:
        yield
    except ImportError as missing:
        raise ImportError(
            'Plots need matplotlib, which is not installed: pip install "sknatgrad[plot]"'
        ) from missing

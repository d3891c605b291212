"""The paper's figures, and those that it could not draw.

Lines are medians over the runs, bands reach from the lower to the upper quartile.
Dashed lines are the logistic implementation.
"""

import numpy as np

from ...plotting.axes import label_axes, new_figure
from ...plotting.comparison import draw_band, quartiles
from .methods import BEYOND, INVARIANT, TITLES
from .problem import ACTIVATIONS
from .tables import SAME, differences

SMALLEST_SHOWN = 0.01  # bits
COLOURS = {
    "euclidean": "#000000",
    "diag_bp": "#E69F00",
    "adagrad": "#999999",
    "unitwise_fisher": "#0072B2",
    "qd_fisher": "#56B4E9",
    "bp": "#D55E00",
    "qd_bp": "#009E73",
    "unitwise_mc_fisher": "#CC79A7",
    "qd_mc_fisher": "#882255",
    "unitwise_op": "#8B6D3F",
    "fisher": "#332288",
    "kron_bp": "#DDCC77",
    "kron_fisher": "#44AA99",
}
DASHES = {"logistic": "--", "tanh": "-"}
FOUR = ("unitwise_fisher", "qd_fisher", "bp", "qd_bp")
EQUAL_TIME = "time (steps of backpropagation, by the paper's Table 1)"
BITS = "loss per sample (bits)"


class Curves:
    """Draws curves of one experiment.

    Parameters
    ----------
    experiment : Experiment
    results : Results
    unit : callable
        From the name of a method to what a step of it is worth on the horizontal axis.
    xlabel : str
    floor : float
        Smallest loss shown.
    """

    def __init__(self, experiment, results, unit, xlabel, floor=SMALLEST_SHOWN):
        self.experiment, self.results, self.unit = experiment, results, unit
        self.xlabel, self.floor = xlabel, floor

    def draw(self, ax, lines, implementation_in_label=True):
        """Curves of pairs (method, activation)."""
        for name, activation in lines:
            steps, bits = self.results.curves(self.experiment.name, name, activation)
            shown = quartiles(bits)
            label = TITLES[name] + (f", {activation}" if implementation_in_label else "")
            style = {"color": COLOURS[name], "linestyle": DASHES[activation], "linewidth": 1.6}
            draw_band(ax, steps * self.unit(name), shown, 0.15, label=label, **style)
        label_axes(ax, self.xlabel, BITS)
        ax.set_ylim(bottom=self.floor)


def both(names):
    """Pairs of these methods and each implementation."""
    return [(name, activation) for name in names for activation in ACTIVATIONS]


# ----------------------------------------------------------------- the paper's figures
def ones_and_zeros(losses):
    """Backpropagation on a string with 75 % ones and on its complement.

    Parameters
    ----------
    losses : dict of str to pair of ndarray, shape (n_runs, n_steps)
        By title of the method: bits on the strings and on their complements.
    """
    figure, axes = new_figure(9, 3.8, 1, len(losses), sharey=True)
    for ax, (title, pair) in zip(axes.flat, losses.items(), strict=True):
        for bits, label, colour in zip(
            pair, ("75 % ones", "25 % ones"), ("#D55E00", "#0072B2"), strict=True
        ):
            shown = quartiles(bits)
            width = 3.5 if colour == "#D55E00" else 1.5
            steps = np.arange(1, bits.shape[1] + 1)
            draw_band(ax, steps, shown, label=label, color=colour, linewidth=width)
        ax.set(title=title, xlabel="steps (rate 0.01)", ylim=(0, None))
    axes.flat[0].set_ylabel(BITS)
    axes.flat[0].legend(frameon=False)
    return figure


def comparison(curves):
    """Backpropagation and the four algorithms over time."""
    figure, axes = new_figure(8, 5)
    curves.draw(axes[0, 0], [*both(["euclidean"]), *((name, "logistic") for name in FOUR)])
    axes[0, 0].legend(frameon=False)
    return figure


def diagonal(curves):
    """Diagonal Gauss-Newton against its quasi-diagonal completion."""
    figure, axes = new_figure(8, 5)
    curves.draw(axes[0, 0], both(["diag_bp", "qd_bp"]))
    axes[0, 0].legend(frameon=False)
    return figure


def invariance(curves):
    """Both implementations of the four algorithms from the same starts."""
    figure, axes = new_figure(9, 6.5, 2, 2, sharex=True, sharey=True)
    for ax, name in zip(axes.flat, FOUR, strict=True):
        curves.draw(ax, both([name]))
        ax.set_title(TITLES[name])
        ax.label_outer()
    handles = axes[0, 0].lines
    axes[0, 0].legend(handles, ACTIVATIONS, frameon=False)
    return figure


def all_methods(curves):
    """All methods of the paper over time, invariant ones as tanh networks."""
    figure, axes = new_figure(10, 5.4)
    ax = axes[0, 0]
    for method in curves.experiment.methods:
        if method.family != BEYOND and method.name != "fisher":
            lines = both([method.name])[method.family == INVARIANT :]
            curves.draw(ax, lines)
    figure.legend(*ax.get_legend_handles_labels(), loc="outside right upper", frameon=False)
    return figure


# ------------------------------------------------------------------- beyond the paper
def steps_and_seconds(experiment, results, costs, floor=SMALLEST_SHOWN):
    """The loss against iterations, and against seconds of one thread."""
    figure, axes = new_figure(11, 4.8, 1, 2, sharey=True)
    names = [name for name in COLOURS if name in {method.name for method in experiment.methods}]
    for ax, unit, xlabel in (
        (axes[0, 0], lambda name: 1, "iterations"),
        (axes[0, 1], costs.seconds.get, "seconds (iterations x measured time of one)"),
    ):
        curves = Curves(experiment, results, unit, xlabel, floor=floor)
        curves.draw(ax, [(name, "tanh") for name in names], implementation_in_label=False)
        ax.label_outer()
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
    return figure


def staying_together(experiment, results):
    """By how much both implementations differ, with relative and absolute damping."""
    figure, axes = new_figure(8, 4.6)
    ax = axes[0, 0]
    for method in experiment.methods:
        steps, apart = differences(experiment, results, method.name)
        shown = quartiles(np.maximum(apart, 1e-15))
        dashes = "-" if method.damping_mode == "relative" else ":"
        style = {"color": COLOURS[method.metric], "linestyle": dashes, "linewidth": 1.8}
        draw_band(ax, steps, shown, 0.15, label=method.title, **style)
    ax.axhline(SAME, color="0.45", linewidth=0.9, linestyle=(0, (2, 3)))
    ax.set(xscale="log", yscale="log", xlabel="iterations")
    ax.set_ylabel("difference of the losses, logistic and tanh (bits)")
    ax.legend(frameon=False, loc=(0.02, 0.52))
    return figure

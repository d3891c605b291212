"""
=======================================
The units of the features do not matter
=======================================

The same table is written in three ways: as it is, in units a thousand times smaller, and
counted from another origin. An invariant metric such as ``qd_bp`` trains the
same network on all three, step by step. The plain gradient (``euclidean``) does not: what it
does in a step depends on the units, and the line search can only choose how far to go.
"""

import warnings

import numpy as np
from figure_file import save_figure
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning

from sknatgrad import RiemannianMLPClassifier

# %%
# Three ways to write the flowers down: lengths in centimetres, in units a thousand times smaller,
# and from a mark ten metres off.
X, y = load_iris(return_X_y=True)
tables = {"X": X, "1000 X": 1000 * X, "X + 1000": X + 1e3}


# %%
# One network a metric and table. All begin at the same function of the flowers, since the
# initial weights are drawn for features in units of their own spread.
def train(metric, table):
    """Training losses, pass by pass."""
    network = RiemannianMLPClassifier((10,), metric=metric, max_iter=40, tol=0, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return np.array(network.fit(table, y).loss_curve_)


curves = {
    metric: {name: train(metric, table) for name, table in tables.items()}
    for metric in ("qd_bp", "euclidean")
}

# %%
# How far apart the curves of a metric are, relative to the losses. The decimals that X + 1000
# costs are all that is left for ``qd_bp``.
print("largest relative difference from the curve of X")
for metric, found in curves.items():
    for name in ("1000 X", "X + 1000"):
        n_passes = min(len(found["X"]), len(found[name]))
        ratio = found[name][:n_passes] / found["X"][:n_passes]
        print(f"  {metric:10}{name:>9}: {np.abs(ratio - 1).max():.1e}")


# %%
def draw():
    """Three curves a metric; those of qd_bp lie on each other."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 4), layout="constrained")
    looks = {"X": ("#56B4E9", "-", 7), "1000 X": ("#D55E00", "--", 3), "X + 1000": ("k", ":", 1.5)}
    for ax, (metric, found) in zip(figure.subplots(1, 2, sharey=True), curves.items(), strict=True):
        for name, (colour, dashes, width) in looks.items():
            passes = np.arange(1, len(found[name]) + 1)
            ax.plot(passes, found[name], dashes, color=colour, linewidth=width, label=name)
        ax.set(title=metric, xlabel="passes over the data", yscale="log")
        ax.spines[["top", "right"]].set_visible(False)
    figure.axes[0].set_ylabel("training log-loss (nats)")
    figure.axes[0].legend(frameon=False, title="features")
    return figure


if __name__ == "__main__":
    save_figure(draw, __file__, __doc__)

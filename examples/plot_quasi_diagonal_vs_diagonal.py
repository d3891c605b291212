"""
================================
What a few off-diagonal terms do
================================

The diagonal Gauss-Newton method keeps the diagonal of a metric. The quasi-diagonal reduction also
keeps what joins each weight to the bias of its unit, so that a change of a weight does not shift
the unit's mean. It costs about the same. Digits are learnt from raw pixels, written as they are or
as 16 minus the pixel: the diagonal method notices, the quasi-diagonal one does not.
"""

import warnings

import numpy as np
from figure_file import save_figure
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning

from sknatgrad import RiemannianMLPClassifier

# %%
X, y = load_digits(return_X_y=True)
curves = {}
for metric in ("diag_bp", "qd_bp"):
    for pixels, rows in (("ink", X), ("paper", 16 - X)):
        network = RiemannianMLPClassifier((20,), metric=metric, max_iter=40, random_state=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            network.fit(rows, y)
        curves[metric, pixels] = np.array(network.loss_curve_)
        print(f"{metric:<8} pixels count {pixels:<5}  log-loss {network.loss_:.2e}")

for metric in ("diag_bp", "qd_bp"):
    ink, paper = (curves[metric, pixels][:10] for pixels in ("ink", "paper"))
    apart = np.abs(ink / paper - 1).max()
    differ = f"differ by up to {apart:.0e} of their size" if apart else "do not differ"
    print(f"{metric:<8} losses of the first ten steps {differ}")


# %%
def draw():
    """One panel a method; the curves of qd_bp lie on each other."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 4), layout="constrained")
    axes = figure.subplots(1, 2, sharey=True)
    for ax, metric in zip(axes, ("diag_bp", "qd_bp"), strict=True):
        for pixels, colour, width in (("ink", "#56B4E9", 6), ("paper", "#D55E00", 2)):
            losses = curves[metric, pixels]
            steps = np.arange(1, len(losses) + 1)
            ax.plot(steps, losses, color=colour, linewidth=width, label=f"pixels count {pixels}")
        ax.set(title=metric, xlabel="passes over the data", yscale="log")
        ax.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("training log-loss (nats)")
    axes[0].legend(frameon=False)
    return figure


if __name__ == "__main__":
    save_figure(draw, __file__, __doc__)

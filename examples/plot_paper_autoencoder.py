"""
============================================
The paper's experiment in one page of Python
============================================

Sixteen random strings of a hundred bits must pass a bottleneck of ten units, in the sparse
network of the paper (100-30-10-30-100, five links a unit), with its damping and its rule for the
rate. Plain gradients depend on how units are written, logistic or tanh. Invariant metrics do not,
but for the damping, and they get much further. ``python -m sknatgrad paper`` is the whole story.
"""

import warnings

import numpy as np
from figure_file import save_figure
from sklearn.exceptions import ConvergenceWarning

from sknatgrad import RiemannianAutoEncoder

STEPS = {"euclidean": 2000, "diag_bp": 1000, "qd_bp": 1000, "bp": 200}
BITS = np.log(2)

# %%
strings = np.random.RandomState(0).randint(2, size=(16, 100)).astype(float)
curves = {}
for metric, n_steps in STEPS.items():
    for activation in ("logistic", "tanh"):
        network = RiemannianAutoEncoder(
            (30, 10, 30),
            activation=activation,
            output_activation=activation,
            connectivity="paper",
            metric=metric,
            damping=1e-4,
            damping_mode="absolute",
            learning_rate="adaptive",
            learning_rate_init=0.01,
            max_iter=n_steps,
            n_iter_no_change=np.inf,
            random_state=0,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            network.fit(strings)
        curves[metric, activation] = np.array(network.loss_curve_) / BITS
        print(
            f"{metric:<10} {activation:<9} {curves[metric, activation][-1]:6.2f} bits a string "
            f"after {network.n_iter_} steps, {network.n_rejected_steps_} cancelled"
        )


# %%
def draw():
    """One colour a metric, one kind of line an implementation."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4.5), layout="constrained")
    ax = figure.subplots()
    colours = dict(zip(STEPS, ("#000000", "#E69F00", "#009E73", "#D55E00"), strict=True))
    for (metric, activation), bits in curves.items():
        dashes = "-" if activation == "tanh" else "--"
        steps = np.arange(1, len(bits) + 1)
        ax.plot(steps, bits, dashes, color=colours[metric], label=f"{metric}, {activation}")
    ax.set(xscale="log", yscale="log", xlabel="steps", ylabel="loss per string (bits of 100)")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False)
    return figure


if __name__ == "__main__":
    save_figure(draw, __file__, __doc__)

"""
===============================
Digits through a narrow passage
===============================

An auto-encoder squeezes 64 pixels through ten units and draws the digit again from them. How
well it explains an image, its log-likelihood (``score_samples``), also tells what is no digit
of the kind it has seen: here it has never met a seven.
"""

import warnings

import numpy as np
from figure_file import save_figure
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

from sknatgrad import RiemannianAutoEncoder

UNSEEN = 7

# %%
# Pixels from 0 to 1 are read as the probabilities of ink: the output units are Bernoulli.
X, y = load_digits(return_X_y=True)
X = X / 16
X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)
known = y_train != UNSEEN

# %%
network = RiemannianAutoEncoder((30, 10, 30), metric="kron_bp", max_iter=100, random_state=0)
with warnings.catch_warnings():
    warnings.simplefilter("ignore", ConvergenceWarning)
    network.fit(X_train[known])

reconstructed = network.predict(X_test)
likelihood = network.score_samples(X_test)
area = roc_auc_score(y_test == UNSEEN, -likelihood)
error = np.sqrt(np.mean((reconstructed - X_test)[y_test != UNSEEN] ** 2))
print(f"Codes of {network.transform(X_test).shape[1]} numbers for {X.shape[1]} pixels")
print(f"Error of a pixel of known digits: {error:.3f}, of a range of 1")
print(f"Mean log-likelihood of known digits: {likelihood[y_test != UNSEEN].mean():.2f} nats")
print(
    f"Mean log-likelihood of {UNSEEN}, never seen: {likelihood[y_test == UNSEEN].mean():.2f} nats"
)
print(f"Area under the ROC curve as an outlier score: {area:.3f}")


# %%
def draw():
    """Inputs above reconstructions, one digit of each kind, and the scores by digit."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 5), layout="constrained")
    above, below = figure.subfigures(2, 1, height_ratios=(1, 1.3))
    above.suptitle("test images and what comes out of ten units")
    axes = above.subplots(2, 10)
    for digit in range(10):
        image = np.flatnonzero(y_test == digit)[0]
        for ax, row in zip(axes[:, digit], (X_test[image], reconstructed[image]), strict=True):
            ax.imshow(row.reshape(8, 8), cmap="gray_r", vmin=0, vmax=1)
            ax.set(xticks=[], yticks=[])
    axes[0, 0].set_ylabel("in")
    axes[1, 0].set_ylabel("out")
    ax = below.subplots()
    boxes = ax.boxplot(
        [likelihood[y_test == digit] for digit in range(10)],
        positions=range(10),
        patch_artist=True,
        medianprops={"color": "black"},
    )
    for digit, box in enumerate(boxes["boxes"]):
        box.set_facecolor("#D55E00" if digit == UNSEEN else "#56B4E9")
    ax.set(xlabel=f"digit ({UNSEEN} was never seen)", ylabel="log-likelihood (nats)")
    ax.spines[["top", "right"]].set_visible(False)
    return figure


if __name__ == "__main__":
    save_figure(draw, __file__, __doc__)

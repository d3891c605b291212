"""
====================
A stream that drifts
====================

Rows come in small batches, and the boundary between the classes moves as the stream goes on. Two
learners see each batch once; they are asked for its classes first and told them afterwards
(prequential accuracy). One is our network, through ``partial_fit`` on the features as they
come, in units that differ by a factor of a thousand. The other is scikit-learn's
``SGDClassifier`` behind a ``StandardScaler`` that learns through ``partial_fit`` as well.

The network answers with the average of its weights over the last steps, some two thousand rows
at most: this quiets the noise of single steps, and lags behind a drift by as much.
"""

import numpy as np
from figure_file import save_figure
from sklearn.linear_model import SGDClassifier
from sklearn.preprocessing import StandardScaler

from sknatgrad import RiemannianMLPClassifier

N_BATCHES, BATCH, N_FEATURES = 300, 50, 5


# %%
# The stream: classes that lie crosswise in the plane of two features, a cross that turns by
# an eighth, and three features of noise. No linear model can part them, so that SGDClassifier
# is given all products of two features as well: with them one can, at any angle.
def stream(random_state=0):
    """Batches of rows and their classes."""
    rng = np.random.default_rng(random_state)
    for batch in range(N_BATCHES):
        angle = np.pi / 4 * batch / N_BATCHES
        X = rng.normal(size=(BATCH, N_FEATURES))
        along = X[:, 0] * np.cos(angle) + X[:, 1] * np.sin(angle)
        across = X[:, 1] * np.cos(angle) - X[:, 0] * np.sin(angle)
        yield X * np.array([1.0, 100.0, 0.1, 1.0, 10.0]), (along * across > 0).astype(int)


def with_products(X):
    """The features and all products of two of them."""
    first, second = np.triu_indices(X.shape[1])
    return np.hstack([X, X[:, first] * X[:, second]])


# %%
# Test, then train. The first batch is for learning only.
network = RiemannianMLPClassifier((20,), random_state=0)
scaler, linear = StandardScaler(), SGDClassifier(loss="log_loss", random_state=0)
accuracy = {"RiemannianMLPClassifier": [], "StandardScaler + SGDClassifier": []}
for number, (X, y) in enumerate(stream()):
    products = with_products(X)
    if number:
        scores = network.score(X, y), linear.score(scaler.transform(products), y)
        for history, score in zip(accuracy.values(), scores, strict=True):
            history.append(score)
    network.partial_fit(X, y, classes=[0, 1])
    linear.partial_fit(scaler.partial_fit(products).transform(products), y, classes=[0, 1])

print(f"{'accuracy in a third of the stream':33}  first  second  last")
for name, history in accuracy.items():
    first, second, last = (part.mean() for part in np.array_split(history, 3))
    print(f"{name:33}  {first:.3f}   {second:.3f}  {last:.3f}")


# %%
def draw():
    """Accuracy over the last batches, as the stream goes on."""
    from matplotlib.figure import Figure

    window = 20
    figure = Figure(figsize=(8, 4), layout="constrained")
    ax = figure.subplots()
    for (name, history), colour in zip(accuracy.items(), ("#0072B2", "#D55E00"), strict=True):
        mean = np.convolve(history, np.full(window, 1 / window), mode="valid")
        ax.plot(np.arange(len(mean)) + window, mean, color=colour, label=name)
    ax.set(xlabel=f"batches of {BATCH} rows", ylabel=f"accuracy, last {window} batches")
    ax.set_ylim(top=1.0)
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, loc="lower right")
    return figure


if __name__ == "__main__":
    save_figure(draw, __file__, __doc__)

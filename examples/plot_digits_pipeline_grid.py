"""
===================================
Digits: a pipeline in a grid search
===================================

The network is an estimator like any other: it stands at the end of a pipeline, and a grid
search tries two of its settings, the metric it trains in and the reading of its output units.
The pixels go in as they are, 0 to 16.
"""

import warnings

from figure_file import save_figure
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import VarianceThreshold
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import Pipeline

from sknatgrad import RiemannianMLPClassifier

# %%
X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)

# %%
# Pixels that are always white tell nothing, so that the first step leaves them out. All networks
# get thirty passes: what differs is how far they come in that time, and how well it generalises.
pipeline = Pipeline(
    [
        ("pixels", VarianceThreshold()),
        ("network", RiemannianMLPClassifier((30,), max_iter=30, random_state=0)),
    ]
)
metrics = ["qd_bp", "kron_bp", "bp", "diag_bp", "euclidean"]
outputs = ["softmax", "spherical", "bernoulli", "square"]
search = GridSearchCV(
    pipeline,
    {"network__metric": metrics, "network__output": outputs},
    cv=3,
    scoring=["accuracy", "neg_log_loss"],
    refit="accuracy",
)
with warnings.catch_warnings():
    warnings.simplefilter("ignore", ConvergenceWarning)  # thirty passes are few
    search.fit(X_train, y_train)

# %%
# In all readings, training in an invariant metric beats the plain gradient (``euclidean``).
# ``diag_bp`` is invariant under scaling only, and pixels are not centred.
found = search.cv_results_
shape = len(metrics), len(outputs)
accuracy = found["mean_test_accuracy"].reshape(shape)
log_loss = -found["mean_test_neg_log_loss"].reshape(shape)
print("Accuracy in cross-validation")
print(f"{'':10}" + "".join(f"{output:>11}" for output in outputs))
for metric, row in zip(metrics, accuracy, strict=True):
    print(f"{metric:10}" + "".join(f"{value:11.3f}" for value in row))
print(f"Best: {search.best_params_['network__metric']}, {search.best_params_['network__output']}")
print(f"Its accuracy on the test rows: {search.score(X_test, y_test):.3f}")


# %%
def draw():
    """The grid, coloured by accuracy and by log-loss; dark is good."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 4), layout="constrained")
    panels = (("accuracy", accuracy, "Blues"), ("log-loss (nats)", log_loss, "Blues_r"))
    for ax, (title, values, colours) in zip(figure.subplots(1, 2), panels, strict=True):
        image = ax.imshow(values, cmap=colours, aspect="auto")
        for row, column in ((i, j) for i in range(shape[0]) for j in range(shape[1])):
            red, green, blue, _ = image.cmap(image.norm(values[row, column]))
            ink = "black" if 0.3 * red + 0.6 * green + 0.1 * blue > 0.5 else "white"
            ax.text(column, row, f"{values[row, column]:.3f}", ha="center", va="center", color=ink)
        ax.set_xticks(range(len(outputs)), outputs)
        ax.set_yticks(range(len(metrics)), metrics)
        ax.set(title=f"{title}, cross-validated", xlabel="output", ylabel="metric")
        ax.spines[:].set_visible(False)
        ax.tick_params(length=0)
    return figure


if __name__ == "__main__":
    save_figure(draw, __file__, __doc__)

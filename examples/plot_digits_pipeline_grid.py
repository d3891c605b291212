"""
===================================
Digits: a pipeline in a grid search
===================================

The network is an estimator like any other: it stands at the end of a pipeline, a grid search
tries its settings, and a confusion matrix shows what is left of the errors. The pixels go in
as they are, 0 to 16.
"""

import argparse
import warnings
from pathlib import Path

from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import VarianceThreshold
from sklearn.metrics import classification_report
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import Pipeline

from sknatgrad import RiemannianMLPClassifier

# %%
X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)

# %%
# Pixels that are always white tell nothing, so that the first step leaves them out. Two
# settings are searched: the number of hidden units and the penalty on the weights.
pipeline = Pipeline(
    [
        ("pixels", VarianceThreshold()),
        ("network", RiemannianMLPClassifier(max_iter=30, n_iter_no_change=5, random_state=0)),
    ]
)
grid = {"network__hidden_layer_sizes": [(10,), (30,)], "network__alpha": [0.0, 1.0, 10.0]}
search = GridSearchCV(pipeline, grid, cv=3, scoring="neg_log_loss")

# %%
# Thirty passes are enough to choose by, though the losses still go down.
with warnings.catch_warnings():
    warnings.simplefilter("ignore", ConvergenceWarning)
    search.fit(X_train, y_train)

print("hidden units  penalty  log-loss in cross-validation")
found = search.cv_results_
for setting, score in zip(found["params"], found["mean_test_score"], strict=True):
    units, alpha = setting["network__hidden_layer_sizes"][0], setting["network__alpha"]
    print(f"{units:12d}  {alpha:7g}  {-score:.3f}")
print(f"Best: {search.best_params_}")
print(classification_report(y_test, search.predict(X_test), digits=3))


# %%
def draw(path):
    """Confusion matrix on the test rows, and the training curve of the best network."""
    from matplotlib.figure import Figure
    from sklearn.metrics import ConfusionMatrixDisplay

    from sknatgrad.plotting import TrainingCurveDisplay

    figure = Figure(figsize=(10, 4.5), layout="constrained")
    left, right = figure.subplots(1, 2)
    ConfusionMatrixDisplay.from_estimator(
        search, X_test, y_test, ax=left, cmap="Blues", colorbar=False
    )
    left.set_title(f"test rows, accuracy {search.best_estimator_.score(X_test, y_test):.3f}")
    TrainingCurveDisplay.from_estimators([search.best_estimator_]).plot(right)
    right.set_title("the best network on all training rows")
    right.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=120)
    print(f"Figure: {path}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.strip().split("\n")[1])
    parser.add_argument("--out", type=Path, default=Path(), help="folder of the figure")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    try:
        draw(arguments.out / "digits_pipeline_grid.png")
    except ImportError:
        print("No figure: matplotlib is not installed.")

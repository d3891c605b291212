"""
==================================
Regression on a small, noisy table
==================================

The diabetes data of scikit-learn: 442 patients, ten features, much noise. Features are used
as they come and the target in its own unit: neither matters. What does matter on so small a
table is how much is fitted. By default the strength of the penalty ``alpha`` is found during the
fit; we compare a grid search and early stopping, and see how training and test score part without
any of them. (Scores on 133 test rows are uncertain by about 0.06.)
"""

import numpy as np
from figure_file import save_figure
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import GridSearchCV, train_test_split

from sknatgrad import RiemannianMLPRegressor

ALPHAS = [0.0, 0.1, 1.0, 10.0, 100.0]


def compute():
    """Scores of the grid, and of the models on the test rows."""
    X, y = load_diabetes(return_X_y=True, scaled=False)
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, random_state=0)
    network = RiemannianMLPRegressor(hidden_layer_sizes=(20,), tol=1e-3, random_state=0)
    free = clone(network).set_params(alpha=0.0)
    grid = GridSearchCV(network, {"alpha": ALPHAS}, cv=5, return_train_score=True)
    models = {
        "alpha = 0": free,
        "default": network,
        "grid search": grid,
        "early stopping": clone(free).set_params(early_stopping=True),
        "ridge regression": RidgeCV(np.logspace(-3, 3, 13)),
    }
    scores = {name: m.fit(X_train, y_train).score(X_test, y_test) for name, m in models.items()}
    found = {"default": network.alpha_, "grid search": grid.best_params_["alpha"]}
    named = {
        f"{name}: alpha = {found[name]:.3g}" if name in found else name: score
        for name, score in scores.items()
    }
    return grid.cv_results_, named


def draw(results):
    """Training and validation score against the penalty."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 4), layout="constrained")
    ax = figure.subplots()
    for key, colour, label in (
        ("mean_train_score", "#56B4E9", "training folds"),
        ("mean_test_score", "#D55E00", "validation folds"),
    ):
        ax.plot(range(len(ALPHAS)), results[key], "o-", color=colour, label=label)
    ax.set(xlabel="alpha", ylabel="$R^2$", title="diabetes, 10-20-1", ylim=(0, 1))
    ax.set_xticks(range(len(ALPHAS)), [f"{alpha:g}" for alpha in ALPHAS])
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False)
    return figure


if __name__ == "__main__":
    results, models = compute()
    print("R^2 on the test rows")
    for name, score in models.items():
        print(f"{name:28s} {score:6.3f}")
    save_figure(lambda: draw(results), __file__, __doc__)

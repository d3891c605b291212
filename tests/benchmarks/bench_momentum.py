"""Training losses of whole-batch training with and without momentum.

Run as ``python tests/benchmarks/bench_momentum.py``. One hidden layer of 100 units, alpha 1,
defaults otherwise; mean log-loss, or half the mean square error over that of the mean.
"""

import warnings

from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, make_friedman1
from threadpoolctl import threadpool_limits

from sknatgrad import RiemannianMLPClassifier, RiemannianMLPRegressor
from sknatgrad.training.steps.rules import LineSearch

DATA = {
    "breast cancer": (RiemannianMLPClassifier, load_breast_cancer(return_X_y=True)),
    "digits": (RiemannianMLPClassifier, load_digits(return_X_y=True)),
    "diabetes": (RiemannianMLPRegressor, load_diabetes(return_X_y=True)),
    "Friedman": (RiemannianMLPRegressor, make_friedman1(1000, 20, noise=1.0, random_state=0)),
}
PASSES = (5, 10, 20, 40, 80)


def losses(estimator, X, y):
    """After so many passes."""
    model = estimator(
        alpha=1.0, batch_size=len(X), random_state=0, max_iter=max(PASSES), tol=0.0
    ).fit(X, y)
    unit = 1.0 if estimator is RiemannianMLPClassifier else y.var()
    return [model.loss_curve_[n - 1] / unit for n in PASSES]


def main():
    """Print a Markdown table."""
    print("| data | momentum | " + " | ".join(f"{n} passes" for n in PASSES) + " |")
    print("|---" * (2 + len(PASSES)) + "|")
    for name, (estimator, (X, y)) in DATA.items():
        for momentum in (True, False):
            LineSearch.searches = momentum
            values = " | ".join(f"{value:.3g}" for value in losses(estimator, X, y))
            print(f"| {name} | {'yes' if momentum else 'no'} | {values} |", flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        main()

"""What the safeguards of training change: digits, raw pixels, 64-100-10, whole batches.

Run as ``python tests/benchmarks/bench_safeguards.py``. For each metric and each set of
safeguards: training log-loss after 5, 10, 20 and 30 line-search steps, and how many
steps found no progress at any rate. Relative damping 0.01 throughout.
"""

from itertools import pairwise

import numpy as np
from sklearn.datasets import load_digits

from sknatgrad import Network, Topology, get_metric, get_output, initialize
from sknatgrad.metrics import Metric, Safeguarded
from sknatgrad.training import (
    BatchPass,
    Coordinates,
    Data,
    Descent,
    Model,
    Objective,
    RunningMetric,
)
from sknatgrad.training.steps.rules import LineSearch
from sknatgrad.training.steps.safeguards import (
    KRONECKER_SHARE,
    OUTER_PRODUCT_SHARE,
    SLOPE_SOFTENING,
    SPAN_WIDENING,
)

CHOICES = {
    "none": (0.0, 0.0, 0.0, 0.0),
    "outer product": (OUTER_PRODUCT_SHARE, 0.0, 0.0, 0.0),
    "softened slopes": (0.0, SLOPE_SOFTENING, 0.0, 0.0),
    "Kronecker share": (0.0, 0.0, KRONECKER_SHARE, 0.0),
    "widened share": (0.0, 0.0, KRONECKER_SHARE, SPAN_WIDENING),
    "all": (OUTER_PRODUCT_SHARE, SLOPE_SOFTENING, KRONECKER_SHARE, SPAN_WIDENING),
}


def guarded(name, outer_product, softening, share, widening):
    """The metric with some of the safeguards."""
    metric = get_metric(name)
    reduction = metric.reduction.with_kronecker(share, widening) if share else metric.reduction
    return Metric(Safeguarded(metric.modulus, outer_product, softening), reduction)


def curve(metric, X, y, seed, n_steps=30):
    """Training losses, and the number of steps without progress."""
    network = Network.build(Topology.layered([64, 100, 10]))
    data = Data(X, y)
    coordinates = Coordinates(network, data.scale)
    objective = Objective(Model(network, get_output("softmax")), data, coordinates=coordinates)
    rng = np.random.RandomState(seed)
    theta = initialize(network, rng)
    descent = Descent(metric, 0.01, "relative")
    passes = BatchPass(objective, theta, descent, RunningMetric(metric, 0.0), LineSearch(1.0), rng)
    losses = [passes.run()[0] for _ in range(n_steps)]
    stuck = sum(b >= a for a, b in pairwise(losses))
    return losses, stuck


def main():
    """Print the table: medians over three seeds."""
    X, y = load_digits(return_X_y=True)
    print(f"{'metric':16s} {'safeguards':16s} {'5':>9s} {'10':>9s} {'20':>9s} {'30':>9s}  stuck")
    for name in ("qd_bp", "qd_fisher", "bp", "unitwise_fisher", "kron_bp"):
        for label, shares in CHOICES.items():
            runs = [curve(guarded(name, *shares), X, y, seed) for seed in range(3)]
            at = np.median([losses for losses, _ in runs], axis=0)[[4, 9, 19, 29]]
            stuck = np.median([stuck for _, stuck in runs])
            values = " ".join(f"{value:9.2e}" for value in at)
            print(f"{name:16s} {label:16s} {values}  {stuck:5.0f}", flush=True)


if __name__ == "__main__":
    main()

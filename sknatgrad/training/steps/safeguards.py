"""The metric that training uses: intrinsic changes that keep steps sensible.

doc/training.md says what each is for, and tests/benchmarks what they change.
"""

from ...metrics import Metric, Safeguarded

OUTER_PRODUCT_SHARE = 0.1
SLOPE_SOFTENING = 0.1
# Without noise in the gradient, and what noise adds.
INFLUENCE_SHARE, NOISY_INFLUENCE = 0.01, 0.1
KRONECKER_SHARE = 0.5
SPAN_WIDENING = 0.1
# Of directions that are found by iterations, in the norm of the metric.
DIRECTION_ERROR = 1e-3


def training_metric(metric, guarded, noise=0.0):
    """The metric that training uses; `guarded` under relative damping."""
    return (safeguarded(metric, noise) if guarded else metric).inexact(DIRECTION_ERROR)


def safeguarded(metric, noise=0.0):
    """The metric with the safeguards of training under relative damping.

    Its modulus is softened and has shares of the outer product and of the mean of a
    level (`Safeguarded`), and a share of its Kronecker form is added (`PlusKronecker`).
    All of this is intrinsic: nothing of the invariance is lost. Without it the length of
    steps collapses as soon as one unit is saturated. `noise` is that of `noise_share`.
    """
    influence = INFLUENCE_SHARE + NOISY_INFLUENCE * noise
    return Metric(
        Safeguarded(metric.modulus, OUTER_PRODUCT_SHARE, SLOPE_SOFTENING, influence),
        metric.reduction.with_kronecker(KRONECKER_SHARE, SPAN_WIDENING),
    )

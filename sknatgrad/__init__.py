"""Neural networks trained by invariant gradients, as scikit-learn estimators."""

from ._version import __version__
from .compiled import get_kernels, kernel_context, set_kernels
from .estimators import RiemannianAutoEncoder, RiemannianMLPClassifier, RiemannianMLPRegressor
from .metrics import METRICS, Metric, get_metric
from .network import (
    ACTIVATIONS,
    Network,
    Topology,
    convert_sigmoids,
    initialize,
    reparametrize,
    rescale_inputs,
)
from .outputs import OUTPUTS, get_output

__all__ = [
    "ACTIVATIONS",
    "METRICS",
    "OUTPUTS",
    "Metric",
    "Network",
    "RiemannianAutoEncoder",
    "RiemannianMLPClassifier",
    "RiemannianMLPRegressor",
    "Topology",
    "__version__",
    "convert_sigmoids",
    "get_kernels",
    "get_metric",
    "get_output",
    "initialize",
    "kernel_context",
    "reparametrize",
    "rescale_inputs",
    "set_kernels",
]

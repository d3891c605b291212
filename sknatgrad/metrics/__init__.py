"""Riemannian metrics on the parameters of a network.

Every metric is a modulus (what a change of a unit counts) times a reduction
(which entries of the matrix are kept). A new metric made of existing parts is one
entry of `METRICS`.
"""

from ..numerics.contracts import is_pair_of, misregistered
from .metric import Metric, check_damping
from .moduli import Backpropagated, Fisher, Modulus, MonteCarlo, OuterProduct, Safeguarded
from .point import LossPoint
from .reductions import (
    Diagonal,
    Euclidean,
    Full,
    Kronecker,
    PlusKronecker,
    QuasiDiagonal,
    Reduction,
    RootDiagonal,
    Unitwise,
)

METRICS = {
    "fisher": (Fisher, Full),
    "unitwise_fisher": (Fisher, Unitwise),
    "qd_fisher": (Fisher, QuasiDiagonal),
    "diag_fisher": (Fisher, Diagonal),
    "kron_fisher": (Fisher, Kronecker),
    "mc_fisher": (MonteCarlo, Full),
    "unitwise_mc_fisher": (MonteCarlo, Unitwise),
    "qd_mc_fisher": (MonteCarlo, QuasiDiagonal),
    "diag_mc_fisher": (MonteCarlo, Diagonal),
    "op": (OuterProduct, Full),
    "unitwise_op": (OuterProduct, Unitwise),
    "qd_op": (OuterProduct, QuasiDiagonal),
    "diag_op": (OuterProduct, Diagonal),
    "bp": (Backpropagated, Unitwise),
    "qd_bp": (Backpropagated, QuasiDiagonal),
    "diag_bp": (Backpropagated, Diagonal),
    "kron_bp": (Backpropagated, Kronecker),
    "adagrad": (OuterProduct, RootDiagonal),
    "euclidean": (OuterProduct, Euclidean),
}

ALIASES = {
    "natural": "fisher",
    "unitwise_natural": "unitwise_fisher",
    "qd_natural": "qd_fisher",
    "diagonal_gauss_newton": "diag_bp",
    "backprop": "euclidean",
}


def get_metric(metric, n_mc_samples=1):
    """The `Metric` of that name or alias; a `Metric` passes through.

    Parameters
    ----------
    metric : str or Metric
    n_mc_samples : int
        Targets drawn a sample by the Monte-Carlo metrics.

    Raises
    ------
    ValueError
        If the name is unknown.
    TypeError
        If something else is registered.
    """
    if isinstance(metric, Metric):
        return metric
    name = ALIASES.get(metric, metric) if isinstance(metric, str) else None
    if name not in METRICS:
        raise ValueError(
            f"Unknown metric {metric!r}: choose one of {sorted(METRICS)}, an alias of "
            f"{sorted(ALIASES)}, or pass a Metric object."
        )
    entry = METRICS[name]
    if not is_pair_of(entry, Modulus, Reduction):
        raise misregistered(name, entry, "a pair of classes, a Modulus and a Reduction")
    modulus, reduction = entry
    return Metric(modulus.make(n_mc_samples), reduction(), name)


__all__ = [
    "ALIASES",
    "METRICS",
    "Backpropagated",
    "Diagonal",
    "Euclidean",
    "Fisher",
    "Full",
    "Kronecker",
    "LossPoint",
    "Metric",
    "Modulus",
    "MonteCarlo",
    "OuterProduct",
    "PlusKronecker",
    "QuasiDiagonal",
    "Reduction",
    "RootDiagonal",
    "Safeguarded",
    "Unitwise",
    "check_damping",
    "get_metric",
]

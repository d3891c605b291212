"""Networks and their differential; nothing here knows an output or a metric."""

from .activations import ACTIVATIONS, Activation, get_activation
from .activations_by_unit import AffineActivation
from .initialization import initialize
from .inputs import Inputs, as_inputs
from .linearization import Linearization
from .network import Network
from .reparametrization import convert_sigmoids, reparametrize, rescale_inputs
from .topology import Topology

__all__ = [
    "ACTIVATIONS",
    "Activation",
    "AffineActivation",
    "Inputs",
    "Linearization",
    "Network",
    "Topology",
    "as_inputs",
    "convert_sigmoids",
    "get_activation",
    "initialize",
    "reparametrize",
    "rescale_inputs",
]

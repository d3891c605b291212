"""What a fit has decided before it trains."""

from dataclasses import dataclass

import numpy as np

from ..network import Network
from ..training.settings import Settings
from ..training.state import Model


@dataclass(frozen=True)
class Plan:
    """The network that is to be trained, and how.

    Attributes
    ----------
    targets : ClassTargets, NumericTargets or OwnTargets
    network : Network
    architecture : tuple
        What it was made for; see `architecture_key`.
    settings : Settings
    dtype : numpy dtype
        Of the rows, and of the parameters that are shown.
    """

    targets: object
    network: Network
    architecture: tuple
    settings: Settings
    dtype: np.dtype

    @property
    def model(self):
        """The network and its output, not yet with trained parameters."""
        return Model(self.network, self.targets.output)

    @property
    def attributes(self):
        """What an estimator needs, besides parameters, to predict."""
        return {
            "_targets": self.targets,
            "_network": self.network,
            "_architecture": self.architecture,
            "_dtype": self.dtype,
            "topology_": self.network.topology,
            "metric_": self.settings.metric,
        }

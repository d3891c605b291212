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

    def fitted(self, outcome, state, seen, n_samples=0):
        """Attributes of an estimator whose training has ended.

        Parameters
        ----------
        outcome : Outcome
        state : TrainingState
        seen : int
            Samples, besides those of the passes.
        n_samples : int
            Those of a pass.
        """
        history, topology = state.history, self.network.topology
        with np.errstate(under="ignore"):
            parameters = state.coordinates.outward(state.path.average)
        return {
            "_targets": self.targets,
            "_network": self.network,
            "_architecture": self.architecture,
            "_dtype": self.dtype,
            "_state": state,
            "_parameters": parameters,
            "topology_": topology,
            "metric_": self.settings.metric,
            "alpha_": state.strength.alpha,
            "feature_alpha_": state.strength.of_features(topology.n_inputs),
            "n_iter_": outcome.n_iter,
            "t_": seen + outcome.n_iter * n_samples,
            "loss_": outcome.loss,
            "loss_curve_": history.losses,
            "best_loss_": outcome.loss if history.best_loss is None else history.best_loss,
            "validation_scores_": history.validation_scores if history.held_out else None,
            "validation_loss_curve_": history.validation_losses if history.held_out else None,
            "best_validation_score_": history.best_score,
            "learning_rate_curve_": history.rates,
            "time_curve_": history.times,
            "n_rejected_steps_": history.n_rejected,
            "n_layers_": len(topology.levels) + 1,
            "n_outputs_": topology.n_outputs,
            "out_activation_": self.targets.output.link_name,
        }

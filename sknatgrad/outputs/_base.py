"""What an output interpretation must offer.

An output reads the pre-activations ``v`` of the output units, an array of shape
(n_outputs, n_samples), as a probability distribution omega over targets. All of
its methods speak of *pre-activations*: the slope of the output units' activation
is already inside. So nothing divides by a saturated ``a (1 - a)``.

Targets are encoded arrays whose last axis is the sample axis: class numbers
(n_samples,) or values (n_outputs, n_samples).
"""

import numpy as np

from ..network.activations import get_activation
from ..numerics.contracts import missing


class Output:
    """Interpretation of the output units as a distribution over targets.

    Parameters
    ----------
    activation : str, Activation or "auto"
        Activation of the output units.

    Raises
    ------
    ValueError
        If the output does not allow the activation.

    Attributes
    ----------
    name : str
    activation : Activation
    n_parameters : int
        Trainable parameters of the output itself (0 but for `ScaledSoftmax`).
    independent : bool
        Whether targets of different units are independent: a diagonal Fisher matrix.
    discrete : bool
        Whether targets are class numbers.
    link_name : str
        scikit-learn's name of what is applied to output pre-activations.
    free_scale : bool or ndarray of bool, shape (n_outputs,)
        Whether an affine change of the targets is one of the output pre-activations.
    nonnegative : bool
        Whether no loss is negative. That of a density may be: set it to False there.
    multiplicative : bool or ndarray of bool, shape (n_outputs,)
        Whether a shift of the output pre-activations is a factor of the mean.
    target_range : pair of float or ndarray of shape (n_outputs, 1), or None
        What no target lies beyond, but for rounding errors, which are taken away.
    mirrored : bool or ndarray of bool, shape (n_outputs,)
        Whether the other sign of the output pre-activations fits -y, or 1 - y, as well.
    """

    name = None
    default_activation = "identity"
    independent = False
    discrete = False
    link_name = "identity"
    free_scale = False
    multiplicative = False
    target_range = None
    mirrored = False
    nonnegative = True
    n_parameters = 0

    @property
    def free_dispersion(self):
        """Whether residuals may be larger or smaller than the output's own variance says.

        Where targets can be expressed in any units: the output does not know how noisy they are.
        """
        return bool(np.all(self.free_scale))

    def __init__(self, activation="auto"):
        automatic = isinstance(activation, str) and activation == "auto"
        try:
            self.activation = get_activation(self.default_activation if automatic else activation)
        except ValueError as problem:
            raise ValueError(f"output_activation: {problem}") from None
        problem = self._objection(self.activation)
        if problem:
            raise ValueError(
                f"output_activation={activation!r} is not compatible with output "
                f"{self.name!r}: {problem}"
            )

    def _objection(self, activation):
        """Why an activation can't be used, or None."""

    def check_target(self, target):
        """Raise ValueError if a target can't be drawn from omega."""

    # The contract -------------------------------------------------------------
    def prepared(self, v):
        """What the loss, its derivatives at v and draws share: they take it in place of v."""
        return v

    def loss(self, v, target):
        """``-ln omega(target)`` in nats, (n_samples,)."""
        raise missing(self, "loss")

    def score(self, v, target):
        """``-d loss / d v``, (n_outputs, n_samples)."""
        raise missing(self, "score")

    def fisher_factor(self, v, columns=slice(None)):
        """Columns of a square root S of the Fisher matrix with respect to v.

        ``S S^T = E_y[score score^T]`` with y drawn from omega.

        Returns
        -------
        ndarray of shape (n_outputs, n_columns, n_samples)
            Of the n_outputs columns, those asked for.
        """
        if not self.independent:
            raise missing(self, "fisher_factor")
        return _diagonal_factor(np.sqrt(self.fisher_diagonal(v)), columns)

    def whitened(self, v, change):
        """A change of v where the Fisher matrix is the identity: ``S^T change``.

        Parameters
        ----------
        v, change : ndarray of shape (n_outputs, n_samples)

        Returns
        -------
        ndarray of shape (n_columns, n_samples)
            Whatever the square root S is, the products of these are those of the metric.
        """
        if self.independent:
            return np.sqrt(self.fisher_diagonal(v)) * change
        return np.einsum("ocn,on->cn", self.fisher_factor(v), change)

    def fisher_diagonal(self, v):
        """Diagonal of the Fisher matrix with respect to v, (n_outputs, n_samples)."""
        raise missing(self, "fisher_diagonal")

    def sample(self, v, rng):
        """Encoded targets drawn from omega, one a sample.

        Equal uniform numbers give equal draws in equivalent networks.
        """
        raise missing(self, "sample")

    def mean(self, v):
        """Expected target (probabilities of classes), (n_outputs, n_samples)."""
        raise missing(self, "mean")

    def logits(self, v):
        """Values that grow with the mean and do not saturate, (n_outputs, n_samples)."""
        raise missing(self, "logits")

    def log_mean(self, v):
        """Logarithms of the mean and of its complement to 1, where it is a probability.

        None for other outputs.
        """

    def starting_point(self, moments, total_weight, n_outputs):
        """Centre and scale of the output pre-activations at the start.

        Parameters
        ----------
        moments : Moments
            Of the encoded targets, by output; None if these are class numbers.
        total_weight : float
            Of the rows.
        n_outputs : int

        Returns
        -------
        centre, scale : ndarray of shape (n_outputs,)
            By which the outputs of an initial network are shifted and scaled to fit the
            targets, scale 0 for constant ones; or None.
        """

    def loss_unit(self, moments):
        """What the loss is to be measured in: by how much gains count.

        A nat, but where targets (`moments` as above) have units of their own and the loss
        has them too.
        """
        return 1.0

    # Output parameters --------------------------------------------------------
    def start(self, n_outputs):
        """Initial values of the output's own parameters."""
        return np.empty(0)

    def with_parameters(self, parameters):
        """The output at other values of its own parameters."""
        return self

    def parameter_score(self, v, target):
        """``-d loss / d t``, t the output's own parameters, (n_parameters, n_samples)."""
        raise missing(self, "parameter_score")

    def parameter_factor(self, v):
        """Square root of their metric, (n_parameters, n_columns, n_samples)."""
        raise missing(self, "parameter_factor")

    def parameter_whitened(self, v, change):
        """A change of t, (n_parameters,), as `whitened` has those of v."""
        raise missing(self, "parameter_whitened")


def _diagonal_factor(root, columns):
    """The factor ``diag(root)`` of a diagonal Fisher matrix, as columns."""
    n_outputs, n_samples = root.shape
    chosen = np.arange(n_outputs)[columns]
    factor = np.zeros((n_outputs, len(chosen), n_samples))
    factor[chosen, np.arange(len(chosen))] = root[chosen]
    return factor

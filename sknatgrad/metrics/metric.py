"""A metric on the parameters: a modulus times a reduction."""

from numbers import Real

import numpy as np

from .linalg import ScaledFactor


class Metric:
    """A Riemannian metric on the parameters of a network.

    Parameters
    ----------
    modulus : Modulus
        What a change of a unit's pre-activation counts.
    reduction : Reduction
        Which entries of the resulting matrix are kept.
    name : str, optional
        That of the registry.

    Raises
    ------
    ValueError
        If the two do not go together.

    Notes
    -----
    The order of calls is ``statistics`` on each batch, ``combine`` of batches,
    ``solve``. Parameters are theta, followed by the output's own ones.
    """

    def __init__(self, modulus, reduction, name=None):
        if reduction.needs_seeds and not modulus.linear:
            name = modulus.name
            others = f"{name} (unitwise), kron_{name}, qd_{name} or diag_{name}"
            raise ValueError(
                f"{name or type(modulus).__name__} has no full form: its modulus is one number a "
                "unit, without the products between units that a full matrix needs. Use "
                f"{others if name else 'another reduction'}."
            )
        self.modulus, self.reduction, self.name = modulus, reduction, name

    def __repr__(self):
        name = "" if self.name is None else f", name={self.name!r}"
        return f"Metric({type(self.modulus).__name__}, {type(self.reduction).__name__}{name})"

    @property
    def needs_target(self):
        """Whether the matrix depends on the targets."""
        return self.modulus.needs_target and not self.reduction.constant

    def check(self, topology, n_samples, averaged=True):
        """Raise ValueError, saying what it would cost, if a matrix is too large.

        `averaged` says that statistics are averaged over batches without end.
        """
        n_seeds = self.modulus.n_seeds(topology.n_outputs)
        self.reduction.check(topology, n_samples, n_seeds, averaged)

    def inexact(self, tolerance):
        """The same metric, solved to that relative error where it is by iterations."""
        return Metric(self.modulus, self.reduction.inexact(tolerance))

    def statistics(self, point, rng):
        """The metric's means over one batch, a pair (network's, output's)."""
        kept = self.reduction.statistics(point, self.modulus, rng)
        if not isinstance(kept, tuple):
            kind = type(self.reduction).__name__
            raise TypeError(f"{kind}.statistics must return a tuple of arrays (doc/extending.md).")
        return kept, point.output_metric()

    def combine(self, parts):
        """Weighted sum of statistics: a list of pairs (weight, statistics)."""
        network = self.reduction.combine([(weight, pair[0]) for weight, pair in parts])
        return network, sum(weight * pair[1] for weight, pair in parts)

    def condensed(self, statistics):
        """The same statistics in a form that does not grow when more are added."""
        return self.reduction.condensed(statistics[0]), statistics[1]

    def solve(self, topology, statistics, gradient, damping=0.0, mode="relative", ridge=None):
        """The steepest direction ``(A + damping)^-1 gradient``; see `factorize`."""
        return self.factorize(topology, statistics, damping, mode, ridge)(gradient)

    def recursive_inverse(self, topology, statistics, damping=0.0, mode="relative", ridge=None):
        """As `factorize`, an inverse that can follow single samples."""
        relative, absolute = split_damping(damping, mode, topology.n_parameters, ridge)
        return self.reduction.recursive_inverse(topology, statistics[0], relative, absolute)

    def factorize(self, topology, statistics, damping=0.0, mode="relative", ridge=None):
        """The map from a gradient G to the direction ``(A + damping)^-1 G``.

        Parameters
        ----------
        topology : Topology
        statistics : pair
        damping : float
        mode : {"relative", "absolute"}
            Relative damping adds to each weight's ``A_ii`` its own centred variance
            times `damping`, which keeps the invariances; absolute damping adds
            `damping` to the diagonal, as in the paper's experiment.
        ridge : ndarray of shape (n_parameters,), optional
            Second derivatives of a penalty, added to the diagonal.

        Returns
        -------
        callable
            Takes minus the gradient of the loss: theta, then output parameters.

        Raises
        ------
        ValueError
            If there is no such damping.
        """
        network, own = statistics
        size = topology.n_parameters
        relative, absolute = split_damping(damping, mode, size, ridge)
        solve = self.reduction.factorize(topology, network, relative, absolute)
        if not own.size:
            return solve
        own = own.copy()
        own[np.diag_indices_from(own)] *= 1 + relative
        own[np.diag_indices_from(own)] += damping if mode == "absolute" else 0.0
        solve_own = ScaledFactor(own[None]).solve

        def solve_both(gradient):
            step = solve_own(gradient[None, size:, None])[0, :, 0]
            return np.concatenate([solve(gradient[:size]), step])

        return solve_both


def check_damping(damping, mode):
    """Raise ValueError if there is no such damping."""
    if not (isinstance(damping, Real) and 0 <= damping < np.inf):
        raise ValueError(f"damping must be a finite number >= 0, got {damping!r}.")
    if mode not in ("relative", "absolute"):
        raise ValueError(f"damping_mode must be 'relative' or 'absolute', got {mode!r}.")


def split_damping(damping, mode, size, ridge=None):
    """Damping as the pair (relative factor, absolute diagonal or None)."""
    check_damping(damping, mode)
    if mode == "relative":
        return damping, ridge
    absolute = np.full(size, float(damping))
    return 0.0, absolute if ridge is None else absolute + ridge

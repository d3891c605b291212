"""What a reduction must offer."""

import numpy as np

from ...numerics.contracts import missing


class Reduction:
    """Which entries of a metric are kept, and how to solve with them.

    Statistics are tuples of arrays (or of what can be weighted and added like them) that
    are means over samples, so batches, chunks, moving averages and partitions combine
    by one weighted sum. A reduction has no state.

    Attributes
    ----------
    prefix : str
        What names of its metrics begin with.
    needs_seeds : bool
        Whether backpropagated seeds are needed, not only the numbers c.
    factored : bool
        Whether solving needs the factorisation of matrices of the size of a fan-in.
    constant : bool
        Whether the matrix is always the same, so that there are no statistics.
    recursive : bool
        Whether the inverse can follow single samples (`Mixable.recursive_inverse`).
    natural : bool
        Whether the metric sets the length of steps: it approximates second derivatives.
    invariant : bool
        Whether steps are the same after any affine change of inputs and activities. If so, training
        is free to change these.
    """

    prefix = None
    needs_seeds = False
    factored = False
    constant = False
    recursive = False
    natural = True
    invariant = False

    def statistics(self, point, modulus, rng):
        """The kept means over the samples of a batch, a tuple of arrays."""
        raise missing(self, "statistics")

    def combine(self, parts):
        """Weighted sum of statistics: `parts` yields pairs (weight, statistics)."""
        total = None
        for weight, statistics in parts:
            scaled = statistics if weight == 1.0 else [weight * part for part in statistics]
            total = scaled if total is None else [a + b for a, b in zip(total, scaled, strict=True)]
        return tuple(total)

    def factorize(self, topology, statistics, relative=0.0, absolute=None):
        """The map ``gradient -> (A + damping)^-1 gradient``, prepared for many gradients.

        Parameters
        ----------
        topology : Topology
        statistics : tuple of ndarray
        relative : float
            Damping in units of each weight's own centred variance. Diagonal reductions are
            multiplied by ``1 + relative`` instead, biases included; the identity takes none.
        absolute : ndarray of shape (n_parameters,), optional
            Damping added to the diagonal.

        Returns
        -------
        callable
            Takes and returns an ndarray of shape (n_parameters,).
        """
        raise missing(self, "factorize")

    def with_kronecker(self, share, widening=0.0):
        """The reduction of ``A + share * K``, K the Kronecker form of A.

        In K the mean square of each activity has `widening` times its squared span
        added (`Activation.span`).

        Training uses it: a metric that vanishes on some samples does not see what a
        step does to them, while K counts a change of a unit on all samples alike.
        Reductions that it would not change return themselves. `Kronecker`, which is its own K,
        takes the widening and leaves the share out.
        """
        return self

    def block(self, topology, statistics, unit):
        """The undamped (1 + fan_in, 1 + fan_in) matrix of one unit, bias first."""
        raise missing(self, "block")

    def to_dense(self, topology, statistics):
        """The undamped (n_parameters, n_parameters) matrix that `factorize` inverts."""
        matrix = np.zeros((topology.n_parameters,) * 2)
        for unit in range(topology.n_units):
            row = topology.row(unit)
            matrix[row, row] = self.block(topology, statistics, unit)
        return matrix

    def condensed(self, statistics):
        """The same statistics in a form that does not grow when more are added."""
        return statistics

    def inexact(self, tolerance):
        """The same reduction, solved to that relative error where it is by iterations."""
        return self

    def check(self, topology, n_samples, n_seeds, averaged):
        """Raise ValueError if the statistics would be too large.

        `averaged` says that they are averaged over batches without end.
        """

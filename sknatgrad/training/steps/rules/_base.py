"""What step rules must offer."""

import numpy as np

from ....numerics.contracts import missing


class BatchRule:
    """How steps on all rows are found, whose losses compare.

    Parameters
    ----------
    rate : float
        Initial learning rate.
    natural : bool
        Whether the metric sets the scale: a step of rate 1 is about one to the minimum.

    Attributes
    ----------
    rate : float
        The rate of the last accepted step, or of the next trial.
    searches : bool
        Whether it looks for the lowest loss along a direction, so that `Momentum` pays.
    exhausted : bool
        Whether no rate, however small, makes progress along the direction of the last search.
    default_rate : float
        The initial one, where none is asked for: a natural step has rate 1.
    """

    searches = False
    exhausted = False
    default_rate = 1.0

    def __init__(self, rate, natural=True):
        self.rate, self.natural = rate, natural

    def search(self, objective, start, direction, slope):
        """The next `Evaluation`, or None if the step is rejected.

        Parameters
        ----------
        objective : Objective
        start : Evaluation
        direction : ndarray
        slope : float
            ``G . direction``, the first-order decrease of the loss a unit of rate.
        """
        raise missing(self, "search")

    def _trial(self, objective, start, direction, rate):
        return objective.evaluate(start.parameters + rate * direction)


class MiniBatchRule:
    """How long steps on mini-batches are, whose losses do not compare.

    Parameters
    ----------
    rate : float
        Initial learning rate.

    Attributes
    ----------
    rate : float
        That of the last step.
    slack : float
        By how much a step may make the loss of its own batch worse.
    momentum : float
        Share of the last step that the next one goes on with.
    default_rate : float
        The initial one, where none is asked for.
    """

    slack = np.inf
    momentum = 0.0
    default_rate = 1.0

    def __init__(self, rate):
        self.rate = rate

    def propose(self, slope, loss):
        """The rate of a step.

        Parameters
        ----------
        slope : float
            ``G . d`` of its direction ``d = A^-1 G``, which is ``d . A d``.
        loss : float
            Of its batch, before it.
        """
        raise missing(self, "propose")

    def suit(self, batch_size, noise, nonnegative, patient):
        """Take note of what the batches that come are like.

        Parameters
        ----------
        batch_size : int
        noise : float
            How noisy their gradients are, 0 to 1.
        nonnegative : bool
            Whether no loss is below 0.
        patient : bool
            Whether small gains are worth having: it is not these steps that must keep noise from
            being learnt by heart.
        """

    def pace(self, n_steps):
        """Take note that passes have so many steps, before the second."""

    def end_pass(self, loss):
        """Take note of the mean loss of a pass."""

    def shift(self, change):
        """Take note that the loss of passes so far would have been larger by `change`."""

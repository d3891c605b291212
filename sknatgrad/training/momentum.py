"""Directions that go on with a share of the last one."""

import math

import numpy as np

_LARGEST_SHARE = 0.8


class Momentum:
    """Heavy-ball momentum on directions of steepest descent, to be searched along.

    With ``s = A^-1 G`` the direction of steepest descent, the t-th direction since the
    start or the last restart is ``d_t = s_t + min(0.8, (t - 1) / (t + 2)) d_(t-1)``:
    Polyak's heavy ball (1964) with the growing shares of Nesterov's accelerated gradients
    (1983). It starts anew where that would lead uphill. Steepest descent goes to and fro
    where the metric knows too little of a change that many units share; in the sum of
    directions this cancels.

    Directions are vectors of one parameter space, and the shares do not depend on the
    data: nothing of the invariance is lost, and unlike those of conjugate gradients they
    carry no rounding errors. One vector of memory.
    """

    def __init__(self):
        self._last, self._count = None, 0

    def forget(self):
        """Start anew; whether there was anything to forget."""
        moving = self._count > 1
        self._last, self._count = None, 0
        return moving

    def add(self, gradient, direction, slope):
        """The direction to take and its slope.

        Parameters
        ----------
        gradient : ndarray
            Minus the gradient, G.
        direction, slope : ndarray, float
            Those of steepest descent, s and ``G . s``.
        """
        taken, taken_slope = direction, slope
        if self._last is not None:
            with np.errstate(over="ignore", invalid="ignore"):
                share = min(_LARGEST_SHARE, self._count / (self._count + 3))
                taken = direction + share * self._last
                taken_slope = float(gradient @ taken)
            if not (taken_slope > 0 and math.isfinite(taken_slope)):
                self.forget()
                taken, taken_slope = direction, slope
        self._last, self._count = taken, self._count + 1
        return taken, taken_slope

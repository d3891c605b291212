"""Directions that go on with a share of the last step."""

import math

import numpy as np

# Added to the products of normed changes, which may be nearly parallel.
_RIDGE = 1e-6
# Bits of a share.
_BITS = 6


class Momentum:
    """The direction of steepest descent and the last step, each as far as is best for both.

    With ``s = A^-1 G`` the direction of steepest descent in a metric and p the last step, the
    direction is ``a s + b p`` where the quadratic model of the loss is least whose second
    derivatives are those of the penalty and the natural metric of the whole network,
    ``(a, b)^T = M^-1 (G . s, G . p)^T`` with M the products of s and p in it (Martens and
    Grosse, *ICML* 2015, sections 6.4 and 7). Metrics made of blocks, one a unit, know nothing
    of a change that many units share: each unit takes as its own all there is to gain. The
    more there are, and the more links each has for few rows, the longer is the way that s
    goes too far, and of the penalty, which no unit shares, it then knows too little; with the
    last step the sum of a few directions finds both.

    Directions are vectors of one parameter space, and their products are intrinsic: nothing
    of the invariance is lost. Two forward passes of derivatives each, and one vector of
    memory.
    """

    def __init__(self):
        self._last = None

    def forget(self):
        """Start anew; whether there was anything to forget."""
        moving, self._last = self._last is not None, None
        return moving

    def keep(self, step):
        """Take note of a step that was taken."""
        self._last = step

    def add(self, objective, evaluation, gradient, direction, slope):
        """The direction to take and its slope.

        Parameters
        ----------
        objective : Objective
        evaluation : Evaluation
            At the parameters of the moment.
        gradient : ndarray
            Minus the gradient, G.
        direction, slope : ndarray, float
            Those of steepest descent, s and ``G . s``.
        """
        changes = [direction] if self._last is None else [direction, self._last]
        with np.errstate(over="ignore", invalid="ignore"):
            products = objective.products(evaluation, changes)
            shares = _least(products, [gradient @ change for change in changes])
            parts = zip(shares, changes, strict=True)
            taken = sum((share * change for share, change in parts if share), 0.0 * gradient)
            taken_slope = float(gradient @ taken)
        if taken_slope > 0 and math.isfinite(taken_slope):
            return taken, taken_slope
        self.forget()
        return direction, slope


def _least(products, slopes):
    """Shares x of changes at the least ``x . products x / 2 - x . slopes``.

    Changes without curvature, or with one that is not finite, are left out.
    """
    size = np.sqrt(products.diagonal())
    known = (size > 0) & np.isfinite(size)
    size, shares = size[known], np.zeros(len(known))
    normed = products[np.ix_(known, known)] / size / size[:, None]
    slopes = np.array(slopes)[known] / size
    if np.isfinite(normed).all() and np.isfinite(slopes).all():
        best = np.linalg.solve(normed + _RIDGE * np.eye(len(size)), slopes) / size
        mantissa, exponent = np.frexp(best)
        shares[known] = np.ldexp(np.round(np.ldexp(mantissa, _BITS)), exponent - _BITS)
    return shares

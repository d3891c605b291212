"""Directions that go on with a share of the last step."""

import math

import numpy as np

from ..penalty.evidence import EARLIEST, SEARCH

# Added to the products of normed changes, which may be nearly parallel.
_RIDGE = 1e-6
# Bits of a share.
_BITS = 6
# After so many steps, as many as it takes to find the default penalty, the last one counts for no
# more than this share: in other units, data have slightly different last steps, and fits
# would part.
FREE_STEPS, LARGEST_SHARE = EARLIEST + SEARCH, 0.8


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

    At first the way is long, and the last step may count for more than once. Near the end, where
    s and p are nearly parallel, rounding errors would double with each such step, and `b` is
    bounded.

    Directions are vectors of one parameter space, and their products are intrinsic: nothing
    of the invariance is lost. Two forward passes of derivatives each, and one vector of
    memory.
    """

    def __init__(self):
        self._last, self._n_steps = None, 0

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
        self._n_steps += 1
        most = np.inf if self._n_steps <= FREE_STEPS else LARGEST_SHARE
        products = objective.products(evaluation, changes)
        slopes = np.array([gradient @ change for change in changes])
        shares = _rounded(_least(products, slopes, most))
        parts = zip(shares, changes, strict=True)
        taken = sum((share * change for share, change in parts if share), np.zeros_like(gradient))
        taken_slope = float(gradient @ taken)
        if taken_slope > 0 and math.isfinite(taken_slope):
            return taken, taken_slope
        self.forget()
        return direction, slope


def _least(products, slopes, most=np.inf):
    """Shares x of changes at the least ``x . products x / 2 - x . slopes``.

    Changes without curvature, or with one that is not finite, are left out; beside the first,
    the second counts for at most `most`.
    """
    size = np.sqrt(products.diagonal())
    known = (size > 0) & np.isfinite(size)
    size, shares = size[known], np.zeros(len(known))
    normed, slopes = products[np.ix_(known, known)] / size / size[:, None], slopes[known] / size
    if not (np.isfinite(normed).all() and np.isfinite(slopes).all()):
        return shares
    shares[known] = np.linalg.solve(normed + _RIDGE * np.eye(len(size)), slopes) / size
    if len(slopes) == 2 and abs(shares[1]) > most:
        shares[1] = math.copysign(most, shares[1])
        shares[0] = (slopes[0] - normed[0, 1] * size[1] * shares[1]) / size[0]
    return shares


def _rounded(shares):
    mantissa, exponent = np.frexp(shares)
    return np.ldexp(np.round(np.ldexp(mantissa, _BITS)), exponent - _BITS)

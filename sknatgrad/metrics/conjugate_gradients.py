"""Conjugate gradients on many positive semi-definite systems at once.

The systems of all units of a level share what is expensive, the activities, so that
one product with all of their current vectors is a matrix product. A unit that has
converged leaves.
"""

import numpy as np

from ..numerics.arithmetic import safe_divide

# Errors are estimated to be so much smaller than what is asked for.
_SAFETY = 2.0
# Residuals may grow on their way down, but not by this factor: what grows is rounding error.
_HOPELESS = 1e4
# A residual that falls by this factor at once is what rounding leaves of 0.
_NOTHING = 1e-12


def conjugate_gradients(operator, rhs, tolerance, max_iter):
    """Solve ``A_k x_k = b_k`` for all k.

    Parameters
    ----------
    operator : object
        ``product(vectors)`` and ``precondition(residuals)`` take and return arrays of
        shape (n, m), one row a system; ``keep(chosen)`` drops the other systems.
    rhs : ndarray of shape (n, m)
    tolerance : float
        Relative error in the norm of A, as estimated: each step lowers the square of the
        error by a known amount, and what is left to lower is the rest of the geometric
        series that the last two steps begin. Iterates and estimate change as the solution
        does under any change of coordinates that the preconditioner takes part in.
    max_iter : int

    Returns
    -------
    solution : ndarray of shape (n, m)
    converged : ndarray of bool, shape (n,)
        A system without a usable metric (null, or not finite) counts as converged, to 0.

    Notes
    -----
    One product and one preconditioning an iteration, of the systems that are left.
    """
    solution, converged = np.zeros_like(rhs), np.zeros(len(rhs), dtype=bool)
    active, iterate, residual = np.arange(len(rhs)), np.zeros_like(rhs), rhs.copy()
    direction = operator.precondition(residual)
    size = np.einsum("nm,nm->n", residual, direction)
    hopeless, energy, last = _HOPELESS**2 * size, np.zeros_like(size), np.full_like(size, np.inf)
    for iteration in range(max_iter):
        image = operator.product(direction)
        rate = safe_divide(size, np.einsum("nm,nm->n", direction, image))
        usable = (rate > 0) & np.isfinite(image).all(axis=1)
        iterate[usable] += rate[usable, None] * direction[usable]
        residual[usable] -= rate[usable, None] * image[usable]
        step = operator.precondition(residual)
        following = np.einsum("nm,nm->n", residual, step)
        lowered = rate * size
        energy += lowered
        left = lowered * np.maximum(1.0, safe_divide(lowered, last - lowered))
        done = (lowered < last) & (_SAFETY**2 * left <= tolerance**2 * energy)
        done |= following <= _NOTHING**2 * size
        if not iteration:
            done |= ~usable
        going = usable & ~done & (following <= hopeless)
        solution[active[done]], converged[active[done]] = iterate[done], True
        if not going.any():
            break
        operator.keep(going)
        gain = following[going] / size[going]
        direction = step[going] + gain[:, None] * direction[going]
        active, iterate, residual = active[going], iterate[going], residual[going]
        size, last = following[going], lowered[going]
        energy, hopeless = energy[going], hopeless[going]
    return solution, converged

"""Blocks of small units, side by side, and their inverses."""

import numpy as np

from ._common import compiled, quotient, variance_above_rounding


@compiled
def unit_gram(sources, lengths, units, signals, values, share, out):
    """Means over samples of ``a_i a_j values_k``, units side by side.

    Parameters
    ----------
    sources : array (n, m), column 0 standing for the constant
    lengths, units : arrays (n,), longest rows first
    signals : tuple of two arrays, activities of inputs and of units
    values : array (n_units, n_samples)
    share : array (n_samples,)
    out : array (m, m, n), written to
    """
    inputs, activities = signals
    n_samples, (n_blocks, size) = len(share), sources.shape
    a = np.zeros((size, n_samples, n_blocks), out.dtype)
    weighted = np.empty((n_samples, n_blocks), out.dtype)
    c = np.empty((n_samples, n_blocks), out.dtype)
    for u in range(n_blocks):
        for s in range(n_samples):
            c[s, u] = values[units[u], s] * share[s]
            a[0, s, u] = 1.0
        for i in range(1, lengths[u]):
            unit = sources[u, i] - len(inputs)
            for s in range(n_samples):
                a[i, s, u] = activities[unit, s] if unit >= 0 else inputs[sources[u, i], s]
    used = n_blocks
    for i in range(size):
        while used and lengths[used - 1] <= i:
            used -= 1
        for s in range(n_samples):
            for u in range(used):
                weighted[s, u] = a[i, s, u] * c[s, u]
        for j in range(i + 1):
            out[i, j] = 0.0
            for s in range(n_samples):
                for u in range(used):
                    out[i, j, u] += weighted[s, u] * a[j, s, u]
            out[j, i] = out[i, j]


@compiled
def factor_blocks(blocks, relative, absolute, error, smallest_pivot, lower, scale, mean, corner):
    """Cholesky factors of the centred and scaled blocks, units side by side.

    Parameters
    ----------
    blocks : array (1 + d, 1 + d, n)
    absolute : array (n, 1 + d), or (0, 0) without absolute damping
    lower, scale, mean, corner : arrays (d, d, n), (d, n), (d, n) and (n,), written to

    Returns
    -------
    sound : array of bool (n,)
        Which factors can be relied on.
    """
    size, n_blocks = scale.shape
    used = np.zeros(size, dtype=np.int64)
    for u in range(n_blocks):
        corner[u] = blocks[0, 0, u] + (absolute[u, 0] if absolute.size else 0.0)
    for i in range(size):
        for u in range(n_blocks):
            mean[i, u] = quotient(blocks[0, i + 1, u], corner[u])
        for j in range(i + 1):
            for u in range(n_blocks):
                product = mean[i, u] * blocks[0, j + 1, u]
                lower[i, j, u] = blocks[i + 1, j + 1, u] - product
        for u in range(n_blocks):
            border, diagonal = blocks[0, i + 1, u], blocks[i + 1, i + 1, u]
            damping = absolute[u, i + 1] if absolute.size else 0.0
            if relative > 0:
                damping += relative * variance_above_rounding(
                    blocks[0, 0, u], border, diagonal, error
                )
            damped = lower[i, i, u] + damping
            alive = damped > error * (diagonal + damping)
            scale[i, u] = 1 / np.sqrt(damped) if alive else 0.0
            used[i] = u + 1 if alive else used[i]
        for j in range(i):
            for u in range(n_blocks):
                lower[i, j, u] *= scale[i, u] * scale[j, u]
        lower[i, i] = 1.0
    return _cholesky(lower, used, smallest_pivot)


@compiled
def _cholesky(lower, used, smallest_pivot):
    """Factor stacked matrices (d, d, n) in place; which have no pivot below the smallest.

    Row i is that of the identity from matrix ``used[i]`` on.
    """
    size, _, n_blocks = lower.shape
    sound = np.ones(n_blocks, dtype=np.bool_)
    for k in range(size):
        pivot = lower[k, k]
        for u in range(n_blocks):
            sound[u] &= pivot[u] >= smallest_pivot
            pivot[u] = np.sqrt(pivot[u])
        for i in range(k + 1, size):
            for u in range(used[i]):
                lower[i, k, u] /= pivot[u]
        for i in range(k + 1, size):
            for j in range(k + 1, i + 1):
                for u in range(used[i]):
                    lower[i, j, u] -= lower[i, k, u] * lower[j, k, u]
    return sound


@compiled
def solve_blocks(lower, scale, mean, corner, rhs):
    """Solutions (n, 1 + d) for right-hand sides (n, 1 + d) with the factors above."""
    size, n_blocks = scale.shape
    x = np.empty_like(scale)
    for i in range(size):
        for u in range(n_blocks):
            x[i, u] = (rhs[u, i + 1] - mean[i, u] * rhs[u, 0]) * scale[i, u]
    for i in range(size):
        for j in range(i):
            for u in range(n_blocks):
                x[i, u] -= lower[i, j, u] * x[j, u]
        for u in range(n_blocks):
            x[i, u] /= lower[i, i, u]
    for i in range(size - 1, -1, -1):
        for u in range(n_blocks):
            x[i, u] /= lower[i, i, u]
        for j in range(i):
            for u in range(n_blocks):
                x[j, u] -= lower[i, j, u] * x[i, u]
    solution = np.empty_like(rhs)
    for u in range(n_blocks):
        finite, bias = True, quotient(rhs[u, 0], corner[u])
        for i in range(size):
            solution[u, i + 1] = x[i, u] * scale[i, u]
            finite &= np.isfinite(solution[u, i + 1])
        # A unit whose step overflows is one without a usable metric: it waits.
        for i in range(size):
            solution[u, i + 1] = solution[u, i + 1] if finite else 0.0
            bias -= mean[i, u] * solution[u, i + 1]
        solution[u, 0] = bias
    return solution


@compiled
def add_samples(inverse, vectors, strength, growth):
    """Inverses (n, m, m) of ``A_k / growth + sum_s strength_ks x_ks x_ks^T``, in place.

    `vectors` is (n, m, s), or (1, m, s) if all units share x; one sample after the other,
    while the unit's inverse is at hand.
    """
    n_blocks, size, _ = inverse.shape
    image, x = np.empty(size), np.empty(size)
    for u in range(n_blocks):
        block, factor = inverse[u], growth
        for s in range(strength.shape[1]):
            x[:] = vectors[u if len(vectors) > 1 else 0, :, s]
            image[:] = 0.0
            for i in range(size):
                weight = factor * x[i]
                for j in range(size):
                    image[j] += weight * block[i, j]
            size_of_x = 0.0
            for i in range(size):
                size_of_x += image[i] * x[i]
            gain = strength[u, s] / (1 + strength[u, s] * size_of_x)
            for i in range(size):
                weight = gain * image[i]
                for j in range(size):
                    block[i, j] = factor * block[i, j] - weight * image[j]
            factor = 1.0

"""Compiled loops. Sums run in a fixed order: the same bits in every run.

Arrays have the unit axis first and the sample axis last. Links come as rows of a CSR
matrix by target unit: ``indptr`` and ``source``.
"""

import numpy as np
from numba import njit


def compiled(function):
    """Compile at the first call; keep the result on disk where that can be written to."""
    options = {"nogil": True, "error_model": "numpy"}
    try:
        return njit(cache=True, **options)(function)
    except RuntimeError:
        return njit(**options)(function)


# -------------------------------------------------------------------- products with links
@compiled
def forward(indptr, source, weights, signals, out, fresh):
    """``out[k] = sum_i w_ik signals[i]`` if fresh, else ``out[k] += ...``."""
    for k in range(out.shape[0]):
        row = out[k]
        if fresh:
            row[:] = 0.0
        for e in range(indptr[k], indptr[k + 1]):
            w, signal = weights[e], signals[source[e]]
            for j in range(row.shape[0]):
                row[j] += w * signal[j]


@compiled
def backward(indptr, source, weights, values, out):
    """``out[i] += sum_k w_ik values[k]``."""
    for k in range(values.shape[0]):
        value = values[k]
        for e in range(indptr[k], indptr[k + 1]):
            w, row = weights[e], out[source[e]]
            for j in range(value.shape[0]):
                row[j] += w * value[j]


@compiled
def edge_sums(indptr, source, params, values, signals, out):
    """``out[params of i -> k] = signals[i] . values[k]``, four links at a time."""
    n_samples = values.shape[1]
    for k in range(values.shape[0]):
        e, stop = indptr[k], indptr[k + 1]
        while e < stop:
            # The last links of a unit are computed again with those before them.
            if stop - e < 4 <= stop - indptr[k]:
                e = stop - 4
            count = min(4, stop - e)
            i0, i1 = source[e], source[e + 1 % count]
            i2, i3 = source[e + 2 % count], source[e + 3 % count]
            s0 = s1 = s2 = s3 = values[k, 0] * 0.0
            for j in range(n_samples):
                v = values[k, j]
                s0 += signals[i0, j] * v
                s1 += signals[i1, j] * v
                s2 += signals[i2, j] * v
                s3 += signals[i3, j] * v
            out[params[e]], out[params[e + 1 % count]] = s0, s1
            out[params[e + 2 % count]], out[params[e + 3 % count]] = s2, s3
            e += count


@compiled
def edge_moments(indptr, source, params, values, signals, first, second):
    """`edge_sums` of the signals into `first`, and of their squares into `second`."""
    n_samples = values.shape[1]
    for k in range(values.shape[0]):
        e, stop = indptr[k], indptr[k + 1]
        while e < stop:
            f = min(e + 1, stop - 1)
            i, j = source[e], source[f]
            s0 = s1 = q0 = q1 = values[k, 0] * 0.0
            for n in range(n_samples):
                v, x, y = values[k, n], signals[i, n], signals[j, n]
                s0 += x * v
                s1 += y * v
                q0 += (x * x) * v
                q1 += (y * y) * v
            first[params[e]], first[params[f]] = s0, s1
            second[params[e]], second[params[f]] = q0, q1
            e += 2


@compiled
def sum_of_squares(pulled):
    """Sum of squares over the middle axis."""
    n_units, n_seeds, n_samples = pulled.shape
    total = np.zeros((n_units, n_samples), pulled.dtype)
    for k in range(n_units):
        for f in range(n_seeds):
            for s in range(n_samples):
                total[k, s] += pulled[k, f, s] * pulled[k, f, s]
    return total


# ------------------------------------------------------------------ blocks of small units
@compiled
def _quotient(numerator, denominator):
    """The quotient, 0 where it is not finite."""
    quotient = numerator / denominator
    return quotient if np.isfinite(quotient) else 0.0


@compiled
def _variance(corner, border, diagonal, error):
    """``A_ii - A_0i^2 / A_00``, and 0 where that is rounding error."""
    variance = diagonal - _quotient(border, corner) * border
    return variance if variance > error * diagonal else 0.0


@compiled
def unit_gram(group, lengths, units, signals, values, share, out):
    """Means over samples of ``a_i a_j values_k``, units side by side.

    Parameters
    ----------
    group : array (n, m) of source numbers, column 0 standing for the constant
    lengths, units : arrays (n,), longest rows first
    signals : tuple of two arrays, activities of inputs and of units
    values : array (n_units, n_samples)
    share : array (n_samples,)
    out : array (m, m, n), written to
    """
    inputs, activities = signals
    n_samples, (n_blocks, size) = len(share), group.shape
    a = np.zeros((size, n_samples, n_blocks), out.dtype)
    weighted = np.empty((n_samples, n_blocks), out.dtype)
    c = np.empty((n_samples, n_blocks), out.dtype)
    for u in range(n_blocks):
        for s in range(n_samples):
            c[s, u] = values[units[u], s] * share[s]
            a[0, s, u] = 1.0
        for i in range(1, lengths[u]):
            unit = group[u, i] - len(inputs)
            for s in range(n_samples):
                a[i, s, u] = activities[unit, s] if unit >= 0 else inputs[group[u, i], s]
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
            mean[i, u] = _quotient(blocks[0, i + 1, u], corner[u])
        for j in range(i + 1):
            for u in range(n_blocks):
                product = mean[i, u] * blocks[0, j + 1, u]
                lower[i, j, u] = blocks[i + 1, j + 1, u] - product
        for u in range(n_blocks):
            border, diagonal = blocks[0, i + 1, u], blocks[i + 1, i + 1, u]
            damping = absolute[u, i + 1] if absolute.size else 0.0
            if relative > 0:
                damping += relative * _variance(blocks[0, 0, u], border, diagonal, error)
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
        finite, bias = True, _quotient(rhs[u, 0], corner[u])
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
def add_rank_one(inverse, vectors, strength, growth):
    """Inverses (n, m, m) of ``A_k / growth + strength_k x_k x_k^T``, in place.

    `vectors` is (n, m), or (1, m) if all units share x. One pass over the memory.
    """
    n_blocks, size, _ = inverse.shape
    image = np.empty(size)
    for u in range(n_blocks):
        block, x = inverse[u], vectors[u if len(vectors) > 1 else 0]
        image[:] = 0.0
        for i in range(size):
            factor = growth * x[i]
            for j in range(size):
                image[j] += factor * block[i, j]
        size_of_x = 0.0
        for i in range(size):
            size_of_x += image[i] * x[i]
        gain = strength[u] / (1 + strength[u] * size_of_x)
        for i in range(size):
            factor = gain * image[i]
            for j in range(size):
                block[i, j] = growth * block[i, j] - factor * image[j]


# ---------------------------------------------------------------------- quasi-diagonal
@compiled
def factor_quasi_diagonal(bias, first, second, relative, absolute, error, mean, variance):
    """Means ``A_0i / A_00`` and damped variances of all weights.

    Row k of the parameters starts at ``bias[k]``; `mean` gets the damped ``A_00`` there.
    """
    for k in range(bias.shape[0] - 1):
        start = bias[k]
        corner = first[start]
        damped = corner + absolute[start] if absolute.size else corner
        mean[start], variance[start] = damped, 0.0
        for p in range(start + 1, bias[k + 1]):
            value = _variance(damped, first[p], second[p], error)
            if absolute.size:
                value = _variance(damped, first[p], second[p] + absolute[p], error)
                if relative > 0:
                    value += relative * _variance(corner, first[p], second[p], error)
            else:
                value *= 1 + relative
            mean[p], variance[p] = _quotient(first[p], damped), value


@compiled
def solve_quasi_diagonal(bias, mean, variance, gradient, step):
    """The quasi-diagonal rule, unit by unit."""
    for k in range(bias.shape[0] - 1):
        start = bias[k]
        at_bias = gradient[start]
        moved = _quotient(at_bias, mean[start])
        for p in range(start + 1, bias[k + 1]):
            step[p] = _quotient(gradient[p] - mean[p] * at_bias, variance[p])
            moved -= mean[p] * step[p]
        step[start] = moved

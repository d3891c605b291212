"""Products with links. They come as rows of a CSR matrix by target unit: `indptr`, `source`."""

from ._common import compiled


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
            i0, i1 = source[e], source[e + (1 % count)]
            i2, i3 = source[e + (2 % count)], source[e + (3 % count)]
            s0 = s1 = s2 = s3 = values[k, 0] * 0.0
            for j in range(n_samples):
                v = values[k, j]
                s0 += signals[i0, j] * v
                s1 += signals[i1, j] * v
                s2 += signals[i2, j] * v
                s3 += signals[i3, j] * v
            out[params[e]], out[params[e + (1 % count)]] = s0, s1
            out[params[e + (2 % count)]], out[params[e + (3 % count)]] = s2, s3
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
def outer(values, signals, out):
    """``out[k, i] = values[k] signals[i]`` for one sample."""
    for k in range(out.shape[0]):
        value = values[k, 0]
        for i in range(out.shape[1]):
            out[k, i] = value * signals[i, 0]

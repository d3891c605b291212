"""Walks over the rows of a matrix, in memory or not."""

# Bytes that are read at a time, of rows that are not in memory.
_PART = 1 << 24
# Numbers that stay in the caches, in arrays that are not mapped into memory anew each time.
_CACHED = 1 << 16


def rows_of_part(X):
    """How many rows of X are read at a time."""
    return max(1, _PART // max(1, X.shape[1] * X.dtype.itemsize))


def blocks(X):
    """Yield slices of the rows of X in order, and these rows.

    Few enough for several steps on them to cost one trip to memory. Rows that are not in
    memory are read in parts of many blocks.
    """
    n_rows, n_columns = X.shape
    length = max(1, _CACHED // max(1, n_columns))
    step = length * max(1, rows_of_part(X) // length)
    for start in range(0, n_rows, step):
        part = X[start : start + step]
        for first in range(0, len(part), length):
            block = part[first : first + length]
            yield slice(start + first, start + first + len(block)), block

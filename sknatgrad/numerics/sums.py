"""Sums in a fixed order, however many compute the terms."""

from collections import deque
from concurrent.futures import ThreadPoolExecutor

from ..compiled import under_kernels

# So many terms are added one after the other; then so many of these sums, and so on.
BRANCHING = 8


def tree_sum(terms, add):
    """Sum of the terms in a tree that depends on their number only.

    Parameters
    ----------
    terms : iterable
    add : callable
        Of two terms.

    Returns
    -------
    object
        None without terms. O(log n) sums are held at once.
    """
    sums = []
    for term in terms:
        depth = 0
        while term is not None:
            if depth == len(sums):
                sums.append([None, 0])
            total, count = sums[depth]
            total, count = term if total is None else add(total, term), count + 1
            full = count == BRANCHING
            sums[depth] = [None, 0] if full else [total, count]
            term, depth = total if full else None, depth + 1
    total = None
    for part, _ in sums:
        if part is not None:
            total = part if total is None else add(part, total)
    return total


def ordered_map(function, items, n_threads):
    """Yield ``function(item)`` in order, computed by some threads a little ahead.

    They work under the kernels chosen here.
    """
    items = list(items)
    if n_threads == 1 or len(items) < 2:
        yield from map(function, items)
        return
    function = under_kernels(function)
    with ThreadPoolExecutor(n_threads) as pool:
        waiting, rest = deque(), iter(items)
        for item in rest:
            waiting.append(pool.submit(function, item))
            if len(waiting) > n_threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()

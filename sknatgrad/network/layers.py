"""Layers that are joined one to the next: fully, by given masks, or at random.

Each function returns the sizes of the layers, inputs first, and one table of links a pair of
consecutive layers: where the links of each target start, (n_out + 1,), and the sources of all
targets one after the other, counted within their layer.
"""

from itertools import pairwise
from numbers import Integral, Real

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state
from sklearn.utils.random import sample_without_replacement

from .graph import clean_links
from .level import next_level

# Up to here each draw is a permutation: the seeds of published runs depend on it.
_PERMUTED_SIZE = 1000


def full_layers(sizes):
    """Layers of these sizes, all of whose units are joined."""
    sizes = _check_sizes(sizes)
    return sizes, [
        (np.arange(n_out + 1) * n_in, np.tile(np.arange(n_in), n_out))
        for n_in, n_out in pairwise(sizes)
    ]


def random_layers(sizes, n_links, by, replace, random_state, merge):
    """Layers joined by random links; see `Topology.random_links`.

    Costs O(links) to draw, plus their sort.
    """
    sizes = _check_sizes(sizes)
    rng = check_random_state(random_state)
    n_pairs = len(sizes) - 1
    counts, sides = _by_pair("n_links", n_links, n_pairs), _by_pair("by", by, n_pairs)
    pairs = zip(sizes[:-1], sizes[1:], counts, sides, strict=True)
    return sizes, [_random_table(*pair, replace, merge, rng) for pair in pairs]


def is_matrix(rows):
    """Whether a list is one of lists of numbers."""
    return bool(rows) and isinstance(rows[0], list | tuple) and np.ndim(rows[0]) == 1


def masked_layers(masks):
    """Layers joined where masks (n_in, n_out), one a pair of them, are not 0."""
    found = [_masked_table(mask) for mask in masks]
    sizes = [found[0][0][0]] if found else []
    for i, ((n_in, n_out), _) in enumerate(found):
        if n_in != sizes[-1]:
            raise ValueError(
                f"Link masks do not chain: mask {i} has {n_in} rows, "
                f"the layer before it has {sizes[-1]} units."
            )
        sizes.append(n_out)
    return _check_sizes(sizes), [table for _, table in found]


def layer_levels(sizes, tables):
    """The levels of such layers, a tuple of `Level`."""
    levels, first_source = [], 0
    for n_in, (indptr, sources) in zip(sizes[:-1], tables, strict=True):
        levels.append(next_level(sizes[0], levels, indptr, sources + first_source))
        first_source += n_in
    return tuple(levels)


def _check_sizes(sizes):
    """Layer sizes as a list of integers, at least two."""
    given = list(sizes) if np.iterable(sizes) else [sizes]
    whole = all(isinstance(n, Integral) for n in given)
    if len(given) < 2 or not whole or min(given) < 1:
        raise ValueError(f"Layer sizes must be at least two integers >= 1, got {sizes!r}.")
    return list(map(int, given))


def _by_pair(name, value, n_pairs):
    """A list with one value a pair of layers, of one for all or one for each."""
    if isinstance(value, str) or not np.iterable(value):
        return [value] * n_pairs
    values = list(value)
    if len(values) != n_pairs:
        raise ValueError(
            f"{name} must be one value, or {n_pairs}, one a pair of layers, got {len(values)}."
        )
    return values


def _random_table(n_in, n_out, n_links, by, replace, merge, rng):
    """The table of a pair of layers with random links."""
    if by not in ("target", "source"):
        raise ValueError(f"by must be 'target' or 'source', got {by!r}.")
    if not (isinstance(n_links, Real) and n_links >= 1 and n_links == n_links // 1):
        raise ValueError(f"n_links must be integers >= 1, got {n_links!r}.")
    owners, others = (n_out, n_in) if by == "target" else (n_in, n_out)
    count = int(n_links) if replace else min(int(n_links), others)
    drawn = np.concatenate([_draw(others, count, replace, rng) for _ in range(owners)])
    pair = (drawn, np.repeat(np.arange(owners), count))
    sources, targets = pair if by == "target" else pair[::-1]
    place = targets * n_in + sources
    targets, sources = np.divmod(np.unique(place) if merge else np.sort(place), n_in)
    fan_in = np.bincount(targets, minlength=n_out)
    return np.concatenate([[0], np.cumsum(fan_in)]), sources


def _draw(n, count, replace, rng):
    """Random numbers below n, `count` of them."""
    # A number drawn alone takes as long as a hundred of a permutation.
    if replace or n <= _PERMUTED_SIZE or 100 * count > n:
        return rng.choice(n, count, replace=replace)
    return sample_without_replacement(n, count, method="tracking_selection", random_state=rng)


def _masked_table(mask):
    """The shape of a mask (n_in, n_out), and the table of its links."""
    if isinstance(mask, list | tuple) and is_matrix(mask):
        mask = np.asarray(mask)
    if getattr(mask, "ndim", 0) != 2:
        raise ValueError("A link mask must be a two-dimensional matrix.")
    by_target = sparse.csc_array(mask, copy=True)
    clean_links(by_target)
    return by_target.shape, (by_target.indptr.astype(int), by_target.indices.astype(int))

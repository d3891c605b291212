"""Random links between two layers."""

from numbers import Real

import numpy as np


def random_table(n_in, n_out, n_links, by, replace, merge, rng):
    """Links from the units of one layer to those of the next.

    Parameters
    ----------
    n_in, n_out : int
        Sizes of the layers.
    n_links, by, replace, merge
        As in `Topology.random_links`, of this pair of layers.
    rng : RandomState

    Returns
    -------
    indptr : ndarray of int, shape (n_out + 1,)
        Where the links of each target start.
    sources : ndarray of int
        Those of all targets, one after the other.

    Raises
    ------
    ValueError
        If `by` or `n_links` can't be used.
    """
    if by not in ("target", "source"):
        raise ValueError(f"by must be 'target' or 'source', got {by!r}.")
    if not (isinstance(n_links, Real) and n_links >= 1 and n_links == n_links // 1):
        raise ValueError(f"n_links must be integers >= 1, got {n_links!r}.")
    owners, others = (n_out, n_in) if by == "target" else (n_in, n_out)
    count = int(n_links) if replace else min(int(n_links), others)
    drawn = np.concatenate([rng.choice(others, count, replace=replace) for _ in range(owners)])
    pair = (drawn, np.repeat(np.arange(owners), count))
    sources, targets = pair if by == "target" else pair[::-1]
    place = targets * n_in + sources
    targets, sources = np.divmod(np.unique(place) if merge else np.sort(place), n_in)
    fan_in = np.bincount(targets, minlength=n_out)
    return np.concatenate([[0], np.cumsum(fan_in)]), sources

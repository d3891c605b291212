"""Topologies from adjacency matrices: topological levels of any acyclic graph."""

from numbers import Integral

import numpy as np
from scipy import sparse

from .level import next_level


def from_adjacency(adjacency, n_inputs=None, outputs=None):
    """The parts of the `Topology` of an adjacency matrix; see `Topology.from_sparse`.

    Units are renumbered by topological depth, hidden units of a depth before
    outputs, otherwise in the given order.

    Returns
    -------
    n_inputs : int
    levels : tuple of Level
    outputs : ndarray of int, shape (n_outputs,)
    order : ndarray of int, shape (n_units,)
        Which unit of the matrix each computed unit is.
    """
    graph = sparse.csr_array(adjacency, copy=True)
    if graph.ndim != 2 or graph.shape[0] != graph.shape[1]:
        raise ValueError(f"An adjacency matrix must be square, got shape {graph.shape}.")
    clean_links(graph)
    fan_in = np.diff(graph.tocsc().indptr)
    if n_inputs is None:
        n_inputs = _count_leading_inputs(fan_in)
    if not (isinstance(n_inputs, Integral) and 1 <= n_inputs < len(fan_in)):
        raise ValueError(
            f"n_inputs must be an integer, at least 1 and less than the {len(fan_in)} units, "
            f"got {n_inputs!r}."
        )
    if fan_in[:n_inputs].any():
        raise ValueError("Input units must have no incoming links.")
    depth = _depths(graph, n_inputs)
    outputs = _check_outputs(graph, n_inputs, outputs)
    return n_inputs, *_build(graph, depth, n_inputs, outputs)


def clean_links(matrix):
    """Sum what is stored twice and drop what is 0, in place.

    Raises
    ------
    ValueError
        If an entry is NaN or infinite.
    """
    if not np.isfinite(matrix.data).all():
        raise ValueError("Links must not contain NaN or infinity: 0 is no link.")
    matrix.sum_duplicates()
    matrix.eliminate_zeros()


def _count_leading_inputs(fan_in):
    """How many units stand before the first one that has incoming links."""
    computed = np.flatnonzero(fan_in)
    if not len(computed):
        raise ValueError("The graph has no links: n_inputs must say which units are inputs.")
    if computed[0] == 0:
        raise ValueError("Unit 0 has incoming links: the first units must be the inputs.")
    return int(computed[0])


def _check_outputs(graph, n_inputs, outputs):
    if outputs is None:
        outputs = np.flatnonzero(np.diff(graph.indptr) == 0)
        outputs = outputs[outputs >= n_inputs]
    outputs = np.asarray(outputs)
    known = outputs.ndim == 1 and outputs.size and np.issubdtype(outputs.dtype, np.integer)
    if not known or len(np.unique(outputs)) < len(outputs):
        raise ValueError("outputs must be a non-empty list of numbers of distinct units.")
    unfit = outputs[(outputs < n_inputs) | (outputs >= graph.shape[0])]
    if len(unfit):
        raise ValueError(
            f"outputs must be computed units, {n_inputs} to {graph.shape[0] - 1}, got {unfit[0]}."
        )
    return outputs


def _depths(graph, n_inputs):
    """Length of the longest path into each unit: inputs have 0, all others at least 1.

    A computed unit that nothing feeds is the constant of its bias, no input.
    """
    pending = np.diff(graph.tocsc().indptr)
    depth = np.zeros(len(pending), dtype=int)
    depth[n_inputs:] = 1
    ready = list(np.flatnonzero(pending == 0))
    n_done = 0
    while ready:
        unit = ready.pop()
        n_done += 1
        for target in graph.indices[graph.indptr[unit] : graph.indptr[unit + 1]]:
            depth[target] = max(depth[target], depth[unit] + 1)
            pending[target] -= 1
            if pending[target] == 0:
                ready.append(target)
    if n_done < len(depth):
        raise ValueError("The graph has a cycle: feedforward networks need an acyclic one.")
    return depth


def _build(graph, depth, n_inputs, outputs):
    is_output = np.isin(np.arange(len(depth)), outputs)
    key = 2 * depth[n_inputs:] + is_output[n_inputs:]
    order = n_inputs + np.argsort(key, kind="stable")
    number = np.arange(len(depth))
    number[order] = np.arange(n_inputs, len(depth))
    incoming = graph.tocsc()[:, order]
    levels = []
    for value in np.unique(key):
        units = np.flatnonzero(np.sort(key, kind="stable") == value)
        part = incoming[:, units[0] : units[-1] + 1]
        lists = [
            np.sort(number[part.indices[start:stop]])
            for start, stop in zip(part.indptr[:-1], part.indptr[1:], strict=True)
        ]
        levels.append(
            next_level(n_inputs, levels, part.indptr.astype(int), np.concatenate(lists).astype(int))
        )
    return tuple(levels), number[outputs] - n_inputs, order

"""theta as scikit-learn's ``coefs_`` and ``intercepts_``, and back."""

import numpy as np
from scipy import sparse


def split(topology, theta):
    """Weight matrices and bias vectors of a parameter vector.

    Parameters
    ----------
    topology : Topology
    theta : ndarray of shape (n_parameters,)

    Returns
    -------
    coefs : list of ndarray or csr_array, shape (n_in, n_out)
        One a level: dense where all units of a layer listen to the whole layer before. In a layered
        network n_in is the size of the layer before; in any other graph the rows
        are all inputs and all units of earlier levels.
    intercepts : list of ndarray of shape (n_out,)
    """
    coefs, intercepts = [], []
    for level in topology.levels:
        intercepts.append(theta[level.bias].copy())
        n_rows, shift = _source_range(topology, level)
        weights = theta[level.link_params]
        sources = level.sources - shift
        full = level.shares_sources and len(sources) == level.n_units * n_rows
        if full and topology.layer_sizes is not None:
            coefs.append(weights.reshape(level.n_units, -1).T.copy())
        else:
            shape = (level.n_units, n_rows)
            coefs.append(sparse.csr_array((weights, sources, level.indptr), shape=shape).T.tocsr())
    return coefs, intercepts


def join(topology, coefs, intercepts):
    """The parameter vector of weight matrices and bias vectors; see `split`.

    Raises
    ------
    ValueError
        If the number of arrays or a shape differs from the topology's, a value is
        not finite, or a weight stands where there is no link; if there are parallel
        links, whose weights a matrix cannot tell apart.
    """
    if topology.has_parallel_links:
        raise ValueError("Matrices can't hold the weights of parallel links: pass theta itself.")
    n_levels = len(topology.levels)
    if len(coefs) != n_levels or len(intercepts) != n_levels:
        raise ValueError(
            f"coefs and intercepts need {n_levels} arrays each, one a layer; "
            f"got {len(coefs)} and {len(intercepts)}."
        )
    theta = np.empty(topology.n_parameters)
    for i, (level, coef, intercept) in enumerate(
        zip(topology.levels, coefs, intercepts, strict=True)
    ):
        theta[level.bias] = _checked(f"intercepts[{i}]", intercept, (level.n_units,))
        n_rows, shift = _source_range(topology, level)
        theta[level.link_params] = _link_weights(i, level, coef, n_rows, shift)
    if not np.isfinite(theta).all():
        raise ValueError("coefs and intercepts must be finite.")
    return theta


def _source_range(topology, level):
    """Rows of the level's weight matrix, and the source that is row 0."""
    if topology.layer_sizes is None:
        return topology.n_inputs + level.units.start, 0
    number = topology.levels.index(level)
    return topology.layer_sizes[number], sum(topology.layer_sizes[:number])


def _checked(name, array, shape):
    array = np.asarray(array, dtype=float)
    if array.shape != shape:
        raise ValueError(f"{name} must have shape {shape}, got {array.shape}.")
    return array


def _link_weights(number, level, coef, n_rows, shift):
    shape = (n_rows, level.n_units)
    if not sparse.issparse(coef):
        coef = _checked(f"coefs[{number}]", coef, shape)
        picked = coef[level.sources - shift, level.owner]
        n_outside = np.count_nonzero(coef) - np.count_nonzero(picked)
    else:
        if coef.shape != shape:
            raise ValueError(f"coefs[{number}] must have shape {shape}, got {coef.shape}.")
        table = sparse.csr_array(coef, dtype=float)
        # Of no entries at all, SciPy makes a matrix.
        found = table[level.sources - shift, level.owner] if len(level.owner) else np.empty(0)
        picked = np.asarray(found).ravel()
        n_outside = table.count_nonzero() - np.count_nonzero(picked)
    if n_outside:
        raise ValueError(f"coefs[{number}] has {n_outside} weights where the topology has no link.")
    return picked

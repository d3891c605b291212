"""Settings told apart by what they are, not by which objects they are."""

import joblib
import numpy as np
from scipy import sparse

from ..metrics import Metric, Modulus, Reduction
from ..network import Topology
from ..network.activations import Activation
from ..outputs import Output


def by_value(setting):
    """A description of a setting, equal for equal ones; later changes do not reach it.

    So it is of numbers, text, lists, dicts, sets, arrays, sparse matrices, graphs and parts of a
    training; other objects stand for themselves.

    Parts of a training are described by class name and attributes: their classes may be
    of a notebook or local to a function, where pickle does not find them. Graphs and sparse
    matrices are their links and entries, without what they have computed once.
    """
    if isinstance(setting, list | tuple):
        return tuple(map(by_value, setting))
    if isinstance(setting, dict):
        return tuple((name, by_value(setting[name])) for name in sorted(setting, key=repr))
    if isinstance(setting, set):
        return frozenset(setting)
    if isinstance(setting, np.ndarray):
        return joblib.hash(setting)
    if isinstance(setting, Topology):
        levels = [level.units.stop for level in setting.levels]
        links = setting.row_starts, setting.source
        return by_value((setting.n_inputs, levels, links, setting.outputs, setting.order))
    if sparse.issparse(setting):
        rows = sparse.csr_array(setting)
        return by_value((rows.shape, rows.indptr, rows.indices, rows.data))
    if isinstance(setting, Activation | Output | Metric | Modulus | Reduction):
        return type(setting).__module__, type(setting).__qualname__, by_value(vars(setting))
    return setting

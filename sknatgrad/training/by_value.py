"""Settings told apart by what they are, not by which objects they are."""

import joblib
import numpy as np

from ..metrics import Metric, Modulus, Reduction
from ..network.activations import Activation
from ..outputs import Output


def by_value(setting):
    """A description of a setting, equal for equal ones; later changes do not reach it.

    Parts of a training are described by class name and attributes: their classes may be
    of a notebook or local to a function, where pickle does not find them.
    """
    if isinstance(setting, list | tuple):
        return tuple(map(by_value, setting))
    if isinstance(setting, dict):
        return tuple((name, by_value(value)) for name, value in setting.items())
    if isinstance(setting, np.ndarray):
        return joblib.hash(setting)
    if isinstance(setting, Activation | Output | Metric | Modulus | Reduction):
        return type(setting).__module__, type(setting).__qualname__, by_value(vars(setting))
    return setting

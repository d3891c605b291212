"""Learning a string with many ones, and its complement (the paper's first figure)."""

import numpy as np

from ..seeds import draw_seeds
from .methods import INVARIANT, NOT_INVARIANT, TITLES, Method
from .problem import strings_and_complements
from .training import settings_of, train

N_STEPS = 100
# Undamped: what is singular is solved in the sense of the pseudo-inverse.
METHODS = (
    Method("euclidean", TITLES["euclidean"], "euclidean", N_STEPS, NOT_INVARIANT),
    Method("qd_bp", TITLES["qd_bp"], "qd_bp", N_STEPS, INVARIANT, damping=0.0),
)


def learn_ones_and_zeros(n_runs, seed):
    """Losses on random strings with 75 % ones and on their complements.

    Returns
    -------
    dict of str to list of two ndarray of shape (n_runs, n_steps)
        Bits, by title of the method: on the strings, on the complements.
    """
    seeds = draw_seeds(seed, n_runs)
    losses = {}
    for method in METHODS:
        settings = settings_of(method, 1, learning_rate="constant")
        runs = [
            [train(setting, settings).losses for setting in strings_and_complements(number)]
            for number in seeds
        ]
        losses[method.title] = list(np.array(runs).transpose(1, 0, 2) / np.log(2))
    return losses

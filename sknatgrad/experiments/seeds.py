"""Seeds of runs, drawn before any of them starts."""

from sklearn.utils import check_random_state


def draw_seeds(random_state, size):
    """Random seeds.

    Parameters
    ----------
    random_state : int, RandomState instance or None
    size : int or tuple of int

    Returns
    -------
    ndarray of int
    """
    return check_random_state(random_state).randint(2**31 - 1, size=size)

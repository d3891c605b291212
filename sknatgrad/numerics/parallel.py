"""Calls that run at once."""

from sklearn.utils.parallel import Parallel


def parallel_results(n_jobs, calls):
    """Results of joblib's delayed calls as they come, in any order.

    Parameters
    ----------
    n_jobs : int or None
    calls : iterable
        Made by scikit-learn's ``delayed``.

    Returns
    -------
    iterable
    """
    try:
        parallel = Parallel(n_jobs=n_jobs, return_as="generator_unordered")
    except ValueError:  # not all backends can: multiprocessing and ray give lists
        parallel = Parallel(n_jobs=n_jobs)
    return parallel(calls)

"""Calls that run at once."""

from sklearn.utils.parallel import Parallel, delayed

from ..compiled import under_kernels


def parallel_results(n_jobs, function, calls):
    """Results of a function as they come, in any order, under the kernels chosen here.

    Parameters
    ----------
    n_jobs : int or None
    function : callable
    calls : iterable of tuple
        Its arguments, call by call.

    Returns
    -------
    iterable
    """
    try:
        parallel = Parallel(n_jobs=n_jobs, return_as="generator_unordered")
    except ValueError:  # not all backends can: multiprocessing and ray give lists
        parallel = Parallel(n_jobs=n_jobs)
    task = delayed(under_kernels(function))
    return parallel(task(*call) for call in calls)

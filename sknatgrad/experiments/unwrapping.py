"""What stands inside of composite estimators."""

import numpy as np


def final_estimator(fitted):
    """The innermost fitted estimator, which does the learning.

    Parameters
    ----------
    fitted : estimator
        Unwrapped while it is a pipeline, a search with a best estimator, or a
        `TransformedTargetRegressor`.

    Returns
    -------
    estimator

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> final_estimator(make_pipeline(StandardScaler(), Ridge()))
    Ridge()
    """
    while True:
        if hasattr(fitted, "steps"):
            fitted = fitted.steps[-1][1]
        elif hasattr(fitted, "best_estimator_"):
            fitted = fitted.best_estimator_
        elif hasattr(fitted, "regressor_"):
            fitted = fitted.regressor_
        else:
            return fitted


def even_times(seconds, n_passes):
    """Times of passes that are taken to last equally long.

    Parameters
    ----------
    seconds : float
        Of all passes together.
    n_passes : int

    Returns
    -------
    ndarray of shape (n_passes,)
        Seconds from the start to the end of each pass.
    """
    return seconds * np.arange(1, n_passes + 1) / max(1, n_passes)

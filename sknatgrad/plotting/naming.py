"""Which estimator does the learning, and what it is called in figures and tables."""


def method_name(estimator):
    """Name of the metric it trains in, or of its class where there is none.

    Parameters
    ----------
    estimator : estimator
        "auto" is named by what it came to if it is fitted.

    Returns
    -------
    str

    Examples
    --------
    >>> from sknatgrad import RiemannianMLPClassifier
    >>> method_name(RiemannianMLPClassifier(metric="kron_bp"))
    'kron_bp'
    """
    metric = getattr(estimator, "metric", None)
    if metric == "auto" and hasattr(estimator, "metric_"):
        return estimator.metric_.name
    return metric if isinstance(metric, str) else type(estimator).__name__


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

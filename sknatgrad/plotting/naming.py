"""What estimators are called in figures and tables."""

from ..metrics import METRICS


def method_name(estimator):
    """Name of the metric it trains in, or of its class where there is none.

    Parameters
    ----------
    estimator : estimator
        "auto" is told by what it came to if it is fitted.

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
        kinds = type(estimator.metric_.modulus), type(estimator.metric_.reduction)
        return next((name for name, parts in METRICS.items() if parts == kinds), metric)
    return metric if isinstance(metric, str) else type(estimator).__name__

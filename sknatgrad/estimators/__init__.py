"""scikit-learn estimators over invariantly trained networks."""

from .classifier import RiemannianMLPClassifier

__all__ = ["RiemannianMLPClassifier"]

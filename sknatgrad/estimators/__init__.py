"""scikit-learn estimators over invariantly trained networks."""

from .autoencoder import RiemannianAutoEncoder
from .classifier import RiemannianMLPClassifier
from .regressor import RiemannianMLPRegressor

__all__ = ["RiemannianAutoEncoder", "RiemannianMLPClassifier", "RiemannianMLPRegressor"]

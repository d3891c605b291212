"""Displays in scikit-learn's style; they need matplotlib."""

from .comparison import MetricComparisonDisplay
from .curves import TrainingCurveDisplay

__all__ = ["MetricComparisonDisplay", "TrainingCurveDisplay"]

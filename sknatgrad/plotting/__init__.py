"""Displays in scikit-learn's style; they need matplotlib."""

from .curves import TrainingCurveDisplay

__all__ = ["TrainingCurveDisplay"]

"""What an objective says of itself at given parameters."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Evaluation:
    """The objective at one parameter vector.

    Attributes
    ----------
    parameters : ndarray
        theta, then the output's own parameters.
    loss : float
        Penalised mean loss; NaN or infinite where it overflows.
    data_loss : float
        Mean loss without penalty, nats.
    points : list of LossPoint or None
        Forward passes of the chunks, where memory allows to keep them: an accepted
        trial is the next step's start.
    """

    parameters: np.ndarray
    loss: float
    data_loss: float
    points: list | None

    @classmethod
    def without_loss(cls, parameters):
        """What a gradient there needs, in one pass: the loss, not asked for, is NaN."""
        return cls(parameters, np.nan, np.nan, None)


@dataclass(frozen=True)
class Differential:
    """Gradient and statistics of some rows, as terms of the means over all.

    Attributes
    ----------
    gradient : ndarray
    share : float
        What the statistics are to be weighted with.
    statistics : pair or None
    metric : Metric or None
    """

    gradient: np.ndarray
    share: float
    statistics: tuple | None
    metric: object

    def plus(self, other):
        """The sum."""
        parts = [(t.share, t.statistics) for t in (self, other) if t.statistics is not None]
        statistics = self.metric.combine(parts) if parts else None
        return Differential(self.gradient + other.gradient, 1.0, statistics, self.metric)

    def condensed(self):
        """The same, in a form whose size does not grow with the rows."""
        statistics = self.means()
        if statistics is not None:
            statistics = self.metric.condensed(statistics)
        return Differential(self.gradient, 1.0, statistics, self.metric)

    def means(self):
        """The statistics, weighted; None without a metric."""
        if self.statistics is None or self.share == 1.0:
            return self.statistics
        return self.metric.combine([(self.share, self.statistics)])

"""What tells whether a fit with another penalty is better."""

from dataclasses import dataclass

import numpy as np

from ..numerics.overflow import quiet
from ..numerics.single_thread import single_thread
from .assembly import held_out_objective
from .comparison import compared_by, expects, penalised_objective
from .data.dataset import Data
from .penalty.curvature import Curvature
from .penalty.evidence import LEAST_FREE
from .penalty.surprise import surprise
from .state import Task

# Of the loss, what a better fit has at most; and standard errors of the difference that it makes
# on held-out rows, at least.
BETTER, SIGNIFICANT = 0.95, 2.0


def judge_of(task, validation=None):
    """The judge of fits on the rows of a task: held-out rows, where there are some.

    Has ``value(state)``, what it judges by, ``prefers(value, best)``, and ``verdict(value,
    best)``, a line for the user; ``compares_strengths`` is False if it can only tell fits with the
    same strength apart, else ``is_noise(state, value)`` says whether a constant is known to be
    better.
    """
    if validation is not None:
        return ByHeldOut(task, validation[0])
    return ByExpectation(task) if expects(task.model, task.data) else ByEvidence(task)


@dataclass(frozen=True)
class ByExpectation:
    """By the loss that is expected on new rows; see `compared_by`."""

    task: Task

    compares_strengths = True

    def value(self, state):
        return compared_by(self.task, state)

    def prefers(self, value, best):
        return value < BETTER * best

    @single_thread()
    @quiet()
    def is_noise(self, state, value):
        objective = penalised_objective(self.task, state)
        constant = objective.evaluate(np.zeros_like(state.path.average)).data_loss
        return not BETTER * value <= constant

    def verdict(self, value, best):
        return f"expected loss {value:.4g}, the best had {best:.4g}"


@dataclass(frozen=True)
class ByHeldOut:
    """By the losses of single held-out rows, at the pass with the best score.

    The best of many passes looks the better, the fewer rows there are: so a gain must be more
    than chance.
    """

    task: Task
    rows: Data

    compares_strengths = True

    @single_thread()
    @quiet()
    def value(self, state):
        objective = held_out_objective(self.task, state, self.rows)
        output, v, target = objective.predictions(state.path.average)
        return output.loss(output.prepared(v), target)

    def prefers(self, value, best):
        if not np.isfinite([value, best]).all():
            return bool(np.isfinite(value).all())
        gain, share = best - value, self._share
        mean = share @ gain
        error = np.sqrt(share**2 @ np.square(gain - mean))
        enough = (1 - BETTER) * np.abs(share @ best)
        return bool(mean > max(enough, SIGNIFICANT * error))

    def is_noise(self, state, value):
        return False

    @quiet()
    def verdict(self, value, best):
        ratio = (self._share @ value) / (self._share @ best)
        return f"held-out loss {ratio:.4g} times that of the best"

    @property
    def _share(self):
        weight = np.ones(self.rows.X.shape[0]) if self.rows.weight is None else self.rows.weight
        return weight / weight.sum()


@dataclass(frozen=True)
class ByEvidence:
    """By the evidence of the data; see `surprise`.

    It tells fits with the same strength apart, not strengths: fits that have collapsed, of which
    the data determine next to nothing, have more of it than those that are about to find a signal.
    So these are not preferred.
    """

    task: Task

    compares_strengths = False

    @single_thread()
    @quiet()
    def value(self, state):
        objective = penalised_objective(self.task, state)
        evaluation = objective.evaluate(state.path.average)
        curvature = Curvature(objective, evaluation)
        if not curvature.free(objective.penalty.strength.alpha) >= LEAST_FREE:
            return np.inf
        return surprise(objective, evaluation, curvature)

    def prefers(self, value, best):
        return value < best

    def verdict(self, value, best):
        return f"minus log-evidence {value:.4g}, the best had {best:.4g}"

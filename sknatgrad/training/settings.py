"""How to train: the estimators' parameters, and what their "auto" means."""

import math
from dataclasses import dataclass, field, replace

from ..metrics import Metric
from ..numerics.contracts import misregistered
from .steps.rules import STEP_RULES, fits_step_rules
from .steps.rules.capped_change import MINI_BATCH

# Up to so many rows, momentum on all of them gets further in the same time, and noise is told from
# signal better; more are worth it where there is one output, and not several hidden levels.
LARGEST_FULL_BATCH, LARGEST_OF_ONE_OUTPUT = 1000, 2000
# Beyond, mini-batches of a tenth of the rows, but not more than about `MINI_BATCH`.
STEPS_A_PASS = 10
SHORTEST_WINDOW = 1000.0
LARGE_BATCH = 100
# On large batches the metric is brought up to date every so many steps; one that must be factored
# every (largest fan-in / FAN_IN_A_STEP) steps, if these are more: it costs less than gradients.
METRIC_EVERY, FAN_IN_A_STEP = 4, 40
# Batches that the metric is averaged over, and rows for each source of a unit, at least.
BATCHES_AVERAGED, ROWS_A_SOURCE = 20.0, 4.0
# Of the rows that the metric is averaged over, the share that may be mixed in at once.
TOGETHER_SHARE = 0.02


def noise_share(fan_in, batch_size):
    """How noisy the gradients of large batches are, 0 to 1; `fan_in` that of hidden units.

    Nothing as long as a batch has two rows for each source of a hidden unit, all where it
    has one. Small batches are left alone: they are for streams, whose steps are shorter.
    """
    if batch_size < LARGE_BATCH:
        return 0.0
    return min(1.0, max(0.0, 2 * fan_in.max(initial=0) / batch_size - 1))


def largest_full_batch(topology):
    """Rows up to which each step is on all of them."""
    simple = topology.n_outputs == 1 and topology.n_hidden_levels <= 1
    return LARGEST_OF_ONE_OUTPUT if simple else LARGEST_FULL_BATCH


@dataclass(frozen=True)
class Stopping:
    """When to stop.

    Parameters
    ----------
    max_iter : int
        Largest number of passes.
    tol : float
        A pass that improves the best value by less than this gains nothing.
    n_iter_no_change : int or float
        Stop after so many passes in a row without gain.
    least_loss : float
        What no loss is below: 0, or ``-inf``.
    loss_tol : float
        Like `tol`, of the held-out loss, which tells equal validation scores apart.
    """

    max_iter: int
    tol: float
    n_iter_no_change: float
    least_loss: float = 0.0
    loss_tol: float = 0.0


@dataclass(frozen=True)
class Settings:
    """How to train; names and meanings are those of the estimators' parameters.

    `n_threads` threads work on the chunks of a batch, which changes no results. In a stream
    (`streaming`) more rows will come: there are no whole batches, and a call is one pass.
    """

    metric: Metric
    damping: float
    damping_mode: str
    learning_rate: str
    learning_rate_init: float | str
    batch_size: int | str
    metric_decay: float | str
    n_init_samples: int | str
    shuffle: bool
    alpha: float | str
    stopping: Stopping
    largest_full_batch: int = LARGEST_FULL_BATCH
    n_threads: int = 1
    streaming: bool = False
    # Those that are known here: another process knows of no rule that a user has registered.
    step_rules: dict = field(default_factory=lambda: dict(STEP_RULES), repr=False)

    @property
    def invariant(self):
        """Whether affine changes of the data leave the training as it is."""
        return self.metric.reduction.invariant and self.damping_mode == "relative"

    @property
    def allows_single_precision(self):
        """Whether single precision is enough.

        Where the metric is computed from centred inputs, or has no differences of large
        numbers in it.
        """
        return self.invariant or not self.metric.reduction.invariant

    def adapts_alpha(self, network):
        """Whether the strength of the penalty is to be found.

        Not for networks without hidden units: they stay the generalised linear models
        that they are.
        """
        return self.alpha == "auto" and network.topology.n_units > network.topology.n_outputs

    def rows_a_step(self, n_samples):
        """Rows of a mini-batch, or all of them.

        Unless it is given: all up to `largest_full_batch`, and all for rules that
        compare losses; else the rows are divided evenly among ten steps, or ``n_samples
        // MINI_BATCH`` if these are more. As many for all steps of a pass, but for one
        more or less: the metric and the length of steps are for batches of one size,
        and a few rows left over would lead astray.
        """
        if self.batch_size == "auto":
            _, stochastic = self._rules
            if n_samples <= self.largest_full_batch or stochastic is None:
                return n_samples
            n_steps = max(STEPS_A_PASS, n_samples // MINI_BATCH)
        else:
            n_steps = max(1, math.ceil(n_samples / int(self.batch_size)))
        return math.ceil(n_samples / n_steps)

    def whole_batches(self, n_samples):
        """Whether each step is on all rows."""
        return not self.streaming and self.rows_a_step(n_samples) == n_samples

    def step_rule(self, whole_batch):
        """A fresh step rule.

        Raises
        ------
        ValueError
            If the rule compares losses and there are mini-batches.
        TypeError
            If something else is registered.
        """
        rule, stochastic = self._rules
        if whole_batch:
            return rule(self._first_rate(rule), self.metric.reduction.natural)
        if stochastic is None:
            usable = sorted(name for name, (_, other) in self.step_rules.items() if other)
            advice = "" if self.streaming else "set batch_size to the number of rows or more, or "
            raise ValueError(
                f"learning_rate={self.learning_rate!r} compares losses on the whole data set and "
                f"is not compatible with {'partial_fit' if self.streaming else 'mini-batches'}: "
                f"{advice}use one of {usable}."
            )
        return stochastic(self._first_rate(stochastic))

    @property
    def _rules(self):
        """Those of whole batches and of mini-batches that `learning_rate` names."""
        entry = self.step_rules[self.learning_rate]
        if not fits_step_rules(entry):
            wanted = "a pair of classes, a BatchRule and a MiniBatchRule or None"
            raise misregistered(self.learning_rate, entry, wanted)
        return entry

    def _first_rate(self, rule):
        asked = self.learning_rate_init
        return rule.default_rate if asked == "auto" else float(asked)

    def metric_every(self, batch_size, fan_in):
        """Steps from one update of the metric to the next.

        A batch that is large enough for a metric of its own says much the same as the
        one before it; where the metric must be factored, that is worth its price less
        often still.
        """
        if self.metric.reduction.constant:
            return math.inf
        if self.metric_decay != "auto" or batch_size < LARGE_BATCH:
            return 1
        if not self.metric.reduction.factored:
            return METRIC_EVERY
        return max(METRIC_EVERY, int(fan_in.max()) // FAN_IN_A_STEP)

    def steps_together(self, batch_size, window):
        """Steps whose rows are mixed into the metric at once, averaged over `window` rows."""
        if self.metric_decay != "auto" or self.metric.reduction.constant:
            return 1
        return max(1, int(TOGETHER_SHARE * window / batch_size))

    def of_whole_batches(self, n_samples):
        """The same for data of which no mini-batches can be drawn.

        Raises
        ------
        ValueError
            If mini-batches are asked for.
        """
        if self.batch_size != "auto" and self.batch_size < n_samples:
            raise ValueError(
                f"batch_size={self.batch_size} needs rows at hand, and these lie on workers: use "
                "batch_size='auto', all rows, or call partial_fit on one block after the other."
            )
        return replace(self, batch_size=n_samples)

    def metric_is_averaged(self, n_samples):
        """Whether the metric is an average over steps."""
        return self.metric_decay not in ("auto", 1.0) or self.rows_a_step(n_samples) < n_samples

    def metric_window(self, batch_weight, fan_in, whole_batch):
        """Sample weight over which the metric is averaged."""
        if self.metric_decay == "auto":
            if whole_batch:
                return 0.0
            least = max(ROWS_A_SOURCE * (1 + fan_in.max()), SHORTEST_WINDOW)
            return max(BATCHES_AVERAGED * batch_weight, least)
        return batch_weight / self.metric_decay

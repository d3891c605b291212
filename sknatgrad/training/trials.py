"""Fits anew with other strengths of the penalty, where evidence may have missed the best."""

from dataclasses import replace

import numpy as np
from sklearn.utils import check_random_state

from .judges import judge_of
from .penalty.evidence import EARLIEST, SEARCH
from .penalty.l2 import Strength
from .session import begin, run

# Strengths relative to the best one so far, at most so many in a row. With several hidden levels
# an eighth may be as much too weak for noisy targets as the first one is too strong for others.
# Those that a constant would beat have a long way to go.
WEAKER, WEAKER_OF_DEEP, STRONGER, MUCH_STRONGER, MOST_IN_A_ROW = 1 / 8, 1 / 4, 2.0, 4.0, 4
# Strengths that are tried are powers of two to a quarter of this.
STRENGTHS_AN_OCTAVE = 4
# Passes after which evidence has settled.
SETTLED = EARLIEST + SEARCH + 1


def run_with_trials(task, seed, previous=None, validation=None, observer=None):
    """Train from one start, and again from it with other penalties as long as that pays.

    Evidence speaks of the fit at hand, and counts what units share once for each of them. A
    signal that is learnt late, as a product of features, is noise to it, and held down; what
    many features say together is as many signals. So, where a `judge_of` fits can tell, fits with
    an eighth of the strength (a quarter with several hidden levels) follow as long as they are
    better, and if the first is not, fits with twice the strength.

    Networks with several hidden levels learn noise by heart before there is an estimate, and do
    not forget it. And where rows are held out, the best of the passes before there is a strength
    may be the best by chance. So in both cases, where batches are whole, the first fit is followed
    by one with the strength that was found, held from the first pass on. If several levels have
    learnt but noise, as a constant would be better, fits with ever more strength come then.

    Parameters
    ----------
    task, previous
        As in `session.begin`. What goes on from a fit before is not tried with other penalties.
    seed : int or RandomState
    validation, observer
        As in `session.run`; the observer is told of each trial, ``tried(alpha, verdict)``, not of
        its passes.

    Returns
    -------
    Outcome
        That of the best fit.
    TrainingState
    """
    state = begin(task, check_random_state(seed), previous)
    start = state.fork()
    can_be_tried = previous is None and _can_be_tried(task)
    followed = can_be_tried and validation is not None and _is_whole(task)
    outcome = run(task, state, validation, observer, followed)
    if not (can_be_tried and _has_settled(outcome, state)):
        return outcome, state
    return _Trials(task, start, validation, observer).best(outcome, state)


def _can_be_tried(task):
    """Whether there is a strength to be found, in a training that other units do not change."""
    model, settings, data = task
    adapts = settings.adapts_alpha(model.network)
    return adapts and settings.invariant and not data.whole_batches_only


def _is_whole(task):
    """Whether each step is on all rows."""
    return task.settings.whole_batches(task.data.X.shape[0])


def _has_settled(outcome, state):
    """Whether evidence has settled on a strength."""
    ended = outcome.error is None and not (outcome.interrupted or outcome.asked)
    settled = outcome.n_iter >= SETTLED or not outcome.ran_out
    return ended and settled and state.strength.alpha > 0


class _Trials:
    """Fits from one start; parameters as in `run_with_trials`, the start a `TrainingState`."""

    def __init__(self, task, start, validation, observer):
        self._task, self._start = task, start
        self._validation, self._observer = validation, observer
        self._judge = judge_of(task, validation)

    def best(self, outcome, state):
        """The best fit, as `run_with_trials` returns it; the first one is given.

        An interrupt ends the trials, not the fit.
        """
        self._fit, self._value = (outcome, state), None
        try:
            self._try_all()
        except KeyboardInterrupt:
            outcome, state = self._fit
            return replace(outcome, interrupted=True), state
        except (MemoryError, np.linalg.LinAlgError, FloatingPointError):
            # What has been fitted is not lost with what was only tried.
            pass
        return self._fit

    def _try_all(self):
        deep = self._task.model.network.topology.n_hidden_levels > 1
        held_out = self._validation is not None
        if (deep or held_out) and _is_whole(self._task):
            self._try(self._alpha, anyway=held_out)
        weaker = WEAKER_OF_DEEP if deep else WEAKER
        if self._judge.compares_strengths:
            if deep and self._leaves_noise():
                # A quarter of the best has been tried.
                weaker = 1 / STRONGER
            if not self._improves(weaker):
                self._improves(STRONGER)

    def _leaves_noise(self):
        """Whether ever more strength was tried, as long as the best fit had learnt but noise."""
        alpha, steps = self._alpha, 0
        while steps < MOST_IN_A_ROW and self._judge.is_noise(self._fit[1], self._best_value):
            alpha, steps = MUCH_STRONGER * alpha, steps + 1
            self._try(alpha)
        return steps > 0

    @property
    def _alpha(self):
        return self._fit[1].strength.alpha

    @property
    def _best_value(self):
        """What the best fit so far is judged by; where nothing is tried it is not computed."""
        if self._value is None:
            self._value = self._judge.value(self._fit[1])
        return self._value

    def _improves(self, factor):
        """Whether a fit of so many times the strength is better; if so go on like this."""
        steps = 0
        while steps < MOST_IN_A_ROW and self._try(factor * self._alpha):
            steps += 1
        return steps > 0

    def _try(self, alpha, anyway=False):
        """Whether a fit with that strength is the best so far, or counts as such `anyway`."""
        best = self._best_value
        state = self._start.fork()
        # What differs by rounding errors, since data came in other units, becomes the same: fits
        # that are held by their penalty from the first pass on may let such differences grow.
        alpha = _rounded(alpha)
        state.strength = Strength(alpha, fixed=True)
        state.coordinates = replace(state.coordinates, rounded=True)
        outcome = run(self._task, state, self._validation)
        if outcome.interrupted:
            raise KeyboardInterrupt
        if outcome.error is not None:
            return False
        value = self._judge.value(state)
        if self._observer is not None:
            self._observer.tried(alpha, self._judge.verdict(value, best))
        state.coordinates = self._start.coordinates
        better = self._judge.prefers(value, best) or (anyway and np.isfinite(value).all())
        if better:
            self._fit, self._value = (outcome, state), value
        return better


def _rounded(alpha):
    return float(2 ** (np.round(STRENGTHS_AN_OCTAVE * np.log2(alpha)) / STRENGTHS_AN_OCTAVE))

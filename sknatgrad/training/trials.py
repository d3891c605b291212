"""Other strengths of the penalty, tried out where evidence may have missed the best."""

from dataclasses import replace

import numpy as np
from sklearn.utils import check_random_state

from .comparison import compared_by, expects
from .penalty.evidence import EARLIEST, SEARCH
from .penalty.l2 import Strength
from .session import begin, run

# Strengths relative to the best one so far, at most so many in a row; of the expected loss, what
# a better fit has at most.
WEAKER, STRONGER, MOST_IN_A_ROW, BETTER = 1 / 8, 2.0, 4, 0.95
# Passes after which evidence has settled.
SETTLED = EARLIEST + SEARCH + 1


def run_with_trials(task, seed, previous=None, validation=None, observer=None):
    """Train from one start, and again from it with other penalties as long as that pays.

    Evidence speaks of the fit at hand, and counts what units share once for each of them. A
    signal that is learnt late, as a product of features, is noise to it, and held down; what
    many features say together is as many signals. So, where that can be told (`expects`), fits
    with an eighth of the strength follow as long as the expected loss falls by 5 %, and if the
    first is not better, fits with twice the strength. Where rows are held out, any gain on them
    counts.

    Parameters
    ----------
    task, previous
        As in `session.begin`. What goes on from a fit before is not tried with other penalties.
    seed : int or RandomState
    validation, observer
        As in `session.run`; the observer is told of each trial, ``tried(alpha, value, best)``,
        not of its passes.

    Returns
    -------
    Outcome
        That of the best fit.
    TrainingState
    float or tuple of float or None
        What it was compared by, None if there were no trials.
    """
    state = begin(task, check_random_state(seed), previous)
    start = state.fork()
    outcome = run(task, state, validation, observer)
    if previous is not None or not _worth_trying(task, outcome, state):
        return outcome, state, None
    return _Trials(task, start, validation, observer).best(outcome, state)


def _worth_trying(task, outcome, state):
    """Whether evidence has settled on a strength, and what to expect can be told."""
    model, settings, data = task
    ended = outcome.error is None and not (outcome.interrupted or outcome.asked)
    return (
        ended
        and (outcome.n_iter >= SETTLED or not outcome.ran_out)
        and settings.adapts_alpha(model.network)
        and state.strength.alpha > 0
        and settings.invariant
        and expects(model, data)
    )


class _Trials:
    """Fits from one start; parameters as in `run_with_trials`, the start a `TrainingState`."""

    def __init__(self, task, start, validation, observer):
        self._task, self._start = task, start
        self._validation, self._observer = validation, observer

    def best(self, outcome, state):
        """The best fit, as `run_with_trials` returns it; the first one is given.

        An interrupt ends the trials, not the fit.
        """
        self._fit, self._value = (outcome, state), None
        try:
            self._value = compared_by(self._task, state)
            if not self._improves(WEAKER):
                self._improves(STRONGER)
        except KeyboardInterrupt:
            outcome, state = self._fit
            return replace(outcome, interrupted=True), state, self._value
        except (MemoryError, np.linalg.LinAlgError, FloatingPointError):
            # What has been fitted is not lost with what was only tried.
            pass
        return *self._fit, self._value

    def _improves(self, factor):
        """Whether a fit of so many times the strength is better; if so go on like this."""
        steps = 0
        while steps < MOST_IN_A_ROW and self._try(factor * self._fit[1].strength.alpha):
            steps += 1
        return steps > 0

    def _try(self, alpha):
        """Whether a fit with that strength is the best so far."""
        state = self._start.fork()
        state.history.resume()
        state.strength = Strength(alpha, fixed=True)
        outcome = run(self._task, state, self._validation)
        if outcome.interrupted:
            raise KeyboardInterrupt
        if outcome.error is not None:
            return False
        value, best = compared_by(self._task, state), self._value
        if self._observer is not None:
            self._observer.tried(alpha, value, best)
        if value < (best if isinstance(best, tuple) else BETTER * best):
            self._fit, self._value = (outcome, state), value
            return True
        return False

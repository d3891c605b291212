"""Passes over the data until nothing is gained, time is up or the user stops."""

from dataclasses import dataclass, replace

import numpy as np

from ..numerics.overflow import quiet


class NotFiniteError(ValueError):
    """The loss or a parameter has stopped being finite."""


@dataclass(frozen=True)
class Outcome:
    """How a training ended.

    Attributes
    ----------
    n_iter : int
        Completed passes.
    loss : float
        Training loss of the last of them, as in the history.
    interrupted : bool
        Whether the user stopped it.
    asked : bool
        Whether the observer did.
    ran_out : bool
        Whether `max_iter` passes were not enough.
    error : NotFiniteError or None
        What ended it, if it overflowed.
    """

    n_iter: int
    loss: float
    interrupted: bool = False
    asked: bool = False
    ran_out: bool = False
    error: NotFiniteError | None = None


@dataclass(frozen=True)
class Reached:
    """Where training is after its last whole pass.

    Attributes
    ----------
    n_iter : int
    path : Path
    strength : Strength or None
        Of the penalty, where evidence chooses it.
    n_rejected : int
        Steps that were not taken.
    """

    n_iter: int
    path: object
    strength: object
    n_rejected: int


class Trainer:
    """Runs passes, keeps the history and the parameters of the last whole pass.

    Parameters
    ----------
    passes : BatchPass or MiniBatchPass
    history : History
    stopping : Stopping
    validate : callable, optional
        Takes parameters, returns (score, loss) on held-out data; minus the loss stands for a score
        of None. What counts is then the best score, and of equal scores the lowest loss: its
        parameters are kept.
    observer : object, optional
        Told of each pass: ``begin()`` before it, ``end(loss, score or None, reached)``
        after it; a true value stops the training.
    evidence : Evidence, optional
        Chooses the strength of the penalty now and then.
    unit : float
        What a unit of losses is worth in the history. They are compared as they are: in units of
        the data they may overflow.
    followed : bool
        Whether a fit with the penalty that is found comes next: patience does not count before
        there is one.

    Attributes
    ----------
    reached : Reached
        After the last completed pass; the path of the best one if there is a validation.
    best : float
        Lowest penalised loss (with its sign changed), or highest validation score.
    """

    def __init__(
        self,
        passes,
        history,
        stopping,
        validate=None,
        observer=None,
        evidence=None,
        unit=1.0,
        followed=False,
    ):
        self.passes, self.history, self.stopping, self._unit = passes, history, stopping, unit
        self.validate, self.observer, self.evidence = validate, observer, evidence
        self._followed = followed
        self._before = len(history.losses)
        self._reached = self._now(0)
        self.best, self._best_loss, self._without_gain = -np.inf, np.inf, 0
        self._best_path = None

    def run(self):
        """Train; returns an `Outcome`. An interrupt or an overflow leaves the pass before."""
        try:
            ending = self._run()
        except KeyboardInterrupt:
            ending = {"interrupted": True}
        except NotFiniteError as error:
            ending = {"error": error}
        finally:
            # What is left of a pass that does not count.
            self.history.truncate(self._before + self.n_iter)
        return Outcome(self.n_iter, float(self._loss()), **ending)

    @property
    def n_iter(self):
        """Completed passes."""
        return self._reached.n_iter

    @property
    def reached(self):
        """Where they have come; its path is the best one, once there is a validation."""
        best = self._best_path
        return self._reached if best is None else replace(self._reached, path=best)

    def _now(self, n_iter):
        strength = None
        if self.evidence is not None:
            strength = self.passes.objective.penalty.strength
            strength = replace(strength, n_passes=self.evidence.n_passes)
        return Reached(n_iter, self.passes.path, strength, self.passes.n_rejected)

    @property
    def parameters(self):
        """Those of the path that was reached."""
        return self.reached.path.average

    def _loss(self):
        """Training loss of the last pass, as in the history; without one, of the start."""
        if self.n_iter:
            return self.history.losses[-1]
        return self.passes.objective.evaluate(self.parameters).data_loss * self._unit

    def _run(self):
        """Repeat passes; what `Outcome` is to say of the end."""
        for _ in range(self.stopping.max_iter):
            if self.observer is not None:
                self.observer.begin()
            loss, data_loss, held_out = self._pass()
            self._record(data_loss, held_out)
            asked = self._report()
            spent = held_out is None and data_loss < self.stopping.least_loss + self.stopping.tol
            stalled = self._stalled(loss, held_out) and not (self._followed and self._searching)
            if asked or stalled or (spent and not self._searching):
                return {"asked": asked}
        return {"ran_out": self.stopping.max_iter > 0}

    @quiet()
    def _pass(self):
        """Losses of one pass, and a pair of score and loss on held-out data (None without)."""
        if self.evidence is not None and self.evidence.due:
            self._adapt()
        loss, data_loss = self.passes.run()
        parameters = self.passes.parameters
        if not (np.isfinite(loss) and np.isfinite(parameters).all()):
            raise NotFiniteError(
                "Solver produced non-finite parameter weights. The input data may contain "
                "large values and need to be preprocessed, or the learning rate is too large."
            )
        return loss, data_loss, None if self.validate is None else self.validate(parameters)

    @property
    def _searching(self):
        """Whether the penalty is still being looked for."""
        return self.evidence is not None and self.evidence.searching

    def _adapt(self):
        """Change the penalty; losses so far are compared as if it had always been so."""
        objective, evaluation = self.passes.sampled()
        strength = self.evidence.strength(objective, evaluation)
        change = self.passes.penalise(objective.penalty.of(strength))
        if self.validate is None:
            self.best -= change

    def _record(self, loss, held_out):
        # A pass counts as a whole, by the last line, or not at all: an interrupt may come anywhere.
        score = held_out_loss = None
        if held_out is not None:
            score, held_out_loss = held_out
            held_out_loss = held_out_loss * self._unit
            score = -held_out_loss if score is None else score
        self.history.record(loss * self._unit, self.passes.rule.rate, score, held_out_loss)
        if self.evidence is not None:
            self.evidence.end_pass()
        self._reached = self._now(self.n_iter + 1)

    def _report(self):
        """Tell the observer of the last pass; whether it asks to stop."""
        if self.observer is None:
            return False
        history = self.history
        score = history.validation_scores[-1] if history.held_out else None
        return bool(self.observer.end(history.losses[-1], score, self._reached))

    def _stalled(self, loss, held_out):
        """Whether too many passes in a row have gained nothing.

        Where scores are equal the held-out loss tells: accuracy may stay the same for long while
        probabilities are learnt, of rare classes above all.
        """
        value, tie = -loss, np.inf
        if held_out is not None:
            score, tie = held_out
            value = -tie if score is None else score
        gained = value > self.best + self.stopping.tol or not np.isfinite(self.best)
        if value >= self.best:
            gained |= tie < self._best_loss - self.stopping.loss_tol
        self._without_gain = 0 if gained else self._without_gain + 1
        if value > self.best or (value == self.best and tie < self._best_loss):
            self.best, self._best_loss = value, tie
            if self.validate is not None:
                self._best_path = self._reached.path
        return self._without_gain >= self.stopping.n_iter_no_change

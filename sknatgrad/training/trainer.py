"""Passes over the data until nothing is gained, time is up or the user stops."""

from dataclasses import dataclass

import numpy as np

from ..numerics.overflow import quiet


@dataclass(frozen=True)
class Stopping:
    """When to stop.

    Parameters
    ----------
    max_iter : int
        Largest number of passes.
    tol : float
        A pass that improves the best value by less than this gains nothing.
    loss_tol : float
        The same of the held-out loss, which tells equal validation scores apart.
    n_iter_no_change : int or float
        Stop after so many passes in a row without gain.
    least_loss : float
        What no loss is below: 0, or ``-inf``.
    """

    max_iter: int
    tol: float
    n_iter_no_change: float
    least_loss: float = 0.0
    loss_tol: float = 0.0


@dataclass(frozen=True)
class _Reached:
    """Where training is after its last whole pass."""

    n_iter: int
    path: object
    strength: object
    n_rejected: int


class NotFiniteError(ValueError):
    """The loss or a parameter has stopped being finite."""


class Trainer:
    """Runs passes, keeps the history and the parameters of the last whole pass.

    Parameters
    ----------
    passes : BatchPass or MiniBatchPass
    history : History
    stopping : Stopping
    validate : callable, optional
        Takes parameters, returns (score, loss) on held-out data. What counts is then
        the best score, and of equal scores the lowest loss: its parameters are kept.
    observer : object, optional
        Told of each pass: ``begin()`` before it, ``end(number, loss, score or None,
        path)`` after it; a true value stops the training.
    evidence : Evidence, optional
        Chooses the strength of the penalty now and then.
    unit : float
        What a unit of the loss of passes is worth in the history.

    Attributes
    ----------
    path : Path
        After the last completed pass; the best one if there is a validation.
    interrupted : bool
        Whether the user stopped the training.
    ran_out : bool
        Whether `max_iter` passes were not enough.
    asked : bool
        Whether the observer stopped it.
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
    ):
        self.passes, self.history, self.stopping, self._unit = passes, history, stopping, unit
        self.validate, self.observer, self.evidence = validate, observer, evidence
        self._before = len(history.losses)
        self._reached = self._now(0)
        self.best, self._best_loss, self._without_gain = -np.inf, np.inf, 0
        self._best_path = None
        self.interrupted = self.ran_out = self.asked = False

    def run(self):
        """Train.

        Raises
        ------
        NotFiniteError
            If the loss or a parameter stops being finite; `path` is that of the pass
            before.
        """
        try:
            self._run()
        except KeyboardInterrupt:
            self.interrupted = True
            self._drop_unfinished()
        except NotFiniteError:
            self._drop_unfinished()
            raise

    @property
    def n_iter(self):
        """Completed passes."""
        return self._reached.n_iter

    @property
    def n_rejected(self):
        """Steps in them that were not taken."""
        return self._reached.n_rejected

    @property
    def strength(self):
        """Of the penalty in the last of them, where evidence chooses it; else None."""
        return self._reached.strength

    @property
    def path(self):
        """After the last of them; the best one, once there is a validation."""
        return self._reached.path if self._best_path is None else self._best_path

    @property
    def final_loss(self):
        """Training loss of the last pass, as in the history; NaN without one."""
        return self.history.losses[-1] if self.n_iter else np.nan

    def _now(self, n_iter):
        strength = None if self.evidence is None else self.passes.objective.penalty.strength
        return _Reached(n_iter, self.passes.path, strength, self.passes.n_rejected)

    def _drop_unfinished(self):
        self.history.keep(self._before + self.n_iter)

    @property
    def parameters(self):
        """Those of the path."""
        return self.path.average

    def _run(self):
        for _ in range(self.stopping.max_iter):
            if self.observer is not None:
                self.observer.begin()
            loss, data_loss, score, held_out_loss = self._pass()
            self._record(data_loss, score, held_out_loss)
            if self.observer is not None:
                report = self.n_iter, self.final_loss, score, self._reached.path
                self.asked = bool(self.observer.end(*report))
            spent = score is None and data_loss < self.stopping.least_loss + self.stopping.tol
            value, tie = (-loss, np.inf) if score is None else (score, held_out_loss)
            stalled = self._stalled(value, tie)
            if self.asked or stalled or (spent and not self._searching):
                return
        self.ran_out = self.stopping.max_iter > 0

    @quiet()
    def _pass(self):
        """Losses of one pass, and score and loss on held-out data (None without)."""
        if self.evidence is not None and self.evidence.due:
            self._adapt()
        loss, data_loss = self.passes.run()
        parameters = self.passes.parameters
        if not (np.isfinite(loss) and np.isfinite(parameters).all()):
            raise NotFiniteError(
                "Solver produced non-finite parameter weights. The input data may contain "
                "large values and need to be preprocessed, or the learning rate is too large."
            )
        return (
            loss,
            data_loss,
            *((None, None) if self.validate is None else self.validate(parameters)),
        )

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

    def _record(self, loss, score, held_out_loss):
        # A pass counts as a whole, by the last line, or not at all: an interrupt may come anywhere.
        self.history.record(loss * self._unit, self.passes.rule.rate, score, held_out_loss)
        if self.evidence is not None:
            self.evidence.end_pass()
        self._reached = self._now(self.n_iter + 1)

    def _stalled(self, value, loss):
        """Whether too many passes in a row have gained nothing.

        Where scores are equal the loss tells: accuracy may stay the same for long while
        probabilities are learnt, of rare classes above all.
        """
        gained = value > self.best + self.stopping.tol or not np.isfinite(self.best)
        if value >= self.best:
            gained |= loss < self._best_loss - self.stopping.loss_tol
        self._without_gain = 0 if gained else self._without_gain + 1
        if value > self.best or (value == self.best and loss < self._best_loss):
            self.best, self._best_loss = value, loss
            if self.validate is not None:
                self._best_path = self._reached.path
        return self._without_gain >= self.stopping.n_iter_no_change

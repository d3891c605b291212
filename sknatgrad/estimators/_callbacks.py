"""scikit-learn's callbacks (1.9 and later), and what stands in for them before.

The one module that knows of `sklearn.callback`, which is experimental there.
"""

import sys

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:

    class CallbackSupportMixin:
        """Older scikit-learn: no callbacks."""

        def _init_callback_context(self, **kwargs):
            return None

    def with_callbacks(fit):
        """Older scikit-learn: the method as it is."""
        return fit


# The warning that a fit was interrupted, in the words of scikit-learn's networks.
INTERRUPTED = "Training interrupted by user."


def caller_level():
    """The `stacklevel` with which a function warns of the line that called the library."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and _is_between(frame.f_globals.get("__name__", "")):
        frame, level = frame.f_back, level + 1
    return level


def _is_between(module):
    """Whether it is one of ours, or wraps our methods."""
    return module.partition(".")[0] == __package__.partition(".")[0] or module.startswith(
        "sklearn.callback"
    )


class PassObserver:
    """Told of every pass: prints if asked to, and runs the callbacks.

    Callbacks see a task for the fit, and one below it for each pass; where there are
    several starts, one for each of them in between.

    Parameters
    ----------
    verbose : bool or int
    context : CallbackContext, optional
        One child of it is made a pass.
    start : int, optional
        The number of the one start among several that the context is of.
    **data
        What callbacks are given: estimator, X, y, metadata.
    """

    def __init__(self, verbose=False, context=None, start=None, **data):
        self.verbose, self._context, self._data = verbose, context, data
        self._start, self._pass, self._fitted = start, None, None

    def of_starts(self, n_starts, fitted):
        """One observer a start, made before any is sent to another process.

        ``fitted(outcome, state)`` are the attributes of an estimator that has ended so.
        """
        several = n_starts > 1
        starts = [self._of_start(number) for number in range(n_starts)] if several else [self]
        for start in starts:
            start._fitted = fitted
        return starts

    def _of_start(self, number):
        context = self._context
        if context is not None:
            n_passes = self._data["estimator"].max_iter
            context = context.subcontext(task_name="start", task_id=number, max_subtasks=n_passes)
        return PassObserver(self.verbose, context, number, **self._data)

    @property
    def _prefix(self):
        """What lines about one start among several begin with."""
        return "" if self._start is None else f"Start {self._start + 1}. "

    def begin_start(self):
        """Before one start among several."""
        if self._context is not None:
            self._context.call_on_fit_task_begin(**self._data)

    def end_start(self, ended):
        """After one start among several; `ended` makes its outcome and state."""
        if self._context is not None:
            self._end(self._context, ended)

    def begin(self):
        """Before a pass."""
        if self._context is not None:
            self._pass = self._context.subcontext(task_name="pass")
            self._pass.call_on_fit_task_begin(**self._data)

    def end(self, number, loss, score, ended):
        """After a pass; `ended` makes outcome and state if it is the last. True asks to stop."""
        if self.verbose:
            print(f"{self._prefix}Iteration {number}, loss = {loss:.8f}")
            if score is not None:
                print(f"{self._prefix}Validation score: {score:f}")
        return self._pass is not None and self._end(self._pass, ended)

    def _end(self, context, ended):
        return context.call_on_fit_task_end(
            **self._data, reconstruction_attributes=lambda: self._fitted(*ended())
        )

    def tried(self, alpha, verdict):
        """After a fit with another penalty, and what is thought of it."""
        if self.verbose:
            print(f"{self._prefix}Penalty {alpha:.3g} tried: {verdict}")

    def finish(self):
        """After the fit, when the estimator is ready."""
        if self._context is not None:
            self._context.call_on_fit_task_end(**self._data, reconstruction_attributes={})


def begin_fit(estimator, X, y, sample_weight):
    """The observer of a fit that begins."""
    single = estimator.n_init == 1
    context = estimator._init_callback_context(
        max_subtasks=estimator.max_iter if single else estimator.n_init, sequential_subtasks=single
    )
    if context is None or not hasattr(estimator, "_skl_callbacks"):
        return PassObserver(estimator.verbose)
    metadata = {} if sample_weight is None else {"sample_weight": sample_weight}
    data = {"estimator": estimator, "X": X, "y": y, "metadata": metadata}
    context.call_on_fit_task_begin(**data)
    return PassObserver(estimator.verbose, context, **data)

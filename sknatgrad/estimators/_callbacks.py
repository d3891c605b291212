"""scikit-learn's callbacks (1.9 and later), and what stands in for them before.

The one module that knows of `sklearn.callback`, which is experimental there.
"""

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


class PassObserver:
    """Told of every pass: prints if asked to, and runs the callbacks.

    Parameters
    ----------
    verbose : bool or int
    context : CallbackContext, optional
        The fit's own; one child of it is made a pass.
    **data
        What callbacks are given: estimator, X, y, metadata.
    """

    def __init__(self, verbose=False, context=None, **data):
        self.verbose, self._context, self._data = verbose, context, data
        self._pass = None

    def begin(self):
        """Before a pass."""
        if self._context is not None:
            self._pass = self._context.subcontext(task_name="pass")
            self._pass.call_on_fit_task_begin(**self._data)

    def end(self, number, loss, score, parameters):
        """After a pass; `parameters` computes them. True asks to stop."""
        if self.verbose:
            print(f"Iteration {number}, loss = {loss:.8f}")
            if score is not None:
                print(f"Validation score: {score:f}")
        if self._pass is None:
            return False
        return self._pass.call_on_fit_task_end(
            **self._data, reconstruction_attributes=lambda: {"_parameters": parameters()}
        )

    def finish(self):
        """After the fit, when the estimator is ready."""
        if self._context is not None:
            self._context.call_on_fit_task_end(**self._data, reconstruction_attributes={})


def begin_fit(estimator, X, y, sample_weight):
    """The observer of a fit that begins."""
    context = estimator._init_callback_context(max_subtasks=estimator.max_iter)
    if context is None or not hasattr(estimator, "_skl_callbacks"):
        return PassObserver(estimator.verbose)
    metadata = {} if sample_weight is None else {"sample_weight": sample_weight}
    data = {"estimator": estimator, "X": X, "y": y, "metadata": metadata}
    context.call_on_fit_task_begin(**data)
    return PassObserver(estimator.verbose, context, **data)

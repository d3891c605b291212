"""Training loss, pass by pass, of one or more estimators."""

from collections.abc import Mapping

import numpy as np

from .axes import (
    axes_or_new,
    check_against,
    label_training,
    line_options,
    line_styles,
    new_figure,
)
from .naming import final_estimator, method_name


class TrainingCurveDisplay:
    """Training curves on a logarithmic scale.

    Use `from_estimators` to make one from fitted estimators.

    Parameters
    ----------
    losses : list of array-like of shape (n_passes,)
        Training loss of each method, one entry a pass.
    names : list of str
        Names of the methods, for the legend.
    times : list of (array-like of shape (n_passes,) or None), optional
        Seconds from the start of training to the end of each pass; None where they
        are not known.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Set by `plot`, like the others.
    figure_ : matplotlib Figure
    lines_ : list of matplotlib Line2D
        One a method, in the order of `names`.

    Raises
    ------
    ValueError
        If losses, names and times do not belong together.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sknatgrad import RiemannianMLPClassifier
    >>> from sknatgrad.plotting import TrainingCurveDisplay
    >>> X, y = load_wine(return_X_y=True)
    >>> clf = RiemannianMLPClassifier((10,), metric="kron_bp", random_state=0).fit(X, y)
    >>> display = TrainingCurveDisplay.from_estimators([clf], against="seconds")
    >>> display.names
    ['kron_bp']
    """

    def __init__(self, *, losses, names, times=None):
        times = [None] * len(losses) if times is None else times
        if not len(losses) == len(names) == len(times):
            raise ValueError(
                f"There are {len(losses)} loss curves, {len(names)} names and {len(times)} time "
                "curves: give one of each a method."
            )
        for name, loss, time in zip(names, losses, times, strict=True):
            if time is not None and len(time) != len(loss):
                raise ValueError(f"{name}: {len(loss)} losses, but {len(time)} times.")
        self.losses, self.names, self.times = losses, names, times

    @classmethod
    def from_estimators(cls, estimators, names=None, *, ax=None, against="passes", **kwargs):
        """Draw the curves of fitted estimators.

        Parameters
        ----------
        estimators : list of estimators, or dict of them by name
            With a `loss_curve_`, and a `time_curve_` for plots against seconds. Of
            pipelines and searches the estimator that learns. scikit-learn's own have no
            time curve.
        names : list of str, optional
            The keys of a dict, else the metrics' names, or the classes' where there is none.
        ax, against, **kwargs
            As in `plot`.

        Returns
        -------
        display : TrainingCurveDisplay

        Raises
        ------
        ImportError, ValueError
            As in `plot`; also if an estimator has no loss curve.
        """
        if isinstance(estimators, Mapping):
            names = list(estimators) if names is None else names
            estimators = list(estimators.values())
        if hasattr(estimators, "fit"):
            raise ValueError("estimators must be a list of fitted estimators, or a dict of them.")
        finals = [final_estimator(estimator) for estimator in estimators]
        for est in finals:
            if not hasattr(est, "loss_curve_"):
                raise ValueError(
                    f"{type(est).__name__} has no loss_curve_: fit it first, with a solver that "
                    "keeps one."
                )
        display = cls(
            losses=[est.loss_curve_ for est in finals],
            names=[method_name(est) for est in finals] if names is None else list(names),
            times=[getattr(est, "time_curve_", None) for est in finals],
        )
        return display.plot(ax, against=against, **kwargs)

    def plot(self, ax=None, *, against="passes", **kwargs):
        """Draw the curves.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        against : {"passes", "seconds"}, default="passes"
            What the horizontal axis shows.
        **kwargs : dict
            Passed on to matplotlib's ``plot``, for all lines.

        Returns
        -------
        display : TrainingCurveDisplay
            This object.

        Raises
        ------
        ImportError
            If matplotlib is missing and `ax` is not given.
        ValueError
            If `against` is unknown, or seconds are asked for and not known.
        """
        abscissae = self._abscissae(against)
        ax = axes_or_new(ax)
        self.ax_, self.figure_, self.lines_ = ax, ax.figure, []
        for name, x, loss, style in zip(
            self.names, abscissae, self.losses, line_styles(), strict=False
        ):
            style = {**style, "markevery": [len(loss) - 1] if len(loss) else [], "label": name}
            self.lines_ += ax.plot(x, loss, **line_options(style, kwargs))
        label_training(ax, against)
        return self

    def _abscissae(self, against):
        check_against(against)
        if against == "passes":
            return [np.arange(1, len(loss) + 1) for loss in self.losses]
        missing = [name for name, t in zip(self.names, self.times, strict=True) if t is None]
        if missing:
            raise ValueError(f"against='seconds' needs the times of {', '.join(missing)}.")
        return self.times


def two_panels(display, title="", target=None, ylabel="training log-loss (nats)"):
    """A figure of its own: the loss against passes and against seconds.

    Parameters
    ----------
    display : TrainingCurveDisplay
        With times.
    title : str, default=""
    target : float, optional
        A loss to mark by a thin line.
    ylabel : str, default="training log-loss (nats)"

    Returns
    -------
    matplotlib Figure
        Not known to pyplot, so that nothing is shown and no window system is needed.

    Raises
    ------
    ImportError
        If matplotlib is missing.
    """
    figure, ((left, right),) = new_figure(10, 4.6, 1, 2, sharey=True)
    figure.suptitle(title)
    for ax, against in ((left, "passes"), (right, "seconds")):
        display.plot(ax, against=against)
        ax.get_legend().remove()
        if target is not None:
            ax.axhline(target, color="0.45", linewidth=0.9, linestyle=(0, (2, 3)), zorder=1)
    left.set_ylabel(ylabel)
    right.set_ylabel("")
    figure.legend(handles=display.lines_, loc="outside right center", frameon=False)
    return figure

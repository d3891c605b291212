"""Training curves of repeated runs, as medians with their quartiles."""

import numpy as np

from .axes import axes_or_new, check_against, label_training, line_options, line_styles

_POINTS = 200


class MetricComparisonDisplay:
    """Median training curves on a logarithmic scale, in bands of their quartiles.

    Use `from_runs` to make one. A run that ended counts with its last loss until the
    longest of its estimator ends.

    Parameters
    ----------
    curves : dict of str to (ndarray, ndarray)
        By name of the method: training losses and seconds, both of shape
        (n_runs, n_passes). Runs that ended early go on with their last values.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Set by `plot`, like the others.
    figure_ : matplotlib Figure
    lines_ : list of matplotlib Line2D
        The medians, one a method.
    bands_ : list of matplotlib collections
        From the lower to the upper quartile, one a method.

    Raises
    ------
    ValueError
        If there is no curve.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sknatgrad import RiemannianMLPClassifier
    >>> from sknatgrad.experiments import repeated_runs
    >>> from sknatgrad.plotting import MetricComparisonDisplay
    >>> X, y = load_wine(return_X_y=True)
    >>> models = {
    ...     metric: RiemannianMLPClassifier((5,), metric=metric) for metric in ("qd_bp", "kron_bp")
    ... }
    >>> runs = repeated_runs(models, X, y, n_runs=3, random_state=0)
    >>> display = MetricComparisonDisplay.from_runs(runs)
    >>> display.names
    ['qd_bp', 'kron_bp']
    """

    def __init__(self, *, curves):
        self.curves = dict(curves)
        if not self.curves:
            raise ValueError("there is no training curve: no estimator keeps a loss_curve_.")

    @property
    def names(self):
        """The methods that have curves."""
        return list(self.curves)

    @classmethod
    def from_runs(cls, result, *, ax=None, against="passes", alpha=0.2, **kwargs):
        """Draw the curves of repeated runs.

        Parameters
        ----------
        result : RepeatedRuns
            Estimators without a loss curve are left out.
        ax, against, alpha, **kwargs
            As in `plot`.

        Returns
        -------
        display : MetricComparisonDisplay

        Raises
        ------
        ImportError, ValueError
            As in `plot`; also if no estimator has a loss curve.
        """
        with_curve = {
            record["name"]
            for record in result.records
            if record["loss_curve"] and not record["error"]
        }
        display = cls(curves={n: result.curves(n) for n in result.names if n in with_curve})
        return display.plot(ax, against=against, alpha=alpha, **kwargs)

    def plot(self, ax=None, *, against="passes", alpha=0.2, **kwargs):
        """Draw medians and bands.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        against : {"passes", "seconds"}, default="passes"
            What the horizontal axis shows. Seconds of estimators without a time curve
            are those of the fit, divided evenly among its passes.
        alpha : float, default=0.2
            Opacity of the bands.
        **kwargs : dict
            Passed on to matplotlib's ``plot``, for all medians.

        Returns
        -------
        display : MetricComparisonDisplay
            This object.

        Raises
        ------
        ImportError
            If matplotlib is missing and `ax` is not given.
        ValueError
            If `against` is unknown.
        """
        check_against(against)
        ax = axes_or_new(ax)
        self.ax_, self.figure_, self.lines_, self.bands_ = ax, ax.figure, [], []
        for (name, curves), style in zip(self.curves.items(), line_styles(), strict=False):
            x, parts = quartile_curves(*curves, against)
            style = {**style, "markevery": [len(x) - 1], "label": name}
            line, band = draw_band(ax, x, parts, alpha, **line_options(style, kwargs))
            self.lines_.append(line)
            self.bands_.append(band)
        label_training(ax, against)
        return self


def draw_band(ax, x, parts, alpha=0.2, **style):
    """A line through medians, in a band from the lower to the upper quartile.

    Parameters
    ----------
    ax : matplotlib Axes
    x : ndarray of shape (n_points,)
    parts : ndarray of shape (3, n_points)
        Made by `quartiles`.
    alpha : float, default=0.2
        Opacity of the band.
    **style : dict
        Passed on to matplotlib's ``plot``.

    Returns
    -------
    line : matplotlib Line2D
    band : matplotlib collection
    """
    lower, median, upper = parts
    (line,) = ax.plot(x, median, **style)
    colour = line.get_color()
    return line, ax.fill_between(x, lower, upper, color=colour, alpha=alpha, linewidth=0)


def quartiles(runs):
    """Quartiles over the first axis, (3, n_points)."""
    return np.percentile(runs, (25, 50, 75), axis=0)


def quartile_curves(losses, times, against):
    """Quartiles of the runs at common abscissae.

    Parameters
    ----------
    losses, times : ndarray of shape (n_runs, n_passes)
    against : {"passes", "seconds"}
        At every pass, or at times from when half of the runs have their first loss.

    Returns
    -------
    x : ndarray of shape (n_points,)
    quartiles : ndarray of shape (3, n_points)
        Of the last loss that each run had until then, or of its first one where it had
        none; NaN counts as larger than any.
    """
    if against == "passes":
        x = np.arange(1, losses.shape[1] + 1)
    else:
        start, end = np.median(times[:, 0]), times.max()
        x = np.geomspace(start, end, _POINTS)
        x[[0, -1]] = start, end  # which rounding may have moved
        pairs = zip(losses, times, strict=True)
        losses = np.array(
            [loss[np.maximum(0, np.searchsorted(t, x, side="right") - 1)] for loss, t in pairs]
        )
    losses = np.where(np.isnan(losses), np.inf, losses)
    with np.errstate(invalid="ignore"):  # between two infinite losses
        return x, quartiles(losses)

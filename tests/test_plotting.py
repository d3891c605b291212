"""Displays."""

import builtins
from functools import partial

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sknatgrad import RiemannianMLPClassifier, get_metric
from sknatgrad.experiments import RepeatedRuns
from sknatgrad.plotting import MetricComparisonDisplay, TrainingCurveDisplay
from sknatgrad.plotting.curves import two_panels
from sknatgrad.plotting.naming import method_name

matplotlib = pytest.importorskip("matplotlib")


@pytest.fixture(autouse=True)
def no_window():
    before = matplotlib.get_backend()
    matplotlib.use("agg")
    yield
    matplotlib.pyplot.close("all")
    matplotlib.use(before)


@pytest.fixture
def display():
    return TrainingCurveDisplay(
        losses=[[1.0, 0.1], [2.0, 0.5, 0.2]],
        names=["a", "b"],
        times=[[0.1, 0.2], [0.5, 1.0, 1.5]],
    )


@pytest.fixture(scope="module")
def fitted():
    X, y = load_wine(return_X_y=True)
    ours = RiemannianMLPClassifier((5,), metric="kron_bp", random_state=0).fit(X, y)
    adam = MLPClassifier((5,), random_state=0, max_iter=50, tol=1.0)
    return ours, make_pipeline(StandardScaler(), adam).fit(X, y)


@pytest.mark.parametrize("against", ["passes", "seconds"])
def test_plot_shows_the_curves(display, against):
    assert display.plot(against=against) is display
    assert display.ax_.figure is display.figure_
    assert display.ax_.get_xscale() == display.ax_.get_yscale() == "log"
    assert against in display.ax_.get_xlabel()
    for line, name, loss, times in zip(
        display.lines_, display.names, display.losses, display.times, strict=True
    ):
        assert line.get_label() == name
        np.testing.assert_array_equal(line.get_ydata(), loss)
        expected = times if against == "seconds" else np.arange(1, len(loss) + 1)
        np.testing.assert_array_equal(line.get_xdata(), expected)
    labels = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert labels == ["a", "b"]


@pytest.mark.parametrize("style", [{"linewidth": 5, "color": "red"}, {"lw": 5, "c": "red"}])
def test_plot_draws_on_given_axes_with_given_style(display, style):
    """Short names of matplotlib's keywords included."""
    _, ax = matplotlib.pyplot.subplots()
    display.plot(ax, **style)
    assert display.ax_ is ax
    assert {line.get_linewidth() for line in display.lines_} == {5}
    assert {line.get_color() for line in display.lines_} == {"red"}


def test_lines_can_be_told_apart():
    n = 20
    display = TrainingCurveDisplay(losses=[[1.0]] * n, names=[str(i) for i in range(n)]).plot()
    styles = {(line.get_color(), line.get_linestyle()) for line in display.lines_}
    assert len(styles) == n


def test_from_estimators(fitted):
    display = TrainingCurveDisplay.from_estimators(fitted)
    assert display.names == ["kron_bp", "MLPClassifier"]
    assert display.losses == [fitted[0].loss_curve_, fitted[1][-1].loss_curve_]
    assert display.times == [fitted[0].time_curve_, None]
    assert display.ax_.get_xlabel().startswith("passes") and len(display.lines_) == 2
    _, ax = matplotlib.pyplot.subplots()
    ours = fitted[:1]
    display = TrainingCurveDisplay.from_estimators(
        ours, ["x"], ax=ax, against="seconds", linewidth=5
    )
    assert display.names == ["x"] and display.ax_ is ax
    (line,) = ax.get_lines()
    np.testing.assert_array_equal(line.get_xdata(), ours[0].time_curve_)
    assert line.get_linewidth() == 5


def test_from_a_dict_of_estimators(fitted):
    """Keys are names; a single estimator is refused with a word on what to do."""
    by_name = {f"number {i}": est for i, est in enumerate(fitted)}
    assert TrainingCurveDisplay.from_estimators(by_name).names == list(by_name)
    with pytest.raises(ValueError, match="list of fitted estimators"):
        TrainingCurveDisplay.from_estimators(fitted[0])


def test_the_automatic_metric_is_told_by_what_it_came_to(fitted):
    X, y = load_wine(return_X_y=True)
    network = RiemannianMLPClassifier((5,), metric="auto", max_iter=0)
    assert method_name(network) == "auto"
    assert method_name(network.fit(X, y)) in ("bp", "qd_bp")
    network.set_params(metric=get_metric("qd_bp"))
    assert method_name(network) == "RiemannianMLPClassifier"


def test_seconds_must_be_known(fitted):
    with pytest.raises(ValueError, match="against='seconds' needs the times of MLPClassifier"):
        TrainingCurveDisplay.from_estimators(fitted, against="seconds")


def test_wrong_axis(display):
    with pytest.raises(ValueError, match="'passes' or 'seconds', got 'epochs'"):
        display.plot(against="epochs")


def test_estimator_without_curve():
    with pytest.raises(ValueError, match="RiemannianMLPClassifier has no loss_curve_"):
        TrainingCurveDisplay.from_estimators([RiemannianMLPClassifier()])


@pytest.mark.parametrize(
    "other", [{"names": ["a"]}, {"times": [[1.0]]}, {"times": [[1.0], [1.0, 2.0]]}]
)
def test_parts_must_belong_together(other):
    with pytest.raises(ValueError, match=r"one of each|losses, but"):
        TrainingCurveDisplay(**{"losses": [[1.0], [2.0]][:2], "names": ["a", "b"], **other})


def test_two_panels(display, tmp_path):
    figure = two_panels(display, "title", target=0.3)
    left, right = figure.axes
    assert "passes" in left.get_xlabel() and right.get_xlabel() == "seconds"
    for ax in figure.axes:
        assert len(ax.get_lines()) == 3 and ax.get_legend() is None
        assert ax.get_lines()[-1].get_ydata()[0] == 0.3
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["a", "b"]
    assert not matplotlib.pyplot.get_fignums()
    figure.savefig(tmp_path / "figure.png")


def test_missing_matplotlib_names_the_extra(display, monkeypatch):
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name.split(".")[0] == "matplotlib":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    comparison = partial(MetricComparisonDisplay.from_runs, repeated([[1.0]]))
    for draw in (display.plot, partial(two_panels, display), comparison):
        with pytest.raises(ImportError, match=r"sknatgrad\[plot\]"):
            draw()


# ------------------------------------------------------------------------- repeated runs
def repeated(curves, name="a", times=None):
    """Runs with given loss curves."""
    return RepeatedRuns(
        [
            {
                "name": name,
                "run": i,
                "fit_seconds": 2.0 * len(curve),
                "loss_curve": list(curve) or None,
                "time_curve": times,
                "error": None,
            }
            for i, curve in enumerate(curves)
        ]
    )


def test_median_and_quartiles_of_runs_of_equal_length():
    curves = np.random.default_rng(0).random((9, 6)) + 0.1
    display = MetricComparisonDisplay.from_runs(repeated(curves))
    assert display.ax_.figure is display.figure_
    (line,) = display.lines_
    np.testing.assert_array_equal(line.get_xdata(), np.arange(1, 7))
    np.testing.assert_allclose(line.get_ydata(), np.median(curves, axis=0))
    (band,) = display.bands_
    corners = band.get_paths()[0].vertices
    lower, upper = np.percentile(curves, (25, 75), axis=0)
    for pass_ in range(6):
        heights = corners[corners[:, 0] == pass_ + 1, 1]
        np.testing.assert_allclose([heights.min(), heights.max()], [lower[pass_], upper[pass_]])
    assert display.ax_.get_xscale() == display.ax_.get_yscale() == "log"
    assert "passes" in display.ax_.get_xlabel() and line.get_label() == "a"


def test_runs_that_ended_count_with_their_last_loss():
    display = MetricComparisonDisplay.from_runs(repeated([[4.0], [3.0, 2.0, 1.0], [5.0, 0.5]]))
    (line,) = display.lines_
    np.testing.assert_allclose(line.get_ydata(), [4.0, 2.0, 1.0])


def test_comparison_against_seconds():
    runs = repeated([[8.0, 4.0], [8.0, 4.0, 2.0]])
    (line,) = MetricComparisonDisplay.from_runs(runs, against="seconds").lines_
    x, y = line.get_xdata(), line.get_ydata()
    assert x[0] == 2.0 and x[-1] == 6.0 and y[0] == 8.0 and y[-1] == 3.0
    assert np.all(np.diff(y) <= 0) and y[np.searchsorted(x, 4.0) + 1] == 4.0
    measured = repeated([[8.0, 4.0]], times=[0.5, 0.6])
    (line,) = MetricComparisonDisplay.from_runs(measured, against="seconds").lines_
    assert line.get_xdata()[[0, -1]].tolist() == [0.5, 0.6]


def test_comparison_draws_as_told_and_leaves_out_what_has_no_curve():
    runs = RepeatedRuns(
        [
            *repeated([[2.0, 1.0]]).records,
            *repeated([[]], "trees").records,
            *repeated([[3.0, 0.5]], "b").records,
        ]
    )
    _, ax = matplotlib.pyplot.subplots()
    display = MetricComparisonDisplay.from_runs(runs, ax=ax, lw=4, alpha=0.5)
    assert display.ax_ is ax and display.names == ["a", "b"]
    assert [line.get_linewidth() for line in display.lines_] == [4, 4]
    assert len({line.get_color() for line in display.lines_}) == 2
    assert [band.get_alpha() for band in display.bands_] == [0.5, 0.5]
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["a", "b"]


def test_comparison_that_cannot_be_drawn():
    with pytest.raises(ValueError, match="no training curve"):
        MetricComparisonDisplay.from_runs(repeated([[]]))
    with pytest.raises(ValueError, match="'passes' or 'seconds', got 'epochs'"):
        MetricComparisonDisplay.from_runs(repeated([[1.0]]), against="epochs")

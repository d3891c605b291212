"""The command line and the races behind it."""

import builtins
import io
import re
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from sknatgrad import METRICS, __main__, __version__
from sknatgrad.__main__ import ProgressLines, main
from sknatgrad.experiments import (
    Competitor,
    Result,
    format_table,
    run_race,
    save_figure,
    standard_competitors,
    text_table,
)
from sknatgrad.experiments.table import number

SHORT = ["--max-iter", "3", "--metrics", "qd_bp,euclidean"]


def table_of(output):
    """Header and body of the table in some output, as lists of lines of cells."""
    lines = output.split("\n")
    rule = next(i for i, line in enumerate(lines) if line.startswith("-----"))
    start = rule - lines[:rule][::-1].index("")
    text = [*lines[start:rule], *lines[rule + 1 : lines.index("", rule)]]
    # Columns are parted by two columns of blanks or more, words of a cell by one.
    padded = [line.ljust(len(lines[rule])) for line in text]
    filled = "".join("x" if set(column) != {" "} else " " for column in zip(*padded, strict=True))
    spans = [match.span() for match in re.finditer(r"x+( x+)*", filled)]
    cells = [[line[a:b].strip() for a, b in spans] for line in text]
    return cells[: rule - start], cells[rule - start :]


@pytest.fixture(scope="module")
def data():
    X, y = make_classification(200, 8, n_informative=5, random_state=0)
    return X[:150], y[:150], X[150:], y[150:]


@pytest.fixture(scope="module")
def results(data):
    competitors = standard_competitors(["qd_bp", "euclidean"], (5,), max_iter=20)
    return run_race(competitors, *data)


class Failing(ClassifierMixin, BaseEstimator):
    """Ends every fit in the way asked for."""

    def __init__(self, how="error"):
        self.how = how

    def fit(self, X, y):
        if self.how == "error":
            raise ValueError("too large")
        if self.how == "swallows Ctrl-C":
            warnings.warn("Training interrupted by user.", stacklevel=1)
        self.classes_ = np.unique(y)
        return self


# ------------------------------------------------------------------- the command line
def test_race_on_digits(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    folder = tmp_path / "new" / "folder"
    assert main([*SHORT, "--out", str(folder)]) == 0
    output = capsys.readouterr().out
    head, *_ = output.split("\n")
    assert "digits" in head and "1347 training and 450 test rows" in head
    assert "64-100-10" in output and "one thread" in output and "at most 3 passes" in output
    image = folder / "sknatgrad-digits.png"
    assert image.read_bytes().startswith(b"\x89PNG")
    assert output.count(str(image)) == 1
    titles, rows = table_of(output)
    assert [" ".join(filter(None, column)) for column in zip(*titles, strict=True)] == [
        "method",
        "passes",
        "seconds",
        "training log-loss",
        "test log-loss",
        "test accuracy",
        "passes to 0.05",
        "seconds to 0.05",
        "notes",
    ]
    assert [row[0] for row in rows] == ["qd_bp", "euclidean", "Adam (scikit-learn)"]
    for row in rows:
        passes, *numbers = map(float, row[1:6])
        assert passes == 3 and np.isfinite(numbers).all() and 0 < numbers[-1] <= 1
        assert row[6:8] == ["-", "-"]
        assert "stopped at its max_iter" in row[8]
    assert "plain gradient" in rows[1][8] and "standardised" in rows[2][8]


def test_progress_has_one_line_a_competitor_when_output_is_no_terminal(capsys):
    assert main([*SHORT, "--no-plot"]) == 0
    lines = capsys.readouterr().out.split("\n")
    progress = [line for line in lines if " passes, " in line]
    assert [line.split("  ")[0] for line in progress] == [
        "qd_bp",
        "euclidean",
        "Adam (scikit-learn)",
    ]


def test_progress_rewrites_its_line_on_a_terminal():
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    stream = Terminal()
    progress = ProgressLines(["bp", "qd_bp"], stream)
    progress("bp", None)
    progress("bp", Result("bp", losses=(0.5,), times=(1.0,), seconds=1.0, train_loss=0.5))
    first, second = stream.getvalue().split("\r")
    assert first == "bp     training ..."
    assert second == "bp        1 passes,   1.00 s, training log-loss 0.50000\n"
    assert len(second) > len(first)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--metrics", "qdbp"], "unknown metric 'qdbp'. Did you mean 'qd_bp'? Known: fisher,"),
        (["--metrics", "zzzz"], "unknown metric 'zzzz'. Known:"),
        (["--metrics", ","], "name at least one metric"),
        (["--max-iter", "0"], "must be at least 1, got 0"),
        (["--max-iter", "few"], "'few' is not a whole number"),
        (["--seed", "-1"], "must be at least 0, got -1"),
        (["--seed", str(2**32)], "must be at most"),
        (["--oops"], "usage: python -m sknatgrad [-h]"),
        (["--oops"], "python -m sknatgrad: error: unrecognized arguments: --oops"),
        (["race", "--data=a", "--target=b", "--oops"], "usage: python -m sknatgrad race"),
        (["paper", "--oops"], "python -m sknatgrad paper: error: unrecognized arguments: --oops"),
    ],
)
def test_wrong_arguments_exit_with_2_and_say_why(arguments, message, capsys):
    with pytest.raises(SystemExit) as exit_:
        main(arguments)
    assert exit_.value.code == 2
    assert message in capsys.readouterr().err


def test_folder_that_is_a_file_is_refused_before_the_race(tmp_path, capsys):
    path = tmp_path / "file"
    path.touch()
    assert main([*SHORT, "--out", str(path)]) == 2
    captured = capsys.readouterr()
    assert "--out" in captured.err and not captured.out


def test_version_and_help(capsys):
    for option in ("--version", "--help"):
        with pytest.raises(SystemExit) as exit_:
            main([option])
        assert exit_.value.code == 0
    output = capsys.readouterr().out
    assert output.startswith(f"sknatgrad {__version__}\n")
    assert all(name in output for name in METRICS) and "examples:" in output


def test_the_version_to_cite_is_this_one():
    lines = (Path(__file__).parents[1] / "CITATION.cff").read_text().splitlines()
    assert f"version: {__version__}" in lines


def test_without_matplotlib_there_is_a_table_and_a_hint(tmp_path, capsys, monkeypatch):
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name.split(".")[0] == "matplotlib":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    assert main([*SHORT, "--out", str(tmp_path)]) == 0
    output = capsys.readouterr().out
    assert 'pip install "sknatgrad[plot]"' in output and "test" in output
    assert not list(tmp_path.iterdir())


def test_interruption_is_one_line(capsys, monkeypatch):
    def interrupted(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(__main__, "run_race", interrupted)
    assert main([*SHORT, "--no-plot"]) == 130
    assert capsys.readouterr().err.strip() == "Interrupted."


def test_exit_status_tells_that_a_competitor_failed(capsys, monkeypatch):
    monkeypatch.setattr(
        __main__, "standard_competitors", lambda *args: [Competitor("bad", Failing())]
    )
    assert main([*SHORT, "--no-plot"]) == 1
    assert "failed: too large" in capsys.readouterr().out


# ------------------------------------------------------------------------------ races
def test_results_are_those_of_the_fitted_models(data, results):
    X, y, X_test, y_test = data
    competitors = standard_competitors(["qd_bp", "euclidean"], (5,), max_iter=20)
    for competitor, result in zip(competitors, results, strict=True):
        steps = [StandardScaler()] if competitor.standardise else []
        model = make_pipeline(*steps, competitor.estimator)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X, y)
        assert result.losses == tuple(model[-1].loss_curve_)
        assert result.n_passes == model[-1].n_iter_
        assert result.train_loss == pytest.approx(log_loss(y, model.predict_proba(X)))
        assert result.test_loss == pytest.approx(log_loss(y_test, model.predict_proba(X_test)))
        assert result.test_score == model.score(X_test, y_test)


def test_clocks_start_with_the_fit_and_end_with_it(results):
    for result in results:
        assert len(result.times) == result.n_passes
        assert np.all(np.diff(result.times) >= 0) and result.times[0] > 0
        assert result.times[-1] == pytest.approx(result.seconds)
    assert [result.times_measured for result in results] == [True, True, False]


def test_estimators_are_not_touched(data):
    competitor = standard_competitors(["qd_bp"], (5,), max_iter=2)[0]
    run_race([competitor], *data)
    assert not hasattr(competitor.estimator, "loss_curve_")


def test_convergence_warnings_become_notes_and_others_stay(data):
    class Talking(LogisticRegression):
        def fit(self, X, y):
            warnings.warn("look here", RuntimeWarning, stacklevel=1)
            return super().fit(X, y)

    with pytest.warns(RuntimeWarning, match="look here") as caught:
        (result,) = run_race([Competitor("talking", Talking(max_iter=1), note="linear")], *data)
    assert {warning.category for warning in caught} == {RuntimeWarning}
    assert result.notes == ("linear", "stopped at its max_iter")
    # No loss curve: no passes to count, but losses and scores.
    assert result.losses == () and result.reached() is None and np.isfinite(result.train_loss)


def test_one_failure_leaves_the_others(data):
    competitors = [Competitor("bad", Failing()), *standard_competitors(["bp"], (3,), max_iter=2)]
    seen = []
    results = run_race(competitors, *data, lambda name, result: seen.append((name, result)))
    assert [name for name, result in seen if result is None] == [c.name for c in competitors]
    assert [result for _, result in seen if result is not None] == results
    assert results[0].error == "too large" and not results[1].error
    _, rows = table_of("\n" + format_table(results))
    assert rows[0] == ["bad", *["-"] * 7, "failed"]


def test_failures_of_all_kinds_leave_the_others(data):
    """A competitor that has no probabilities can't be measured."""
    competitors = [Competitor("svc", LinearSVC()), Competitor("ours", LogisticRegression())]
    svc, other = run_race(competitors, *data)
    assert "predict_proba" in svc.error and not other.error


def test_swallowed_interruption_ends_the_race(data):
    with pytest.raises(KeyboardInterrupt):
        run_race([Competitor("deaf", Failing("swallows Ctrl-C"))], *data)


def test_reaching_the_target():
    result = Result("x", losses=(1.0, 0.3, 0.4, 0.1), times=(1.0, 2.0, 3.0, 4.0))
    assert result.reached(0.3) == (2, 2.0)
    assert result.reached(0.2) == (4, 4.0)
    assert result.reached() is None


def test_footnote_on_even_times_only_where_it_applies(results):
    assert "divided evenly" in format_table(results)
    assert "divided evenly" not in format_table(results[:2])


def test_figure(results, tmp_path):
    pytest.importorskip("matplotlib")
    path = tmp_path / "race.png"
    save_figure([*results, Result("bad", error="too large")], path, "a race")
    assert path.stat().st_size > 10_000


# ------------------------------------------------------------------------------ tables
def test_columns_are_aligned():
    table = text_table(["name", "a\nb", "note"], [["x", "1.0", ""], ["long", "-", "yes"]], (0, 2))
    assert table.split("\n") == [
        "        a",
        "name    b  note",
        "---------------",
        "x     1.0",
        "long    -  yes",
    ]


def test_numbers():
    assert [number(x, 3) for x in (1.0, 0.0, 4e-4, 6e-4, -2.0)] == [
        "1.000",
        "0.000",
        "<0.001",
        "0.001",
        "-2.000",
    ]
    assert number(np.inf, 3) == number(np.nan, 3) == "-"


def test_closed_pipe_ends_quietly(tmp_path):
    """As in `| head -1`: no traceback, and a status that says why."""
    program = [sys.executable, "-m", "sknatgrad", *SHORT, "--no-plot"]
    with subprocess.Popen(
        program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path
    ) as process:
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 141


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_full_device_is_one_line(tmp_path):
    program = [sys.executable, "-m", "sknatgrad", *SHORT, "--no-plot"]
    with open("/dev/full", "w") as full:
        ended = subprocess.run(program, stdout=full, stderr=subprocess.PIPE, cwd=tmp_path)
    (line,) = ended.stderr.decode().splitlines()
    assert line.startswith("python -m sknatgrad: ") and ended.returncode == 1

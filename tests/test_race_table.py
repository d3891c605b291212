"""The race on a user's own table, from the file to the figure."""

import gzip
import re

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris

from sknatgrad import RiemannianMLPClassifier
from sknatgrad.__main__ import main
from sknatgrad.experiments import (
    Result,
    TableError,
    format_short_table,
    make_dataset,
    read_table,
    split_and_encode,
    table_competitors,
)
from sknatgrad.plotting.naming import method_name

FAST = ["--max-iter", "3", "--no-plot"]
LABELS = ["yes" if i % 3 else "no" for i in range(24)]


def write(path, lines, encoding="utf-8", end="\n"):
    path.write_bytes((end.join(lines) + end).encode(encoding))
    return path


def labelled(n_rows=24):
    return ["size,class", *(f"{i % 7},{LABELS[i % 24]}" for i in range(n_rows))]


def race(capsys, path, target="class", *options):
    status = main(["race", "--data", str(path), "--target", target, *FAST, *options])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def refused(capsys, path, target="class", *options):
    """The one line on standard error; nothing else may have been said."""
    status, out, err = race(capsys, path, target, *options)
    assert status == 2 and not out
    (line,) = err.splitlines()
    start = "python -m sknatgrad race: "
    assert line.startswith(start)
    return line.removeprefix(start)


def rows_of(output):
    """Cells of the printed table by method."""
    _, _, below = output.partition("\n-----")
    lines = below.split("\n\n")[0].split("\n")[1:]
    return {cells[0]: cells[1:] for cells in (re.split(r"\s{2,}", line) for line in lines)}


# ---------------------------------------------------------------------------- whole races
def test_iris(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    X, y = load_iris(return_X_y=True)
    kinds = ("setosa", "versicolor", "virginica")
    lines = [",".join([*map(str, row), kinds[k]]) for row, k in zip(X, y, strict=True)]
    path = write(tmp_path / "iris.csv", ["a,b,c,d,kind", *lines])
    out = tmp_path / "new" / "folder"
    status = main(["race", "--data", str(path), "--target", "kind", "--out", str(out)])
    output = capsys.readouterr().out
    assert status == 0
    assert "150 rows, 5 columns" in output and "Missing entries: none." in output
    assert "setosa (50)" in output and "4 inputs" in output and "112 for training" in output
    table = rows_of(output)
    default = method_name(RiemannianMLPClassifier(max_iter=0).fit(X, y))
    assert list(table) == [
        *dict.fromkeys([default, "qd_bp", "kron_bp"]),
        "Adam (scikit-learn)",
        "LogisticRegression",
        "HistGradientBoosting",
    ]
    for accuracy, loss, *_ in table.values():
        assert float(accuracy) > 0.85 and float(loss) < 0.6
    assert "our default" in table[default][-1] and "standardised" in table["LogisticRegression"][-1]
    assert table["LogisticRegression"][3] == "-" and int(table["qd_bp"][3]) > 3
    assert (out / "sknatgrad-iris.png").read_bytes().startswith(b"\x89PNG")


def test_diabetes(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    X, y = load_diabetes(return_X_y=True, scaled=False)
    lines = [",".join(map(str, [*row, value])) for row, value in zip(X, y, strict=True)]
    header = ",".join([*(f"x{i}" for i in range(10)), "progression"])
    path = write(tmp_path / "diabetes.csv", [header, *lines])
    options = "--target progression --max-iter 20 --metrics qd_bp --test-size 0.3 --seed 3"
    status = main(["race", "--data", str(path), *options.split(), "--out", str(tmp_path)])
    output = capsys.readouterr().out
    assert status == 0
    assert "Task: regression (guessed" in output and "targets from 25 to 346" in output
    assert "133 for the test; seed 3" in output
    table = rows_of(output)
    assert list(table) == ["qd_bp", "Adam (scikit-learn)", "Ridge", "HistGradientBoosting"]
    assert float(table["Ridge"][0]) > 0.3 and 40 < float(table["Ridge"][1]) < 70
    assert float(table["qd_bp"][0]) > 0.2 and "stopped at its max_iter" in table["qd_bp"][-1]
    assert (tmp_path / "sknatgrad-diabetes.png").exists()


def test_a_messy_table(tmp_path, capsys):
    lines = ["id;größe;colour;level;empty;same;code;class", ""]
    for i in range(48):
        size = "" if i % 8 == 0 else f"{i % 5},5"
        colour = "NA" if i == 5 else '"red; or ""pink"""' if i % 2 else "blue"
        label = "" if i in (7, 9) else LABELS[i % 24]
        lines.append(f"{i};{size};{colour}; {i % 4};;7;k{i};{label}")
        if i % 10 == 0:
            lines.append("")
    path = write(tmp_path / "messy.csv", lines, "utf-8-sig", "\r\n")
    status, output, _ = race(capsys, path, "class", "--separator", ";")
    output = " ".join(output.split())
    assert status == 0
    assert "48 rows, 8 columns" in output and "2 rows without it dropped" in output
    assert "'größe': read with decimal commas" in output
    assert "Missing numbers: 'größe' 6;" in output and "Missing categories: 'colour' 1;" in output
    for dropped in ("'id' (numbers the rows)", "'empty' (empty)", "'same' (constant)"):
        assert dropped in output
    assert "'code' (an entry of its own in each row)" in output
    # größe, its indicator, level; blue, red, perhaps the missing level of one row.
    assert "2 columns of numbers, 1 column of categories" in output


def test_task_can_be_said(tmp_path, capsys):
    path = write(tmp_path / "t.csv", ["x,y", *(f"{i},{i % 3}" for i in range(30))])
    assert "Task: classification (guessed" in race(capsys, path, "y")[1]
    output = race(capsys, path, "y", "--task", "regression")[1]
    assert "Task: regression, targets from 0 to 2" in output and "R^2" in output


def test_same_seed_same_table(tmp_path, capsys):
    path = write(tmp_path / "t.csv", labelled())
    first, second = (race(capsys, path, "class", "--seed", "5")[1] for _ in range(2))

    def scores(output):
        return {name: cells[:2] for name, cells in rows_of(output).items()}

    assert scores(first) == scores(second)


def test_options_may_stand_before_the_command(tmp_path, capsys):
    path = write(tmp_path / "t.csv", labelled())
    options = ["--metrics", "bp", "--max-iter", "2", "--no-plot"]
    assert main([*options, "race", "--data", str(path), "--target", "class"]) == 0
    assert list(rows_of(capsys.readouterr().out))[:2] == ["bp", "Adam (scikit-learn)"]


# ------------------------------------------------------------------------------- refusals
def test_no_such_file(tmp_path, capsys):
    assert "there is no file" in refused(capsys, tmp_path / "none.csv")
    assert "is a folder" in refused(capsys, tmp_path)


def test_no_such_column(tmp_path, capsys):
    path = write(tmp_path / "t.csv", labelled())
    line = refused(capsys, path, "Clas")
    assert line == "no column is called 'Clas'. The closest names: 'class'."
    assert "Columns: 'size', 'class'." in refused(capsys, path, "quality")
    path = write(tmp_path / "s.csv", [line.replace(",", ";") for line in labelled()])
    assert "separator ';'" in refused(capsys, path)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([""], "the file is empty."),
        (["size,class"], "the table has a header but no rows."),
        (labelled(9), "too few rows with a target: 9, at least 10 are needed."),
        (["size,class", *(f"{i},a" for i in range(12))], "has one class only: a."),
        (["size,class", *("1,a", "1,b") * 8], "no feature is left. Dropped: 'size' (constant)."),
        (["size,class", *(f"{i % 3},a{i}" for i in range(12))], "a class of its own in each row"),
        ([*labelled(), "1,2,3"], "line 26 has 3 fields, the header 2 fields."),
        ([*labelled(), '"1,yes'], "unexpected end of data"),
        (["class,class", *("1,a", "2,b") * 8], "2 columns are called 'class'"),
        ([*labelled(), "1,\0"], "not a text file"),
    ],
)
def test_tables_that_are_refused(tmp_path, capsys, lines, message):
    assert message in refused(capsys, write(tmp_path / "t.csv", lines))


def test_text_cannot_be_regressed_on(tmp_path, capsys):
    path = write(tmp_path / "t.csv", labelled())
    line = refused(capsys, path, "class", "--task", "regression")
    assert "no numbers, such as 'no'" in line and "classification?" in line
    flat = write(tmp_path / "f.csv", ["x,y", *(f"{i},2" for i in range(12))])
    assert "has one value only: 2" in refused(capsys, flat, "y", "--task", "regression")


def test_shares_that_leave_too_little(tmp_path, capsys):
    path = write(tmp_path / "t.csv", labelled())
    assert "can't set test rows apart" in refused(capsys, path, "class", "--test-size", "0.01")
    numbers = write(tmp_path / "n.csv", ["x,y", *(f"{i},{i / 7}" for i in range(24))])
    line = refused(capsys, numbers, "y", "--test-size", "0.01")
    assert "two test rows" in line


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--test-size", "1.5"], "must be between 0 and 1"),
        (["--separator", ";;"], "must be one character"),
        (["--task", "ranking"], "invalid choice"),
        (["--metrics", "qdbp"], "Did you mean 'qd_bp'?"),
    ],
)
def test_wrong_arguments(options, message, capsys):
    with pytest.raises(SystemExit) as exit_:
        main(["race", "--data", "t.csv", "--target", "y", *options])
    assert exit_.value.code == 2 and message in capsys.readouterr().err


# -------------------------------------------------------------------------------- reading
def test_encodings_and_compression(tmp_path):
    text = "name,wert\nMüller,1\n".encode
    (tmp_path / "u.csv").write_bytes(text("utf-8-sig"))
    (tmp_path / "w.csv").write_bytes(text("utf-16"))
    (tmp_path / "l.csv").write_bytes(text("latin-1"))
    (tmp_path / "z.csv.gz").write_bytes(gzip.compress(text("utf-8")))
    tables = {name: read_table(tmp_path / name) for name in ("u.csv", "w.csv", "l.csv", "z.csv.gz")}
    for table in tables.values():
        assert table.names == ("name", "wert") and table.columns == (("Müller",), ("1",))
    assert "UTF-16" in tables["w.csv"].notes[0] and "Latin-1" in tables["l.csv"].notes[0]
    (tmp_path / "bad.csv.gz").write_bytes(b"no gzip")
    with pytest.raises(TableError, match="not a gzip file"):
        read_table(tmp_path / "bad.csv.gz")


def test_quotes_blanks_and_missing_entries(tmp_path):
    path = write(tmp_path / "t.csv", ['"a, b", c,', '"x ""y""", 1 ,NA', '"two\nlines",?,', ""])
    table = read_table(path)
    assert table.names == ("a, b", "c", "column 3")
    assert table.columns == (('x "y"', "two\nlines"), ("1", None), (None, None))


@pytest.mark.parametrize(
    ("name", "dropped"),
    [("id", True), ("customer_id", True), ("PassengerId", True), ("humid", False), ("x", False)],
)
def test_only_columns_called_like_an_id_are_dropped_for_it(tmp_path, name, dropped):
    rows = [f"{900 - 7 * i},{i % 4},{LABELS[i]}" for i in range(24)]
    dataset = make_dataset(
        read_table(write(tmp_path / "t.csv", [f"{name},x2,class", *rows])), "class"
    )
    assert dataset.number_names == (("x2",) if dropped else (name, "x2"))


# ------------------------------------------------------------------------------- encoding
def test_one_hot_and_means_come_from_the_training_rows(tmp_path):
    rows = [f"{'' if i == 3 else i},{'ab'[i % 2]},{LABELS[i]}" for i in range(24)]
    dataset = make_dataset(read_table(write(tmp_path / "t.csv", ["x,c,y", *rows])), "y")
    split = split_and_encode(dataset, 0.25, 0)
    assert split.X_train.shape[0] == 18 and split.X_test.shape[0] == 6
    X = np.vstack([split.X_train, split.X_test])
    assert np.isfinite(X).all() and set(np.unique(X[:, -2:])) == {0.0, 1.0}
    known = split.X_train[:, 0]
    filled = np.flatnonzero(~np.isin(known, np.arange(24.0)))
    if len(filled):
        assert known[filled[0]] == pytest.approx(np.delete(known, filled).mean())
    assert set(split.y_train) == set(split.y_test) == {"yes", "no"}


def test_many_levels_share_an_input(tmp_path):
    rows = [f"{i % 5},k{i // 2},{LABELS[i % 24]}" for i in range(480)]
    dataset = make_dataset(read_table(write(tmp_path / "t.csv", ["x,c,y", *rows])), "y")
    split = split_and_encode(dataset)
    assert split.X_train.shape[1] == 102
    assert "the others share one" in " ".join(split.report)


def test_classes_with_one_row_are_set_aside(tmp_path):
    rows = [*(f"{i},{LABELS[i]}" for i in range(24)), "1,perhaps"]
    dataset = make_dataset(read_table(write(tmp_path / "t.csv", ["x,y", *rows])), "y")
    assert len(dataset.target) == 24 and "one row only: perhaps" in " ".join(dataset.report)


def test_competitors_take_the_settings_meant_for_them():
    competitors = table_competitors("regression", ["bp"], random_state=4, max_iter=7)
    ours, adam, linear, trees = competitors
    assert ours.estimator.metric == "bp" and ours.estimator.max_iter == 7
    assert adam.estimator.max_iter == 7 and adam.standardise and linear.standardise
    assert trees.estimator.max_iter == 100 and trees.estimator.random_state == 4
    names = [c.name for c in table_competitors("classification")]
    assert names[0] != "auto" and {"qd_bp", "kron_bp"} <= set(names)
    wide = table_competitors("classification", n_inputs=300)
    assert (wide[0].name, wide[0].note) == ("qd_bp", "our default")
    notes = [c.note for c in table_competitors("classification", ["auto", "euclidean"])]
    assert notes[:2] == ["our default", "plain gradient"]


def test_short_table_shows_losses_in_their_unit():
    results = [Result("a", test_loss=1234.5, test_score=0.5, seconds=1.0), Result("b", ("failed",))]
    text = format_short_table(results, regression=True)
    assert "1234" in text and "RMSE: in units of the target" in text
    assert rows_of("\n" + text)["b"] == ["-", "-", "-", "-", "failed"]

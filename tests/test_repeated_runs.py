"""Repeated runs: seeds, parallel work, records and what they come to."""

import csv
import json
import warnings

import joblib
import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_iris, make_regression
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning, FitFailedWarning
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import GridSearchCV
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sknatgrad import RiemannianAutoEncoder, RiemannianMLPClassifier
from sknatgrad.experiments import RepeatedRuns, repeated_runs
from sknatgrad.training.steps.batch_pass import BatchPass

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
TIMED = ("fit_seconds", "time_curve")


@pytest.fixture(scope="module")
def data():
    return load_iris(return_X_y=True)


def estimators():
    return {
        "ours": RiemannianMLPClassifier((4,), max_iter=5),
        "adam": make_pipeline(StandardScaler(), MLPClassifier((4,), max_iter=5)),
        "trees": RandomForestClassifier(5),
    }


@pytest.fixture(scope="module")
def runs(data):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return repeated_runs(estimators(), *data, n_runs=3, random_state=0)


def timeless(result):
    """Records without what the clock tells, as comparable text."""
    records = [{k: v for k, v in r.items() if k not in TIMED} for r in result.records]
    return json.dumps(records)


class Picky(ClassifierMixin, BaseEstimator):
    """Fails for some seeds, or talks of an interruption; keeps what it was given."""

    seen = None

    def __init__(self, random_state=None, how="odd"):
        self.random_state = random_state
        self.how = how

    def fit(self, X, y, sample_weight=None, flag=None):
        Picky.seen = (X, y, sample_weight, flag)
        self.classes_ = np.unique(y)
        if self.how == "always" or (self.how == "odd" and self.random_state % 2):
            raise ValueError("an odd seed")
        if self.how == "interrupted":
            try:
                raise KeyboardInterrupt
            except KeyboardInterrupt:
                warnings.warn("Training interrupted by user.", stacklevel=1)
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])


# -------------------------------------------------------------------------------- running
def test_records(runs):
    assert [(r["name"], r["run"]) for r in runs.records] == [
        (name, run) for run in range(3) for name in estimators()
    ]
    for record in runs.records:
        assert not record["error"] and record["fit_seconds"] > 0
        assert (record["n_train"], record["n_test"]) == (112, 38)
        assert 0 < record["test_score"] <= 1 and 0 < record["train_score"] <= 1
    ours, adam, trees = runs.records[:3]
    assert ours["n_iter"] == adam["n_iter"] == 5 and trees["n_iter"] is None
    assert len(ours["loss_curve"]) == len(ours["time_curve"]) == 5
    assert len(adam["loss_curve"]) == 5 and adam["time_curve"] is None
    assert ours["train_loss"] == ours["loss_curve"][-1] and trees["train_loss"] is None


def test_a_record_can_be_made_again_from_its_seeds(data, runs):
    from sklearn.model_selection import train_test_split

    X, y = data
    record = runs.records[3]
    X_train, X_test, y_train, y_test = train_test_split(
        X, y, random_state=record["split_seed"], stratify=y
    )
    model = estimators()["ours"].set_params(random_state=record["estimator_seed"])
    model.fit(X_train, y_train)
    np.testing.assert_allclose(model.loss_curve_, record["loss_curve"], rtol=1e-9)
    assert model.score(X_test, y_test) == record["test_score"]


def test_seeds_are_shared_in_a_run_and_differ_between_runs(runs):
    seeds = {}
    for record in runs.records:
        seeds.setdefault(record["run"], set()).add((record["split_seed"], record["estimator_seed"]))
    assert all(len(found) == 1 for found in seeds.values())
    assert len({seed for found in seeds.values() for pair in found for seed in pair}) == 6


@pytest.mark.parametrize(("n_jobs", "backend"), [(1, "loky"), (2, "loky"), (2, "threading")])
def test_jobs_and_backends_change_nothing_but_times(data, runs, n_jobs, backend):
    with joblib.parallel_config(backend=backend):
        again = repeated_runs(estimators(), *data, n_runs=3, n_jobs=n_jobs, random_state=0)
    assert timeless(again) == timeless(runs)


def test_fewer_runs_are_the_first_ones(data, runs):
    fewer = repeated_runs(estimators(), *data, n_runs=2, random_state=0)
    expected = RepeatedRuns([r for r in runs.records if r["run"] < 2])
    assert timeless(fewer) == timeless(expected)
    other = repeated_runs(estimators(), *data, n_runs=2, random_state=1)
    assert timeless(other) != timeless(fewer)


def test_every_random_state_is_set_and_estimators_are_not_touched(data):
    seeds = []

    class Telling(Picky):
        def fit(self, X, y):
            seeds.append(self.random_state)
            return super().fit(X, y)

    search = GridSearchCV(make_pipeline(Telling()), {"telling__how": ["never"]}, cv=2)
    result = repeated_runs({"search": search}, *data, n_runs=2, random_state=0)
    assert set(seeds) == {record["estimator_seed"] for record in result.records}
    assert search.estimator[0].random_state is None and not hasattr(search, "best_estimator_")


def test_regressors_scoring_and_two_outputs():
    X, y = make_regression(60, 4, n_targets=2, noise=1.0, random_state=0)
    result = repeated_runs(
        {"ridge": Ridge()}, X, y, n_runs=2, random_state=0, scoring="neg_mean_squared_error"
    )
    assert all(record["test_score"] < 0 for record in result.records)


def test_without_targets(data):
    result = repeated_runs({"mixture": GaussianMixture(2)}, data[0], n_runs=2, random_state=0)
    assert all(np.isfinite(r["test_score"]) and r["n_iter"] >= 1 for r in result.records)


def test_auto_encoders(data):
    network = RiemannianAutoEncoder((3, 2, 3), max_iter=5)
    result = repeated_runs({"code": network}, data[0], None, n_runs=2, random_state=0)
    for record in result.records:
        assert not record["error"] and len(record["loss_curve"]) == record["n_iter"] == 5
        assert np.isfinite([record["train_score"], record["test_score"]]).all()


def test_data_frames_and_sparse_matrices(data):
    from scipy.sparse import csr_array

    pd = pytest.importorskip("pandas")
    X, y = data
    model = {"logistic": LogisticRegression(max_iter=1000)}
    scores = [
        [r["test_score"] for r in repeated_runs(model, A, b, n_runs=2, random_state=0).records]
        for A, b in [(X, y), (pd.DataFrame(X), pd.Series(y)), (csr_array(X), y)]
    ]
    np.testing.assert_allclose(scores[1:], [scores[0]] * 2, atol=0.06)


def test_fit_parameters_are_cut_to_the_training_rows(data):
    X, y = data
    weights = np.arange(len(y), dtype=float)
    given = {"sample_weight": weights, "flag": "a word"}
    for fit_params in (given, {"picky": given}):
        repeated_runs({"picky": Picky(how="never")}, X, y, n_runs=1, fit_params=fit_params)
        X_seen, y_seen, seen, flag = Picky.seen
        assert flag == "a word" and len(seen) == len(y_seen) == 112
        np.testing.assert_array_equal(X_seen, X[seen.astype(int)])


def test_all_rows_may_train(data):
    (record,) = repeated_runs({"picky": Picky(how="never")}, *data, n_runs=1, test_size=0).records
    assert (record["n_train"], record["n_test"]) == (150, 0)
    assert record["test_score"] is None and record["train_score"] == pytest.approx(1 / 3)


def test_failures_are_recorded_and_told_once(data):
    with pytest.warns(FitFailedWarning, match="of 8 fits failed") as caught:
        result = repeated_runs({"picky": Picky()}, *data, n_runs=8, random_state=0)
    assert len(caught) == 1 and caught[0].filename == __file__
    failed = [r for r in result.records if r["error"]]
    assert 0 < len(failed) < 8
    assert {r["error"] for r in failed} == {"ValueError: an odd seed"}
    assert all(r["estimator_seed"] % 2 and r["test_score"] is None for r in failed)
    (row,) = result.table()
    assert row["n_failed"] == len(failed) and row["n_runs"] == 8 - len(failed)
    assert row["test_score_mean"] == pytest.approx(1 / 3, abs=0.02)
    assert "failed" in str(result)


def test_if_everything_fails_there_is_a_table_of_dashes(data):
    with pytest.warns(FitFailedWarning):
        result = repeated_runs({"picky": Picky(how="always")}, *data, n_runs=2)
    assert np.isnan(result.table()[0]["test_score_mean"]) and str(result)


def test_an_interrupted_fit_ends_all_runs(data):
    with pytest.raises(KeyboardInterrupt):
        repeated_runs({"picky": Picky(how="interrupted")}, *data, n_runs=2)


def test_an_interrupted_fit_of_ours_ends_all_runs(data, monkeypatch):
    """It tells of the interrupt after it has handled it."""
    run, begun = BatchPass.run, []

    def interrupted(self):
        begun.append(self)
        if len(begun) == 3:
            raise KeyboardInterrupt
        return run(self)

    monkeypatch.setattr(BatchPass, "run", interrupted)
    network = RiemannianMLPClassifier((4,), max_iter=5)
    with pytest.raises(KeyboardInterrupt):
        repeated_runs({"bare": network, "piped": make_pipeline(network)}, *data, n_runs=2)
    assert len(begun) == 3


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_progress(data, capsys, n_jobs):
    model = {"logistic": LogisticRegression(max_iter=1000)}
    repeated_runs(model, *data, n_runs=2, n_jobs=n_jobs, random_state=0, verbose=1)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["[1/2]", "[2/2]"]
    assert all("logistic, run" in line and "test score 0.9" in line for line in lines)
    repeated_runs(model, *data, n_runs=1, random_state=0)
    assert not capsys.readouterr().out


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"estimators": {}}, "at least one"),
        ({"estimators": [Ridge()]}, "must be a dict"),
        ({"estimators": {1: Ridge()}}, "strings as names"),
        ({"n_runs": 0}, "n_runs must be .*, got 0"),
        ({"scoring": ["r2"]}, "name of one scorer"),
        ({"test_size": 1.5}, "test_size"),
    ],
)
def test_wrong_arguments(data, changed, message):
    arguments = {"estimators": {"r": Ridge()}, "X": data[0], "y": data[1], **changed}
    with pytest.raises(ValueError, match=message):
        repeated_runs(**arguments)


# ------------------------------------------------------------------------------ reporting
def test_table(runs):
    rows = {row["name"]: row for row in runs.table()}
    assert list(rows) == runs.names == ["ours", "adam", "trees"]
    scores = [r["test_score"] for r in runs.records if r["name"] == "ours"]
    assert rows["ours"]["test_score_mean"] == pytest.approx(np.mean(scores))
    assert rows["ours"]["test_score_std"] == pytest.approx(np.std(scores, ddof=1))
    assert rows["ours"]["passes_mean"] == 5 and rows["ours"]["n_runs"] == 3
    assert np.isnan(rows["trees"]["passes_mean"])
    text = str(runs)
    assert text.splitlines()[1].split() == "estimator runs score loss seconds passes".split()
    lines = text.split("\n\n")[0].splitlines()
    assert [line.split()[0] for line in lines[3:]] == runs.names and " ± " in text


def test_one_run_has_no_deviation(data):
    result = repeated_runs({"l": LogisticRegression(max_iter=1000)}, *data, n_runs=1)
    assert np.isnan(result.table()[0]["test_score_std"]) and " ± " not in str(result)


def test_curves(runs):
    losses, times = runs.curves("ours")
    records = [record for record in runs.records if record["name"] == "ours"]
    np.testing.assert_array_equal(losses, [record["loss_curve"] for record in records])
    np.testing.assert_array_equal(times, [record["time_curve"] for record in records])
    _, times = runs.curves("adam")
    assert times[0, -1] == runs.records[1]["fit_seconds"]
    assert np.ptp(np.diff(times[0])) < 1e-9
    for name in ("trees", "x"):
        with pytest.raises(ValueError, match=f"no loss curves of '{name}'"):
            runs.curves(name)


def test_short_curves_go_on_with_their_last_value():
    common = {"name": "a", "error": None, "time_curve": None}
    result = RepeatedRuns(
        [
            {**common, "loss_curve": [3.0, 1.0], "fit_seconds": 4.0},
            {**common, "loss_curve": [2.0], "fit_seconds": 1.0},
        ]
    )
    losses, times = result.curves("a")
    assert losses.tolist() == [[3.0, 1.0], [2.0, 2.0]] and times.tolist() == [[2.0, 4.0], [1.0] * 2]


def test_json_there_and_back(runs, tmp_path):
    path = tmp_path / "runs.json"
    runs.to_json(path)
    read = RepeatedRuns.from_json(path)
    assert str(read) == str(runs) and read.records == runs.records
    path.write_text("[]", encoding="utf-8")
    with pytest.raises(ValueError, match="does not hold repeated runs"):
        RepeatedRuns.from_json(path)


def test_csv(runs, tmp_path):
    runs.to_csv(tmp_path / "runs.csv")
    with open(tmp_path / "runs.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [float(r["test_score"]) for r in rows] == [r["test_score"] for r in runs.records]
    assert rows[-1]["n_iter"] == rows[-1]["train_loss"] == "" and "loss_curve" not in rows[0]


def test_csv_without_records_is_its_header(runs, tmp_path):
    lines = []
    for name, result in (("some", runs), ("none", RepeatedRuns([]))):
        result.to_csv(tmp_path / name)
        lines.append((tmp_path / name).read_text(encoding="utf-8").splitlines())
    assert lines[1] == lines[0][:1]

"""Fits on Dask arrays: the same bits from every scheduler, and those of memory to rounding."""

import os
import signal
import sys
from functools import cache
from importlib.util import find_spec

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_digits, load_iris
from sklearn.exceptions import NotFittedError

from sknatgrad import (
    RiemannianAutoEncoder,
    RiemannianMLPClassifier,
    RiemannianMLPRegressor,
    get_kernels,
    kernel_context,
)
from sknatgrad.training.data.partitions import PartitionedObjective, on_workers

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")

pytestmark = pytest.mark.filterwarnings("ignore:Maximum iterations", "ignore:Sending large")
ESTIMATORS = {
    "classifier": (RiemannianMLPClassifier, load_digits),
    "regressor": (RiemannianMLPRegressor, load_diabetes),
    "autoencoder": (RiemannianAutoEncoder, load_iris),
}


@pytest.fixture(params=["synchronous", "threads"])
def scheduler(request):
    with dask.config.set(scheduler=request.param):
        yield request.param


def fit(kind, X, *targets, weight=None, **options):
    """An estimator of that kind after a few steps."""
    options = {"hidden_layer_sizes": (5,), "random_state": 0, "max_iter": 4, **options}
    estimator = ESTIMATORS[kind][0](**options)
    return estimator.fit(X, *(t for t in targets if kind != "autoencoder"), sample_weight=weight)


def data(kind, n_samples=400):
    X, y = ESTIMATORS[kind][1](return_X_y=True)
    weight = np.random.default_rng(0).uniform(0, 2, size=len(X))
    return X[:n_samples], y[:n_samples], weight[:n_samples]


def parted(X, y, weight, chunk=90):
    """The same as Dask arrays; targets and weights are cut elsewhere."""
    cut = (chunk, X.shape[1] // 2)
    return da.from_array(X, cut), da.from_array(y, 101), da.from_array(weight, len(y))


@pytest.mark.parametrize("options", [{}, {"metric": "mc_fisher"}, {"alpha": 0.1}], ids=str)
@pytest.mark.parametrize("kind", ESTIMATORS)
def test_schedulers_give_the_same_bits(kind, options):
    X, y, weight = parted(*data(kind))
    fits = []
    for name in ("synchronous", "threads"):
        with dask.config.set(scheduler=name):
            fits.append(fit(kind, X, y, weight=weight, **options))
    assert fits[0].loss_curve_ == fits[1].loss_curve_
    for a, b in zip(fits[0].coefs_, fits[1].coefs_, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", ESTIMATORS)
def test_the_fit_is_that_in_memory(kind, weighted, scheduler):
    X, y, weight = data(kind)
    W = weight if weighted else None
    expected = fit(kind, X, y, weight=W)
    dX, dy, dW = parted(X, y, weight)
    actual = fit(kind, dX, dy, weight=dW if weighted else None)
    np.testing.assert_allclose(actual.predict(X), expected.predict(X), rtol=1e-6, atol=1e-6)
    assert actual.loss_curve_ == pytest.approx(expected.loss_curve_, rel=1e-9)
    assert actual.n_features_in_ == X.shape[1]
    if kind == "classifier":
        np.testing.assert_array_equal(actual.classes_, expected.classes_)


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_partitions_without_rows(kind, scheduler):
    """What a selection of rows leaves."""
    X, y, weight = data(kind)
    chosen = np.ones(len(y), dtype=bool)
    chosen[90:185] = False
    expected = fit(kind, X[chosen], y[chosen], weight=weight[chosen])
    dX, dy, dW = (part[da.from_array(chosen, 60)] for part in parted(X, y, weight))
    actual = fit(kind, dX, dy, weight=dW)
    assert actual.loss_curve_ == pytest.approx(expected.loss_curve_, rel=1e-9)


def test_weights_are_counts_everywhere_or_nowhere(scheduler):
    """Whole numbers in one partition are no counts if others are not whole."""
    X, y, weight = data("classifier")
    weight[:150] = 2.0
    expected = fit("classifier", X, y, weight=weight, max_iter=8)
    dX, dy, dW = parted(X, y, weight)
    actual = fit("classifier", dX, dy, weight=dW, max_iter=8)
    assert actual.alpha_ == pytest.approx(expected.alpha_, rel=1e-6)


def test_weights_of_classes(scheduler):
    """They count as in memory: in the loss, and for what the penalty is divided by."""
    X, y, weight = data("classifier")
    options = {"class_weight": {0: 5.0, 1: 0.0, 2: 0.3}, "alpha": 1.0}
    expected = fit("classifier", X, y, weight=weight, **options)
    dX, dy, dW = parted(X, y, weight)
    actual = fit("classifier", dX, dy, weight=dW, **options)
    assert actual.loss_curve_ == pytest.approx(expected.loss_curve_, rel=1e-9)
    with pytest.raises(ValueError, match="add up to 0"):
        fit("classifier", dX, dy, weight=da.from_array((y == 1) * 1.0), **options)


def test_single_precision_and_labels(scheduler):
    X, y, _ = data("classifier")
    names = np.array([f"digit {k}" for k in y])
    dX = da.from_array(X.astype(np.float32), (100, -1))
    estimator = fit("classifier", dX, names, class_weight={"digit 3": 2.0}, max_iter=30)
    assert estimator.coefs_[0].dtype == np.float32
    assert estimator.score(X.astype(np.float32), names) > 0.9


def test_held_out_rows_in_memory(scheduler):
    X, y, weight = data("classifier")
    dX, dy, _ = parted(X, y, weight)
    estimator = RiemannianMLPClassifier((5,), early_stopping=True, max_iter=5, random_state=0)
    estimator.fit(dX, dy, X_val=X[:50], y_val=y[:50])
    assert len(estimator.validation_scores_) == 5
    with pytest.raises(ValueError, match="X_val must be rows in memory"):
        estimator.fit(dX, dy, X_val=dX, y_val=dy)


def test_what_only_holds_an_array_is_refused():
    """As an array of xarray does: there is one of Dask inside."""

    class Labelled:
        shape = (20, 2)

        def __dask_graph__(self):
            return da.zeros(self.shape).__dask_graph__()

    with pytest.raises(ValueError, match="Expected a 2D array or a table of Dask"):
        fit("classifier", Labelled(), np.arange(20) % 2)


def test_rows_without_weight_do_not_choose_the_output(scheduler):
    """An auto-encoder is of those that weigh, a whole partition without any included."""
    X, y, weight = data("autoencoder")
    X = X / X.max()
    weight[:100], X[5] = 0.0, -1.0
    expected = fit("autoencoder", X, y, weight=weight)
    dX, _, dW = parted(X, y, weight)
    actual = fit("autoencoder", dX, y, weight=dW)
    assert actual.out_activation_ == expected.out_activation_ == "logistic"
    with pytest.raises(ValueError, match="at least one must be > 0"):
        fit("autoencoder", dX, y, weight=0 * dW, output="bernoulli")


@pytest.mark.parametrize("dtype", ["datetime64[D]", object])
def test_dates_are_no_numbers(scheduler, dtype):
    numbers = np.arange(20.0)[:, None]
    dates = np.arange(20).astype("datetime64[D]")[:, None].astype(dtype)
    parts, when = (da.from_array(each, (10, 1)) for each in (numbers, dates))
    regressor = RiemannianMLPRegressor(hidden_layer_sizes=(2,), max_iter=1)
    with pytest.raises(ValueError, match="X holds dates or times"):
        regressor.fit(when, numbers)
    with pytest.raises(ValueError, match="y holds dates or times"):
        regressor.fit(parts, when)


def test_what_is_refused(scheduler):
    X, y, weight = data("classifier")
    dX, dy, _ = parted(X, y, weight)
    for options, message in (
        ({"batch_size": 50}, "batch_size=50 needs rows at hand"),
        ({"early_stopping": True}, "pass X_val"),
        ({"class_weight": "balanced"}, "give a dict"),
    ):
        with pytest.raises(ValueError, match=message):
            fit("classifier", dX, dy, **options)
    with pytest.raises(ValueError, match="one block after the other"):
        RiemannianMLPClassifier((5,)).partial_fit(dX, dy, classes=np.arange(10))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        fit("classifier", dX, dy[1:])
    with pytest.raises(ValueError, match="add up to 0"):
        fit("classifier", dX, dy, weight=da.zeros(len(y)))
    with pytest.raises(ValueError, match="not be negative"):
        fit("classifier", dX, dy, weight=da.from_array(weight - 1.0))
    with pytest.raises(ValueError, match="2D array"):
        fit("classifier", dX[:, 0], dy)
    bad = X.copy()
    bad[-1, 0] = np.nan
    with pytest.raises(ValueError, match="X contains NaN"):
        fit("classifier", da.from_array(bad, (100, -1)), dy)
    with pytest.raises(ValueError, match="y contains NaN"):
        fit("regressor", dX, np.where(y == 3, np.nan, 1.0 * y))


# --------------------------------------------------------------------- predictions
PREDICTIONS = [
    ("classifier", "predict"),
    ("classifier", "predict_proba"),
    ("classifier", "predict_log_proba"),
    ("classifier", "decision_function"),
    ("regressor", "predict"),
    ("autoencoder", "predict"),
    ("autoencoder", "transform"),
    ("autoencoder", "score_samples"),
]
needs_numba = pytest.mark.skipif(find_spec("numba") is None, reason="numba is not installed")
every_prediction = pytest.mark.parametrize(("kind", "method"), PREDICTIONS)


@cache
def fitted(kind):
    """An estimator that learned from rows in memory; not to be changed."""
    return fit(kind, *data(kind)[:2])


def by_hand(call, X, chunks):
    """What NumPy gives for each block of rows; for blocks without rows, nothing."""
    ends = np.cumsum(chunks)
    parts = zip(ends - chunks, ends, strict=True)
    return np.concatenate([call(X[start:end]) for start, end in parts if end > start])


@every_prediction
def test_predictions_are_those_of_each_block(kind, method, scheduler):
    X, y, weight = data(kind)
    call = getattr(fitted(kind), method)
    dX = parted(X, y, weight)[0]
    lazy, expected = call(dX), by_hand(call, X, dX.chunks[0])
    assert isinstance(lazy, da.Array)
    assert (lazy.shape, lazy.dtype) == (expected.shape, expected.dtype)
    assert lazy.chunks == (dX.chunks[0], *((n,) for n in expected.shape[1:]))
    assert lazy._meta.shape == (0,) * expected.ndim
    np.testing.assert_array_equal(lazy.compute(), expected)


@every_prediction
def test_blocks_of_unknown_length_and_without_rows(kind, method, scheduler):
    X, y, weight = data(kind)
    call, dX = getattr(fitted(kind), method), parted(X, y, weight)[0]
    chosen = np.ones(len(X), dtype=bool)
    chosen[85:] = np.arange(len(X) - 85) % 3 > 0
    chosen[90:180] = False
    left = [int(part.sum()) for part in np.split(chosen, np.cumsum(dX.chunks[0])[:-1])]
    assert 0 in left
    lazy, expected = call(dX[da.from_array(chosen, 90)]), by_hand(call, X[chosen], left)
    assert np.isnan(lazy.chunks[0]).all()
    assert lazy.shape[1:] == expected.shape[1:]
    found = lazy.compute()
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


def unreadable(shape, dtype=float):
    """Rows in one block that can't be had."""

    def read():
        raise OSError("read")

    return da.from_delayed(dask.delayed(read)(), shape, dtype)


@every_prediction
def test_nothing_is_read_before_it_is_asked_for(kind, method):
    estimator = fitted(kind)
    lazy = getattr(estimator, method)(unreadable((10, estimator.n_features_in_), np.float32))
    assert lazy.dtype in (np.float32, int, float)
    with pytest.raises(OSError, match="read"):
        lazy.compute(scheduler="synchronous")


def test_single_precision_and_names_of_classes():
    X, y, _ = data("classifier")
    names = np.array([f"digit {k}" for k in y])
    estimator = fit("classifier", X.astype(np.float32), names)
    dX = da.from_array(X.astype(np.float32), (100, -1))
    assert estimator.predict_proba(dX).dtype == np.float32
    predicted = estimator.predict(dX)
    assert predicted.dtype == names.dtype
    np.testing.assert_array_equal(predicted.compute(), estimator.predict(X.astype(np.float32)))


def test_codes_are_decoded(scheduler):
    X, y, weight = data("autoencoder")
    estimator = fitted("autoencoder")
    dX = parted(X, y, weight)[0]
    lazy = estimator.inverse_transform(codes=estimator.transform(dX))
    assert lazy.shape == X.shape
    np.testing.assert_allclose(lazy.compute(), estimator.predict(X), rtol=1e-12)


def test_labels_of_which_each_row_has_several(scheduler):
    X, y, weight = data("classifier")
    labels = np.column_stack([y % 2, y > 4, y % 3 == 0]).astype(int)
    estimator = fit("classifier", X, labels)
    lazy = estimator.predict(parted(X, y, weight)[0])
    assert lazy.shape == labels.shape
    np.testing.assert_array_equal(lazy.compute(), estimator.predict(X))


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_scores_are_those_of_memory(kind, scheduler):
    X, y, weight = data(kind)
    estimator, parts = fitted(kind), parted(X, y, weight)
    for known, lazy in (((X, y), parts[:2]), ((X, y, weight), parts)):
        score = estimator.score(*lazy)
        assert isinstance(score, float)
        assert score == pytest.approx(estimator.score(*known), rel=1e-12)
    assert estimator.score(parts[0], y) == pytest.approx(estimator.score(X, y), rel=1e-12)
    chosen = da.from_array(y > 0, 90)
    score = estimator.score(*(part.rechunk({0: 90})[chosen] for part in parts[:2]))
    assert score == pytest.approx(estimator.score(X[y > 0], y[y > 0]), rel=1e-12)


def test_a_later_fit_changes_no_result():
    X, y, weight = data("regressor")
    estimator, dX = fit("regressor", X, y), parted(X, y, weight)[0]
    lazy, expected = estimator.predict(dX), by_hand(estimator.predict, X, dX.chunks[0])
    estimator.set_params(hidden_layer_sizes=(3,)).fit(X, -y)
    estimator._parameters[:] = 0.0
    np.testing.assert_array_equal(lazy.compute(), expected)


def test_what_can_not_be_predicted_is_refused_at_once():
    estimator = fitted("classifier")
    with pytest.raises(NotFittedError):
        RiemannianMLPClassifier().predict(unreadable((10, 64)))
    with pytest.raises(ValueError, match="64 features"):
        estimator.predict(unreadable((10, 63)))
    with pytest.raises(ValueError, match="number of columns is not known"):
        estimator.predict(unreadable((10, np.nan)))
    for wrong in (unreadable((64,)), dask.delayed(np.zeros)((3, 64))):
        with pytest.raises(ValueError, match="2D array or a table"):
            estimator.predict(wrong)
        with pytest.raises(ValueError, match="2D array or a table"):
            RiemannianMLPClassifier().fit(wrong, [0, 1])


def test_rows_in_memory_need_no_dask(monkeypatch):
    X, y, weight = data("classifier")
    monkeypatch.setitem(sys.modules, "dask", None)
    assert isinstance(fitted("classifier").predict(X), np.ndarray)
    assert 0 <= fitted("classifier").score(X, y, weight) <= 1


def test_tables(scheduler):
    """Names are checked; arrays come out, or tables with the same index if these are set."""
    pd, dd = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    X, y, _ = data("autoencoder")
    index = np.arange(1000, 1000 + len(X))
    table = pd.DataFrame(X.astype(np.float32), columns=list("abcd"), index=index)
    rows = dd.from_pandas(table, npartitions=3)
    rows = rows[rows["a"] > 5]
    kept = table[table["a"] > 5]
    encoder = fit("autoencoder", rows)
    assert encoder.feature_names_in_.tolist() == list("abcd")
    assert encoder.score(rows) == pytest.approx(encoder.score(kept), rel=1e-5)
    codes = encoder.transform(rows)
    assert isinstance(codes, da.Array) and codes.dtype == np.float32
    np.testing.assert_allclose(codes.compute(), encoder.transform(kept), rtol=1e-5, atol=1e-6)
    with pytest.raises(ValueError, match="feature names"):
        encoder.transform(rows.rename(columns={"a": "z"}))
    encoder.set_output(transform="pandas")
    codes = encoder.transform(rows)
    assert isinstance(codes, dd.DataFrame)
    pd.testing.assert_frame_equal(codes.compute(), encoder.transform(kept), rtol=1e-5)
    with pytest.warns(UserWarning, match="valid feature names"):
        codes = encoder.transform(da.from_array(X, (40, 2)))
        assert isinstance(codes, dd.DataFrame)
        pd.testing.assert_frame_equal(codes.compute(), encoder.transform(X), rtol=1e-12)
    labelled = dd.from_pandas(table.assign(y=y), npartitions=3)
    classifier = fit("classifier", labelled[list("abcd")], labelled["y"])
    expected = classifier.score(table, y)
    assert classifier.score(labelled[list("abcd")], labelled["y"]) == pytest.approx(expected)


@needs_numba
def test_kernels_are_those_of_the_call(monkeypatch):
    """Whatever is set where and when the blocks are computed."""
    X, y, weight = data("regressor")
    estimator, used = fitted("regressor"), []
    values = RiemannianMLPRegressor._output_values

    def output_values(self, X):
        used.append((len(X), get_kernels()))
        return values(self, X)

    monkeypatch.setattr(RiemannianMLPRegressor, "_output_values", output_values)
    with kernel_context("numba"):
        lazy, task = estimator.predict(parted(X, y, weight)[0]), on_workers(get_kernels)()
    used.clear()
    with kernel_context("numpy"):
        lazy.compute(scheduler="threads")
        assert task.compute(scheduler="threads") == "numba"
        assert get_kernels() == "numpy"
    assert sorted(used) == [(n, "numba") for n in sorted(lazy.chunks[0])]


# ------------------------------------------------------------------- two processes
@pytest.fixture(scope="module")
def client():
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=2, processes=True, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.mark.slow
@pytest.mark.parametrize("kind", ESTIMATORS)
def test_two_processes_give_the_same_bits(kind, client):
    X, y, weight = parted(*data(kind))
    actual = fit(kind, X, y, weight=weight)
    with dask.config.set(scheduler="synchronous"):
        expected = fit(kind, X, y, weight=weight)
    assert actual.loss_curve_ == expected.loss_curve_
    for a, b in zip(actual.coefs_, expected.coefs_, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.slow
def test_a_killed_worker_does_not_lose_the_fit(client, monkeypatch):
    """Its partitions are made anew elsewhere, and the fit ends with the same bits."""
    X, y, weight = parted(*data("classifier"))
    evaluate, calls = PartitionedObjective.evaluate, []

    def evaluate_after_a_death(self, parameters):
        calls.append(parameters)
        if len(calls) == 3:
            os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)
        return evaluate(self, parameters)

    with dask.config.set(scheduler="synchronous"):
        expected = fit("classifier", X, y, weight=weight)
    monkeypatch.setattr(PartitionedObjective, "evaluate", evaluate_after_a_death)
    actual = fit("classifier", X, y, weight=weight)
    assert len(calls) > 4
    for a, b in zip(actual.coefs_, expected.coefs_, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.slow
@every_prediction
def test_two_processes_predict_the_same_bits(kind, method, client):
    X, y, weight = data(kind)
    call, dX = getattr(fitted(kind), method), parted(X, y, weight)[0]
    np.testing.assert_array_equal(call(dX).compute(), by_hand(call, X, dX.chunks[0]))


@pytest.mark.slow
@needs_numba
def test_kernels_travel_to_the_workers(client):
    """Links that are sparse: the bits are those of the kernels."""
    X, y, weight = parted(*data("classifier"))
    options = {"weight": weight, "connectivity": 0.5}
    fits, predictions = {}, {}
    for name in ("numpy", "numba"):
        with kernel_context(name):
            assert on_workers(get_kernels)().compute() == name
            actual = fit("classifier", X, y, **options)
            found = actual.predict_proba(X).compute()
            with dask.config.set(scheduler="synchronous"):
                fits[name] = fit("classifier", X, y, **options)
                predictions[name] = fits[name].predict_proba(X).compute()
        assert actual.loss_curve_ == fits[name].loss_curve_
        np.testing.assert_array_equal(found, predictions[name])
    # Of the losses alone all digits may agree.
    assert (predictions["numpy"] != predictions["numba"]).any()
    assert set(client.run(get_kernels).values()) == {"numpy"}

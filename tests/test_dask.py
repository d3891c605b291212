"""Fits on Dask arrays: the same bits from every scheduler, and those of memory to rounding."""

import os
import signal

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_digits, load_iris

from sknatgrad import RiemannianAutoEncoder, RiemannianMLPClassifier, RiemannianMLPRegressor
from sknatgrad.training.partitions import PartitionedObjective

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
    with pytest.raises(ValueError, match="all zero"):
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

"""Streams: the running metric, partial_fit against fit, pickles, and learning from single rows."""

import io
import pickle
import warnings
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from engine import assert_close, parts_of, problem_of, random_csr, scale_of
from selection import slow_but, spread
from sklearn.base import clone
from sklearn.datasets import load_iris, make_blobs
from sklearn.metrics import mean_poisson_deviance

from sknatgrad import (
    METRICS,
    RiemannianAutoEncoder,
    RiemannianMLPClassifier,
    RiemannianMLPRegressor,
    get_metric,
)
from sknatgrad.metrics import Backpropagated, Metric, Unitwise
from sknatgrad.training import Data, MiniBatchPass, RunningMetric
from sknatgrad.training.steps.rules import CappedChange

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

FAMILIES = ["qd_bp", "qd_fisher", "bp", "unitwise_fisher", "kron_bp", "op", "unitwise_op", "qd_op"]
CALLS = 150


def make(hidden_layer_sizes=(5,), **parameters):
    """A small classifier."""
    return RiemannianMLPClassifier(hidden_layer_sizes, **{"random_state": 0, **parameters})


def iris():
    """Rows in random order."""
    X, y = load_iris(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(X))
    return X[order], y[order]


def flat(est):
    """All parameters."""
    coefs = [c.toarray() if sp.issparse(c) else c for c in est.coefs_]
    return np.concatenate([part.ravel() for part in coefs + est.intercepts_])


def stream(est, X, *targets, size=1, **arguments):
    """Feed rows in batches."""
    for start in range(0, X.shape[0], size):
        rows = slice(start, start + size)
        est.partial_fit(X[rows], *(t[rows] for t in targets), **arguments)
    return est


# ------------------------------------------------------------------- the running metric
def batches(name, sizes):
    """Statistics of consecutive batches and their dense matrices."""
    metric, problem = get_metric(name), problem_of("softmax", (3, 4, 3), n_samples=sum(sizes))
    rng, start = np.random.RandomState(0), 0
    for size in sizes:
        rows = slice(start, start + size)
        parts = {"X": problem.X[rows], "target": problem.target[..., rows], "weights": None}
        part = type(problem)(**{**vars(problem), **parts})
        statistics = metric.statistics(part.point(), rng)
        yield problem.topology, metric, statistics, float(size)
        start += size


def kept(name, topology, metric, statistics):
    """What a reduction keeps of the matrix, entries that are means over samples."""
    prefix, matrix = parts_of(name)[1], metric.reduction.to_dense(topology, statistics[0])
    if prefix == "kron":
        return np.concatenate([np.ravel(part) for part in statistics[0]])
    if prefix == "qd":
        is_bias = ~topology.is_weight
        return matrix[is_bias | is_bias[:, None] | np.eye(len(matrix), dtype=bool)]
    return matrix**2 if name == "adagrad" else matrix


@pytest.mark.parametrize("name", METRICS)
def test_recursion_is_the_averaged_matrix(name):
    """(1 - g) A + g A(x) with g = B / window, after an even average of what came first."""
    window, average, seen = 12.0, None, 0.0
    running = RunningMetric(get_metric(name), window)
    for topology, metric, statistics, weight in batches(name, [4, 4, 2, 1, 1, 6, 3, 1]):
        matrix = kept(name, topology, metric, statistics)
        seen += weight
        share = min(1.0, weight / max(weight, min(window, seen)))
        average = matrix if average is None else (1 - share) * average + share * matrix
        found = kept(name, topology, metric, running.update(statistics, weight))
        assert_close(found, average, 1e-10)


@pytest.mark.parametrize("name", ["bp", "qd_bp", "kron_bp", "fisher"])
def test_first_batches_are_averaged_by_weight(name):
    """Until the window is full the metric is that of all rows so far, as one batch."""
    running = RunningMetric(get_metric(name), 1000.0)
    for _, _, statistics, weight in batches(name, [5, 1, 9, 3]):
        found = running.update(statistics, weight)
    topology, metric, whole, _ = next(batches(name, [18]))
    assert_close(
        metric.reduction.to_dense(topology, found[0]),
        metric.reduction.to_dense(topology, whole[0]),
        1e-10,
    )


def test_window_of_zero_forgets():
    """The last batch alone."""
    running = RunningMetric(get_metric("bp"), 0.0)
    for _, _, statistics, weight in batches("bp", [4, 2, 1]):
        assert running.update(statistics, weight) is statistics


# ------------------------------------------------------------------- calls and passes
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("batch_size", [1, 25])
def test_calls_on_batches_are_a_pass(metric, batch_size):
    """From the same untrained network, k calls do what one pass of fit does."""
    X, y = iris()
    X, y = X[:50], y[:50]
    kw = dict(metric=metric, shuffle=False, batch_size=batch_size, tol=0.0)
    calls = stream(make(max_iter=0, **kw).fit(X, y), X, y, size=batch_size)
    whole = make(max_iter=1, **kw).fit(X, y)
    np.testing.assert_allclose(flat(calls), flat(whole), rtol=0, atol=1e-10)
    assert calls.t_ == whole.t_ == 50


@pytest.mark.parametrize("kind", ["regressor", "autoencoder", "weights", "multilabel"])
def test_calls_on_batches_are_a_pass_elsewhere(kind):
    """The same for the other estimators, several outputs, and with sample weights."""
    X, y = iris()
    kw = dict(shuffle=False, batch_size=30, tol=0.0, random_state=0, hidden_layer_sizes=(4,))
    targets = (y,)
    cls = RiemannianMLPClassifier
    if kind == "regressor":
        cls, targets = RiemannianMLPRegressor, (np.column_stack([y, X @ [1, -1, 2, 0]]),)
    elif kind == "autoencoder":
        cls, targets = RiemannianAutoEncoder, ()
    elif kind == "weights":
        targets = (y, np.tile([1.0, 2.0, 0.5], 50))
    elif kind == "multilabel":
        targets = ((X > X.mean(axis=0)).astype(int),)
    fit = {"sample_weight": targets[1]} if kind == "weights" else {}
    calls = cls(max_iter=0, **kw).fit(X, *targets[:1], **fit)
    calls = stream(calls, X, *targets, size=30)
    whole = cls(max_iter=1, **kw).fit(X, *targets[:1], **fit)
    np.testing.assert_allclose(flat(calls), flat(whole), rtol=0, atol=1e-10)


@pytest.mark.parametrize("batch_size", ["auto", 1])
@pytest.mark.parametrize("change", ["none", "object", "attribute", "array"])
def test_a_metric_with_other_parameters_is_another_one(change, batch_size):
    """Of a user's modulus: what was averaged before, and inverses of it, are forgotten then."""

    class Power(Backpropagated):
        def __init__(self, power, shares=(1.0, 1.0)):
            self.power, self.shares = power, np.array(shares)

        def values(self, point, rng):
            return super().values(point, rng) ** self.power

    X, y = iris()
    metric = Metric(Power(1.0), Unitwise())
    clf = make(metric=metric, batch_size=batch_size)
    clf.partial_fit(X[:100], y[:100], classes=[0, 1, 2])
    solver, seen = clf._state.solver, clf._state.running.seen
    if change == "object":
        clf.set_params(metric=Metric(Power(2.0), Unitwise()))
    elif change == "attribute":
        metric.modulus.power = 2.0
    elif change == "array":
        metric.modulus.shares[0] = 2.0
    else:
        clf.set_params(metric=Metric(Power(1.0), Unitwise()))
    clf.partial_fit(X[100:], y[100:])
    same = change == "none"
    assert (clf._state.running.seen > seen) == same
    assert (clf._state.solver.key == solver.key) == same


# ------------------------------------------------------------------- first and late rows
@pytest.mark.parametrize(
    "metric", slow_but(["qd_bp", "op", "bp", "kron_bp", "diag_bp"], "qd_bp", "op")
)
def test_first_call_with_one_row(metric):
    """One row is enough to begin: it gives scales to the features, and what follows is learnt."""
    X, y = iris()
    clf = make(metric=metric).partial_fit(X[:1], y[:1], classes=[0, 1, 2])
    assert np.isfinite(clf.predict_proba(X)).all()
    for _ in range(3):
        stream(clf, X, y)
    assert clf.score(X, y) > 0.9


def test_first_row_of_zeros():
    """Features that are 0 in the first row are learnt from later."""
    X, y = iris()
    clf = make().partial_fit(np.zeros((1, 4)), [0], classes=[0, 1, 2])
    for _ in range(3):
        stream(clf, X - X.mean(axis=0), y, size=10)
    assert clf.score(X - X.mean(axis=0), y) > 0.9


@pytest.mark.parametrize(
    "output", slow_but(["auto", "bernoulli", "square", "spherical"], "auto", "square")
)
def test_late_classes(output):
    """A class that is named at first and comes later is learnt."""
    X, y = iris()
    early = y < 2
    clf = stream(make(output=output), X[early], y[early], size=10, classes=[0, 1, 2])
    assert clf.predict_proba(X).shape == (150, 3)
    for _ in range(20):
        stream(clf, X, y, size=10)
    assert clf.score(X[y == 2], y[y == 2]) > 0.8 and clf.score(X, y) > 0.9


def test_multilabel_stream():
    """Indicator matrices need no `classes`."""
    X, _ = iris()
    Y = (X > X.mean(axis=0)).astype(int)
    clf = make()
    for _ in range(4):
        stream(clf, X, Y, size=10)
    assert np.mean(clf.predict(X) == Y) > 0.9
    assert clf.predict_proba(X).shape == Y.shape


def test_several_targets_in_a_stream():
    """A regressor of several targets of different units."""
    X, _ = iris()
    Y = np.column_stack([X[:, 0] - X[:, 1], 1e6 * X[:, 2], 1e-6 * X[:, 3] + 1])
    reg = RiemannianMLPRegressor(hidden_layer_sizes=(5,), random_state=0)
    for _ in range(10):
        stream(reg, X, Y, size=10)
    assert reg.predict(X).shape == (150, 3)
    assert (1 - ((reg.predict(X) - Y) ** 2).mean(axis=0) / Y.var(axis=0) > 0.9).all()


@pytest.mark.parametrize(
    "metric", slow_but(["qd_bp", "bp", "kron_bp", "diag_bp", "euclidean"], "qd_bp", "bp", "kron_bp")
)
def test_sparse_rows(metric):
    """Single sparse rows, many of them empty, are what dense ones are."""
    y = iris()[1]
    X, y = random_csr(100, 30, 0.03), y[:100]
    assert (np.diff(X.indptr) == 0).sum() > 30
    one = stream(make(metric=metric), X, y, classes=[0, 1, 2])
    other = stream(make(metric=metric), X.toarray(), y, classes=[0, 1, 2])
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X.toarray()), atol=1e-10)


# ------------------------------------------------------------------- pickles
@pytest.mark.parametrize(
    ("metric", "size"), spread([name for name in METRICS if name != "mc_fisher"], [1, 25])
)
def test_pickled_stream_resumes_bit_for_bit(metric, size):
    """Saving in the middle changes nothing, Monte-Carlo draws included."""
    X, y = iris()
    one = stream(make(metric=metric), X[:30], y[:30], size=size, classes=[0, 1, 2])
    other = pickle.loads(pickle.dumps(one))
    for est in (one, other):
        stream(est, X[30:60], y[30:60], size=size)
    np.testing.assert_array_equal(flat(one), flat(other))
    assert one.loss_curve_ == other.loss_curve_


@pytest.mark.parametrize("learning_rate", ["trust_region", "constant", "auto"])
@pytest.mark.parametrize("batch_size", ["auto", 50])
def test_streams_go_on_after_a_fit(learning_rate, batch_size):
    """Steps are those of a stream, not the last ones of the fit: what changes is learnt."""
    X, y = iris()
    clf = make(learning_rate=learning_rate, batch_size=batch_size, alpha=1.0, max_iter=50)
    clf.fit(X, y)
    for _ in range(40):
        clf.partial_fit(X, 2 - y)
    assert clf.score(X, 2 - y) > 0.9


def test_streams_follow_a_new_learning_rate():
    """What is set between two calls is heeded."""
    X, y = iris()
    clf = make().partial_fit(X, y, classes=[0, 1, 2]).set_params(learning_rate="constant")
    for rate in (0.5, 0.25):
        clf.set_params(learning_rate_init=rate).partial_fit(X, y)
        assert clf.learning_rate_curve_[-1] == rate
    with pytest.raises(ValueError, match="adaptive"):
        clf.set_params(learning_rate="adaptive").partial_fit(X, y)


def test_pickles_do_not_grow():
    """However long a stream, the model stays of one size; its curves speak of 1000 calls."""
    X, y = iris()
    clf, sizes = make((2,)), []
    for number in range(1300):
        row = slice(number % 150, number % 150 + 1)
        clf.partial_fit(X[row], y[row], classes=[0, 1, 2])
        if number in (1010, 1299):
            sizes.append(len(pickle.dumps(clf)))
    assert abs(sizes[1] - sizes[0]) < 100
    assert clf.t_ == 1300
    assert len(clf.loss_curve_) == len(clf.learning_rate_curve_) == len(clf.time_curve_) == 1000
    assert np.all(np.diff(clf.time_curve_) >= 0)


def test_pickles_of_big_batches_hold_no_data():
    """Rows are not kept from call to call."""
    X = np.random.default_rng(0).normal(size=(2000, 20))
    clf = make((2,)).partial_fit(X, X[:, 0] > 0, classes=[False, True])
    buffer = io.BytesIO()
    pickle.dump(clf, buffer)
    assert buffer.tell() < 40_000


# ------------------------------------------------------------------- learning row by row
@pytest.mark.parametrize(("metric", "how"), spread(FAMILIES, ["partial_fit", "fit"]))
def test_families_learn_row_by_row(metric, how):
    """Parameters and losses stay finite without a warning, and easy classes are learnt."""
    centres = [(-6.0, 0.0), (6.0, 0.0), (0.0, 8.0)]
    X, y = make_blobs(CALLS, centers=centres, cluster_std=1.0, random_state=0)
    clf = make(metric=metric, batch_size=1, max_iter=3)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        if how == "fit":
            clf.fit(X, y)
        else:
            stream(clf, X, y, classes=[0, 1, 2])
    assert np.isfinite(flat(clf)).all() and np.isfinite(clf.loss_curve_).all()
    assert clf.score(X, y) > 0.9


@pytest.mark.parametrize(("how", "kind"), spread(["fit", "partial_fit"], ["events", "counts"]))
def test_rare_events_row_by_row(kind, how):
    """A rare row pulls as hard as it should: the mean is learnt, not the median (which is 0)."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(800, 3))
    y = rng.poisson(0.1 * np.exp(X @ [0.5, -0.3, 0.0]))
    est = RiemannianMLPRegressor(loss="poisson")
    if kind == "events":
        est, y = RiemannianMLPClassifier(), np.minimum(y, 1)
    est.set_params(hidden_layer_sizes=(), batch_size=1, random_state=0)
    best = clone(est).set_params(batch_size=800, metric="bp", max_iter=30).fit(X, y).loss(X, y)
    if how == "fit":
        est.set_params(max_iter=2).fit(X, y)
    else:
        stream(est, X, y, **({"classes": [0, 1]} if kind == "events" else {}))
    assert est.loss(X, y) < best + 0.02


# ------------------------------------------------------------------- counts that rise
def counts(first, n_first, scale=1e6, n=300):
    """Counts of mean `scale`, the first of them all alike."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    y = rng.poisson(scale * np.exp(X @ [0.5, -0.3, 0.0])).astype(float)
    y[:n_first] = first
    return X, y


@pytest.mark.parametrize(
    ("start", "hidden_layer_sizes"),
    spread([(0, 1, 1), (0, 2, 2), (3, 5, 1), (0, 20, 10)], [(), (5,)]),
)
def test_counts_that_rise(start, hidden_layer_sizes):
    """Rows without counts at the start of a stream do not throw the rate out of reach."""
    first, n_first, size = start
    X, y = counts(first, n_first)
    reg = RiemannianMLPRegressor("poisson", hidden_layer_sizes, random_state=0)
    for _ in range(2):
        stream(reg, X, y, size=size)
    X, y = X[n_first:], y[n_first:]
    constant = np.full_like(y, y.mean())
    assert mean_poisson_deviance(y, reg.predict(X)) < 0.5 * mean_poisson_deviance(y, constant)


def test_start_is_taken_anew_by_column():
    """The output whose counts rise; bits do not depend on whether the stream was pickled."""
    X, y = counts(0, 1)
    Y = np.column_stack([np.random.default_rng(1).poisson(2.0, len(y)), y])
    reg = RiemannianMLPRegressor("poisson", (), random_state=0)
    reg.partial_fit(X[:1], Y[:1])
    before, again = flat(reg), pickle.loads(pickle.dumps(reg))
    for est in (reg, again):
        stream(est, X[1:], Y[1:])
    np.testing.assert_array_equal(flat(reg), flat(again))
    assert abs(np.log(reg.predict(X).mean(axis=0) / Y.mean(axis=0))).max() < 0.3
    assert np.isfinite(before).all()


@pytest.mark.parametrize("size", [1, 50])
def test_start_of_steady_counts_is_kept(monkeypatch, size):
    """Unlikely counts, and rare ones, are no other start."""
    from sknatgrad.training import renewed_start

    moves = []
    monkeypatch.setattr(renewed_start, "_move", lambda *args: moves.append(args))
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    for slope in (0.0, 1.5):
        y = rng.poisson(0.1 * np.exp(slope * X[:, 0]))
        stream(RiemannianMLPRegressor("poisson", (), random_state=0), X, y, size=size)
    assert not moves


def beginnings(kind):
    """An estimator, thirty rows for it and what else its calls take."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(30, 3)) * [1, 1e-3, 50] + [0, 7, 0]
    y, weight = rng.integers(0, 2, size=30), rng.integers(1, 4, size=30).astype(float)
    if kind == "regressor":
        return RiemannianMLPRegressor, X, (np.column_stack([X[:, 0] + y, 5 - 100 * y]),), {}
    if kind == "counts":
        return partial(RiemannianMLPRegressor, "poisson"), X, (rng.poisson(3.0, 30), weight), {}
    if kind == "autoencoder":
        return RiemannianAutoEncoder, sp.csr_array(X * (X > 0)), (), {}
    if kind == "sparse":
        return RiemannianMLPClassifier, sp.csr_array(X * (X > 0)), (y,), {"classes": [0, 1]}
    weights = partial(RiemannianMLPClassifier, class_weight={0: 1, 1: 2.5})
    return weights, X, (y, weight), {"classes": [0, 1]}


@pytest.mark.parametrize("kind", ["regressor", "counts", "autoencoder", "sparse", "weights"])
@pytest.mark.parametrize("size", [1, 7])
def test_first_rows_come_in_calls_of_any_size(kind, size):
    """Until they tell the units of the others the stream begins anew, on all of them."""
    make_one, X, targets, arguments = beginnings(kind)
    kw = {"hidden_layer_sizes": (4,), "random_state": 0}
    calls = stream(make_one(**kw), X[:21], *(t[:21] for t in targets), size=size, **arguments)
    n = 21 if size == 7 else 20
    whole = make_one(**kw).partial_fit(X[:n], *(t[:n] for t in targets), **arguments)
    if size == 1:
        whole.partial_fit(X[20:21], *(t[20:21] for t in targets))
    np.testing.assert_allclose(flat(calls), flat(whole), rtol=0, atol=1e-12)
    assert calls.t_ == 21 and len(calls.loss_curve_) == 21 // size
    assert calls._state.first_rows is None
    assert pickle.loads(pickle.dumps(calls)).t_ == 21


def test_first_rows_on_disk(tmp_path):
    """They are read once, and kept in memory."""
    X = np.random.default_rng(0).normal(size=(30, 3))
    np.save(tmp_path / "X.npy", X)
    for kind, targets in ((RiemannianMLPRegressor, (X[:, 0],)), (RiemannianAutoEncoder, ())):
        fits = []
        for rows in (X, np.load(tmp_path / "X.npy", mmap_mode="r")):
            fits.append(
                stream(
                    kind(hidden_layer_sizes=(2,), random_state=0),
                    rows[:12],
                    *(t[:12] for t in targets),
                    size=4,
                )
            )
            assert type(fits[-1]._state.first_rows.data.X) is np.ndarray
            stream(fits[-1], rows[12:], *(t[12:] for t in targets), size=9)
        np.testing.assert_array_equal(*map(flat, fits))


@pytest.mark.parametrize("first", [1, 2])
def test_streams_are_indifferent_to_origins(first):
    """Of features and targets, however little the first rows say."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(2500, 6))
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2]

    def learnt(X, y):
        model = RiemannianMLPRegressor(hidden_layer_sizes=(20,), random_state=0)
        stream(model.partial_fit(X[:first], y[:first]), X[first:1500], y[first:1500], size=10)
        return model.score(X[1500:], y[1500:]), model.predict(X)

    near, far = learnt(X, y), learnt(1000 - X, 1e-3 * y + 1000)
    assert near[0] > 0.6
    np.testing.assert_allclose(1e3 * (far[1] - 1000), near[1], atol=1e-5)


def test_a_bad_row_among_the_first_fails_alone():
    """It is forgotten with the call that brought it."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    est = RiemannianMLPRegressor(hidden_layer_sizes=(4,), metric="euclidean", random_state=0)
    other = clone(est)
    for i in range(40):
        est.partial_fit(X[i : i + 1], X[i : i + 1, 0])
        other.partial_fit(X[i : i + 1], X[i : i + 1, 0])
        if i == 5:
            with pytest.raises(ValueError, match="non-finite"):
                est.partial_fit(X[:1], [1e160])
    assert est.t_ == 40 and len(est.loss_curve_) == 40
    np.testing.assert_array_equal(flat(est), flat(other))


def test_an_interrupt_among_the_first_rows_loses_nothing(monkeypatch):
    """What had been learnt of the rows before stays."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 3))
    est = stream(RiemannianMLPRegressor(hidden_layer_sizes=(4,), random_state=0), X[:10], X[:10, 0])
    before, loss = flat(est), est.loss_
    with monkeypatch.context() as patch:

        def interrupt(self):
            raise KeyboardInterrupt

        patch.setattr(MiniBatchPass, "run", interrupt)
        with pytest.warns(UserWarning, match="interrupted"):
            est.partial_fit(X[10:11], X[10:11, 0])
    np.testing.assert_array_equal(flat(est), before)
    assert est.t_ == 10 and est.loss_ == loss
    assert stream(est, X[10:30], X[10:30, 0]).t_ == 30


def test_class_weights_that_change_among_the_first_rows():
    """Rows count as often as their sample weights say, those of other classes for less."""
    X, y = iris()
    clf = make(class_weight={0: 1, 1: 2.5}).partial_fit(X[:5], y[:5], classes=[0, 1, 2])
    clf.set_params(class_weight=None).partial_fit(X[5:10], y[5:10], sample_weight=np.full(5, 3.0))
    observed = np.append(np.where(y[:5] == 1, 2.5, 1.0), np.ones(15))
    assert clf._state.weight == pytest.approx(observed.sum() ** 2 / (observed**2).sum())


def test_a_stream_goes_on_with_the_metric_of_a_fit():
    """Single rows after a fit on whole batches say too little of what a step does to others."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2600, 6))
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=2600)
    model = RiemannianMLPRegressor(hidden_layer_sizes=(20,), random_state=0).fit(X[:500], y[:500])
    assert model._state.first_rows is None
    before = model.score(X[600:], y[600:])
    assert before > 0.85
    assert stream(model, X[500:600], y[500:600]).score(X[600:], y[600:]) > before - 0.05


def test_start_without_counts_by_weight():
    """Weight is repetition in the first estimate of a rate, too."""
    X, y = np.random.default_rng(0).normal(size=(4, 2)), np.zeros(4)
    weight = np.array([1, 3, 2, 4])
    reg = RiemannianMLPRegressor("poisson", (), max_iter=0)
    weighted = reg.fit(X, y, weight).predict(X)
    repeated = reg.fit(np.repeat(X, weight, axis=0), np.repeat(y, weight)).predict(X)
    np.testing.assert_allclose(weighted, 0.05)
    np.testing.assert_allclose(weighted, repeated)
    np.testing.assert_allclose(reg.fit(X, y, 1e-9 * weight).predict(X), 0.5)


@pytest.mark.parametrize("kind", [RiemannianMLPClassifier, RiemannianMLPRegressor])
def test_partial_fit_refuses_early_stopping(kind):
    """As scikit-learn does: a stream has no held-out rows; nothing fitted is lost."""
    X, y = iris()
    est = kind(hidden_layer_sizes=(5,), early_stopping=True, max_iter=3, random_state=0).fit(X, y)
    before = flat(est)
    with pytest.raises(ValueError, match="partial_fit does not support early_stopping=True"):
        est.partial_fit(X, y)
    np.testing.assert_array_equal(flat(est), before)
    assert np.isfinite(flat(est.set_params(early_stopping=False).partial_fit(X, y))).all()


# ------------------------------------------------------------------- inputs that rise
@pytest.mark.parametrize(("size", "form"), spread([1, 50], [np.asarray, sp.csr_array]))
def test_inputs_that_were_constant_at_first(size, form):
    """Large values of an input that was zero so far do not saturate the units it feeds."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = (X @ [1.0, -0.5, 0.3] > 0).astype(int)
    X[:size, :2] = 0.0
    X[:, 0] *= 1e6
    clf = make(metric="bp").partial_fit(form(X[:size]), y[:size], classes=[0, 1])
    for _ in range(6 if size > 1 else 2):
        stream(clf, form(X[size:]), y[size:], size=size)
    assert clf.score(X[size:], y[size:]) > 0.95


def test_a_new_scale_of_an_input_changes_no_answer():
    """About rows seen so far; the guess is made once, and no more than needed."""
    rng = np.random.default_rng(0)
    X = np.column_stack([np.full(5, 3.0), rng.normal(size=5), np.zeros(5)])
    first = scale_of(X).with_fallback()
    np.testing.assert_array_equal(first.guessed, [True, False, True])
    later = np.column_stack([np.full(4, 4.0), 1e9 * np.ones(4), [0.0, 1e6, -1e6, 0.0]])
    learned = first.learned(Data(later, None))
    assert learned.scale[0] == 3.0 and learned.scale[1] == first.scale[1]
    assert learned.scale[2] == pytest.approx(1e6 / np.sqrt(2))
    np.testing.assert_array_equal(learned.guessed, [False] * 3)
    np.testing.assert_array_equal(learned.apply(X), first.apply(X))
    assert first.learned(Data(X, None)).guessed.tolist() == first.guessed.tolist()
    assert learned.learned(Data(1e9 * later, None)) is learned
    weighted = first.learned(Data(later, None, np.array([1.0, 0.0, 0.0, 1.0])))
    assert weighted.scale[2] == 1.0 and weighted.guessed[2]


def test_a_row_after_a_fit_does_not_make_all_counts_larger():
    """The mean of all rows is that of the fit's, too."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 3))
    reg = RiemannianMLPRegressor("poisson", (5,), random_state=0).fit(X, rng.poisson(1, size=500))
    before = reg.predict(X).mean()
    reg.partial_fit(X[:1], [50.0])
    assert before == pytest.approx(1.0, abs=0.1) and reg.predict(X).mean() < 3


def test_the_cap_of_steps_follows_the_batches():
    """0.01 sqrt(B / 500) nats, means over 500 / B steps, B 20 at least, whatever came first."""
    X, y = make_blobs(700, random_state=0)
    clf = make().partial_fit(X[:500], y[:500], classes=[0, 1, 2])
    rules = []
    for rows in (slice(500, 501), slice(501, 551), slice(551, 700)):
        rules.append(clf.partial_fit(X[rows], y[rows])._state.rule)
    sizes = np.array([20, 50, 149])
    np.testing.assert_allclose([rule.radius for rule in rules], 0.01 * np.sqrt(sizes / 500))
    np.testing.assert_allclose([rule.memory for rule in rules], 500 / sizes)


def test_a_stream_goes_on_after_a_much_steeper_batch():
    """Also where the slope of the last one is all that the mean remembers."""
    rule = CappedChange(1.0)
    assert rule.propose(1e30, 1.0) > 0
    assert 0 < rule.propose(1e-3, 1.0) <= 1.0


def test_no_weights_are_weights_of_one():
    """In units of the mean weight of the first rows, too."""
    X, y = iris()
    models = []
    for arguments in ({}, {"sample_weight": np.ones(50)}):
        clf = make().partial_fit(X[:50], y[:50], np.full(50, 100.0), [0, 1, 2])
        models.append(stream(clf, X, y, size=50, **arguments))
    np.testing.assert_array_equal(*map(flat, models))


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_weights_too_small_for_arithmetic(method):
    X = np.random.default_rng(0).normal(size=(30, 2))
    reg = RiemannianMLPRegressor(random_state=0)
    with pytest.raises(ValueError, match=r"sample_weight .* neither tiny nor huge"):
        getattr(reg, method)(X, X[:, 0], sample_weight=np.full(30, 1e-310))


def test_no_warning_where_a_count_of_several_has_not_risen():
    """Of two columns the first rises a thousandfold, the second is always 0."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 3)), np.zeros((300, 2))
    y[:100, 0], y[100:, 0] = rng.poisson(0.05, 100), rng.poisson(1000, 200)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        reg = stream(RiemannianMLPRegressor("poisson", (5,), random_state=0), X, y, size=50)
    assert np.isfinite(reg.predict(X)).all()


def test_streams_follow_what_drifts():
    """A plane that turns by a radian in 3000 rows; rows are predicted before they are learnt."""
    rng, scores = np.random.default_rng(0), []
    reg = RiemannianMLPRegressor(hidden_layer_sizes=(20,), random_state=0)
    for call in range(500):
        X = rng.normal(size=(30, 5))
        y = X[:, 0] * np.cos(call / 100) + X[:, 1] * np.sin(call / 100)
        if call > 300:
            scores.append(reg.score(X, y))
        reg.partial_fit(X, y)
    assert np.mean(scores) > 0.93


def test_streams_without_a_seed_draw_different_numbers():
    """Each has a generator of its own, which goes on from call to call."""
    X, y = load_iris(return_X_y=True)
    streams = [RiemannianMLPClassifier((4,)).partial_fit(X, y, classes=[0, 1, 2]) for _ in range(2)]
    draws = [stream.partial_fit(X, y)._state.rng.randint(2**31, size=4) for stream in streams]
    assert not np.array_equal(*draws)


def test_rows_that_weigh_nothing_teach_nothing():
    """A call with classes of weight 0 alone is none, where there is a network already."""
    X, y = load_iris(return_X_y=True)
    clf = RiemannianMLPClassifier((4,), class_weight={0: 0.0, 1: 1.0, 2: 1.0}, random_state=0)
    clf.partial_fit(X, y, classes=[0, 1, 2])
    losses, before = list(clf.loss_curve_), clf.predict_proba(X)
    clf.partial_fit(X[y == 0], y[y == 0])
    assert clf.loss_curve_ == losses and clf.t_ == 100
    np.testing.assert_array_equal(clf.predict_proba(X), before)

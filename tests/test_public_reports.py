"""Cases retold from public bug reports and wishes, and siblings of them.

Each test is a report about a neighbouring system turned into a small check of ours; the ids
(NUM-1 ...) are those of the bug log. A sibling has the same kind of fault elsewhere: another
estimator, dtype or container, several labels or targets.
"""

import re
import signal
import threading
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from sknatgrad import (
    METRICS,
    OUTPUTS,
    RiemannianAutoEncoder,
    RiemannianMLPClassifier,
    RiemannianMLPRegressor,
)

ESTIMATORS = {
    "clf": RiemannianMLPClassifier,
    "reg": RiemannianMLPRegressor,
    "ae": RiemannianAutoEncoder,
}
DEFAULTS = {
    "hidden_layer_sizes": (6,),
    "activation": "tanh",
    "max_iter": 100,
    "random_state": 0,
}
AE_DEFAULTS = {"hidden_layer_sizes": (2,), "max_iter": 30, "random_state": 0}
METRIC_NAMES = [
    "unitwise_fisher",
    "qd_fisher",
    "diag_fisher",
    "bp",
    "qd_bp",
    "diag_bp",
    "unitwise_op",
    "qd_op",
    "diag_op",
]
every_metric = pytest.mark.parametrize("metric", METRIC_NAMES)
other_metrics = pytest.mark.parametrize("metric", sorted(set(METRICS) - set(METRIC_NAMES)))
each = pytest.mark.parametrize("kind", ["clf", "reg", "ae"])


def make(kind, **parameters):
    """A small estimator."""
    defaults = AE_DEFAULTS if kind == "ae" else DEFAULTS
    return ESTIMATORS[kind](**{**defaults, **parameters})


def learn(est, X, y, method="fit", **arguments):
    """Fit, whether the estimator takes targets or not."""
    if isinstance(est, RiemannianAutoEncoder):
        return getattr(est, method)(X, **arguments)
    if method == "partial_fit" and isinstance(est, RiemannianMLPClassifier):
        arguments.setdefault("classes", np.unique(y))
    return getattr(est, method)(X, y, **arguments)


def answer(est, X):
    """Probabilities, or predictions."""
    return getattr(est, "predict_proba", est.predict)(X)


# Run exactly max_iter epochs: neither tol nor patience may stop the fit.
NO_STOP = {"tol": 0.0, "n_iter_no_change": 10_000}

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),
]


def blobs(n=90, k=3, gap=4.0, d=2, seed=0):
    """k well separated round clouds, rows in random order."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % k)
    angle = 2 * np.pi * y / k
    X = rng.normal(scale=0.5, size=(n, d))
    X[:, 0] += gap * np.cos(angle)
    X[:, 1] += gap * np.sin(angle)
    return X, y


def waves(n=80, d=3, seed=0, noise=0.05):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, d))
    y = np.sin(2 * X[:, 0]) + X[:, 1] + noise * rng.normal(size=n)
    return X, y


def finite(a):
    return bool(np.isfinite(np.asarray(a, dtype=float)).all())


def proper(P):
    P = np.asarray(P)
    return finite(P) and P.min() >= 0 and np.allclose(P.sum(axis=1), 1, atol=1e-6)


# ------------------------------------------------------------- numerics
@pytest.mark.parametrize("early", [False, True])
def test_num1_divergence_is_named(early):
    """NUM-1 A target of 1e200 overflows the squared loss: either the fit stays
    finite or a ValueError says why - never a puzzling "input contains NaN"
    raised from the validation score."""
    X, y = waves(60)
    est = make("reg", early_stopping=early, max_iter=30)
    try:
        est.fit(X, y * 1e200)
    except ValueError as err:
        assert not re.search(r"contains (nan|inf)", str(err), re.I)
        assert re.search(r"finite|overflow|diverg|large|scal", str(err), re.I)
    else:
        assert finite(est.predict(X))


@every_metric
def test_num3_float32_ill_conditioned(metric):
    """NUM-3 float32 input with column scales 1e3 / 1 / 1e-2 and two nearly
    equal directions: no failed factorisation, the loss falls."""
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, 120)
    X = np.c_[1e3 * x, x + 1e-4 * rng.normal(size=120), 1e-2 * rng.normal(size=120)]
    X, y = X.astype(np.float32), np.sin(3 * x).astype(np.float32)
    est = make("reg", metric=metric, max_iter=40, **NO_STOP).fit(X, y)
    curve = np.asarray(est.loss_curve_, dtype=float)
    assert finite(curve) and curve[-1] < curve[0]
    assert finite(est.predict(X))


def test_num3_float32_is_kept():
    """NUM-3 float32 in, float32 out (regression)."""
    X, y = waves()
    X32, y32 = X.astype(np.float32), y.astype(np.float32)
    est = make("reg", max_iter=5).fit(X32, y32)
    assert est.predict(X32).dtype == np.float32


@pytest.mark.parametrize("zeros", ["some rows", "all rows"])
def test_num5_spherical_output_of_zero_vector(zeros):
    """NUM-5 With tanh and zero biases an all-zero row gives an all-zero output
    vector; normalising it must not give 0/0."""
    X, y = blobs(45)
    X[:9] = 0.0
    if zeros == "all rows":
        X[:] = 0.0
    est = make("clf", output="spherical", max_iter=15).fit(X, y)
    assert proper(est.predict_proba(X))


# ------------------------------------------------------- labels, targets
@pytest.mark.parametrize("names", [["no", "yes"], ["b", "a", "cc"]])
@pytest.mark.parametrize("dtype", [str, object])
def test_lab1_string_labels_with_early_stopping(names, dtype):
    """LAB-1 The validation score must cope with text labels."""
    X, k = blobs(90, k=len(names))
    y = np.array(names, dtype=dtype)[k]
    est = make("clf", early_stopping=True, validation_fraction=0.2, **NO_STOP).fit(X, y)
    assert list(est.classes_) == sorted(names)
    assert np.mean(est.predict(X) == y) > 0.9
    assert finite(est.validation_scores_)


def test_lab3_multilabel_probabilities():
    """LAB-3 Labels are independent: rows of predict_proba need not sum to 1,
    predict is the 0.5 threshold, log-probabilities agree."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 3))
    Y = (X > [[-0.7, 0.0, 0.7]]).astype(int)
    est = make("clf", max_iter=150).fit(X, Y)
    P = est.predict_proba(X)
    assert P.shape == Y.shape and finite(P)
    assert np.abs(P.sum(axis=1) - 1).max() > 0.3
    np.testing.assert_array_equal(est.predict(X), (P > 0.5).astype(int))
    L = est.predict_log_proba(X)
    ok = P > 1e-12
    np.testing.assert_allclose(L[ok], np.log(P[ok]), rtol=1e-6, atol=1e-12)
    assert np.mean(est.predict(X) == Y) > 0.9


@pytest.mark.parametrize("label", ["only", 7])
def test_lab5_one_class(label):
    """LAB-5 One class only: constant predictor with one probability column, or
    a ValueError that speaks of classes."""
    X, _ = waves(30)
    y = np.array([label] * 30)
    est = make("clf", max_iter=10)
    try:
        est.fit(X, y)
    except ValueError as err:
        assert "class" in str(err).lower()
        return
    assert (est.predict(X) == label).all()
    P = est.predict_proba(X)
    assert P.shape == (30, len(est.classes_)) and proper(P)


# ---------------------------------------------------- sparse, containers
@pytest.mark.parametrize("kind", ["clf", "reg"])
@pytest.mark.parametrize("fmt", [sp.csr_matrix, sp.csc_matrix])
def test_con1_sparse_equals_dense(kind, fmt):
    """CON-1 Fit and predict accept CSR/CSC and agree with the dense result,
    also crosswise (fit dense, predict sparse and the reverse)."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(70, 12)) * (rng.random((70, 12)) < 0.2)
    y = X[:, 0] - X[:, 1]
    if kind == "clf":
        y = (y > 0).astype(int)
    dense = make(kind, batch_size=16, max_iter=2).fit(X, y)
    sparse = make(kind, batch_size=16, max_iter=2).fit(fmt(X), y)
    f = "predict_proba" if kind == "clf" else "predict"
    want = getattr(dense, f)(X)
    for est in (dense, sparse):
        for Z in (X, fmt(X)):
            got = getattr(est, f)(Z)
            np.testing.assert_allclose(got, want, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("kind", ["clf", "reg"])
def test_con3_dataframe_with_early_stopping_is_silent(kind):
    """CON-3 No feature-name warning from the inner validation score."""
    pd = pytest.importorskip("pandas")
    X, y = blobs(80, k=2)
    df = pd.DataFrame(X, columns=["left", "right"])
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        est = make(kind, early_stopping=True, max_iter=10).fit(df, pd.Series(y))
        est.predict(df)
        est.score(df, y)
    assert not [w for w in seen if "feature names" in str(w.message)]
    assert list(est.feature_names_in_) == ["left", "right"]
    with pytest.raises(ValueError, match="feature names"):
        est.predict(df[["right", "left"]])


# ----------------------------------------------------------------- state
def test_sta1_partial_fit_with_class_unseen_in_first_batch():
    """STA-1 classes of the first call fix the width of the output layer."""
    est = make("clf")
    est.partial_fit([[1.0], [2.0], [3.0]], ["a", "b", "c"], classes=list("abcd"))
    est.partial_fit([[4.0]], ["d"])
    est.partial_fit([[1.0], [1.1]], ["a", "a"])
    assert list(est.classes_) == list("abcd")
    assert est.predict_proba([[1.0], [4.0]]).shape == (2, 4)
    assert proper(est.predict_proba([[1.0], [4.0]]))
    with pytest.raises(ValueError):
        est.partial_fit([[5.0]], ["e"])
    with pytest.raises(ValueError):
        make("clf").partial_fit([[1.0]], ["a"])  # first call needs classes


def test_sta3_partial_fit_ignores_warm_start():
    """STA-3 warm_start speaks of fit; a one-class mini-batch is normal in
    online use once the classes were declared."""
    X, y = blobs(60, k=3)
    est = make("clf", warm_start=True, batch_size=1, max_iter=1)
    est.partial_fit(X[:10], y[:10], classes=[0, 1, 2])
    for i in range(10, 60):
        est.partial_fit(X[i : i + 1], y[i : i + 1])
    assert list(est.classes_) == [0, 1, 2]
    assert proper(est.predict_proba(X))


@pytest.mark.parametrize("kind", ["clf", "reg"])
def test_sta5_n_iter_and_max_iter_under_warm_start(kind):
    """STA-5 max_iter bounds each fit call, n_iter_ reports that call, and the
    second call continues instead of starting over or stopping at once."""
    X, y = blobs(60, k=2)
    est = make(kind, warm_start=True, max_iter=4, alpha=0.0, batch_size=60, **NO_STOP)
    est.fit(X, y)
    first = float(est.loss_curve_[0])
    after_one = float(est.loss_curve_[-1])
    assert est.n_iter_ == 4
    est.fit(X, y)
    assert est.n_iter_ == 4
    assert float(est.loss_curve_[-1]) < after_one < first
    est.set_params(max_iter=7).fit(X, y)
    assert est.n_iter_ == 7


# ------------------------------------------------- stopping, step length
@pytest.mark.parametrize("n", [2, 5, 12])
def test_sto1_tiny_data_with_early_stopping(n):
    """STO-1 A validation set of 0 or 1 row has no R2: say so, or fit well -
    no AttributeError, no NaN score kept."""
    X, y = waves(n)
    est = make("reg", early_stopping=True, max_iter=20)
    try:
        est.fit(X, y)
    except ValueError as err:
        assert re.search(r"validation|early_stopping|sampl", str(err), re.I)
    else:
        assert finite(est.predict(X))
        assert finite(est.validation_scores_)


@pytest.mark.parametrize("kind", ["clf", "reg"])
def test_sto3_convergence_warning(kind):
    """STO-3 Warn exactly when max_iter ended the fit, and name the number."""
    X, y = blobs(60, k=2)
    with pytest.warns(ConvergenceWarning, match="3"):
        make(kind, max_iter=3, **NO_STOP).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        est = make(kind, max_iter=50, tol=1e9, n_iter_no_change=2).fit(X, y)
    assert est.n_iter_ < 50


@pytest.mark.parametrize("kind", ["clf", "reg"])
def test_sto5_partial_fit_after_early_stopped_fit(kind):
    """STO-5 Either it works or a ValueError names early_stopping."""
    X, y = blobs(80, k=2)
    est = make(kind, early_stopping=True, max_iter=10).fit(X, y)
    try:
        est.partial_fit(X, y)
    except ValueError as err:
        assert "early_stopping" in str(err)
    assert finite(est.predict(X))


# ---------------------------------------------------- randomness, threads
@pytest.mark.parametrize("kind", ["clf", "reg"])
def test_rnd1_global_random_state_is_left_alone(kind):
    """RND-1 With an int seed the result does not depend on numpy's global
    generator, and fit does not touch it."""
    X, y = blobs(80, k=2)

    def run(seed):
        np.random.seed(seed)
        before = np.random.get_state()
        est = make(kind, early_stopping=True, batch_size=8, max_iter=6).fit(X, y)
        after = np.random.get_state()
        assert before[2] == after[2]
        np.testing.assert_array_equal(before[1], after[1])
        return est.predict(X)

    np.testing.assert_array_equal(run(1), run(2))


def test_rnd3_thread_count_does_not_change_the_result():
    """RND-3 1 or 2 BLAS threads, 1 or 2 joblib threads: same answer."""
    from joblib import parallel_backend
    from sklearn.model_selection import cross_val_score
    from threadpoolctl import threadpool_limits

    X, y = waves(150, d=5)
    got = []
    for limit in (1, 2):
        with threadpool_limits(limits=limit):
            est = make("reg", hidden_layer_sizes=(16,), max_iter=5, **NO_STOP)
            got.append(est.fit(X, y).predict(X))
    np.testing.assert_allclose(got[0], got[1], rtol=1e-6, atol=1e-8)
    est = make("reg", max_iter=5)
    serial = cross_val_score(est, X, y, cv=4)
    with parallel_backend("threading", n_jobs=2):
        threaded = cross_val_score(est, X, y, cv=4, n_jobs=2)
    np.testing.assert_allclose(serial, threaded, rtol=1e-6)


# --------------------------------------------------------- sample weights
@pytest.mark.parametrize("kind", ["clf", "reg"])
def test_wgt1_weight_equals_repetition(kind):
    """WGT-1 Full batch: a row of weight w acts like w copies of the row."""
    X, y = blobs(40, k=2) if kind == "clf" else waves(40)
    w = np.random.default_rng(1).integers(1, 4, size=40)
    kw = dict(max_iter=8, alpha=0.0, **NO_STOP)
    a = make(kind, batch_size=40, **kw).fit(X, y, sample_weight=w)
    R, s = np.repeat(X, w, axis=0), np.repeat(y, w)
    b = make(kind, batch_size=len(R), **kw).fit(R, s)
    f = "predict_proba" if kind == "clf" else "predict"
    np.testing.assert_allclose(getattr(a, f)(X), getattr(b, f)(X), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("kind", ["clf", "reg"])
@pytest.mark.parametrize("wrong", ["negative", "all zero", "short", "nan"])
def test_wgt3_bad_weights_are_refused(kind, wrong):
    """WGT-3 Negative, all-zero, too few or NaN weights: ValueError."""
    X, y = blobs(40, k=2)
    w = np.ones(40)
    if wrong == "negative":
        w[3] = -1.0
    elif wrong == "all zero":
        w[:] = 0.0
    elif wrong == "short":
        w = w[:-1]
    else:
        w[3] = np.nan
    with pytest.raises(ValueError):
        make(kind, max_iter=5).fit(X, y, sample_weight=w)


@pytest.mark.parametrize("kind", ["clf", "reg"])
def test_wgt3_a_batch_of_zero_total_weight_is_harmless(kind):
    """WGT-3 Mini-batches that hold only weight-0 rows must not give 0/0."""
    X, y = blobs(60, k=2)
    w = np.ones(60)
    w[:45] = 0.0
    est = make(kind, batch_size=4, max_iter=15).fit(X, y, sample_weight=w)
    assert finite(est.loss_curve_) and finite(est.predict(X))


# ------------------------------------------- metric, inversion degeneracies
@every_metric
def test_met1_separable_data(metric):
    """MET-1 Probabilities run to 0/1, the Fisher matrix to zero: no singular
    matrix, no NaN, all points right."""
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(-3, 0.5, (40, 2)), rng.normal(3, 0.5, (40, 2))])
    y = np.repeat([0, 1], 40)
    est = make("clf", metric=metric, max_iter=150, alpha=0.0, batch_size=80, **NO_STOP)
    est.fit(X, y)
    assert proper(est.predict_proba(X))
    assert finite(est.loss_curve_)
    assert np.mean(est.predict(X) == y) == 1.0


@every_metric
def test_met3_constant_zero_and_duplicated_columns(metric):
    """MET-3 Rank-deficient input blocks."""
    X, y = waves(80, d=2)
    n = len(y)
    Z = np.c_[X, np.full(n, 5.0), np.zeros(n), X[:, 0], np.ones(n)]
    est = make("reg", metric=metric, max_iter=100, **NO_STOP).fit(Z, y)
    curve = np.asarray(est.loss_curve_, dtype=float)
    assert finite(curve) and curve[-1] < 0.5 * curve[0]
    assert finite(est.predict(Z)) and est.score(Z, y) > 0.5


@every_metric
def test_met5_metric_is_not_the_square_of_the_mean_gradient(metric):
    """MET-5 Equal rows with targets +1/-1: the mean gradient vanishes at 0
    while the per-sample gradients do not; a metric built from the mean blows
    the step up there."""
    X = np.tile([1.0, -0.5], (40, 1))
    y = np.tile([1.0, -1.0], 20)
    est = make("reg", metric=metric, max_iter=150, batch_size=40, **NO_STOP).fit(X, y)
    assert finite(est.loss_curve_)
    assert np.abs(est.predict(X)).max() < 0.2


@every_metric
@pytest.mark.parametrize("batch_size", [1, 16])
def test_met7_batches_of_one_row(metric, batch_size):
    """MET-7 Online mode, and a ragged last batch of one row (33 = 2*16 + 1):
    the block of a single sample has rank one."""
    X, y = blobs(33, k=2)
    est = make("clf", metric=metric, batch_size=batch_size, max_iter=30).fit(X, y)
    assert proper(est.predict_proba(X))
    assert np.mean(est.predict(X) == y) > 0.9


# -------------------------------------------------------------- usability
def test_use1_keyboard_interrupt_leaves_a_usable_model():
    """USE-1 Ctrl-C in a long fit: either fit returns with a warning and the
    model predicts, or the interrupt comes through and the estimator is
    unfitted or usable - never silent, never half-written."""
    if threading.current_thread() is not threading.main_thread():
        pytest.skip("needs the main thread")
    X, y = waves(200)
    est = make("reg", max_iter=10**7, **NO_STOP)

    def ring(signum, frame):
        raise KeyboardInterrupt

    old = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, 1.0)
    came_through = False
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            est.fit(X, y)
        except KeyboardInterrupt:
            came_through = True
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, old)
    if not came_through:
        assert [w for w in seen if re.search("interrupt", str(w.message), re.I)]
    try:
        assert finite(est.predict(X))
    except NotFittedError:
        assert came_through


def test_use3_autoencoder_as_a_transformer():
    """USE-3 Default construction works; frames in, named frames out."""
    pd = pytest.importorskip("pandas")
    X, _ = waves(60, d=5)
    df = pd.DataFrame(X, columns=list("abcde"), index=np.arange(60) + 7)
    est = make("ae", hidden_layer_sizes=(2,)).fit(df)
    assert est.transform(df).shape == (60, 2)
    assert len(est.get_feature_names_out()) == 2
    est.set_output(transform="pandas")
    Z = est.transform(df)
    assert list(Z.columns) == list(est.get_feature_names_out())
    assert list(Z.index) == list(df.index)
    np.testing.assert_allclose(
        make("ae").fit(df).transform(df), make("ae").fit_transform(df), rtol=1e-6
    )
    assert finite(RiemannianAutoEncoder().fit(X).transform(X))

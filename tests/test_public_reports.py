"""Cases retold from public bug reports and wishes, and siblings of them.

Each test is a report about a neighbouring system turned into a small check of ours; the ids
(NUM-1 ...) are those of the bug log. A sibling has the same kind of fault elsewhere: another
estimator, dtype or container, several labels or targets.
"""

import re
import signal
import threading
import warnings
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from selection import spread
from sklearn import config_context
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import PoissonRegressor
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

from sknatgrad import (
    METRICS,
    OUTPUTS,
    RiemannianAutoEncoder,
    RiemannianMLPClassifier,
    RiemannianMLPRegressor,
    Topology,
)
from sknatgrad.network.activations import Activation
from sknatgrad.numerics.moments import weighted_moments

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


@pytest.mark.parametrize("kind", ["clf", "reg"])
@pytest.mark.parametrize("name", ["dtype", "dtypes", "shape", "schema", "T"])
def test_con3_columns_named_like_attributes(kind, name):
    """CON-3 Names of columns are no attributes of the table, of features or of targets."""
    pd = pytest.importorskip("pandas")
    X, y = blobs(60, k=2)
    df, target = pd.DataFrame(X, columns=[name, "right"]), pd.DataFrame({name: y})
    est, plain = (
        make(kind, max_iter=3).fit(*data) for data in ((df, target), (X, y.reshape(-1, 1)))
    )
    np.testing.assert_allclose(answer(est, df), answer(plain, X), rtol=1e-9)


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
        np.random.seed(seed)  # noqa: NPY002
        before = np.random.get_state()  # noqa: NPY002
        est = make(kind, early_stopping=True, batch_size=8, max_iter=6).fit(X, y)
        after = np.random.get_state()  # noqa: NPY002
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
    est = make("reg", metric=metric, max_iter=50, batch_size=40, **NO_STOP).fit(X, y)
    assert finite(est.loss_curve_)
    assert np.abs(est.predict(X)).max() < 0.2


@every_metric
@pytest.mark.parametrize("batch_size", [1, 16])
def test_met7_batches_of_one_row(metric, batch_size):
    """MET-7 Online mode, and a ragged last batch of one row (33 = 2*16 + 1):
    the block of a single sample has rank one."""
    X, y = blobs(33, k=2)
    est = make("clf", metric=metric, batch_size=batch_size, max_iter=10).fit(X, y)
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


# ==================================================================== siblings
def small_problem(kind, n=60, seed=0):
    """Data that suit an estimator."""
    return blobs(n, k=2, seed=seed) if kind == "clf" else waves(n, seed=seed)


# ------------------------------------------------------------- numerics
@each
@pytest.mark.parametrize("factor", [1e150, 1e200])
@pytest.mark.parametrize("batch_size", ["auto", 16])
def test_num1_huge_features(kind, factor, batch_size):
    """NUM-1 Features of any size: finite answers, or an error that says why."""
    X, y = small_problem(kind)
    X = X * factor
    try:
        est = learn(make(kind, batch_size=batch_size, max_iter=10), X, y)
    except ValueError as err:
        assert not re.search(r"contains (nan|inf)", str(err), re.I)
        assert re.search(r"finite|overflow|diverg|large|scal", str(err), re.I)
    else:
        assert finite(answer(est, X))


@pytest.mark.parametrize("loss", ["squared_error", "poisson"])
@pytest.mark.parametrize("factor", [1e30, 1e200])
def test_num1_huge_targets_in_several_columns(loss, factor):
    """NUM-1 One target of moderate size, one that overflows, both losses."""
    X, y = waves(60)
    Y = np.c_[y - y.min(), factor * (y - y.min())]
    try:
        est = make("reg", loss=loss, max_iter=10).fit(X, Y)
    except ValueError as err:
        assert not re.search(r"contains (nan|inf)", str(err), re.I)
        assert re.search(r"finite|overflow|diverg|large|scal", str(err), re.I)
    else:
        assert finite(est.predict(X))


@pytest.mark.parametrize("factor", [1e-6, pytest.param(1.0, marks=pytest.mark.slow), 1e6])
def test_num1_targets_of_any_size_row_by_row(factor):
    """NUM-1 A stream whose first call has one row knows no scale of the targets yet."""
    X, y = waves(200)
    est = make("reg")
    for _ in range(3):
        for i in range(200):
            est.partial_fit(X[i : i + 1], factor * y[i : i + 1])
    assert est.score(X, factor * y) > 0.8


@pytest.mark.parametrize("rate", [1.0, 1e3, 1e6])
@pytest.mark.parametrize("batch_size", ["auto", 50])
def test_num1_counts_of_any_size(rate, batch_size):
    """NUM-1 Losses of large counts are large numbers of nats: training gets there all the same."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = rng.poisson(rate * np.exp(X @ [0.5, -0.3, 0.0]))
    est = make("reg", loss="poisson", hidden_layer_sizes=(), batch_size=batch_size, max_iter=50)
    exact = PoissonRegressor(alpha=0, max_iter=1000).fit(X, y)
    np.testing.assert_allclose(est.fit(X, y).predict(X), exact.predict(X), rtol=0.2)


@other_metrics
def test_num3_float32_ill_conditioned_in_the_other_metrics(metric):
    """NUM-3 The same data in the metrics that the case left out."""
    test_num3_float32_ill_conditioned(metric)


@each
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_num3_float32_is_kept_everywhere(kind, container):
    """NUM-3 float32 in, float32 out: parameters and all kinds of predictions."""
    X, y = small_problem(kind)
    X = container(X.astype(np.float32))
    est = learn(make(kind, max_iter=3), X, y)
    names = ["predict", "predict_proba", "predict_log_proba", "decision_function", "transform"]
    for name in names[1:] if kind == "clf" else names:
        if hasattr(est, name) and not (kind == "ae" and name == "predict" and sp.issparse(X)):
            assert getattr(est, name)(X).dtype == np.float32, name
    assert {part.dtype for part in est.coefs_ + est.intercepts_} == {np.dtype(np.float32)}


@pytest.mark.parametrize("activation", ["tanh", "scaled_tanh", "relu", "identity"])
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("batch_size", ["auto", 1])
def test_num5_spherical_zero_vector_of_any_units(activation, container, batch_size):
    """NUM-5 Other output units that can be 0, sparse rows, rows one by one."""
    X, y = blobs(45)
    X[:9] = 0.0
    est = make("clf", output="spherical", output_activation=activation, batch_size=batch_size)
    est.set_params(max_iter=2).fit(container(X), y)
    assert proper(est.predict_proba(container(X)))
    assert finite(est.predict_log_proba(container(X)))


def test_num5_autoencoder_of_nothing():
    """NUM-5 All features 0: reconstructed, and no 0/0."""
    est = make("ae").fit(np.zeros((20, 3)))
    np.testing.assert_allclose(est.predict(np.zeros((2, 3))), 0, atol=1e-3)


# ------------------------------------------------------- early stopping
def test_sto6_equal_accuracy_is_told_apart_by_the_loss():
    """STO-6 Of rare events accuracy says the same after every pass; the loss keeps falling."""
    rng = np.random.default_rng(3)
    X, T = rng.normal(size=(600, 3)), rng.normal(size=(5000, 3))
    y, t = (rng.random(len(Z)) < 0.05 * np.exp(0.8 * Z[:, 0]) for Z in (X, T))
    est = make("clf", early_stopping=True).fit(X, y)
    scores, losses = np.array(est.validation_scores_), np.array(est.validation_loss_curve_)
    best = scores == scores.max()
    assert best[0] and losses[best].min() < 0.9 * losses[0]
    assert est.n_iter_ > 11
    assert roc_auc_score(t, est.predict_proba(T)[:, 1]) > 0.65


def test_sto7_rare_events_as_numbers():
    """STO-7 Held-out rows without an event are no error, whatever the loss."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    y = np.zeros(120)
    y[5] = 2.0
    for loss in ("squared_error", "poisson"):
        est = make("reg", loss=loss, early_stopping=True, max_iter=20).fit(X, y)
        assert finite(est.predict(X)) and finite(est.validation_scores_)
    assert finite(make("reg", early_stopping=True).fit(X, np.c_[X[:, 0], y]).predict(X))


def test_sto8_classes_too_rare_to_be_held_out():
    """STO-8 A class of one row, or more classes than held-out rows: each is trained on."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 2))
    rare = (X[:, 0] > 0).astype(int)
    rare[7] = 2
    for y in (rare, np.arange(100) % 40, rare.astype(str)):
        est = make("clf", early_stopping=True, max_iter=5).fit(X, y)
        assert len(est.classes_) == len(np.unique(y)) and proper(est.predict_proba(X))
    with pytest.raises(ValueError, match="one sample only"):
        make("clf", early_stopping=True).fit(X[:9], np.arange(9))
    fraction = np.float32(0.2)
    make("clf", early_stopping=True, validation_fraction=fraction, max_iter=2).fit(X, rare)


@pytest.mark.parametrize("kind", ["clf", "reg"])
def test_sca1_scalar_in_place_of_a_table(kind):
    """SCA-1 A number is no table."""
    with pytest.raises(ValueError, match="2D array"):
        make(kind).fit(np.float64(3.0), [1])


# ------------------------------------------------------- labels, targets
@pytest.mark.parametrize("dtype", ["string", "category", "boolean", "Int64", bool, np.uint8])
def test_lab1_labels_of_any_dtype_with_early_stopping(dtype):
    """LAB-1 Nullable and categorical columns, Booleans and small integers."""
    pd = pytest.importorskip("pandas")
    X, k = blobs(90, k=2)
    y = pd.Series(k).astype(str if dtype in ("string", "category") else int).astype(dtype)
    est = make("clf", early_stopping=True, validation_fraction=0.2, **NO_STOP).fit(X, y)
    assert np.mean(est.predict(X) == np.asarray(y)) > 0.9
    assert finite(est.validation_scores_)


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array, sp.csc_matrix])
def test_lab3_multilabel_containers(container):
    """LAB-3 Sparse indicators are the same labels, early stopping included."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 3))
    Y = (X > [[-0.7, 0.0, 0.7]]).astype(int)
    kw = dict(max_iter=30, early_stopping=True, output_activation="tanh")
    want = make("clf", **kw).fit(X, Y).predict_proba(X)
    np.testing.assert_array_equal(make("clf", **kw).fit(X, container(Y)).predict_proba(X), want)


def test_lab3_one_label_column_is_constant():
    """LAB-3 A label that every row, or no row, has."""
    X, y = blobs(60, k=2)
    Y = np.c_[y, np.ones_like(y), np.zeros_like(y)]
    est = make("clf").fit(X, Y)
    assert finite(est.predict_log_proba(X)) and np.mean(est.predict(X) == Y) > 0.98


@pytest.mark.parametrize("output", [name for name in OUTPUTS if name != "poisson"])
@pytest.mark.parametrize("parameters", [{}, {"batch_size": 7}, {"early_stopping": True}])
def test_lab5_one_class_in_every_mode(output, parameters):
    """LAB-5 One class: every output, mini-batches and early stopping."""
    X, _ = waves(30)
    est = make("clf", output=output, max_iter=10, **parameters).fit(X, ["only"] * 30)
    assert (est.predict(X) == "only").all()
    assert est.predict_proba(X).shape == (30, 1) and proper(est.predict_proba(X))
    assert finite(est.predict_log_proba(X))


@pytest.mark.parametrize("value", [0.0, 3.0, 1e6])
@pytest.mark.parametrize(("loss", "tolerance"), [("squared_error", 0.01), ("poisson", 0.1)])
def test_lab5_constant_target(loss, tolerance, value):
    """LAB-5 A regression target that never changes is predicted."""
    X, _ = waves(30)
    est = make("reg", loss=loss).fit(X, np.full(30, value))
    np.testing.assert_allclose(est.predict(X), value, rtol=tolerance, atol=tolerance)


# ---------------------------------------------------- sparse, containers
FORMATS = [sp.coo_array, sp.csr_array, sp.csc_array, sp.lil_matrix, sp.dok_array, sp.bsr_array]


@each
@pytest.mark.parametrize("fmt", FORMATS)
@pytest.mark.parametrize("batch_size", ["auto", 16])
def test_con1_every_sparse_format(kind, fmt, batch_size):
    """CON-1 All formats, the auto-encoder too, whole and mini-batches."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(70, 12)) * (rng.random((70, 12)) < 0.2)
    y = (X[:, 0] - X[:, 1] > 0).astype(int)
    kw = dict(batch_size=batch_size, max_iter=3)
    want = answer(learn(make(kind, **kw), X, y), X)
    got = answer(learn(make(kind, **kw), fmt(X), y), X)
    np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-8)


@each
def test_con1_sparse_rows_after_dense_ones(kind):
    """CON-1 Crosswise in training: `partial_fit` on sparse rows after dense ones."""
    X, y = small_problem(kind)
    X = X + 2.0
    dense, mixed = (learn(make(kind, max_iter=2), X, y) for _ in range(2))
    learn(dense, X, y, "partial_fit")
    learn(mixed, sp.csr_array(X), y, "partial_fit")
    np.testing.assert_allclose(answer(mixed, X), answer(dense, X), rtol=1e-6)


@each
def test_con1_sparse_validation_set(kind):
    """CON-1 Crosswise in validation: a sparse `X_val` for a dense X."""
    X, y = small_problem(kind)
    X = X + 2.0
    scores = []
    for container in (np.asarray, sp.csr_array):
        extra = {} if kind == "ae" else {"y_val": y}
        est = make(kind, max_iter=5, early_stopping=True, **NO_STOP)
        scores.append(learn(est, X, y, X_val=container(X), **extra).validation_scores_)
    np.testing.assert_allclose(scores[1], scores[0], rtol=1e-6)


@each
def test_con1_verbose_on_sparse_data(kind, capsys):
    """CON-1 Printing what happens works on sparse data too."""
    X, y = small_problem(kind)
    learn(make(kind, max_iter=2, verbose=True), sp.csr_array(X), y)
    assert capsys.readouterr().out.count("Iteration ") == 2


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
@pytest.mark.parametrize("dtype", ["Float64", "float32", "Int64"])
def test_con3_autoencoder_of_frames(method, dtype):
    """CON-3 Frames of any numeric dtype, no feature-name warning, wrong order refused."""
    pd = pytest.importorskip("pandas")
    X, _ = waves(60, d=3)
    frame = pd.DataFrame(np.round(10 * X), columns=list("abc")).astype(dtype)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        est = learn(make("ae", max_iter=3), frame, None, method)
        est.transform(frame), est.predict(frame), est.score(frame)
    assert not [w for w in seen if "feature names" in str(w.message)]
    with pytest.raises(ValueError, match="feature names"):
        est.transform(frame[["b", "a", "c"]])


# ----------------------------------------------------------------- state
def test_sta1_partial_fit_with_other_labels_or_targets():
    """STA-1 The first call fixes the number of labels and targets."""
    X, y = waves(12)
    clf = make("clf").partial_fit(X, np.c_[y > 0, y > 1, y > 2].astype(int))
    with pytest.raises(ValueError):
        clf.partial_fit(X, np.c_[y > 0, y > 1].astype(int))
    with pytest.raises(ValueError):
        clf.partial_fit(X, (y > 0).astype(int))
    assert clf.partial_fit(X[:1], [[1, 0, 1]]).predict(X).shape == (12, 3)
    reg = make("reg").partial_fit(X, np.c_[y, y])
    with pytest.raises(ValueError):
        reg.partial_fit(X, y)
    assert finite(reg.predict(X)) and reg.predict(X).shape == (12, 2)


def test_sta1_classes_may_be_repeated_in_any_order_but_not_changed():
    """STA-1 Later calls may pass the same classes again."""
    X, y = blobs(30)
    est = make("clf").partial_fit(X, y, classes=[2, 0, 1])
    est.partial_fit(X, y, classes=[1, 2, 0])
    with pytest.raises(ValueError, match="classes"):
        est.partial_fit(X, y, classes=[0, 1, 2, 3])
    with pytest.raises(ValueError):
        est.partial_fit(X, y.astype(str))


@pytest.mark.parametrize("kind", ["reg", "ae"])
def test_sta3_rows_one_by_one_with_warm_start(kind):
    """STA-3 The same without classes."""
    X, y = waves(40)
    est = make(kind, warm_start=True)
    for i in range(40):
        learn(est, X[i : i + 1], y[i : i + 1], "partial_fit")
    assert finite(est.predict(X)) and est.t_ == 40


@each
@pytest.mark.parametrize("batch_size", ["auto", 16])
def test_sta5_warm_start_of_all_and_in_mini_batches(kind, batch_size):
    """STA-5 Calls go on where the last one ended; curves and samples seen accumulate."""
    X, y = small_problem(kind)
    est = make(kind, warm_start=True, max_iter=4, alpha=0.0, batch_size=batch_size, **NO_STOP)
    losses = [learn(est, X, y).loss_ for _ in range(3)]
    assert losses[2] < losses[1] < losses[0]
    assert est.n_iter_ == 4 and est.t_ == 3 * 4 * 60
    assert len(est.loss_curve_) == len(est.time_curve_) == len(est.learning_rate_curve_) == 12
    assert (np.diff(est.time_curve_) >= 0).all()


@each
@pytest.mark.parametrize(
    "change",
    [
        {"hidden_layer_sizes": (3,)},
        {"activation": "logistic"},
        {"connectivity": 1},
    ],
)
def test_sta5_warm_start_with_another_network_is_refused(kind, change):
    """STA-5 Changes of the network that a warm start can't honour are not ignored."""
    X, y = small_problem(kind)
    est = learn(make(kind, warm_start=True, max_iter=2), X, y)
    before = answer(est, X)
    with pytest.raises(ValueError, match=r"(?i)warm_start|activation|connectivity|hidden_layer"):
        learn(est.set_params(**change), X, y)
    np.testing.assert_array_equal(answer(est, X), before)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"output": "softmax"}, {"output": "scaled_softmax"}),
        ({"output": "scaled_softmax"}, {"output": "softmax"}),
        ({"output": "softmax"}, {"output": "spherical"}),
        ({"output": "spherical"}, {"output_activation": "tanh"}),
    ],
)
def test_sta5_warm_start_with_another_output(before, after):
    """STA-5 An output with other parameters or units: taken over, or refused in clear words."""
    X, y = blobs(60)
    est = make("clf", warm_start=True, max_iter=2, **before).fit(X, y)
    try:
        est.set_params(**after).fit(X, y)
    except ValueError as err:
        assert re.search("output|warm_start", str(err))
    assert proper(est.predict_proba(X))


# ------------------------------------------------- stopping, step length
@pytest.mark.parametrize("kind", ["clf", "ae"])
@pytest.mark.parametrize("n", [1, 2, 3, 5, 12])
def test_sto1_tiny_data_with_early_stopping_elsewhere(kind, n):
    """STO-1 Classes of one row can't be split; features neither."""
    X, y = small_problem(kind, max(n, 2))
    est = make(kind, early_stopping=True, max_iter=20)
    try:
        learn(est, X[:n], y[:n])
    except ValueError as err:
        assert re.search(r"validation|early_stopping|sampl", str(err), re.I)
    else:
        assert finite(answer(est, X)) and finite(est.validation_scores_)


def test_sto3_convergence_warning_of_the_autoencoder():
    """STO-3 The same for the auto-encoder."""
    X, _ = waves(60)
    with pytest.warns(ConvergenceWarning, match="3"):
        make("ae", max_iter=3, **NO_STOP).fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        make("ae", max_iter=50, tol=1e9, n_iter_no_change=2).fit(X)
        make("ae", max_iter=0).fit(X)


@each
def test_sto3_partial_fit_speaks_of_no_convergence(kind):
    """STO-3 One pass was asked for and made: max_iter ended nothing."""
    X, y = small_problem(kind)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        est = learn(make(kind), X, y, "partial_fit")
        learn(est, X, y, "partial_fit")


@each
def test_sto5_every_order_of_calls(kind):
    """STO-5 fit, partial_fit and warm fits with and without early stopping, in any order."""
    X, y = small_problem(kind, 80)
    est = make(kind, max_iter=3, warm_start=True)
    for early_stopping in (False, True, False, True):
        learn(est.set_params(early_stopping=early_stopping), X, y)
        # A stream has no held-out rows, and says so.
        learn(est.set_params(early_stopping=False), X, y, "partial_fit")
        assert finite(answer(est, X)) and finite(est.loss_curve_)


# ---------------------------------------------------- randomness, threads
@each
@pytest.mark.parametrize("connectivity", [None, 2, "paper"])
@pytest.mark.parametrize("metric", ["qd_bp", "qd_mc_fisher"])
def test_rnd1_nothing_random_uses_the_global_generator(kind, connectivity, metric):
    """RND-1 Links, Monte-Carlo draws, starts: all from `random_state`."""
    X, y = small_problem(kind)

    def run(seed):
        np.random.seed(seed)  # noqa: NPY002
        before = np.random.get_state()[1]  # noqa: NPY002
        est = make(kind, connectivity=connectivity, metric=metric, max_iter=2, n_init=2)
        learn(est, X, y)
        learn(est, X, y, "partial_fit")
        np.testing.assert_array_equal(before, np.random.get_state()[1])  # noqa: NPY002
        return answer(est, X)

    np.testing.assert_array_equal(run(1), run(2))


@each
def test_rnd3_threads_share_nothing(kind):
    """RND-3 Fits and predictions at once, in one process, give what they give alone."""
    from concurrent.futures import ThreadPoolExecutor

    X, y = small_problem(kind)
    fitted = learn(make(kind, connectivity=2, max_iter=3), X, y)
    want = answer(fitted, X)

    def work(i):
        return answer(learn(make(kind, connectivity=2, max_iter=3), X, y) if i % 2 else fitted, X)

    with ThreadPoolExecutor(4) as pool:
        for got in pool.map(work, range(16)):
            np.testing.assert_array_equal(got, want)


# --------------------------------------------------------- sample weights
@pytest.mark.parametrize("case", ["ae", "multilabel", "multi-output", "spherical", "poisson"])
@pytest.mark.parametrize("metric", ["qd_bp", "kron_bp", "fisher", "op", "adagrad"])
def test_wgt1_weight_equals_repetition_elsewhere(case, metric):
    """WGT-1 Other targets, outputs and metrics."""
    X, y = waves(40)
    w = np.random.default_rng(1).integers(0, 4, size=40)
    kind, targets, extra = {
        "ae": ("ae", y, {}),
        "multilabel": ("clf", np.c_[y > 0, y > 0.5].astype(int), {}),
        "multi-output": ("reg", np.c_[y, y**2], {}),
        "spherical": ("clf", (y > 0).astype(int), {"output": "spherical"}),
        "poisson": ("reg", np.round(np.exp(y)), {"loss": "poisson"}),
    }[case]
    kw = dict(max_iter=3, metric=metric, **extra, **NO_STOP)
    a = learn(make(kind, **kw), X, targets, sample_weight=w)
    b = learn(make(kind, **kw), np.repeat(X, w, axis=0), np.repeat(targets, w, axis=0))
    np.testing.assert_allclose(answer(a, X), answer(b, X), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("factor", [1e-200, 1e-3, 1e200])
@pytest.mark.parametrize("parameters", [{"batch_size": 60}, {}, {"metric_decay": 0.1}], ids=repr)
@pytest.mark.parametrize("kind", ["clf", "reg", "ae"])
def test_wgt1_size_of_weights_does_not_matter(kind, factor, parameters):
    """WGT-1 Only ratios of weights count: all weights 0.001 is all weights 1."""
    X, y = small_problem(kind)
    w = np.random.default_rng(0).uniform(0.5, 2, size=60)
    fits = [
        learn(make(kind, max_iter=5, **{"batch_size": 16, **parameters}), X, y, sample_weight=c * w)
        for c in (1.0, factor)
    ]
    np.testing.assert_allclose(answer(fits[1], X), answer(fits[0], X), rtol=1e-6, atol=1e-9)


def test_wgt1_class_weight_is_a_sample_weight():
    """WGT-1 Class weights multiply sample weights."""
    X, y = blobs(60)
    w = np.random.default_rng(0).uniform(0.5, 2, size=60)
    a = make("clf", class_weight={0: 1, 1: 3, 2: 0.5}, max_iter=5).fit(X, y, w)
    b = make("clf", max_iter=5).fit(X, y, w * np.array([1, 3, 0.5])[y])
    np.testing.assert_array_equal(a.predict_proba(X), b.predict_proba(X))


@each
@pytest.mark.parametrize("wrong", [-1.0, 0.0, np.nan, np.inf, "short", "two columns"])
@pytest.mark.parametrize("method", ["fit", "partial_fit", "loss", "direction", "metric_matrix"])
def test_wgt3_bad_weights_are_refused_by_every_method(kind, wrong, method):
    """WGT-3 All methods that take weights check them."""
    X, y = small_problem(kind)
    if wrong == "short":
        w = np.ones(59)
    elif wrong == "two columns":
        w = np.ones((60, 2))
    else:
        w = np.r_[wrong, np.zeros(59) if wrong == 0 else np.ones(59)]
    est = make(kind, max_iter=1)
    if method not in ("fit", "partial_fit"):
        learn(est, X, y)
    arguments = (X,) if kind == "ae" else (X, y)
    if method == "partial_fit" and kind == "clf":
        learn(est, X, y)
    with pytest.raises(ValueError):
        getattr(est, method)(*arguments, sample_weight=w)


def test_wgt3_bad_weights_of_the_score_are_refused():
    """WGT-3 The auto-encoder's own score says what is wrong as well."""
    X, _ = waves(20)
    est = make("ae", max_iter=1).fit(X)
    with pytest.raises(ValueError):
        est.score(X, sample_weight=np.zeros(20))


def test_wgt3_a_class_of_weight_zero():
    """WGT-3 Class weights 0: batches and calls without weight are harmless."""
    X, y = blobs(60, k=2)
    est = make("clf", class_weight={0: 0.0, 1: 1.0}, batch_size=4, max_iter=5)
    order = np.argsort(y, kind="stable")
    est.fit(X[order], y[order])
    est.partial_fit(X[y == 0], y[y == 0])
    assert finite(est.loss_curve_) and proper(est.predict_proba(X))


@pytest.mark.parametrize("weight", [-1.0, np.nan, np.inf])
def test_wgt3_bad_class_weights_are_refused(weight):
    """WGT-3 Class weights are weights."""
    X, y = blobs(60, k=2)
    with pytest.raises(ValueError, match="weight"):
        make("clf", class_weight={0: weight, 1: 1.0}, max_iter=5).fit(X, y)


def test_wgt3_class_weights_of_classes_that_a_batch_lacks():
    """WGT-3 A batch without the class that has a weight is a normal batch."""
    X, y = blobs(60, k=2)
    est = make("clf", class_weight={1: 5.0}).partial_fit(X, y, classes=[0, 1])
    est.partial_fit(X[y == 0], y[y == 0])
    assert proper(est.predict_proba(X))


# ------------------------------------------- metric, inversion degeneracies
@other_metrics
def test_met1_separable_data_in_the_other_metrics(metric):
    """MET-1 The metrics that the case left out."""
    test_met1_separable_data(metric)


@pytest.mark.parametrize(
    ("metric", "output"), spread(METRICS, ["bernoulli", "softmax", "spherical", "square"])
)
def test_met1_separable_data_in_every_output(metric, output):
    """MET-1 Every output of every metric."""
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(-3, 0.5, (20, 2)), rng.normal(3, 0.5, (20, 2))])
    y = np.repeat([0, 1], 20)
    est = make("clf", metric=metric, output=output, max_iter=60, **NO_STOP).fit(X, y)
    assert proper(est.predict_proba(X)) and finite(est.loss_curve_)
    assert est.score(X, y) == 1.0


@other_metrics
def test_met3_rank_deficient_inputs_in_the_other_metrics(metric):
    """MET-3 The metrics that the case left out."""
    if metric in ("euclidean", "adagrad"):
        pytest.skip("a plain gradient needs more than 100 steps")
    test_met3_constant_zero_and_duplicated_columns(metric)


@pytest.mark.parametrize("metric", METRICS)
def test_met3_rank_deficient_autoencoder(metric):
    """MET-3 Constant and repeated features are targets as well."""
    X, _ = waves(60, d=2)
    Z = np.c_[X, np.full(60, 5.0), np.zeros(60), X[:, 0]]
    est = make("ae", metric=metric, max_iter=40, **NO_STOP).fit(Z)
    curve = np.asarray(est.loss_curve_)
    assert finite(curve) and curve[-1] < curve[0] and finite(est.predict(Z))


@other_metrics
def test_met5_equal_rows_in_the_other_metrics(metric):
    """MET-5 The metrics that the case left out."""
    test_met5_metric_is_not_the_square_of_the_mean_gradient(metric)


@pytest.mark.parametrize("metric", METRICS)
def test_met5_equal_rows_of_both_classes(metric):
    """MET-5 Equal rows, half of each class: probability 1/2 is the optimum."""
    X, y = np.tile([1.0, -0.5], (40, 1)), np.tile([0, 1], 20)
    est = make("clf", metric=metric, max_iter=50, **NO_STOP).fit(X, y)
    assert finite(est.loss_curve_)
    np.testing.assert_allclose(est.predict_proba(X), 0.5, atol=0.1)


@other_metrics
@pytest.mark.parametrize("batch_size", [1, 16])
def test_met7_batches_of_one_row_in_the_other_metrics(metric, batch_size):
    """MET-7 The metrics that the case left out."""
    test_met7_batches_of_one_row(metric, batch_size)


@pytest.mark.parametrize(
    ("kind", "metric"),
    spread(["reg", "ae"], ["qd_bp", "kron_bp", "bp", "fisher", "op", "qd_mc_fisher"]),
)
def test_met7_batches_of_one_row_elsewhere(kind, metric):
    """MET-7 Regression and auto-encoding row by row: the loss falls."""
    X, y = waves(33)
    est = make(kind, metric=metric, batch_size=1, max_iter=0)
    before = learn(est, X, y).loss_
    after = learn(est.set_params(max_iter=10), X, y).loss_
    assert finite(answer(est, X)) and after < 0.9 * before


# -------------------------------------------------------------- usability
@each
@pytest.mark.parametrize("batch_size", ["auto", 20])
def test_use1_alarm_in_every_mode(kind, batch_size):
    """USE-1 Ctrl-C at some moment of a long fit, everywhere."""
    if threading.current_thread() is not threading.main_thread():
        pytest.skip("needs the main thread")
    X, y = small_problem(kind, 200)
    endless = {**NO_STOP, "n_iter_no_change": 10**9}
    est = make(kind, max_iter=10**7, batch_size=batch_size, **endless)

    def ring(*_):
        raise KeyboardInterrupt

    old = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    try:
        with pytest.warns(UserWarning, match="interrupted"):
            learn(est, X, y)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)
    assert finite(answer(est, X)) and est.n_iter_ == len(est.loss_curve_) > 0


def test_use3_autoencoder_with_chosen_code():
    """USE-3 A code layer by number: names, width and decoding fit together."""
    pd = pytest.importorskip("pandas")
    X, _ = waves(60, d=5)
    frame = pd.DataFrame(X, columns=list("abcde"))
    est = make("ae", hidden_layer_sizes=(4, 2, 3), code_layer=2, max_iter=3)
    codes = est.set_output(transform="pandas").fit_transform(frame)
    assert codes.shape == (60, 3) and len(est.get_feature_names_out()) == 3
    np.testing.assert_allclose(est.inverse_transform(codes), est.predict(frame))
    for connectivity in (2, "paper", 0.5):
        est = make("ae", hidden_layer_sizes=(4, 2, 4), connectivity=connectivity, max_iter=3)
        np.testing.assert_allclose(est.fit(X).inverse_transform(est.transform(X)), est.predict(X))


@pytest.mark.parametrize("kind", ["masks", "topology"])
def test_use3_code_of_a_given_graph(kind):
    """USE-3 The narrowest layer of the network there is, whatever `hidden_layer_sizes` says."""
    X, _ = waves(60, d=4)
    sizes = [4, 3, 2, 3, 4]
    masks = [np.ones(shape) for shape in pairwise(sizes)]
    connectivity = masks if kind == "masks" else Topology.layered(sizes)
    for hidden in ((30, 10, 30), (2,), (5, 4)):
        est = make("ae", hidden_layer_sizes=hidden, connectivity=connectivity, max_iter=2).fit(X)
        assert est.transform(X).shape == (60, 2)
        np.testing.assert_allclose(est.inverse_transform(est.transform(X)), est.predict(X))


@pytest.mark.parametrize("kind", ["reg", "clf"])
def test_lab_targets_of_the_methods_are_checked(kind):
    """LAB `loss` and `direction` refuse what `fit` refuses, instead of answering NaN."""
    X, y = small_problem(kind)
    est = learn(make(kind, max_iter=1), X, y)
    for method in (est.loss, est.direction):
        with pytest.raises(ValueError):
            method(X, np.full(60, np.nan))
        with pytest.raises(ValueError):
            method(X, y[:5])


# ------------------------------------------------- siblings: sparse data far from the origin
@pytest.mark.parametrize("offset", [0.0, 30.0, 1000.0])
def test_con1_sparse_single_precision_far_from_the_origin(offset):
    """A linear model of float32 CSR data learns what that of dense data does."""
    rng = np.random.default_rng(0)
    signal_ = rng.normal(size=(300, 4))
    X = (signal_ + offset).astype(np.float32)
    for data in (X, sp.csr_array(X)):
        reg = RiemannianMLPRegressor(hidden_layer_sizes=(), random_state=0)
        assert reg.fit(data, signal_[:, 0]).score(data, signal_[:, 0]) > 0.999


@pytest.mark.parametrize("n", [37, 90, 300])
def test_con1_constant_columns_of_sparse_data(n):
    """Their weights are 0, exactly, though one minus the sum of all weights is not."""
    rng = np.random.default_rng(0)
    X = np.c_[rng.normal(size=(n, 3)), np.full(n, 0.7)]
    reg = RiemannianMLPRegressor(max_iter=10, random_state=0)
    reg.fit(sp.csr_array(X), X[:, 0] + X[:, 1] ** 2)
    assert not reg.coefs_[0][3].any()


def test_con1_columns_far_from_the_origin_have_their_own_scale():
    column = 1.7e9 + np.random.default_rng(0).normal(size=(300, 1))
    scale = [weighted_moments(form(column)).deviation for form in (np.asarray, sp.csr_array)]
    np.testing.assert_allclose(scale[1], scale[0], rtol=1e-6)


# ---------------------------------------------------------- siblings: rows of weight 0
@each
@pytest.mark.parametrize("fill", [1e20, 1e200])
def test_wgt3_a_row_of_weight_zero_is_not_there(kind, fill):
    """Whatever it holds, in X and in y."""
    rng = np.random.default_rng(0)
    X = rng.random((90, 4))
    weight = np.arange(90) % 3 / 2
    there = weight > 0
    y = (X[:, 0] > 0.5).astype(float) if kind == "clf" else X[:, 0] + X[:, 1] ** 2
    filled, X[~there] = X.copy(), 0.0
    filled[~there] = fill
    target = y if kind == "clf" else np.where(there, y, fill)
    est = make(kind, max_iter=20).fit(filled, target, sample_weight=weight)
    want = make(kind, max_iter=20).fit(X[there], y[there], sample_weight=weight[there])
    np.testing.assert_array_equal(est.predict(X[there]), want.predict(X[there]))


@each
def test_wgt3_rows_of_weight_zero_on_disk(kind, tmp_path):
    """They are not there either: the same bits as in memory."""
    X = np.random.default_rng(0).random((90, 4))
    X[0] = 1e20
    np.save(tmp_path / "X.npy", X)
    y, weight = np.arange(90) % 2, np.r_[0.0, np.ones(89)]
    fits = [
        make(kind, max_iter=5).fit(rows, y, sample_weight=weight)
        for rows in (X, np.load(tmp_path / "X.npy", mmap_mode="r"))
    ]
    np.testing.assert_array_equal(*(est.predict(X[1:]) for est in fits))


# ------------------------------------------------- siblings: rows that can't have been drawn
@pytest.mark.parametrize(
    ("output", "row"), [("bernoulli", [0.5, 50.0, 0.1]), ("poisson", [1.0, -3.0, 2.0])]
)
@pytest.mark.parametrize("method", ["score_samples", "score", "loss"])
def test_lab_rows_outside_the_range_of_the_output(output, row, method):
    """No log-likelihood of theirs is larger than that of rows like those of the fit."""
    X = np.random.default_rng(0).integers(0, 2, (40, 3)).astype(float)
    ae = make("ae", output=output, max_iter=5).fit(X)
    with pytest.raises(ValueError, match="output needs"):
        getattr(ae, method)(np.array([row]))


# ----------------------------------------------------------------- siblings: checks of input
@pytest.mark.parametrize("classes", [[0, 1, np.nan], [0, 0.25, 1], [[0, 1]]])
def test_lab_classes_of_a_stream_are_checked(classes):
    with pytest.raises(ValueError, match=r"NaN|Unknown label type|1d array"):
        make("clf").partial_fit(np.eye(2), [0, 1], classes=classes)


@each
def test_con_complex_numbers_on_disk(kind, tmp_path):
    np.save(tmp_path / "X.npy", np.full((9, 2), 1 + 5j))
    X = np.load(tmp_path / "X.npy", mmap_mode="r")
    with pytest.raises(ValueError, match="Complex data not supported"):
        make(kind).fit(X, np.arange(9) % 2)


def test_use_codes_are_data_and_no_metadata():
    X = np.random.default_rng(0).random((20, 3))
    ae = make("ae", max_iter=3).fit(X)
    np.testing.assert_array_equal(ae.inverse_transform(X=ae.transform(X)), ae.predict(X))
    assert not hasattr(ae, "set_inverse_transform_request")


@each
def test_sto3_warnings_point_to_the_line_that_fits(kind):
    X = np.random.default_rng(0).random((20, 3))
    with pytest.warns(ConvergenceWarning) as found:
        make(kind, max_iter=1).fit(X, np.arange(20) % 2)
    assert [warning.filename for warning in found] == [__file__]


@each
def test_use_activations_of_a_class_that_pickle_does_not_find(kind):
    """As those of a notebook, sent to another process."""

    class Softplus(Activation):
        def fill(self, v, a, r):
            np.logaddexp(0.0, v, out=a)
            np.divide(1.0, 1.0 + np.exp(-v), out=r)

    X = np.random.default_rng(0).random((20, 3))
    est = make(kind, max_iter=2, activation=Softplus(), warm_start=True)
    est.fit(X, np.arange(20) % 2).fit(X, np.arange(20) % 2)
    est.set_params(activation="tanh")
    with pytest.raises(ValueError, match="activation"):
        est.fit(X, np.arange(20) % 2)


# ------------------------------------------------------------ siblings: deep networks
@pytest.mark.parametrize("activation", ["log_relu", "relu"])
def test_met_deep_rectified_networks_learn(activation):
    """Six levels of 30; drawn one by one, these units reached 0.70 to 0.95."""
    rows, new, y, target = train_test_split(*load_digits(return_X_y=True), random_state=0)
    clf = RiemannianMLPClassifier((30,) * 6, activation=activation, random_state=0, max_iter=30)
    assert clf.fit(rows, y).score(new, target) > 0.95


# -------------------------------------------------------- siblings: rates and amounts
@pytest.mark.parametrize(("unit", "n_targets"), spread([1e-6, 1.0, 1e6], [1, 2]))
def test_num1_rates_by_exposure(unit, n_targets):
    """Counts over exposures, weighted by these: the default penalty learns them in any units."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 3, (2000, 3))
    rate = 1e-4 * np.exp(0.8 * np.sin(2 * X[:, :n_targets]) + 0.5 * X[:, 1:2])
    exposure = rng.uniform(5e3, 5e4, (2000, 1))
    y = unit * rng.poisson(rate * exposure) / exposure
    reg = RiemannianMLPRegressor(loss="poisson", random_state=0)
    reg.fit(X[:1500], y[:1500], sample_weight=exposure[:1500, 0])
    error = reg.predict(X[1500:]).reshape(500, -1) / unit - rate[1500:]
    assert (error.var(axis=0) < 0.2 * rate.var(axis=0)).all()


# ------------------------------------------------------------ settings of scikit-learn
def test_rows_of_nan_that_nobody_checks_have_no_probabilities():
    """Even shares are for classes that all round to 0."""
    X, y = blobs()
    clf = make("clf", output="bernoulli", max_iter=2).fit(X, y)
    X[0] = np.nan
    with config_context(assume_finite=True):
        P = clf.predict_proba(X)
    assert np.isnan(P[0]).all() and proper(P[1:])


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
@each
def test_checks_of_parameters_can_be_skipped(kind, method):
    X, y = blobs()
    est = make(kind, max_iter=1, shuffle="yes")
    with pytest.raises(ValueError, match="shuffle"):
        learn(est, X, y, method)
    with config_context(skip_parameter_validation=True):
        learn(est, X, y, method)


# ---------------------------------------------------------------- asking a network
@each
def test_metrics_that_are_asked_about_may_be_chosen(kind):
    """What "auto" means where the network is trained, it means here."""
    X, y = blobs()
    est = learn(make(kind, max_iter=1), X, y).set_params(metric="diag_fisher")
    for ask in (est.metric_matrix, lambda *args, **kw: est.direction(*args, **kw)[0][0]):
        found, want = (ask(X, y, metric=name) for name in ("auto", "bp"))
        np.testing.assert_array_equal(found, want)


@pytest.mark.parametrize(("y", "message"), [(None, "pass y"), (5, "one target a row")])
@pytest.mark.parametrize("kind", ["clf", "reg"])
def test_losses_need_a_target_a_row(kind, y, message):
    X, target = blobs()
    est = learn(make(kind, max_iter=1), X, target)
    for ask in (est.loss, est.direction):
        with pytest.raises(ValueError, match=message):
            ask(X, y)


@pytest.mark.parametrize("n_init", [1, 2])
def test_passes_of_several_starts_are_told_apart(capsys, n_init):
    make("clf", n_init=n_init, max_iter=2, early_stopping=True, verbose=True).fit(*blobs())
    lines = capsys.readouterr().out.splitlines()
    starts = [line.split("Iteration")[0] for line in lines[::2]]
    assert starts == [line.split("Validation")[0] for line in lines[1::2]]
    assert starts == (["", ""] if n_init == 1 else [f"Start {k}. " for k in (1, 1, 2, 2)])


# ------------------------------------------------------------------ labels of other types
NUMBERS, NAMES = np.arange(3), np.array(["0", "1", "2"], object)
MIXED = np.array([0, 1, "2"], object)


@pytest.mark.parametrize(
    ("classes", "labels", "message"),
    [
        (NUMBERS, NAMES, "another type than the classes"),
        (NAMES, NUMBERS, "another type than the classes"),
        (NUMBERS, MIXED, "y must not mix strings with other labels"),
        (MIXED, NUMBERS, "classes must not mix strings with other labels"),
    ],
)
def test_labels_of_another_type(classes, labels, message):
    """In a first call, in a later one, and where the loss is asked for."""
    X, y = blobs()
    known = NUMBERS if classes is MIXED else classes
    clf = make("clf").partial_fit(X, known[y], classes=known)
    for est in (make("clf"), clf):
        with pytest.raises(ValueError, match=message):
            est.partial_fit(X, labels[y], classes=classes)
    if classes is known:
        with pytest.raises(ValueError, match="another type than the classes"):
            clf.loss(X, labels[y])


def test_labels_of_several_types_on_workers():
    array = pytest.importorskip("dask.array")
    X, y = blobs()
    with pytest.raises(ValueError, match="y must not mix strings with other labels"):
        make("clf").fit(array.from_array(X, (45, 2)), array.from_array(MIXED[y], 45))


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
@pytest.mark.parametrize(("first", "dtype"), [(2**53, "Int64"), (0, "boolean")])
def test_nullable_integers_stay_what_they_are(first, dtype, method):
    """Two labels that are one as floats among them; missing ones are refused."""
    pandas = pytest.importorskip("pandas")
    X, y = blobs(k=2)
    labels = pandas.Series(first + y, dtype=dtype)
    extra = {"classes": pandas.Series(labels.unique(), dtype=dtype)} if "p" in method else {}
    clf = learn(make("clf", max_iter=1), X, labels, method, **extra)
    assert clf.classes_.tolist() == [first, first + 1]
    assert clf.classes_.dtype.kind == ("b" if dtype == "boolean" else "i")
    labels[0] = pandas.NA
    with pytest.raises(ValueError, match="NaN"):
        getattr(clf, method)(X, labels, **extra)


# ------------------------------------------------------------- curves of several fits
@each
def test_validation_values_are_those_of_the_last_call(kind):
    """None without held-out rows; else the curves speak of the same passes."""
    X, y = blobs()
    est = make(kind, max_iter=3, warm_start=True, **NO_STOP)
    for early_stopping in (False, True, False):
        learn(est.set_params(early_stopping=early_stopping), X, y)
        curves = est.validation_scores_, est.validation_loss_curve_
        if early_stopping:
            assert len(est.loss_curve_) == 6 and est.best_validation_score_ == max(curves[0][3:])
            for curve in curves:
                np.testing.assert_array_equal(np.isfinite(curve), np.arange(6) > 2)
        else:
            assert [*curves, est.best_validation_score_] == [None] * 3
    learn(est.set_params(early_stopping=True), X, y)
    learn(est.set_params(early_stopping=False), X, y, "partial_fit")
    assert est.validation_scores_ is est.best_validation_score_ is None

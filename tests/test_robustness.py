"""Invariance over whole default trainings, data of all sizes and shapes, interrupts, bad values."""

import contextlib
import itertools
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from selection import slow, slow_but, spread
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris

from sknatgrad import (
    METRICS,
    RiemannianAutoEncoder,
    RiemannianMLPClassifier,
    RiemannianMLPRegressor,
)
from sknatgrad.training import Objective
from sknatgrad.training.history import History
from sknatgrad.training.penalty.evidence import Evidence
from sknatgrad.training.steps.batch_pass import BatchPass

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

DATA = {"iris": load_iris, "breast_cancer": load_breast_cancer, "digits": load_digits}
KINDS = {
    "classifier": RiemannianMLPClassifier,
    "regressor": RiemannianMLPRegressor,
    "autoencoder": RiemannianAutoEncoder,
}
CHANGES = {
    "scale": lambda X: 1000 * X,
    "shift": lambda X: X + 1e3,
    "columns": lambda X: X * 10.0 ** np.linspace(-6, 6, X.shape[1]),
    "complement": lambda X: 1 - X,
    "some_complements": lambda X: np.where(np.arange(X.shape[1]) % 2, 1 - X, X),
}
INVARIANT = ["qd_bp", "kron_bp", "bp", "qd_fisher"]


def fitted(kind, X, y, hidden_layer_sizes=(5,), **parameters):
    """An estimator of a kind after its fit."""
    parameters = {"random_state": 0, "max_iter": 10, **parameters}
    est = KINDS[kind](hidden_layer_sizes=hidden_layer_sizes, **parameters)
    return est.fit(X) if kind == "autoencoder" else est.fit(X, y)


def answer(est, X):
    """Probabilities or predictions."""
    return est.predict_proba(X) if hasattr(est, "predict_proba") else est.predict(X)


# ------------------------------------------------------------------- invariance by default
@pytest.fixture(scope="module")
def default():
    """Default fits of a metric on data as they are, made once."""
    found = {}

    def get(data, metric):
        if (data, metric) not in found:
            X, y = DATA[data](return_X_y=True)
            clf = RiemannianMLPClassifier(metric=metric, random_state=0).fit(X, y)
            found[data, metric] = X, y, clf, clf.predict_proba(X)
        return found[data, metric]

    return get


@pytest.mark.parametrize(
    ("data", "metric", "change"),
    [
        *itertools.product(["iris"], INVARIANT, CHANGES),
        *spread(["breast_cancer"], INVARIANT, CHANGES),
        # By default test_indifference.py has digits, with the default metric.
        *(slow("digits", *case) for case in itertools.product(INVARIANT, CHANGES)),
    ],
)
def test_units_of_features_do_not_matter(default, data, metric, change):
    """The whole default training gives the same probabilities to 1e-6, in as many passes.

    But for one: on digits shifted by 1000 (values then hold three digits less), the 108 passes of
    qd_fisher enlarge rounding errors to 2e-6: bounded by 1e-5 here.
    """
    X, y, old, want = default(data, metric)
    new = RiemannianMLPClassifier(metric=metric, random_state=0).fit(CHANGES[change](X), y)
    rough = (data, metric, change) == ("digits", "qd_fisher", "shift")
    assert new.n_iter_ == old.n_iter_
    np.testing.assert_allclose(
        new.predict_proba(CHANGES[change](X)), want, rtol=0, atol=1e-5 if rough else 1e-6
    )


@pytest.mark.parametrize("data", slow_but(["iris", "breast_cancer"], "iris"))
@pytest.mark.parametrize(("metric", "change"), [("euclidean", "scale"), ("diag_bp", "shift")])
def test_units_matter_to_the_others(default, data, metric, change):
    """The comparison above can fail: these part."""
    X, y, _, want = default(data, metric)
    new = RiemannianMLPClassifier(metric=metric, random_state=0).fit(CHANGES[change](X), y)
    assert np.abs(new.predict_proba(CHANGES[change](X)) - want).max() > 1e-3


@pytest.mark.parametrize("metric", INVARIANT)
@pytest.mark.parametrize("data", slow_but(["iris", "digits"], "iris"))
def test_logistic_is_tanh(default, data, metric):
    """Hidden units of either kind start alike from one seed, and stay so all the training."""
    X, y, *_ = default(data, metric)
    old, new = (
        RiemannianMLPClassifier(activation=name, metric=metric, random_state=0).fit(X, y)
        for name in ("tanh", "logistic")
    )
    assert new.n_iter_ == old.n_iter_
    np.testing.assert_allclose(new.predict_proba(X), old.predict_proba(X), rtol=0, atol=1e-6)


@pytest.mark.parametrize(("change", "early_stopping"), spread(CHANGES, [False, True]))
def test_units_of_features_do_not_matter_in_mini_batches(change, early_stopping):
    """The same in mini-batches, and with a validation set."""
    X, y = load_iris(return_X_y=True)
    probabilities = [
        answer(
            fitted("classifier", Z, y, batch_size=40, early_stopping=early_stopping, max_iter=30),
            Z,
        )
        for Z in (X, CHANGES[change](X))
    ]
    np.testing.assert_allclose(*probabilities, rtol=0, atol=1e-6)


@pytest.mark.parametrize("batch_size", ["auto", 100])
@pytest.mark.parametrize("change", CHANGES)
def test_units_of_regression_data_do_not_matter(change, batch_size):
    """Features of other units and targets 1000 y + 5: the same fit in the targets' units.

    Features of size 0.05 that are shifted by 1000 hold four digits less, and long steps enlarge
    rounding errors some 1.5 times each, be it those of the data or others: from 1e-10 after 5
    passes to 1e-7 after 10 and 1e-4 after 40 (X + 1000 - 1000: 2e-5). There 10 are compared.
    """
    X, y = load_diabetes(return_X_y=True)
    kw = dict(batch_size=batch_size, max_iter=10 if change == "shift" else 40)
    old = fitted("regressor", X, y, **kw).predict(X)
    Z = CHANGES[change](X)
    new = fitted("regressor", Z, 1000 * y + 5, **kw).predict(Z)
    np.testing.assert_allclose((new - 5) / 1000, old, rtol=0, atol=1e-6 * y.std())


@pytest.mark.parametrize("factor", [1000.0, 1e-6])
def test_units_of_reconstructed_data_do_not_matter(factor):
    """An auto-encoder of real data: the same codes, reconstructions in the new units."""
    X = load_iris().data
    old = fitted("autoencoder", X, None, (4, 2, 4), max_iter=30)
    Z = factor * X + 7 * factor
    new = fitted("autoencoder", Z, None, (4, 2, 4), output="square", max_iter=30)
    np.testing.assert_allclose(new.transform(Z), old.transform(X), atol=1e-6)
    np.testing.assert_allclose(new.predict(Z) / factor - 7, old.predict(X), atol=1e-6)


# ------------------------------------------------------------------- sizes and shapes
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_values_that_are_not_finite_are_refused(kind, bad):
    """In features and targets, by fit, partial_fit and predict; the estimator stays as it was."""
    X, y = load_iris(return_X_y=True)
    y = y.astype(float) if kind == "regressor" else y
    wrong = X.copy()
    wrong[3, 2] = bad
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        fitted(kind, wrong, y)
    est = fitted(kind, X, y)
    before = answer(est, X)
    targets = () if kind == "autoencoder" else (y,)
    for method in (est.fit, est.partial_fit):
        with pytest.raises(ValueError, match=r"NaN|infinity"):
            method(wrong, *targets)
        if kind == "regressor":
            with pytest.raises(ValueError, match=r"NaN|infinity"):
                method(X, np.where(np.arange(150) == 3, bad, y))
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        est.predict(wrong)
    np.testing.assert_array_equal(answer(est, X), before)


SHAPES = {
    "one_row": (np.array([[1.0, -2.0, 3.0]]), np.array([1])),
    "two_rows": (np.array([[1.0, 2.0], [1.0, 3.0]]), np.array([0, 1])),
    "one_feature": (np.arange(20.0)[:, None], (np.arange(20) > 9).astype(int)),
    "zeros": (np.zeros((12, 3)), np.arange(12) % 2),
    "zero_rows": (np.vstack([np.zeros((5, 3)), np.eye(3)]), np.array([0] * 5 + [1] * 3)),
    "equal_rows": (np.full((9, 2), 0.1), np.arange(9) % 3),
    "wide": (np.random.default_rng(0).normal(size=(4, 30)), np.arange(4) % 2),
}


@pytest.mark.parametrize(
    ("metric", "shape", "batch_size"),
    [*itertools.product(METRICS, SHAPES, ["auto"]), *spread(METRICS, SHAPES, [1])],
)
def test_odd_shapes(metric, shape, batch_size):
    """One row, one feature, nothing but zeros: finite, and without a numerical warning."""
    X, y = SHAPES[shape]
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        est = fitted("classifier", X, y, metric=metric, batch_size=batch_size, max_iter=5)
    assert np.isfinite(answer(est, X)).all() and np.isfinite(est.loss_curve_).all()


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("kind", ["regressor", "autoencoder"])
def test_odd_shapes_elsewhere(kind, shape, container):
    """The same for the other estimators, dense and sparse."""
    X, y = SHAPES[shape]
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        est = fitted(kind, container(X), y.astype(float))
    assert np.isfinite(est.predict(X)).all() and np.isfinite(est.loss_)


@pytest.mark.parametrize("batch_size", ["auto", 30])
@pytest.mark.parametrize("scale", [1e150, 1e-150])
@pytest.mark.parametrize("metric", ["qd_bp", "kron_bp", "bp", "fisher", "qd_op", "unitwise_fisher"])
def test_huge_and_tiny_features(metric, scale, batch_size):
    """Invariant metrics do not notice: the same probabilities."""
    X, y = load_iris(return_X_y=True)
    kw = dict(metric=metric, batch_size=batch_size)
    want = answer(fitted("classifier", X, y, **kw), X)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        found = answer(fitted("classifier", scale * X, y, **kw), scale * X)
    np.testing.assert_allclose(found, want, atol=1e-6)


@pytest.mark.parametrize("factor", [2.0**-900, 2.0**-600, 2.0**900])
@pytest.mark.parametrize("parameters", [{}, {"batch_size": 50}, {"n_init": 2}], ids=repr)
@pytest.mark.parametrize("kind", ["regressor", "autoencoder"])
def test_early_stopping_does_not_see_units(kind, parameters, factor):
    """Losses of held-out rows overflow or vanish in these; compared are those of training."""
    X, y = load_diabetes(return_X_y=True)
    data = {"regressor": (X, y), "autoencoder": (X,)}[kind]
    other = {"regressor": (X, factor * y), "autoencoder": (factor * X,)}[kind]
    est = KINDS[kind](hidden_layer_sizes=(5,), early_stopping=True, random_state=0, max_iter=40)
    est.set_params(**parameters)
    if kind == "autoencoder":
        est.set_params(output="square")
    want = est.fit(*data).n_iter_, est.coefs_[0], est.alpha_
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        found = est.fit(*other).n_iter_, est.coefs_[0], est.alpha_
    assert found[0] == want[0] and found[2] == pytest.approx(want[2])
    scale = 1 / factor if kind == "autoencoder" else 1.0
    np.testing.assert_allclose(found[1], scale * want[1], rtol=1e-6)


@pytest.mark.parametrize("alpha", [0.0, 1.0, 1e300, 1e308, "auto"])
@pytest.mark.parametrize("scale", [1e150, 1e300])
@pytest.mark.parametrize(
    "parameters",
    [
        {"damping_mode": "absolute"},
        {"metric": "euclidean", "early_stopping": True},
        {"metric": "euclidean", "learning_rate": "constant", "learning_rate_init": 1e100},
        {"loss": "poisson", "metric": "diag_bp"},
        {"loss": "poisson", "batch_size": 40},
    ],
    ids=repr,
)
def test_overflow_is_quiet(parameters, scale, alpha):
    """Warnings of NumPy say nothing: there is a finite fit, or an error that says why not."""
    X, y = load_diabetes(return_X_y=True)
    reg = RiemannianMLPRegressor(
        hidden_layer_sizes=(5,), alpha=alpha, max_iter=4, random_state=0, **parameters
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        try:
            reg.fit(X[:120], scale * y[:120])
        except ValueError as problem:
            assert "finite" in str(problem)
        if hasattr(reg, "loss_curve_"):
            assert np.isfinite(reg.loss_curve_).all() and np.isfinite(reg.coefs_[0]).all()


def test_overflow_of_a_stream_is_quiet():
    """Counts that rise by 300 orders of magnitude."""
    X, y = load_diabetes(return_X_y=True)
    reg = RiemannianMLPRegressor(loss="poisson", hidden_layer_sizes=(5,), random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        for scale in (0.0, 1.0, 1e300):
            reg.partial_fit(X[:50], scale * y[:50])
            assert np.isfinite(reg.coefs_[0]).all()


def test_observers_are_not_silenced(monkeypatch):
    """What users compute during training warns as ever."""
    from sknatgrad.estimators._callbacks import PassObserver

    def end(*_):
        np.float64(1e300) * np.float64(1e300)

    monkeypatch.setattr(PassObserver, "end", end)
    X, y = load_iris(return_X_y=True)
    with pytest.warns(RuntimeWarning, match="overflow"):
        fitted("classifier", X, y, max_iter=1)


@pytest.mark.parametrize("kind", KINDS)
def test_numbers_beyond_single_precision(kind):
    """Weights of tiny features and predictions of huge targets are not rounded to infinity."""
    X, y = load_iris(return_X_y=True)
    single, y = (X * 1e-38).astype(np.float32), y * 1e39 if kind == "regressor" else y
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        est = fitted(kind, single, y, alpha=0.0)
        assert np.isfinite(est.coefs_[0]).all() and np.isfinite(answer(est, single)).all()
        again = fitted(kind, single, y, alpha=0.0, max_iter=0)
        again.set_coefs(est.coefs_, est.intercepts_)
    np.testing.assert_allclose(answer(again, single), answer(est, single), rtol=1e-4)
    if kind == "regressor":
        assert est.predict(single).dtype == np.float64 and est.predict(single).max() > 1e39
    moderate = fitted(kind, X.astype(np.float32), y).coefs_[0]
    assert moderate.dtype == (np.float64 if kind == "regressor" else np.float32)


@pytest.mark.parametrize("size", [1e-303, 1e-306, 1e-310, 5e-324])
@pytest.mark.parametrize("parameters", [{}, {"batch_size": 30}, {"damping_mode": "absolute"}])
def test_subnormal_features(size, parameters):
    """Where weights would overflow, a feature is one that is constant."""
    X, y = load_iris(return_X_y=True)
    X[:, 2] = size * np.round(X[:, 2])
    # The strength is found with squares of the weights: those of tiny raw features overflow.
    clf = RiemannianMLPClassifier((5,), max_iter=5, alpha=0, random_state=0, **parameters)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        for container in (np.array, sp.csr_array):
            clf.fit(container(X), y)
            assert np.isfinite(clf.coefs_[0]).all() and clf.score(X, y) > 0.8
            stream = RiemannianMLPClassifier((5,), random_state=0, **parameters)
            stream.partial_fit(container(X[:1]), y[:1], classes=[0, 1, 2])
            assert np.isfinite(stream.partial_fit(container(X), y).coefs_[0]).all()


@pytest.mark.parametrize("scale", [1e150, 1e-150])
@pytest.mark.parametrize("metric", ["euclidean", "diag_bp", "adagrad", "diag_op"])
def test_huge_and_tiny_features_in_other_metrics(metric, scale):
    """They may learn nothing, but stay finite and do not raise."""
    X, y = load_iris(return_X_y=True)
    est = fitted("classifier", scale * X, y, metric=metric)
    assert np.isfinite(answer(est, scale * X)).all()


@pytest.mark.parametrize("batch_size", ["auto", 50])
@pytest.mark.parametrize("scale", [1e150, 1e-150])
def test_huge_and_tiny_targets(scale, batch_size):
    """The fit is that of moderate ones; columns of both sizes go together."""
    X, y = load_diabetes(return_X_y=True)
    want = fitted("regressor", X, y, batch_size=batch_size).predict(X)
    found = fitted("regressor", X, scale * y, batch_size=batch_size).predict(X)
    np.testing.assert_allclose(found / scale, want, rtol=1e-6)
    Y = np.column_stack([y, scale * y])
    found = fitted("regressor", X, Y, batch_size=batch_size).predict(X) / [1, scale]
    assert (np.corrcoef(found.T, y)[2, :2] > 0.7).all()


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_what_is_too_small_for_a_float_is_no_error(method):
    """Whatever NumPy is told of it: outputs that are certain say so to many digits."""
    X, y = load_breast_cancer(return_X_y=True)
    named = {"classes": [0, 1]} if method == "partial_fit" else {}
    with np.errstate(all="raise"):
        getattr(RiemannianMLPClassifier(random_state=0), method)(X.astype(np.float32), y, **named)
        rows = np.random.RandomState(0).randn(40, 4) * 1e-300
        reg = RiemannianMLPRegressor(hidden_layer_sizes=(1, 1, 1), random_state=0, max_iter=30)
        getattr(reg, method)(rows, rows[:, 0])


@pytest.mark.parametrize("scale", [1e-30, 1e20])
def test_scores_of_single_precision_targets_of_any_size(scale):
    """R^2 squares them."""
    X, y = load_diabetes(return_X_y=True)
    X, y = X.astype(np.float32), y.astype(np.float32)
    reg = RiemannianMLPRegressor(hidden_layer_sizes=(4,), random_state=0, max_iter=20)
    want = reg.fit(X, y).score(X, y)
    scaled = np.float32(scale) * y
    assert reg.fit(X, scaled).score(X, scaled) == pytest.approx(want, abs=1e-4)


@pytest.mark.parametrize("factor", [1e-170, 1e160])
def test_scores_of_targets_of_any_size(factor):
    """Where their squares are no numbers."""
    X, y = load_diabetes(return_X_y=True)
    reg = RiemannianMLPRegressor(hidden_layer_sizes=(4,), random_state=0, max_iter=20)
    want = reg.fit(X, y).score(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        assert reg.fit(X, factor * y).score(X, factor * y) == pytest.approx(want, abs=1e-6)


# ------------------------------------------------------------------- interrupts
def interrupted(monkeypatch, call, kind, parameters, method="fit", est=None):
    """An estimator whose objective raises KeyboardInterrupt at a call; whether it came through."""
    X, y = load_iris(return_X_y=True)
    targets = () if kind == "autoencoder" else (y,)
    if est is None:
        est = KINDS[kind](hidden_layer_sizes=(4,), random_state=0, max_iter=4, **parameters)
        if method == "partial_fit":
            est.set_params(max_iter=0).fit(X, *targets)
    evaluate, count = Objective.evaluate, [0]

    def ring(self, theta):
        count[0] += 1
        if count[0] == call:
            raise KeyboardInterrupt
        return evaluate(self, theta)

    monkeypatch.setattr(Objective, "evaluate", ring)
    came_through = False
    try:
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            getattr(est, method)(X, *targets)
    except KeyboardInterrupt:
        came_through = True
    finally:
        monkeypatch.setattr(Objective, "evaluate", evaluate)
    told = any("interrupt" in str(w.message).lower() for w in seen)
    assert came_through or told or count[0] < call
    return est, X, y, came_through


MODES = {
    "batch": {},
    "mini_batch": {"batch_size": 40},
    "early_stopping": {"early_stopping": True},
    "mini_batch_early_stopping": {"early_stopping": True, "batch_size": 40},
    "adaptive": {"learning_rate": "adaptive"},
    "trust_region": {"learning_rate": "trust_region"},
    "penalty": {"alpha": 1.0},
    "starts": {"n_init": 2},
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", KINDS)
def test_interrupts(monkeypatch, kind, mode):
    """Whenever it comes: a usable model whose curves are of equal length, or an unfitted one."""
    for call in (1, 2, 3, 5, 8, 13, 18):
        est, X, y, came_through = interrupted(monkeypatch, call, kind, MODES[mode])
        if came_through:
            assert (not hasattr(est, "n_iter_") and call in (1, 2)) or mode == "starts"
            continue
        curves = [est.loss_curve_, est.learning_rate_curve_, est.time_curve_]
        if est.early_stopping:
            curves += [est.validation_scores_ or [], est.validation_loss_curve_ or []]
        assert {len(curve) for curve in curves} == {est.n_iter_}
        assert np.isfinite(answer(est, X)).all() and np.isfinite(est.loss_)
        targets = () if kind == "autoencoder" else (y,)
        est.set_params(warm_start=True).fit(X, *targets)
        if mode != "adaptive":
            # A stream has no held-out rows.
            est.set_params(early_stopping=False).partial_fit(X, *targets)
        assert np.isfinite(answer(est, X)).all()


@pytest.mark.parametrize("kind", KINDS)
def test_fits_are_stored_once_trained(monkeypatch, kind):
    """Until then the fit before stays as it was, but for what scikit-learn's checks write."""
    from sknatgrad.estimators import _base

    def looking(*arguments):
        # Those of scikit-learn's callbacks have come.
        assert {name: vars(est)[name] for name in before} == {**before, "n_features_in_": 3}
        return best_start(*arguments)

    X, y = load_iris(return_X_y=True)
    est = fitted(kind, X, y, max_iter=2)
    before, best_start = dict(vars(est)), _base.best_start
    monkeypatch.setattr(_base, "best_start", looking)
    est.fit(X[50:, :3], y[50:])
    assert est.topology_.n_inputs == 3


@pytest.mark.parametrize("place", ["step", "record", "penalty"])
def test_an_interrupted_pass_leaves_nothing_behind(monkeypatch, place):
    """Neither in parameters and curves, nor in the penalty: all is as after the pass before."""
    X, y = load_breast_cancer(return_X_y=True)
    settings = {"hidden_layer_sizes": (4,), "random_state": 0, "tol": 0.0}
    want = RiemannianMLPClassifier(max_iter=10, **settings).fit(X, y)
    owner, name = {
        "step": (BatchPass, "run"),
        "record": (History, "record"),
        "penalty": (Evidence, "end_pass"),
    }[place]
    method, count = getattr(owner, name), [0]

    def interrupting(self, *arguments):
        result = method(self, *arguments)
        count[0] += 1
        if count[0] == 11:
            raise KeyboardInterrupt
        return result

    monkeypatch.setattr(owner, name, interrupting)
    with pytest.warns(UserWarning, match="interrupted"):
        found = RiemannianMLPClassifier(max_iter=20, **settings).fit(X, y)
    assert found.n_iter_ == 10 and found.alpha_ == want.alpha_
    for curve in ("loss_curve_", "learning_rate_curve_", "feature_alpha_"):
        np.testing.assert_array_equal(getattr(found, curve), getattr(want, curve))
    assert len(found.time_curve_) == 10
    np.testing.assert_array_equal(found.predict_proba(X), want.predict_proba(X))


def test_an_interrupt_while_storing_leaves_the_fit_before(monkeypatch):
    """Not half of each."""
    X, y = load_iris(return_X_y=True)
    clf = RiemannianMLPClassifier((4,), random_state=0, max_iter=4).fit(X, y)
    before = dict(vars(clf))

    def interrupt(self):
        raise KeyboardInterrupt

    monkeypatch.setattr(History, "best_score", property(interrupt))
    with pytest.raises(KeyboardInterrupt):
        clf.set_params(max_iter=6).fit(X, y)
    fitted = ("_parameters", "loss_", "loss_curve_", "n_iter_", "alpha_", "t_")
    assert all(vars(clf)[name] is before[name] for name in fitted)


@pytest.mark.parametrize("kind", KINDS)
def test_interrupted_calls_of_a_stream(monkeypatch, kind):
    """partial_fit: the call counts as a whole or not at all, and the stream goes on."""
    for call in (1, 2, 3):
        parameters = {"batch_size": 50}
        est, X, y, _ = interrupted(monkeypatch, call, kind, parameters, "partial_fit")
        assert len(est.loss_curve_) == len(est.time_curve_)
        targets = () if kind == "autoencoder" else (y,)
        est.partial_fit(X, *targets)
        assert np.isfinite(answer(est, X)).all()


@pytest.mark.parametrize("kind", KINDS)
def test_an_interrupted_call_of_a_stream_may_be_made_again(monkeypatch, kind):
    """Then it is as if nothing had come between, be the parameters learnt or set by hand."""
    parameters = {"batch_size": 30}
    whole, X, y, _ = interrupted(monkeypatch, 99, kind, parameters, "partial_fit")
    targets = () if kind == "autoencoder" else (y,)
    again, *_ = interrupted(monkeypatch, 4, kind, parameters, "partial_fit")
    again.partial_fit(X, *targets)
    np.testing.assert_array_equal(again._parameters, whole._parameters)
    assert again.t_ == whole.t_
    last = whole.coefs_[-1] + 1.0
    for est in (whole, again):
        est.set_coefs([*est.coefs_[:-1], last], est.intercepts_)
    interrupted(monkeypatch, 2, kind, {}, "partial_fit", again)
    for est in (whole, again):
        np.testing.assert_array_equal(est.coefs_[-1], last)
        est.partial_fit(X, *targets)
    np.testing.assert_array_equal(again._parameters, whole._parameters)


def test_interrupted_starts_keep_the_finished_ones(monkeypatch):
    """Of several starts, those that are done are not lost, whenever the interrupt comes."""
    for call in range(2, 16):
        est, X, _, came_through = interrupted(monkeypatch, call, "classifier", {"n_init": 2})
        assert not came_through or call == 1
        assert np.isfinite(answer(est, X)).all()


@pytest.fixture
def told(monkeypatch):
    """What users are warned of; other threads put back the filters of warnings as they like."""
    import threading
    import time

    messages, before = [], set(threading.enumerate())
    monkeypatch.setattr(warnings, "warn", lambda message, *_, **__: messages.append(str(message)))
    yield messages
    deadline = time.monotonic() + 10
    starts = [t for t in threading.enumerate() if t not in before and "worker" in t.name]
    for thread in starts:
        thread.join(max(0.0, deadline - time.monotonic()))


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_interrupted_parallel_starts(monkeypatch, told, backend):
    """Ctrl-C keeps the starts that have ended, and without any goes on."""
    from joblib import parallel_config

    from sknatgrad.training import starts

    X, y = load_iris(return_X_y=True)
    parallel_results = starts.parallel_results
    for n_ended in (0, 1, 2):
        seen = []

        def interrupting(*arguments, seen=seen, n_ended=n_ended):
            if not n_ended:
                raise KeyboardInterrupt
            for result in parallel_results(*arguments):
                seen.append(result)
                yield result
                if len(seen) == n_ended:
                    raise KeyboardInterrupt

        monkeypatch.setattr(starts, "parallel_results", interrupting)
        est = RiemannianMLPClassifier((4,), n_init=4, n_jobs=2, max_iter=4, random_state=0)
        told.clear()
        with parallel_config(backend):
            if not n_ended:
                with pytest.raises(KeyboardInterrupt):
                    est.fit(X, y)
                assert not hasattr(est, "n_iter_")
                continue
            est.fit(X, y)
        assert "Training interrupted by user." in told
        _, best, _ = min(seen, key=lambda result: result[0])
        assert est.loss_ == best.loss
        assert np.isfinite(est.predict_proba(X)).all() and est.n_iter_ == 4


def test_signal_during_parallel_starts(monkeypatch, told):
    """A signal that comes while one start has ended and another runs."""
    import os
    import signal
    import threading
    import time

    from joblib import parallel_config

    from sknatgrad.training import starts

    X, y = load_iris(return_X_y=True)
    parallel_results, run_with_trials = starts.parallel_results, starts.run_with_trials
    ended, taken, order = [], threading.Event(), iter(range(2))

    def noticing(*arguments):
        for result in parallel_results(*arguments):
            ended.append(result)
            yield result
            taken.set()

    def ringing(*call):
        if next(order) == 1:
            taken.wait(60)
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.5)  # a busy machine needs a while to tell the main thread
        return run_with_trials(*call)

    monkeypatch.setattr(starts, "parallel_results", noticing)
    monkeypatch.setattr(starts, "run_with_trials", ringing)
    est = RiemannianMLPClassifier((4,), n_init=2, n_jobs=2, max_iter=4, random_state=0)
    # Processes in the background of a script ignore this signal.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with parallel_config("threading"):
            est.fit(X, y)
    finally:
        signal.signal(signal.SIGINT, before)
    assert "Training interrupted by user." in told
    assert len(ended) == 1 and est.loss_ == ended[0][1].loss
    assert np.isfinite(est.predict_proba(X)).all()


@pytest.mark.parametrize("number", range(1, 16))
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_interrupts_do_not_silence_numpy(monkeypatch, method, number):
    """One may come just as the context that ignores overflow is about to be left."""
    X, y = load_iris(return_X_y=True)
    leave, count, before = np.errstate.__exit__, itertools.count(1), np.geterr()

    def interrupted(context, *exc_info):
        if next(count) == number:
            raise KeyboardInterrupt
        return leave(context, *exc_info)

    est = RiemannianMLPClassifier((4,), batch_size=50, max_iter=100, random_state=0)
    known = {"classes": [0, 1, 2]} if method == "partial_fit" else {}
    monkeypatch.setattr(np.errstate, "__exit__", interrupted)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with contextlib.suppress(KeyboardInterrupt):
            getattr(est, method)(X, y, **known)
    after = np.geterr()
    np.seterr(**before)
    assert next(count) > number + 1
    assert after == before


@pytest.mark.parametrize("losses", [[2.0, 1.0, 1.0], [np.nan, 3.0, 3.0], [np.nan, np.nan, np.nan]])
def test_best_start_whatever_ends_first(monkeypatch, losses):
    """Of equal starts the first one, in any order in which they end."""
    from itertools import permutations

    from sknatgrad.training import starts
    from sknatgrad.training.trainer import Outcome

    outcomes = [Outcome(1, loss) for loss in losses]
    ended = [
        (starts._rank(number, outcome, outcome.loss), outcome, number)
        for number, outcome in enumerate(outcomes)
    ]
    chosen = set()
    for order in permutations(range(3)):
        results = [ended[number] for number in order]
        monkeypatch.setattr(starts, "_results", lambda *_, results=results: results)
        chosen.add(starts.best_start([], None)[1])
    assert len(chosen) == 1


# ------------------------------------------------------------------- bad values of parameters
BAD = {
    "hidden_layer_sizes": [0, -1, (5, 0), (2.5,), "ten", None, True],
    "activation": ["sigmoid", 3, ["tanh", "tanh", "tanh"]],
    "metric": ["newton", None, 3],
    "output": ["nonsense", 3],
    "output_activation": ["sigmoid", 3],
    "connectivity": [0, -1, 1.5, 0.0, "none", True],
    "damping": [-0.1, np.nan, "auto", None],
    "damping_mode": ["none", None, 0],
    "learning_rate": ["adam", 0.1, None],
    "learning_rate_init": [0.0, -1.0, np.nan, "fast", None],
    "batch_size": [0, -1, 2.5, "all", None],
    "metric_decay": [0.0, -0.1, 1.1, np.nan, None],
    "n_init_samples": [0, -1, 1.5, None],
    "n_mc_samples": [0, 1.5, None],
    "n_init": [0, 1.5, None],
    "n_jobs": [1.5, "all"],
    "alpha": [-1.0, np.nan, None, "much"],
    "max_iter": [-1, 1.5, None],
    "shuffle": ["yes", None, 2],
    "random_state": ["seed", -1, 1.5],
    "tol": [-1.0, np.nan, None],
    "verbose": ["loud", -1],
    "warm_start": ["yes", None],
    "early_stopping": ["yes", None],
    "validation_fraction": [0.0, 1.0, -0.1, None],
    "n_iter_no_change": [0, 1.5, None],
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", BAD)
def test_bad_values_are_named(kind, name):
    """Every bad value is refused by fit and by partial_fit, in words that name the parameter."""
    X, y = load_iris(return_X_y=True)
    targets = () if kind == "autoencoder" else (y,)
    for value in BAD[name]:
        for method in ("fit", "partial_fit"):
            est = KINDS[kind](**{"hidden_layer_sizes": (3,), "max_iter": 1, name: value})
            first = {"classes": [0, 1, 2]} if (kind, method[0]) == ("classifier", "p") else {}
            with pytest.raises((ValueError, TypeError), match=name):
                getattr(est, method)(X, *targets, **first)
            assert not hasattr(est, "loss_")


def test_bad_values_of_one_kind_only():
    """Parameters that only one estimator has."""
    X, y = load_iris(return_X_y=True)
    for value in ("even", {0: -1.0}, 3):
        with pytest.raises(ValueError, match="class_weight"):
            RiemannianMLPClassifier(class_weight=value).fit(X, y)
    for value in ("hinge", None, 3):
        with pytest.raises(ValueError, match="loss"):
            RiemannianMLPRegressor(loss=value).fit(X, y)


def test_all_parameters_are_tried():
    """The table above is complete."""
    for cls in KINDS.values():
        assert set(cls().get_params()) - {"class_weight", "loss", "code_layer"} == set(BAD)

"""The regressor: against linear models, losses, shapes of targets, the parameter `loss`."""

import itertools
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris
from sklearn.linear_model import LinearRegression, LogisticRegression, PoissonRegressor
from sklearn.metrics import log_loss, mean_poisson_deviance, mean_squared_error, r2_score
from sklearn.model_selection import GridSearchCV

from sknatgrad import RiemannianAutoEncoder, RiemannianMLPClassifier, RiemannianMLPRegressor
from sknatgrad.estimators._numbers import MeanR2
from sknatgrad.outputs import Output, get_output
from sknatgrad.training.data.dataset import Data

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

NEWTON = ["fisher", "unitwise_fisher", "bp", "kron_bp", "kron_fisher"]


def make(hidden_layer_sizes=(5,), **parameters):
    """A small regressor without penalty."""
    defaults = {"random_state": 0, "max_iter": 30, "alpha": 0.0}
    return RiemannianMLPRegressor(
        hidden_layer_sizes=hidden_layer_sizes, **{**defaults, **parameters}
    )


@pytest.fixture(scope="module")
def data():
    """Diabetes."""
    return load_diabetes(return_X_y=True)


def counts(n=400):
    """Counts whose logarithmic mean is linear."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 4)) * [1, 10, 0.1, 1] + [0, 5, 0, -3]
    return X, rng.poisson(np.exp(X @ [0.5, -0.03, 2.0, 0.1] + 0.8)).astype(float)


# ------------------------------------------------------------------- linear models
@pytest.mark.parametrize("metric", NEWTON)
def test_undamped_linear_model_is_least_squares(data, metric):
    """Without hidden layer and damping two passes are enough: the plain metric is the Hessian."""
    X, y = data
    reg = make((), metric=metric, damping=0.0, damping_mode="absolute", max_iter=2).fit(X, y)
    want = LinearRegression().fit(X, y)
    np.testing.assert_allclose(reg.predict(X), want.predict(X), rtol=0, atol=1e-8 * y.std())


@pytest.mark.parametrize("metric", ["bp", "fisher"])
def test_linear_model_is_newton_by_default(data, metric):
    """The same under the default damping mode: damping 0 is no damping."""
    X, y = data
    reg = make((), metric=metric, damping=0.0, max_iter=2).fit(X, y)
    want = LinearRegression().fit(X, y)
    np.testing.assert_allclose(reg.predict(X), want.predict(X), rtol=0, atol=1e-8 * y.std())


@pytest.mark.parametrize("metric", ["bp", "fisher", "kron_bp", "qd_bp"])
def test_linear_models_converge_to_least_squares(data, metric):
    """With default damping the limit is the same, with one target or several."""
    X, y = data
    Y = np.column_stack([y, -1e3 * y + X[:, 0], X[:, 1] ** 2])
    want = LinearRegression().fit(X, Y).predict(X)
    reg = make((), metric=metric, max_iter=3000, tol=1e-13, n_iter_no_change=20).fit(X, Y)
    assert (np.abs(reg.predict(X) - want).max(axis=0) < 1e-4 * Y.std(axis=0)).all()


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_linear_classifier_is_logistic_regression(n_classes, weighted):
    """Without hidden layer and penalty: the log-loss of scikit-learn's, on data that overlap."""
    X, y = load_iris(return_X_y=True)
    rows = y > 0 if n_classes == 2 else y >= 0
    X, y = X[rows, :2], y[rows]
    weight = np.random.default_rng(0).uniform(0.2, 2, size=len(y)) if weighted else None
    want = LogisticRegression(C=1e10, tol=1e-10, max_iter=100_000).fit(X, y, weight)
    clf = RiemannianMLPClassifier((), alpha=0.0, random_state=0, tol=1e-12, max_iter=3000)
    clf.fit(X, y, weight)
    losses = [log_loss(y, est.predict_proba(X), sample_weight=weight) for est in (clf, want)]
    assert losses[0] == pytest.approx(losses[1], abs=1e-6)
    assert clf.loss(X, y, weight) == pytest.approx(losses[0], rel=1e-9)


@pytest.mark.parametrize("metric", ["qd_bp", "bp", "fisher"])
def test_linear_poisson_model_is_scikit_learns(metric):
    """Poisson regression without penalty."""
    X, y = counts()
    want = PoissonRegressor(alpha=0, tol=1e-12, max_iter=10_000, solver="newton-cholesky")
    want.fit(X, y)
    reg = make((), loss="poisson", metric=metric, tol=1e-14, max_iter=1000).fit(X, y)
    np.testing.assert_allclose(reg.predict(X), want.predict(X), rtol=1e-5)


def test_poisson_loss_is_half_the_deviance():
    """Up to what depends on the targets alone; predictions are positive."""
    X, y = counts()
    fits = [make(loss="poisson", max_iter=n).fit(X, y) for n in (0, 3, 20)]
    deviances = np.array([mean_poisson_deviance(y, reg.predict(X)) for reg in fits])
    losses = np.array([reg.loss(X, y) for reg in fits])
    np.testing.assert_allclose(np.diff(losses), np.diff(deviances) / 2, rtol=1e-9)
    assert (np.diff(losses) < 0).all() and (fits[-1].predict(X) > 0).all()


def test_negative_counts_are_refused():
    """The message says what the loss needs."""
    X, y = counts(20)
    with pytest.raises(ValueError, match=r"negative|>= 0|poisson"):
        make(loss="poisson").fit(X, y - 10)


def test_loss_and_output_agree():
    """Where both are named."""
    X, y = counts()
    same = make(loss="poisson", output="poisson").fit(X, y)
    np.testing.assert_array_equal(make(loss="poisson").fit(X, y).predict(X), same.predict(X))
    np.testing.assert_array_equal(make(output="poisson").fit(X, y).predict(X), same.predict(X))
    with pytest.raises(ValueError, match="contradict each other"):
        make(loss="poisson", output="square").fit(X, y)


def test_outputs_of_several_targets():
    """One a target, no more and no less."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    Y = np.column_stack([X[:, 0] < X[:, 1], 3 * X[:, 0]])
    model = make(output=["bernoulli", "square"], max_iter=30).fit(X, Y)
    assert model.score(X, Y) > 0.8
    for wrong, target in ((["square"], Y), (["square"] * 2, Y[:, 0])):
        with pytest.raises(ValueError, match="entries, there are"):
            make(output=wrong).fit(X, target)


class Exponential(Output):
    """A density of mean exp(v): its loss may be negative."""

    name = "exponential"
    independent = True
    nonnegative = False

    def loss(self, v, target):
        return (v + target * np.exp(-v)).sum(axis=0)

    def score(self, v, target):
        return target * np.exp(-v) - 1

    def fisher_diagonal(self, v):
        return np.ones_like(v)

    def sample(self, v, rng):
        return rng.exponential(np.exp(v))

    def mean(self, v):
        return np.exp(v)

    def logits(self, v):
        return v


class ExponentialOfRates(Exponential):
    """The same, whose rates are computed once."""

    def prepared(self, v):
        return np.exp(-v), v

    def loss(self, v, target):
        return (target * v[0] + v[1]).sum(axis=0)

    def score(self, v, target):
        return target * v[0] - 1

    def fisher_diagonal(self, v):
        return np.ones_like(v[1])

    def sample(self, v, rng):
        return rng.exponential(1 / v[0])


@pytest.mark.parametrize("metric", ["qd_bp", "fisher", "qd_mc_fisher"])
def test_what_outputs_prepare_is_what_they_get(metric):
    """Alone, among others, where rows are held out and where rows are scored one by one."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    Y = np.exp(X + 0.1 * rng.normal(size=(200, 3)))
    settings = {"metric": metric, "max_iter": 40, "alpha": "auto"}
    for among_others, early_stopping in itertools.product((False, True), repeat=2):
        plain, prepared = (
            make(
                output=[output, "square", "square"] if among_others else output,
                early_stopping=early_stopping,
                **settings,
            )
            .fit(X, Y)
            .predict(X)
            for output in (Exponential(), ExponentialOfRates())
        )
        np.testing.assert_allclose(prepared, plain, rtol=1e-6)
    ae = RiemannianAutoEncoder((2,), output=ExponentialOfRates(), metric=metric).fit(Y)
    assert ae.score_samples(Y).mean() == pytest.approx(-ae.loss(Y))


@pytest.mark.parametrize("batch_size", ["auto", 50])
@pytest.mark.parametrize("unit", [1e-3, 1.0])
def test_losses_of_densities_may_be_negative(unit, batch_size):
    """An output that says so is trained on below 0, in mini-batches as well."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 4))
    rate = np.exp(X[:, 0] + 0.5 * X[:, 1])
    y = unit * rate * rng.exponential(size=500)
    model = make((), output=Exponential(), alpha=0.0, batch_size=batch_size).fit(X, y)
    assert min(model.learning_rate_curve_) > 0
    best = np.mean(np.log(unit * rate) + y / (unit * rate))
    assert best - 0.05 < model.loss_ < best


def test_sparse_targets_are_refused(data):
    """The message says what to do."""
    X, y = data
    reg = make(max_iter=1)
    for method in (reg.fit, reg.fit(X, y).loss):
        with pytest.raises(ValueError, match="toarray"):
            method(X, sp.csr_array(y[:, None]))


# ------------------------------------------------------------------- targets
def test_shapes_of_targets(data):
    """Predictions have the shape of the targets: one axis, one column, several."""
    X, y = data
    for target in (y, y[:, None], np.column_stack([y, y**2, -y])):
        reg = make(max_iter=5).fit(X, target)
        assert reg.predict(X).shape == target.shape
        assert reg.n_outputs_ == (1 if target.ndim == 1 else target.shape[1])
    with pytest.raises(ValueError, match="targets"):
        reg.loss(X, y)


@pytest.mark.parametrize("batch_size", ["auto", 50])
def test_targets_of_several_units_are_learnt_alike(data, batch_size):
    """A column's unit gives it no weight: each is learnt as well as the others."""
    X, y = data
    Y = np.column_stack([y, 1e6 * y + 3, -1e-6 * y - 1e3])
    reg = make(batch_size=batch_size).fit(X, Y)
    P = (reg.predict(X) - Y.mean(axis=0)) / Y.std(axis=0)
    np.testing.assert_allclose(P[:, 1], P[:, 0], atol=0.3)
    quality = 1 - ((reg.predict(X) - Y) ** 2).mean(axis=0) / Y.var(axis=0)
    assert (quality > 0.5).all()


@pytest.mark.parametrize("batch_size", ["auto", 50])
@pytest.mark.parametrize("value", [0.0, 5.0, 0.1, -1e6, 1e100])
def test_constant_targets(data, value, batch_size):
    """Predicted from the start, up to rounding; where rounding is small one pass ends the fit."""
    reg = make(batch_size=batch_size, max_iter=20).fit(data[0], np.full(len(data[1]), value))
    np.testing.assert_allclose(reg.predict(data[0]), value, rtol=1e-12)
    assert reg.n_iter_ == 1 or value == 1e100


def test_one_constant_target_among_others(data):
    """It disturbs nothing: the other is learnt, its own value predicted."""
    X, y = data
    reg = make().fit(X, np.column_stack([y, np.full(len(y), 0.1)]))
    np.testing.assert_allclose(reg.predict(X)[:, 1], 0.1, rtol=1e-10)
    assert np.corrcoef(reg.predict(X)[:, 0], y)[0, 1] > 0.7


def test_loss_is_half_the_squared_error(data):
    """Per row, summed over targets; weighted; in the units of the targets."""
    X, y = data
    reg = make(max_iter=5).fit(X, y)
    assert reg.loss(X, y) == pytest.approx(0.5 * mean_squared_error(y, reg.predict(X)))
    assert reg.loss_ == pytest.approx(reg.loss(X, y), rel=1e-9) == reg.loss_curve_[-1]
    weight = np.arange(len(y)) % 3
    want = 0.5 * mean_squared_error(y, reg.predict(X), sample_weight=weight)
    assert reg.loss(X, y, weight) == pytest.approx(want)
    Y = np.column_stack([y, 2 * y])
    reg = make(max_iter=5).fit(X, Y)
    want = 0.5 * ((reg.predict(X) - Y) ** 2).sum(axis=1).mean()
    assert reg.loss(X, Y) == pytest.approx(want)


@pytest.mark.parametrize("activation, least", [("log_relu", 0.94), ("tanh", 0.88)])
def test_a_function_of_one_feature_may_oscillate(activation, least):
    """Units whose kinks all start at the mean see a line on either side of it."""
    scores, points = [], np.linspace(-1, 1, 401)[:, None]
    for seed in range(5):
        rng = np.random.default_rng(seed)
        x = rng.uniform(-1, 1, size=(50, 1))
        y = np.sin(6 * x[:, 0]) + 0.1 * rng.standard_normal(50)
        reg = RiemannianMLPRegressor(activation=activation, random_state=seed).fit(x, y)
        scores.append(reg.score(points, np.sin(6 * points[:, 0])))
    assert np.mean(scores) > least and min(scores) > 0.85


@pytest.mark.parametrize("n_features", [1, 2])
@pytest.mark.parametrize("seed", range(2))
def test_no_pass_loses_what_was_learnt(seed, n_features):
    """Units that are active in a few rows get no weights of the inverse size."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(3000, n_features))
    signal = np.sin(6 * X[:, 0]) + np.square(X).sum(axis=1)
    reg = RiemannianMLPRegressor(hidden_layer_sizes=(100, 100), random_state=seed)
    reg.fit(X, signal + rng.standard_normal(3000))
    losses = np.array(reg.loss_curve_)
    assert (losses < 2 * np.minimum.accumulate(losses)).all()
    assert reg.score(X, signal) > 0.95


@pytest.mark.parametrize("batch_size", ["auto", 50])
def test_early_stopping(data, batch_size):
    """The best R^2 on held-out rows is kept, in the units of the targets."""
    X, y = data
    reg = make((20,), early_stopping=True, max_iter=200, batch_size=batch_size).fit(X, 1e5 * y)
    assert reg.n_iter_ < 200
    assert reg.best_validation_score_ == max(reg.validation_scores_) > 0.3
    assert len(reg.validation_scores_) == len(reg.validation_loss_curve_) == reg.n_iter_


def test_missing_targets_among_objects(data):
    """None is no number, in targets to learn as in held-out ones."""
    X, y = data
    missing = y.astype(object)
    missing[1] = None
    for targets in ({"y": missing}, {"y": y, "X_val": X, "y_val": missing}):
        with pytest.raises(ValueError, match="y contains NaN"):
            make(early_stopping=True).fit(X, **targets)
    assert make(max_iter=2).fit(X, y.astype(object)).loss_ < np.inf


# ------------------------------------------------------------------- the parameter `loss`
@pytest.mark.parametrize("weighted", [False, True])
def test_held_out_targets_that_are_constant(data, weighted):
    """R^2 is then 0, or 1 of an exact answer, and the held-out loss says which pass is kept."""
    X, y = data
    reg = make(early_stopping=True, max_iter=30)
    if weighted:
        last = {"sample_weight_val": np.r_[1.0, np.zeros(len(y) - 1)]}
        reg.fit(X, y, X_val=X, y_val=y, **last)
        assert reg.loss(X[:1], y[:1]) == pytest.approx(min(reg.validation_loss_curve_))
    else:
        reg.fit(X, y, X_val=X[:3], y_val=np.full(3, 0.1))
        assert reg.loss(X[:3], np.full(3, 0.1)) == pytest.approx(min(reg.validation_loss_curve_))
    assert set(reg.validation_scores_) == {0.0} and reg.n_iter_ > 1
    ones = np.ones(len(y))
    for targets in (ones, np.column_stack([ones, -ones])):
        np.testing.assert_allclose(reg.fit(X, targets).predict(X), targets)
        assert set(reg.validation_scores_) == {1.0}


def test_constant_held_out_columns_do_not_count(data):
    """Of several targets those that vary among the held-out rows make the score."""
    X, y = data
    rare = (np.arange(len(y)) == 0).astype(float)
    kw = dict(early_stopping=True, max_iter=5)
    reg = make(**kw).fit(X, np.c_[y, rare], X_val=X[1:], y_val=np.c_[y, rare][1:])
    predicted = reg.predict(X[1:])[:, 0]
    assert reg.best_validation_score_ == pytest.approx(r2_score(y[1:], predicted))
    scores = reg.fit(X, y).validation_scores_
    both = make(max_iter=2, early_stopping=True).fit(X, np.column_stack([y, np.full(len(y), 0.1)]))
    assert both.validation_scores_[0] == pytest.approx(scores[0], abs=0.1)


def test_loss_is_a_parameter_and_a_method(data):
    """A plain string for scikit-learn, a method to call."""
    X, y = counts()
    reg = make(loss="poisson", max_iter=3)
    assert type(reg.get_params()["loss"]) is str and reg.loss == "poisson"
    assert clone(reg).get_params() == reg.get_params()
    reg.fit(X, y)
    assert np.isfinite(reg.loss(X, y)) and "loss='poisson'" in repr(reg)
    other = pickle.loads(pickle.dumps(reg))
    assert other.loss == "poisson" and other.loss(X, y) == reg.loss(X, y)
    reg.set_params(loss="squared_error")
    assert reg.loss == "squared_error" and reg.get_params()["loss"] == "squared_error"
    copied = clone(other).set_params(loss=reg.loss)
    assert copied.get_params()["loss"] == "squared_error"
    assert pickle.loads(pickle.dumps(copied)).loss == "squared_error"


def test_loss_can_be_searched():
    """As any parameter in a grid."""
    X, y = counts(100)
    grid = GridSearchCV(make(max_iter=5), {"loss": ["poisson", "squared_error"]}, cv=2)
    assert grid.fit(X, y).best_params_["loss"] in ("poisson", "squared_error")


def test_first_argument_is_the_loss():
    """As in scikit-learn."""
    assert RiemannianMLPRegressor("poisson").get_params()["loss"] == "poisson"
    with pytest.raises(ValueError, match="loss"):
        RiemannianMLPRegressor("absolute").fit([[0.0], [1.0]], [0.0, 1.0])


# ------------------------------------------------------------------- units and precision
@pytest.mark.parametrize("metric", ["qd_bp", "qd_fisher", "kron_bp", "bp"])
@pytest.mark.parametrize("batch_size", ["auto", 100])
def test_units_of_targets_do_not_matter(data, metric, batch_size):
    """y and 1000 y + 5: the same fit over all passes."""
    X, y = data
    one, other = (
        make(metric=metric, batch_size=batch_size, max_iter=50).fit(X, t) for t in (y, 1000 * y + 5)
    )
    assert one.n_iter_ == other.n_iter_
    difference = (other.predict(X) - 5) / 1000 - one.predict(X)
    assert np.abs(difference).max() < 1e-6 * y.std()
    np.testing.assert_allclose(np.array(other.loss_curve_) / 1e6, one.loss_curve_, rtol=1e-6)


def test_units_of_targets_matter_to_the_euclidean_metric(data):
    """The comparison can fail."""
    X, y = data
    one, other = (make(metric="euclidean").fit(X, t) for t in (y, 1000 * y + 5))
    assert np.abs((other.predict(X) - 5) / 1000 - one.predict(X)).max() > 1e-3 * y.std()


@pytest.mark.parametrize(
    "parameters", [{"metric": "euclidean"}, {"metric": "diag_bp"}, {"damping_mode": "absolute"}]
)
def test_fits_of_small_targets_go_on(data, parameters):
    """Where training works in the targets' own units, so does `tol`."""
    X, y = data
    y = 1e-3 * y / y.std()
    reg = make(max_iter=12, **parameters).fit(X / X.std(axis=0), y)
    assert reg.n_iter_ == 12
    one, zero = (np.column_stack([y, column * np.ones(len(y))]) for column in (y, 0.0))
    for Y in (one, zero):
        assert make(max_iter=5, **parameters).fit(X, Y).n_iter_ == 5


@pytest.mark.parametrize("batch_size", ["auto", 100])
def test_fits_of_small_rates_go_on(batch_size):
    """A hundred thousand times fewer events a row: nats an event are what gains count in."""
    X, y = counts()
    reg = make(loss="poisson", max_iter=12, batch_size=batch_size).fit(X, 1e-5 * y)
    assert reg.n_iter_ == 12 and reg.score(X, 1e-5 * y) > 0.4


@pytest.mark.parametrize("batch_size", ["auto", 100])
@pytest.mark.parametrize("metric", ["qd_bp", "bp", "euclidean"])
def test_single_precision(data, metric, batch_size):
    """float32 in, float32 out, and nearly the results of float64."""
    X, y = data
    one = make(metric=metric, batch_size=batch_size, max_iter=10).fit(X, y)
    single = X.astype(np.float32)
    other = make(metric=metric, batch_size=batch_size, max_iter=10)
    other.fit(single, y.astype(np.float32))
    assert other.predict(single).dtype == np.float32 == other.coefs_[0].dtype
    assert other.intercepts_[0].dtype == np.float32
    assert other.score(single, y) == pytest.approx(one.score(X, y), abs=1e-2)


def test_one_row_more_than_batches_hold():
    """The last step of a pass is not one on a single row, as long as the others."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(301, 6))
    y = X @ rng.normal(size=6)
    for start in range(3):
        regressor = RiemannianMLPRegressor(
            hidden_layer_sizes=(8,), batch_size=300, random_state=start
        )
        assert regressor.fit(X, y).score(X, y) > 0.98


def test_a_stream_does_not_change_its_loss():
    """Not in silence."""
    X, y = np.random.default_rng(0).uniform(size=(40, 3)), np.arange(40.0)
    regressor = RiemannianMLPRegressor(hidden_layer_sizes=(4,)).partial_fit(X, y)
    with pytest.raises(ValueError, match="loss"):
        regressor.set_params(loss="poisson").partial_fit(X, y)


@pytest.mark.parametrize("kind", ["datetime64[D]", "timedelta64[s]"])
def test_dates_are_no_targets(kind):
    """They would be learnt in whatever unit they are stored in, missing ones as -2^63."""
    X, y = np.random.default_rng(0).normal(size=(20, 2)), np.arange(20).astype(kind)
    with pytest.raises(ValueError, match="y holds dates or times"):
        make().fit(X, y)
    with pytest.raises(ValueError, match="y holds dates or times"):
        make().partial_fit(X, y)
    with pytest.raises(ValueError, match="y holds dates or times"):
        make(max_iter=1).fit(X, X[:, 0]).loss(X, y)


@pytest.mark.parametrize("unit", ["datetime64[s]", "timedelta64[s]"])
def test_dates_are_no_features(unit):
    X = np.arange(40).astype(unit)[:, None]
    X[3] = "NaT"
    pandas = pytest.importorskip("pandas")
    mixed = pandas.DataFrame({"when": X[:, 0], "number": np.arange(40.0)})
    for table in (X, pandas.DataFrame(X), mixed):
        with pytest.raises(ValueError, match="X holds dates or times"):
            make().fit(table, np.arange(40.0))
    reg = make(max_iter=1).fit(np.arange(40.0)[:, None], np.arange(40.0))
    with pytest.raises(ValueError, match="X holds dates or times"):
        reg.predict(X)


class PolarsTable:
    """As one of polars, whose dtypes only look like those of NumPy."""

    dtypes = ("Datetime(time_unit='us', time_zone=None)", "Float64")

    def __array__(self, dtype=None, copy=None):
        return np.column_stack([np.arange(40), np.ones(40)])


def days(kind):
    """Forty of them, in two columns."""
    pandas = pytest.importorskip("pandas")
    when = pandas.date_range("2020-01-01", periods=40)
    if kind == "list":
        return [[day, 1.0] for day in when.values]
    columns = {"period": when.to_period("D"), "date": when.date, "object": when.astype(object)}
    return pandas.DataFrame({"when": columns[kind], "number": np.ones(40)})


@pytest.mark.parametrize("kind", ["list", "period", "date", "object", "polars"])
def test_dates_are_no_numbers_in_any_container(kind):
    table, numbers = PolarsTable() if kind == "polars" else days(kind), np.ones((40, 2))
    with pytest.raises(ValueError, match="X holds dates or times"):
        make().fit(table, numbers)
    if kind != "polars":
        reg = make(max_iter=1).fit(numbers, numbers)
        for learn in (reg.fit, reg.loss):
            with pytest.raises(ValueError, match="y holds dates or times"):
                learn(numbers, table)


@pytest.mark.parametrize("output", ["poisson", "bernoulli"])
def test_rows_of_weight_0_may_have_impossible_targets(data, output):
    """They are not there; among those that are, such targets are refused."""
    X = data[0]
    y = (X[:, 0] > 0).astype(float)
    y[3] = -1.0
    weight = np.ones(len(y))
    with pytest.raises(ValueError, match="needs targets"):
        make(output=output, max_iter=2).fit(X, y, sample_weight=weight)
    weight[3] = 0.0
    reg = make(output=output, max_iter=2).fit(X, y, sample_weight=weight)
    assert np.isfinite(reg.loss(X, y, sample_weight=weight))
    there = make(output=output, max_iter=2).fit(np.delete(X, 3, 0), np.delete(y, 3))
    np.testing.assert_allclose(reg.predict(X), there.predict(X), rtol=1e-9)


def test_r2_of_a_constant_that_has_a_rounded_mean():
    """The mean of three times 0.1 is not 0.1: no spread comes of it."""
    target = np.full((1, 3), 0.1)
    score = MeanR2.on(Data(np.zeros((3, 1)), target, None))
    square = get_output("square")
    assert score(square, target + 0.1, target, None) == 0.0
    assert score(square, target, target, None) == 1.0


def test_wide_sparse_rows_are_predicted_many_at_a_time():
    """What they cost is what they hold, not their width."""
    X = sp.random(300, 20_000, density=1e-4, format="csr", random_state=0)
    reg = make((2,), max_iter=1).fit(X, np.arange(300.0))
    assert len(list(reg._prediction_chunks(X))) == 1
    assert len(list(reg._prediction_chunks(np.broadcast_to(0.0, X.shape)))) > 1


def test_subclasses_settle_parameters(data):
    """One that leaves out `loss` is cloned, and has the method of that name."""

    class Own(RiemannianMLPRegressor):
        def __init__(self, n_units=3):
            super().__init__("poisson", (n_units,), max_iter=2)
            self.n_units = n_units

    copy = clone(Own(4))
    assert copy.get_params() == {"n_units": 4}
    y = np.abs(data[1])
    assert np.isfinite(copy.fit(data[0], y).loss(data[0], y)) and copy.loss == "poisson"


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_shares_are_rounded(data, dtype):
    """Those of Bernoulli outputs may lie beyond 1 by rounding errors of their dtype."""
    X, share = data[0], np.linspace(0, 1, len(data[0]), dtype=dtype)
    reg = make(output="bernoulli", max_iter=2).fit(X, share)
    loss = reg.loss(X, share)
    share[-1] += np.finfo(dtype).eps
    assert reg.loss(X, share) == loss == reg.fit(X, share).loss(X, share)
    share[-1] = 1.001
    with pytest.raises(ValueError, match="needs targets"):
        reg.fit(X, share)

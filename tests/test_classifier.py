"""The classifier: labels, outputs, inspection, connectivity, invariance, reproducibility."""

import io
import pickle
import warnings
from copy import copy, deepcopy
from dataclasses import replace
from functools import partial
from itertools import pairwise, product

import joblib
import numpy as np
import pytest
import reference as ref
import scipy.sparse as sp
from engine import assert_close, damped, parts_of
from selection import slow, slow_but, spread
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, make_classification
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from sknatgrad import METRICS, OUTPUTS, RiemannianMLPClassifier, Topology, get_metric
from sknatgrad.estimators._callbacks import PassObserver
from sknatgrad.estimators._held_out import hold_out
from sknatgrad.network import ACTIVATIONS
from sknatgrad.network.activations import Activation
from sknatgrad.training import History, Objective
from sknatgrad.training.data.dataset import Data

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

CLASS_OUTPUTS = [name for name in OUTPUTS if name != "poisson"]
DISCRETE = [name for name in CLASS_OUTPUTS if OUTPUTS[name].discrete]
NO_STOP = {"tol": 0.0, "n_iter_no_change": 10_000}


def make(hidden_layer_sizes=(6,), **parameters):
    """A small classifier."""
    defaults = {"max_iter": 60, "random_state": 0}
    return RiemannianMLPClassifier(hidden_layer_sizes, **{**defaults, **parameters})


def clouds(n_classes=3, n_samples=90, seed=0):
    """Well separated classes in the plane."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n_samples) % n_classes)
    angle = 2 * np.pi * y / n_classes
    centres = 4 * np.column_stack([np.cos(angle), np.sin(angle)])
    return centres + rng.normal(scale=0.5, size=(n_samples, 2)), y


def three_labels(n_samples=90):
    """A multilabel problem."""
    X = np.random.default_rng(0).normal(size=(n_samples, 3))
    return X, (X > [[-0.7, 0.0, 0.7]]).astype(int)


def dense(matrix):
    """An ndarray, whatever the matrix is."""
    return matrix.toarray() if sp.issparse(matrix) else np.asarray(matrix)


def same_parameters(a, b):
    """Whether two estimators have the same bits."""
    return all(
        np.array_equal(dense(p), dense(q))
        for p, q in zip(a.coefs_ + a.intercepts_, b.coefs_ + b.intercepts_, strict=True)
    )


def equal_curves(*estimators):
    """Whether losses agree to the last bit."""
    return len({tuple(est.loss_curve_) for est in estimators}) == 1


# ------------------------------------------------------------------- learning and probabilities
@pytest.mark.parametrize(
    ("output", "n_classes", "batch_size"),
    [
        *product(CLASS_OUTPUTS, [2, 3], ["auto"]),
        *spread(CLASS_OUTPUTS, [2, 3], [15]),
    ],
)
def test_every_output_learns(output, n_classes, batch_size):
    """Every output separates easy classes; probabilities are a distribution."""
    X, y = clouds(n_classes)
    clf = make(output=output, batch_size=batch_size).fit(X, y)
    assert clf.score(X, y) > 0.95
    proba = clf.predict_proba(X)
    assert proba.shape == (90, n_classes) and (proba >= 0).all()
    np.testing.assert_allclose(proba.sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_array_equal(clf.classes_[proba.argmax(axis=1)], clf.predict(X))


@pytest.mark.parametrize("output", ["bernoulli", "square"])
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array, sp.lil_matrix])
def test_multilabel(output, container):
    """Dense and sparse indicators; probabilities of the labels are independent."""
    X, Y = three_labels()
    clf = make(output=output).fit(X, container(Y))
    assert np.mean(clf.predict(X) == Y) > 0.95
    assert clf.predict_proba(X).shape == clf.decision_function(X).shape == Y.shape
    assert clf.loss(X, container(Y)) == pytest.approx(clf.loss(X, Y))


@pytest.mark.parametrize("values", [(-1, 1), (1, 2), (0, 5)])
def test_indicators_of_other_values_are_refused(values):
    """Training would take them for probabilities, and losses would be negative."""
    X, Y = three_labels()
    fitted = make(max_iter=1, **NO_STOP).fit(X, Y)
    for answer in (RiemannianMLPClassifier().fit, fitted.partial_fit, fitted.loss):
        with pytest.raises(ValueError, match="indicator matrix of 0 and 1"):
            answer(X, np.array(values)[Y])


@pytest.mark.parametrize("output", DISCRETE)
def test_outputs_over_classes_refuse_multilabel_targets(output):
    """One class a sample is what they read."""
    with pytest.raises(ValueError, match="multilabel"):
        make(output=output).fit(*three_labels())


@pytest.mark.parametrize(
    ("outputs", "hidden"),
    spread(
        [
            ("bernoulli", "logistic"),
            ("bernoulli", "tanh"),
            ("bernoulli", "scaled_tanh"),
            ("spherical", "logistic"),
            ("spherical", "tanh"),
            ("spherical", "scaled_tanh"),
            ("spherical", "identity"),
            ("square", "identity"),
            ("square", "logistic"),
            ("square", "tanh"),
        ],
        [(), (6,), (100,)],
    ),
)
def test_output_activations(outputs, hidden):
    """Outputs that allow several activations learn with each, in small and in wide networks.

    Spherical ones may not where six rectified units are all off in two of the clouds.
    """
    X, y = clouds()
    output, activation = outputs
    clf = make(hidden, output=output, output_activation=activation, max_iter=200)
    scores = [clone(clf).set_params(random_state=s).fit(X, y).score(X, y) for s in range(4)]
    assert sorted(scores)[output == "spherical" and hidden == (6,)] > 0.95


def test_several_columns_of_classes_are_refused():
    """An indicator matrix holds 0 and 1: other columns are not read as one."""
    X, y = clouds()
    for target in (np.column_stack([y, y]), np.column_stack([y, y > 0])):
        with pytest.raises(ValueError, match="several columns"):
            make().fit(X, target)


@pytest.mark.parametrize("classes", [3, [[0, 1, 2]]])
def test_classes_are_one_axis(classes):
    """Neither a number nor a matrix."""
    with pytest.raises(ValueError, match="1d array"):
        make().partial_fit(*clouds(), classes=classes)


@pytest.mark.parametrize("change", [{"output": "bernoulli"}, {"output_activation": "tanh"}])
def test_streams_refuse_another_output(change):
    """What the network was built with is not silently kept."""
    X, y = clouds()
    clf = make().partial_fit(X, y, classes=[0, 1, 2])
    with pytest.raises(ValueError, match="output"):
        clf.set_params(**change).partial_fit(X, y)


def test_questions_before_the_fit():
    """Attributes and methods say what is missing, and `hasattr` is False."""
    for name in ("coefs_", "intercepts_", "output_coefs_"):
        with pytest.raises(NotFittedError):
            getattr(make(), name)
        assert not hasattr(make(), name)


def test_direction_needs_targets():
    """The gradient depends on them."""
    X, y = clouds()
    with pytest.raises(ValueError, match="pass y"):
        make(max_iter=1).fit(X, y).direction(X)


def test_weights_whose_sum_overflows():
    """Their mean would not be a number."""
    X, y = clouds()
    with pytest.raises(ValueError, match="finite sum"):
        make().fit(X, y, np.full(len(y), 1e308))


LABELS = {
    "bool": lambda y: y > 0,
    "int": lambda y: 10 * y - 5,
    "uint8": lambda y: y.astype(np.uint8),
    "float": lambda y: y.astype(float),
    "str": lambda y: np.array(["b", "a", "longer"])[y],
    "object": lambda y: np.array(["b", "a", "longer"], dtype=object)[y],
    "list": lambda y: y.tolist(),
    "column": lambda y: y,
}


@pytest.mark.parametrize("kind", LABELS)
@pytest.mark.parametrize("output", ["auto", "square"])
def test_labels_of_every_kind(kind, output):
    """`classes_` are the sorted labels, predictions are labels of the same dtype."""
    X, y = clouds()
    y = LABELS[kind](y)
    clf = make(output=output).fit(X, y)
    np.testing.assert_array_equal(clf.classes_, np.unique(y))
    assert clf.predict(X).dtype == clf.classes_.dtype == np.asarray(y).dtype
    assert clf.score(X, y) > 0.95
    online = make(output=output).partial_fit(X, y, classes=np.unique(y)[::-1])
    np.testing.assert_array_equal(online.classes_, clf.classes_)


@pytest.mark.parametrize("dtype", ["Int64", "boolean", "string", "category", "Float64"])
def test_nullable_pandas_labels(dtype):
    """Labels of pandas' extension types, in fit, partial_fit and loss."""
    pd = pytest.importorskip("pandas")
    X, y = clouds(2)
    labels = pd.Series(y).astype(str if dtype in ("string", "category") else int).astype(dtype)
    clf = make().fit(X, labels)
    assert clf.score(X, labels) > 0.95
    assert clf.loss(X, labels) == pytest.approx(make().fit(X, y).loss(X, y))
    clf.partial_fit(X[:5], labels[:5], classes=labels.unique())


@pytest.mark.parametrize(
    "y", [np.linspace(0, 1, 90), np.full((90, 2, 2), 1), np.full((90, 2), 0.5)]
)
def test_targets_that_are_no_classes_are_refused(y):
    """Continuous targets, or of too many dimensions."""
    with pytest.raises(ValueError):
        make().fit(clouds()[0], y)


@pytest.mark.parametrize("output", ["softmax", "bernoulli", "spherical", "scaled_softmax"])
@pytest.mark.parametrize("n_classes", [1, 2, 3])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_log_probabilities_are_finite_at_extreme_logits(output, n_classes, dtype):
    """log-probabilities neither overflow nor saturate, and are those of the probabilities."""
    X, y = clouds(n_classes)
    X = X.astype(dtype)
    clf = make((), output=output, max_iter=3).fit(X, y)
    for factor in (1.0, 1e4):
        clf.set_coefs([factor * c for c in clf.coefs_], [factor * b for b in clf.intercepts_])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            log_proba, proba = clf.predict_log_proba(X), clf.predict_proba(X)
        assert log_proba.shape == proba.shape == (90, n_classes)
        assert np.isfinite(log_proba).all() and (log_proba <= 0).all()
        assert log_proba.dtype == proba.dtype == dtype
        np.testing.assert_allclose(np.exp(log_proba), proba, rtol=1e-3, atol=1e-6)
    if n_classes > 1:
        assert log_proba.min() < -100


def test_log_probabilities_of_multilabel_targets():
    """The same for several labels, where columns stand for themselves."""
    X, Y = three_labels()
    clf = make((), max_iter=3).fit(X, Y)
    clf.set_coefs([1e4 * c for c in clf.coefs_], clf.intercepts_)
    log_proba = clf.predict_log_proba(X)
    assert np.isfinite(log_proba).all() and log_proba.min() < -100


@pytest.mark.parametrize("output", CLASS_OUTPUTS)
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("far", [False, True])
def test_decision_function(output, n_classes, far):
    """Its shape is scikit-learn's; its sign, or the largest, is what `predict` says."""
    X, y = clouds(n_classes)
    clf = make(() if far else (6,), output=output, max_iter=5).fit(X, y)
    if far:
        X = np.random.default_rng(0).normal(scale=20, size=(200, 2))
    values, proba = clf.decision_function(X), clf.predict_proba(X)
    if n_classes == 2:
        assert values.shape == (len(X),)
        np.testing.assert_array_equal(clf.classes_[(values > 0).astype(int)], clf.predict(X))
        assert (np.diff(proba[np.argsort(values), 1]) >= 0).all()
    else:
        assert values.shape == (len(X), 3)
        np.testing.assert_array_equal(clf.classes_[values.argmax(axis=1)], clf.predict(X))


@pytest.mark.parametrize("output", ["bernoulli", "square"])
@pytest.mark.parametrize("activation", ["auto", "tanh"])
def test_decision_function_of_multilabel_targets(output, activation):
    """Positive where the label is predicted."""
    X, Y = three_labels()
    clf = make(output=output, output_activation=activation, max_iter=5).fit(X, Y)
    np.testing.assert_array_equal(clf.decision_function(X) > 0, clf.predict(X) == 1)


def test_loss_is_the_log_loss():
    """`loss` is scikit-learn's log loss, weighted or not; the history ends with it."""
    X, y = clouds()
    w = np.random.default_rng(0).uniform(0.5, 2, size=len(y))
    clf = make(max_iter=5).fit(X, y, sample_weight=w)
    proba = clf.predict_proba(X)
    assert clf.loss(X, y) == pytest.approx(log_loss(y, proba))
    assert clf.loss(X, y, w) == pytest.approx(log_loss(y, proba, sample_weight=w))
    assert clf.loss_ == pytest.approx(clf.loss(X, y, w))
    assert clf.loss_ == clf.loss_curve_[-1] and clf.best_loss_ == min(clf.loss_curve_)


def test_class_weight():
    """A class weight moves the decision; "balanced" is what scikit-learn says it is."""
    X, y = clouds(2)
    X[:, 0] *= 0.1
    kept = (y == 0) | (np.arange(90) < 30)
    balanced = make(max_iter=5, class_weight="balanced").fit(X[kept], y[kept])
    counts = np.bincount(y[kept])
    weights = {k: kept.sum() / (2 * counts[k]) for k in (0, 1)}
    explicit = make(max_iter=5, class_weight=weights).fit(X[kept], y[kept])
    np.testing.assert_allclose(balanced.predict_proba(X), explicit.predict_proba(X), rtol=1e-8)
    days = np.array(["2020-01-01", "2020-01-02"], "M8[ns]")
    named = make(max_iter=5, class_weight=dict(zip(days, weights.values(), strict=True)))
    named.fit(X[kept], days[y[kept]])
    np.testing.assert_allclose(named.predict_proba(X), explicit.predict_proba(X), rtol=1e-8)
    heavy = make(max_iter=5, class_weight={0: 1, 1: 100}).fit(X, np.roll(y, 40))
    light = make(max_iter=5, class_weight={0: 100, 1: 1}).fit(X, np.roll(y, 40))
    assert heavy.predict(X).mean() > 0.9 > 0.1 > light.predict(X).mean()


def test_class_weights_are_no_observations():
    """Only how they compare matters, whole numbers or not; sample weights stay counts."""
    X, y = make_classification(300, n_informative=4, weights=[0.8], flip_y=0.1, random_state=0)
    clf = make(max_iter=30)
    a, b, c = (
        clone(clf.set_params(class_weight=weights)).fit(X, y)
        for weights in ({0: 1, 1: 4}, {0: 0.25, 1: 1}, {0: 10.5, 1: 42})
    )
    for other in (b, c):
        assert other.alpha_ == pytest.approx(a.alpha_, rel=1e-6)
        np.testing.assert_allclose(other.predict_proba(X), a.predict_proba(X), rtol=1e-6)
    weight = np.random.default_rng(0).integers(0, 4, size=300)
    rows = np.repeat(np.arange(300), weight)
    clf.set_params(class_weight={0: 1, 1: 2.5})
    weighted = clone(clf).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(
        clf.fit(X[rows], y[rows]).predict_proba(X), weighted.predict_proba(X), rtol=1e-6
    )


@pytest.mark.parametrize("alpha", ["auto", 0.1])
def test_balance_counts_sample_weights(alpha):
    """Rows of weight 0 are not there, and 2 is twice; held-out rows keep the balance."""
    X, y = make_classification(300, n_informative=4, weights=[0.8], flip_y=0.1, random_state=0)
    weight = np.where(y == 1, 2, np.arange(300) % 2)
    rows = np.repeat(np.arange(300), weight)
    clf = make(max_iter=20, alpha=alpha, class_weight="balanced")
    weighted = clone(clf).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(
        weighted.predict_proba(X), clf.fit(X[rows], y[rows]).predict_proba(X), rtol=1e-6
    )
    balance = {k: len(rows) / (2 * np.sum(y[rows] == k)) for k in (0, 1)}
    clf.set_params(early_stopping=True, n_iter_no_change=3)
    fits = [
        clone(clf.set_params(class_weight=given)).fit(
            X[rows], y[rows], X_val=X[:80], y_val=y[:80], sample_weight_val=None
        )
        for given in ("balanced", balance)
    ]
    assert fits[0].validation_loss_curve_ == pytest.approx(fits[1].validation_loss_curve_)


@pytest.mark.parametrize(
    ("class_weight", "words"),
    [
        ({"0": 2}, "no classes"),
        ({0: 1, 5: 3}, "5.*no classes.*1, 2"),
        ({0: 0, 1: 0, 2: 0}, "all zero"),
    ],
)
def test_class_weights_that_are_none(class_weight, words):
    """Weights of other labels are a mistake, as in scikit-learn; so is no weight at all."""
    X, y = clouds()
    with pytest.raises(ValueError, match=words):
        make(class_weight=class_weight).fit(X, y)
    make(class_weight={0: 1, 1: 2, 2: 1, 5: 3}, max_iter=1).fit(X, y)


@pytest.mark.parametrize(
    ("class_weight", "weight", "message"),
    [
        ({0: 0, 1: 1}, np.repeat([1.0, 0.0], 30), "training rows .* add up to 0"),
        ({0: 1e-200, 1: 1e-200}, np.full(60, 1e-200), "training rows .* add up to 0"),
        ({0: 1e-160, 1: 1e-160}, np.full(60, 1e-160), "neither tiny"),
        ({0: 1e200, 1: 1}, np.full(60, 1e200), "class_weight must have a finite sum"),
        ({0: None, 1: 1}, np.ones(60), "class_weight must hold numbers"),
        ({0: "a", 1: 1}, np.ones(60), "class_weight must hold numbers"),
    ],
)
def test_products_of_weights_are_checked(class_weight, weight, message):
    """Weights of classes times those of samples, before work starts."""
    X, y = clouds(2, 60)
    order = np.argsort(y, kind="stable")
    clf = make(class_weight=class_weight, max_iter=2)
    with warnings.catch_warnings(), pytest.raises(ValueError, match=message):
        warnings.simplefilter("error", RuntimeWarning)
        clf.fit(X[order], y[order], weight)


def test_held_out_rows_have_a_weight():
    """All of a class that weighs nothing: there is no score."""
    X, y = clouds(2, 60)
    clf = make(class_weight={0: 0, 1: 1}, early_stopping=True, max_iter=2)
    with pytest.raises(ValueError, match=r"validation rows .* add up to 0"):
        clf.fit(X, y, X_val=X[y == 0], y_val=y[y == 0])


@pytest.mark.parametrize("class_weight", ["balanced", {0: 2, 1: 1}])
def test_class_weight_and_multilabel_targets(class_weight):
    """Weights that would not be used are refused."""
    X, y = clouds()
    with pytest.raises(ValueError, match="multilabel"):
        make(class_weight=class_weight).fit(X, np.column_stack([y == 0, y == 1]).astype(int))


def test_string_class_weight():
    """Weights by the labels' names."""
    X, y = clouds()
    names = np.array(["a", "b", "c"])[y]
    a = make(max_iter=3, class_weight={"a": 1, "b": 2, "c": 3}).fit(X, names)
    b = make(max_iter=3, class_weight={0: 1, 1: 2, 2: 3}).fit(X, y)
    assert same_parameters(a, b)


# ------------------------------------------------------------------------ scikit-learn's machinery
def test_pipeline_and_grid_search():
    """A grid over names and objects of metrics, and outputs, in a pipeline."""
    X, y = clouds()
    grid = {
        "riemannianmlpclassifier__metric": ["qd_bp", "bp", get_metric("kron_fisher")],
        "riemannianmlpclassifier__output": ["softmax", "spherical"],
    }
    pipeline = make_pipeline(StandardScaler(), make(max_iter=10))
    search = GridSearchCV(pipeline, grid, cv=3, error_score="raise").fit(X, y)
    assert search.best_score_ > 0.95 and len(search.cv_results_["params"]) == 6
    clone(search.best_estimator_)


def test_metadata_routing():
    """Sample weights reach the fits and scores of a search."""
    from sklearn import config_context

    X, y = clouds()
    with config_context(enable_metadata_routing=True):
        clf = make(max_iter=3).set_fit_request(sample_weight=True)
        clf.set_score_request(sample_weight=True)
        search = GridSearchCV(clf, {"damping": [0.01, 0.1]}, cv=2)
        search.fit(X, y, sample_weight=np.r_[np.ones(45), np.zeros(45)] + 0.5)
    assert search.best_score_ > 0.9


def test_cross_validated_probabilities():
    """cross_val_predict on text labels."""
    X, y = clouds()
    proba = cross_val_predict(make(max_iter=20), X, y.astype(str), method="predict_proba", cv=3)
    assert proba.shape == (90, 3) and np.mean(proba.argmax(axis=1) == y) > 0.95


def test_clone_is_unfitted_and_equal():
    """Parameters survive, also objects; the fitted state does not."""
    X, y = clouds()
    metric, topology = get_metric("qd_fisher"), Topology.layered([2, 4, 3])
    clf = make(metric=metric, connectivity=topology, activation=["logistic"]).fit(X, y)
    copy = clone(clf)
    with pytest.raises(NotFittedError):
        copy.predict(X)
    assert same_parameters(copy.fit(X, y), clf)


@pytest.mark.parametrize("metric", METRICS)
def test_pickles(metric):
    """A fitted estimator comes back with the same bits and goes on as if never stored."""
    X, y = clouds()
    clf = make(metric=metric, max_iter=3, batch_size=20).fit(X, y)
    copy = pickle.loads(pickle.dumps(clf))
    np.testing.assert_array_equal(copy.predict_proba(X), clf.predict_proba(X))
    for est in (clf, copy):
        est.partial_fit(X, y)
    assert same_parameters(clf, copy)


@pytest.mark.parametrize("connectivity", [None, 2])
@pytest.mark.parametrize("batch_size", [1, 7, "auto"])
def test_pickled_in_the_middle_of_a_stream(connectivity, batch_size):
    """partial_fit, stored and restored between all calls: the same bits."""
    X, y = clouds()
    kw = dict(connectivity=connectivity, batch_size=batch_size, metric="qd_mc_fisher")
    one, other = make(**kw), make(**kw)
    for rows in np.array_split(np.arange(90), 6):
        one.partial_fit(X[rows], y[rows], classes=[0, 1, 2])
        other.partial_fit(X[rows], y[rows], classes=[0, 1, 2])
        other = pickle.loads(pickle.dumps(other))
    assert same_parameters(one, other) and equal_curves(one, other)


@pytest.mark.parametrize(
    "change",
    [
        {"metric": "diag_bp"},
        {"metric": "kron_bp"},
        {"metric": "fisher"},
        {"metric": "euclidean"},
        {"damping_mode": "absolute"},
        {"damping": 0.0},
        {"learning_rate": "constant"},
        {"metric_decay": 0.3},
        {"batch_size": 7},
        {"alpha": 1.0},
    ],
    ids=repr,
)
@pytest.mark.parametrize("start", ["fit", "partial_fit"])
def test_parameters_that_change_in_a_stream(change, start):
    """Settings set between calls are taken over, or refused by name: no obscure error."""
    X, y = clouds()
    clf = make(max_iter=3)
    clf = clf.fit(X, y) if start == "fit" else clf.partial_fit(X, y, classes=[0, 1, 2])
    before = clf.loss(X, y)
    clf.set_params(**change)
    try:
        clf.partial_fit(X, y).partial_fit(X, y)
    except ValueError as err:
        assert next(iter(change)) in str(err)
    assert clf.loss(X, y) < before + 0.1


def test_failed_call_leaves_the_stream_as_it_was(monkeypatch):
    """A call that fails half-way changes nothing: metric, random state and curves are as before."""
    X, y = clouds()
    clf, other = (make(batch_size=10).partial_fit(X, y, classes=[0, 1, 2]) for _ in range(2))
    whole, calls = Objective.differentiate, []

    def failing(*arguments):
        calls.append(arguments)
        if len(calls) == 4:
            raise MemoryError
        return whole(*arguments)

    monkeypatch.setattr(Objective, "differentiate", failing)
    with pytest.raises(MemoryError):
        clf.partial_fit(X, y)
    monkeypatch.undo()
    assert equal_curves(clf.partial_fit(X, y), other.partial_fit(X, y))
    assert same_parameters(clf, other)


def test_joblib_memory_map(tmp_path):
    """A model loaded as read-only memory maps predicts and goes on learning."""
    import joblib

    X, y = clouds()
    for connectivity in (None, 1):
        clf = make((20,), connectivity=connectivity, max_iter=3).fit(X, y)
        joblib.dump(clf, tmp_path / "clf")
        copy = joblib.load(tmp_path / "clf", mmap_mode="r")
        np.testing.assert_array_equal(copy.predict_proba(X), clf.predict_proba(X))
        for rows in (slice(None), slice(0, 1), slice(1, 2)):
            copy.partial_fit(X[rows], y[rows])
    # Metrics that single rows update in place.
    clf = make((20,), metric="bp").partial_fit(X, y, classes=[0, 1, 2])
    joblib.dump(clf.partial_fit(X[:1], y[:1]), tmp_path / "clf")
    copy = joblib.load(tmp_path / "clf", mmap_mode="r").partial_fit(X[:1], y[:1])
    assert same_parameters(copy, clf.partial_fit(X[:1], y[:1]))


# ------------------------------------------------------------------------------ parameters
@pytest.mark.parametrize("connectivity", [None, 2, 0.5, "paper"])
@pytest.mark.parametrize("output", ["softmax", "scaled_softmax"])
def test_set_coefs_round_trip(connectivity, output):
    """What `coefs_` says, `set_coefs` puts in: dense, sparse or masked dense."""
    X, y = clouds()
    kw = dict(hidden_layer_sizes=(8, 6), connectivity=connectivity, output=output)
    clf = make(max_iter=3, **kw).fit(X, y)
    want, coefs = clf.predict_proba(X), clf.coefs_
    for put in (
        lambda c: c,
        lambda c: sp.csr_array(c),
        dense,
    ):
        clf.set_coefs([0 * c for c in coefs], clf.intercepts_)
        assert not np.allclose(clf.predict_proba(X), want)
        clf.set_coefs([put(c) for c in coefs], clf.intercepts_)
        np.testing.assert_array_equal(clf.predict_proba(X), want)


@pytest.mark.parametrize("n_hidden", [(), (5,), (5, 4)])
def test_coefs_are_scikit_learns(n_hidden):
    """Layout, dtype and number; the forward pass by hand."""
    X, y = clouds()
    clf = make(n_hidden, max_iter=2).fit(X, y)
    sizes = [2, *n_hidden, 3]
    assert [c.shape for c in clf.coefs_] == list(pairwise(sizes))
    assert [b.shape for b in clf.intercepts_] == [(n,) for n in sizes[1:]]
    assert clf.n_layers_ == len(sizes) and clf.n_outputs_ == 3 and clf.out_activation_ == "softmax"
    a = X
    for coef, intercept in zip(clf.coefs_[:-1], clf.intercepts_[:-1], strict=True):
        a = np.log1p(np.maximum(a @ coef + intercept, 0))
    np.testing.assert_allclose(a @ clf.coefs_[-1] + clf.intercepts_[-1], clf.decision_function(X))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c, b: (c[:1], b), "arrays each"),
        (lambda c, b: ([c[0].T, c[1]], b), r"coefs\[0\].*shape"),
        (lambda c, b: (c, [b[0], b[1][:2]]), r"intercepts\[1\].*shape"),
        (lambda c, b: ([np.nan * c[0], c[1]], b), "finite"),
        (lambda c, b: (c, [b[0], b[1] + np.inf]), "finite"),
    ],
)
def test_set_coefs_checks(change, message):
    """Wrong shapes and values are refused, and nothing changes."""
    X, y = clouds()
    clf = make(max_iter=2).fit(X, y)
    want = clf.predict_proba(X)
    with pytest.raises(ValueError, match=message):
        clf.set_coefs(*change(clf.coefs_, clf.intercepts_))
    np.testing.assert_array_equal(clf.predict_proba(X), want)


def test_set_coefs_knows_the_links():
    """A weight without a link is refused."""
    X, y = clouds()
    clf = make(connectivity=1, max_iter=1).fit(X, y)
    with pytest.raises(ValueError, match="no link"):
        clf.set_coefs([np.ones(c.shape) for c in clf.coefs_], clf.intercepts_)


def test_training_goes_on_from_set_coefs():
    """partial_fit and warm fits start from the parameters put in."""
    X, y = clouds()
    target = make(max_iter=20).fit(X, y)
    for go_on in ("fit", "partial_fit"):
        clf = make(max_iter=1, alpha=0.0, warm_start=True).fit(X, y)
        clf.set_coefs(target.coefs_, target.intercepts_)
        getattr(clf, go_on)(X, y)
        assert clf.loss(X, y) < 1.05 * target.loss(X, y) + 1e-6


@pytest.mark.parametrize("n_rows", [10, 90])
@pytest.mark.parametrize("copied", [copy, deepcopy, lambda clf: pickle.loads(pickle.dumps(clf))])
def test_set_coefs_of_copies(n_rows, copied):
    """Each goes on from its own parameters, before and after it is copied."""
    X, y = clouds()

    def put(clf):
        return clf.set_coefs([2 * c for c in clf.coefs_], clf.intercepts_)

    def start():
        return make().partial_fit(X[:n_rows], y[:n_rows], classes=[0, 1, 2])

    plain, moved = start().partial_fit(X, y), put(start()).partial_fit(X, y)
    original = start()
    other = put(copied(original))
    for clf, want in ((original, plain), (copied(other), moved), (other, moved)):
        got = clf.partial_fit(X, y).predict_proba(X)
        np.testing.assert_array_equal(got, want.predict_proba(X))
    assert not np.array_equal(moved.predict_proba(X), plain.predict_proba(X))


def test_set_coefs_of_what_callbacks_see():
    """Estimators that predict, and whose training goes on from there."""
    pytest.importorskip("sklearn.callback")
    kept = []

    class Keeper(Recorder):
        def on_fit_task_end(self, estimator, context, *, fitted_estimator=None, **data):
            kept.append(fitted_estimator)

    X, y = clouds()
    clf = make(max_iter=2).set_callbacks(Keeper()).fit(X, y)
    seen = kept[1]
    coefs = [2 * c for c in clf.coefs_]
    want = clf.set_coefs(coefs, clf.intercepts_).predict_proba(X)
    got = seen.set_coefs(coefs, seen.intercepts_).predict_proba(X)
    np.testing.assert_array_equal(got, want)


# -------------------------------------------------------------------------------- directions
def flat(coefs, intercepts):
    """Arrays laid out like `coefs_` as one vector, unit by unit, bias first."""
    return np.concatenate(
        [np.vstack([b, c]).T.ravel() for c, b in zip(coefs, intercepts, strict=True)]
    )


@pytest.mark.parametrize("output", CLASS_OUTPUTS)
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_euclidean_direction_is_minus_the_gradient(output, n_classes, weighted):
    """By finite differences of `loss`."""
    X, y = clouds(n_classes, 20)
    w = np.random.default_rng(0).uniform(0, 2, size=20) if weighted else None
    clf = make((3,), output=output, max_iter=1).fit(X, y)
    coefs, intercepts = clf.coefs_, clf.intercepts_
    steps = clf.direction(X, y, metric="euclidean", sample_weight=w)
    for arrays, gradients in ((coefs, steps[0]), (intercepts, steps[1])):
        for array, gradient in zip(arrays, gradients, strict=True):
            for place in np.ndindex(array.shape):
                value, losses = array[place], []
                for h in (1e-5, -1e-5):
                    array[place] = value + h
                    losses.append(clf.set_coefs(coefs, intercepts).loss(X, y, w))
                array[place] = value
                slope = (losses[0] - losses[1]) / 2e-5
                assert gradient[place] == pytest.approx(-slope, rel=1e-5, abs=1e-8)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("connectivity", [None, 2])
def test_directions_descend(metric, connectivity):
    """A small enough step along the direction of any metric lowers the loss."""
    X, y = clouds()
    clf = make(connectivity=connectivity, max_iter=1).fit(X, y)
    before = clf.loss(X, y)
    steps = clf.direction(X, y, metric=metric, random_state=0)
    start = clf.coefs_, clf.intercepts_

    def loss_at(rate):
        moved = [
            [value + rate * step for value, step in zip(*pair, strict=True)]
            for pair in zip(start, steps, strict=True)
        ]
        return clf.set_coefs(*moved).loss(X, y)

    assert min(loss_at(2.0**-k) for k in range(8, 30)) < before


@pytest.fixture(scope="module")
def tiny():
    """A trained net of 2-3-3 units, the same net of the reference, and data."""
    X, y = clouds(3, 12)
    w = np.random.default_rng(0).uniform(0.5, 2, size=12)
    clf = make((3,), max_iter=2, alpha=0.0).fit(X, y)
    net = ref.Net(
        n_inputs=2,
        parents=((0, 1),) * 3 + ((2, 3, 4),) * 3,
        activations=("log_relu",) * 3 + ("identity",) * 3,
        affine=None,
        outputs=(5, 6, 7),
    )
    theta = flat(clf.coefs_, clf.intercepts_)
    return clf, net, theta, X, y, w


def reference_matrix(tiny, metric):
    """The undamped matrix of a metric, before its reduction."""
    _, net, theta, X, y, w = tiny
    modulus = parts_of(metric)[0]
    if modulus == "op":
        return ref.op_matrix("softmax", net, theta, X, y, weights=w)
    function = {"fisher": ref.fisher_by_enumeration, "bp": ref.bp_matrix}[modulus]
    return function("softmax", net, theta, X, weights=w)


REDUCE = {
    "": lambda net, A: A,
    "unitwise": ref.unitwise,
    "qd": ref.quasi_diagonal,
    "diag": lambda net, A: ref.diagonal(A),
    "root_diag": lambda net, A: np.sqrt(ref.diagonal(A)),
    "euclidean": lambda net, A: np.eye(len(A)),
}
PLAIN = [m for m in METRICS if parts_of(m)[1] in REDUCE and "mc" not in m]


@pytest.mark.parametrize("metric", PLAIN)
def test_metric_matrix_is_the_references(tiny, metric):
    """The whole matrix, unit by unit with the bias first; and the block of each unit."""
    clf, net, _, X, y, w = tiny
    want = REDUCE[parts_of(metric)[1]](net, reference_matrix(tiny, metric))
    whole = clf.metric_matrix(X, y, metric=metric, sample_weight=w)
    assert_close(whole, want, 1e-8)
    start = 0
    for layer, (fan_in, n_units) in enumerate([(2, 3), (3, 3)]):
        for unit in range(n_units):
            block = clf.metric_matrix(X, y, metric=metric, sample_weight=w, layer=layer, unit=unit)
            rows = slice(start, start + 1 + fan_in)
            assert_close(block, want[rows, rows], 1e-8)
            start += 1 + fan_in


@pytest.mark.parametrize("metric", PLAIN)
@pytest.mark.parametrize(
    ("mode", "damping"), [("absolute", 0.01), ("relative", 0.1), ("relative", 0.0)]
)
def test_direction_solves_with_the_references_matrix(tiny, metric, mode, damping):
    """``(A + damping) direction = gradient`` for both kinds of damping."""
    clf, net, theta, X, y, w = tiny
    if (mode, damping) == ("relative", 0.0) and parts_of(metric)[1] in ("", "unitwise"):
        pytest.skip("the undamped matrix is singular here")
    gradient = ref.gradient("softmax", net, theta, X, y, weights=w)
    prefix = parts_of(metric)[1]
    # The quasi-diagonal reduction comes after the damping, all others before.
    kept = REDUCE["unitwise" if prefix == "qd" else prefix](net, reference_matrix(tiny, metric))
    system = damped(clf.topology_, prefix, kept, **{mode: damping})
    steps = clf.direction(X, y, metric=metric, damping=damping, damping_mode=mode, sample_weight=w)
    assert_close(system @ flat(*steps), gradient, 1e-7)


def test_directions_of_an_output_with_parameters_of_its_own():
    """Those of the network's parameters: the metric does not mix the two."""
    X, y = clouds()
    clf = make((3,), output="scaled_softmax", max_iter=2).fit(X, y)
    matrix = clf.metric_matrix(X, metric="fisher") + 0.1 * np.eye(clf.topology_.n_parameters)
    options = {"damping": 0.1, "damping_mode": "absolute"}
    steps = (clf.direction(X, y, metric=metric, **options) for metric in ("fisher", "euclidean"))
    direction, gradient = (flat(*step) for step in steps)
    assert_close(matrix @ direction, gradient, 1e-7)


def test_direction_defaults_are_the_estimators():
    """Metric and damping of the estimator, alpha left out."""
    X, y = clouds()
    clf = make(max_iter=2, metric="bp", damping=0.3, damping_mode="absolute", alpha=2.0).fit(X, y)
    given = clf.direction(X, y, metric="bp", damping=0.3, damping_mode="absolute")
    for a, b in zip(clf.direction(X, y)[0], given[0], strict=True):
        np.testing.assert_array_equal(a, b)
    other = clf.direction(X, y, damping_mode="relative")
    assert not np.allclose(other[0][0], given[0][0])


def test_inspection_needs_targets_where_the_metric_does():
    """The outer-product metrics ask for y; the others do without."""
    X, y = clouds()
    clf = make(max_iter=1).fit(X, y)
    for metric in METRICS:
        if "op" in metric or metric == "adagrad":
            with pytest.raises(ValueError, match="y"):
                clf.metric_matrix(X, metric=metric)
        else:
            assert clf.metric_matrix(X, metric=metric).shape == (39, 39)


@pytest.mark.parametrize("method", ["loss", "direction", "metric_matrix"])
@pytest.mark.parametrize("wrong", ["NaN", "unknown", "short", "two columns"])
def test_inspection_checks_targets(method, wrong):
    """Targets that the fit would refuse are refused."""
    X, y = clouds()
    clf = make(max_iter=1, metric="op").fit(X, y)
    targets = {
        "NaN": np.full(90, np.nan),
        "unknown": np.full(90, 7),
        "short": y[:5],
        "two columns": np.c_[y, y] > 0,
    }
    with pytest.raises(ValueError):
        getattr(clf, method)(X, targets[wrong])


def test_monte_carlo_draws_are_reproducible():
    """`random_state` of the call decides the draws."""
    X, y = clouds()
    clf = make(max_iter=1).fit(X, y)
    draws = [
        clf.metric_matrix(X, metric="unitwise_mc_fisher", random_state=seed) for seed in (1, 1, 2)
    ]
    np.testing.assert_array_equal(draws[0], draws[1])
    assert not np.allclose(draws[0], draws[2])
    many = make(max_iter=1, n_mc_samples=2000).fit(X, y)
    exact = many.metric_matrix(X, metric="unitwise_fisher")
    assert_close(many.metric_matrix(X, metric="unitwise_mc_fisher"), exact, 0.05)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"layer": 0}, "layer and unit"),
        ({"unit": 0}, "layer and unit"),
        ({"layer": 2, "unit": 0}, "layer 2"),
        ({"layer": 0, "unit": -1}, "unit -1"),
        ({"metric": "nothing"}, "nothing"),
    ],
)
def test_metric_matrix_says_what_is_wrong(arguments, message):
    """Bad units and names."""
    X, y = clouds()
    clf = make(max_iter=1).fit(X, y)
    with pytest.raises(ValueError, match=message):
        clf.metric_matrix(X, y, **arguments)


# ------------------------------------------------------------------------------ connectivity
def skip_graph():
    """Two inputs, two hidden units in a row, three outputs that hear all of them."""
    adjacency = np.zeros((7, 7))
    adjacency[:2, 2:] = 1
    adjacency[2, 3:] = 1
    adjacency[3, 4:] = 1
    return Topology.from_sparse(adjacency, n_inputs=2)


CONNECTIVITIES = {
    "links": 1,
    "density": 0.5,
    "dense masks": [np.array([[1, 1, 0, 1], [0, 1, 1, 1]]), np.ones((4, 3))],
    "sparse masks": [sp.coo_array(np.array([[1, 1, 0], [1, 0, 1]])), sp.csr_matrix(np.eye(3))],
    "paper": "paper",
    "layered": Topology.layered([2, 5, 3]),
    "skip connections": skip_graph(),
}


@pytest.mark.parametrize("kind", CONNECTIVITIES)
@pytest.mark.parametrize("metric", ["qd_bp", "bp", "kron_bp", "fisher"])
def test_connectivity_of_every_kind(kind, metric):
    """Fits, predicts, goes on, is cloned and pickled with any graph."""
    X, y = clouds()
    clf = make((9,), connectivity=CONNECTIVITIES[kind], metric=metric, max_iter=15).fit(X, y)
    assert clf.best_loss_ < clf.loss_curve_[0]
    clf = pickle.loads(pickle.dumps(clf)).partial_fit(X, y)
    assert np.isfinite(clf.predict_proba(X)).all()
    assert same_parameters(clone(clf).fit(X, y), clone(clf).fit(X, y))
    steps = clf.direction(X, y)
    assert [s.shape for s in steps[0]] == [c.shape for c in clf.coefs_]
    assert clf.metric_matrix(X, y).shape == (clf.topology_.n_parameters,) * 2


@pytest.mark.parametrize("connectivity", [1, 0.5, "paper"])
def test_sparse_layers_have_sparse_coefs(connectivity):
    """`csr_array` of shape (n_in, n_out), as many entries as links."""
    X, y = np.random.default_rng(0).normal(size=(60, 20)), np.arange(60) % 3
    clf = make((10,), connectivity=connectivity, max_iter=1).fit(X, y)
    coef = clf.coefs_[0]
    assert isinstance(coef, sp.csr_array) and coef.shape == (20, 10)
    if connectivity == "paper":
        assert coef.nnz <= 20 * 5
    else:
        assert (np.diff(coef.tocsc().indptr) == (1 if connectivity == 1 else 10)).all()


def test_masks_are_kept_through_training():
    """No weight appears where the mask is 0."""
    X, y = clouds()
    masks = [np.array([[1, 1, 0, 1], [0, 1, 1, 1]]), np.array([[1, 0, 1]] * 4)]
    clf = make(connectivity=masks, max_iter=10).fit(X, y)
    for mask, coef in zip(masks, clf.coefs_, strict=True):
        np.testing.assert_array_equal(coef.toarray() != 0, mask != 0)


def test_full_masks_are_the_full_network():
    """Masks of ones start and train like no masks."""
    X, y = clouds()
    masked = make((4,), connectivity=[np.ones((2, 4)), np.ones((4, 3))], max_iter=5).fit(X, y)
    assert same_parameters(masked, make((4,), max_iter=5).fit(X, y))


@pytest.mark.parametrize("kind", ["sparse masks", "skip connections", "layered"])
def test_the_graph_wins_over_hidden_layer_sizes(kind):
    """With a graph, `hidden_layer_sizes` has no say: in fit, partial_fit and warm fits."""
    X, y = clouds()
    clf = RiemannianMLPClassifier(connectivity=CONNECTIVITIES[kind], max_iter=3, warm_start=True)
    clf.fit(X, y).fit(X, y).partial_fit(X, y)
    clf = RiemannianMLPClassifier(connectivity=CONNECTIVITIES[kind])
    clf.partial_fit(X, y, classes=[0, 1, 2]).partial_fit(X, y)
    assert clf.topology_.n_outputs == 3 and np.isfinite(clf.loss(X, y))


def random_graph(seed):
    """One link into each of four hidden units, two into each output."""
    return Topology.random_links([2, 4, 3], [1, 2], random_state=seed)


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_another_graph_of_the_same_size_is_refused(method):
    """Not the old one kept in silence; a graph drawn anew with the same links is the same."""
    X, y = clouds()
    clf = make((4,), connectivity=random_graph(0), max_iter=2, warm_start=True).fit(X, y)
    clf.set_params(connectivity=random_graph(0), hidden_layer_sizes=(9,))
    getattr(clf, method)(X, y)
    with pytest.raises(ValueError, match="connectivity"):
        getattr(clf.set_params(connectivity=random_graph(1)), method)(X, y)


def test_masks_that_were_looked_at_are_the_same():
    """Sparse matrices keep what they have been asked."""
    X, y = clouds()
    masks = [sp.csr_array(np.array([[1, 1, 0], [1, 0, 1]])), sp.csr_array(np.eye(3))]
    clf = make(connectivity=masks, max_iter=2, warm_start=True).fit(X, y)
    assert all(mask.has_canonical_format for mask in masks)
    clf.fit(X, y)
    with pytest.raises(ValueError, match="connectivity"):
        clf.set_params(connectivity=[masks[0], sp.csr_array(1 - np.eye(3))]).fit(X, y)


@pytest.mark.parametrize(
    "connectivity",
    [
        0,
        -1,
        0.0,
        1.5,
        np.nan,
        True,
        "all",
        [],
        [np.ones((2, 4))],
        [np.ones((3, 4)), np.ones((4, 3))],
        [np.ones((2, 4)), np.ones((5, 3))],
        [np.ones(4), np.ones((4, 3))],
        Topology.layered([3, 4, 3]),
        {},
    ],
    ids=repr,
)
def test_bad_connectivity_is_named(connectivity):
    """The message says that it is about `connectivity`."""
    with pytest.raises(ValueError, match=r"(?i)connectivity"):
        make(connectivity=connectivity, max_iter=1).fit(*clouds())


def test_random_links_depend_on_the_seed_alone():
    """Not on data, rows or the metric."""
    X, y = clouds()
    a = make((9,), connectivity=2, max_iter=1).fit(X, y)
    b = make((9,), connectivity=2, max_iter=1, metric="bp").fit(X[::-1] + 1, y[::-1])
    c = make((9,), connectivity=2, max_iter=1, random_state=1).fit(X, y)
    links = [[tuple(level.sources) for level in est.topology_.levels] for est in (a, b, c)]
    assert links[0] == links[1] != links[2]


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_activations(activation):
    """Each one, for all layers and mixed with others."""
    X, y = clouds()
    assert make((6, 6), activation=activation).fit(X, y).score(X, y) > 0.95
    mixed = make((6, 6), activation=[activation, "tanh"]).fit(X, y)
    assert mixed.score(X, y) > 0.95
    if activation != "tanh":
        assert not equal_curves(mixed, make((6, 6)).fit(X, y))


def test_one_activation_for_each_layer():
    """Not more, not fewer."""
    with pytest.raises(ValueError, match="activation"):
        make((6, 6), activation=["tanh"]).fit(*clouds())


# ------------------------------------------------------------------------- course of the training
@pytest.mark.parametrize("parameters", [{}, {"batch_size": 10}, {"early_stopping": True}])
def test_no_passes(parameters):
    """max_iter=0: an initialised network that predicts, warns not, and can be trained."""
    X, y = clouds()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clf = make(max_iter=0, **parameters).fit(X, y)
    assert clf.n_iter_ == clf.t_ == 0 and clf.loss_curve_ == []
    assert np.isfinite(clf.predict_proba(X)).all()
    assert clf.loss_ == clf.best_loss_
    if not parameters:
        assert clf.loss_ == pytest.approx(clf.loss(X, y))
    assert clf.set_params(early_stopping=False).partial_fit(X, y).n_iter_ == 1


def test_starts_do_not_depend_on_the_rows():
    """Initial predictions depend on the data's means and scales only."""
    X, y = clouds()
    a = make(max_iter=0).fit(X, y)
    b = make(max_iter=0).fit(np.vstack([X, X]), np.r_[y, y])
    np.testing.assert_allclose(a.predict_proba(X), b.predict_proba(X), rtol=1e-10)


@pytest.mark.parametrize("metric", ["qd_bp", "bp", "fisher", "euclidean"])
def test_alpha_shrinks_weights(metric):
    """More penalty, smaller standardised weights, a larger loss; biases are free."""
    X, y = clouds()
    sizes, losses = [], []
    for alpha in (0.0, 0.1, 1.0):
        clf = make(alpha=alpha, metric=metric, **NO_STOP).fit(X, y)
        sizes.append(sum(np.sum(c**2) for c in clf.coefs_))
        losses.append(clf.loss_)
        assert clf.loss_ == pytest.approx(clf.loss(X, y), rel=1e-9)
        assert clf.alpha_ == alpha
    assert sizes[0] > sizes[1] > sizes[2]
    assert losses[0] < losses[1] < losses[2]


def test_alpha_is_invariant():
    """The penalty is on standardised weights: units of features don't matter."""
    X, y = clouds()
    a = make(alpha=1.0, max_iter=20).fit(X, y)
    b = make(alpha=1.0, max_iter=20).fit(1e3 * X + 7, y)
    np.testing.assert_allclose(b.predict_proba(1e3 * X + 7), a.predict_proba(X), atol=1e-6)


def test_n_init_keeps_the_best():
    """Never worse than a single start; the same bits for any number of jobs and backend."""
    from joblib import parallel_config

    X, y = load_iris(return_X_y=True)
    fits = [make(n_init=3, max_iter=5, alpha=0, n_jobs=n).fit(X, y) for n in (None, 1, 2)]
    for backend in ("threading", "loky"):
        with parallel_config(backend, n_jobs=2):
            fits.append(make(n_init=3, max_iter=5, alpha=0).fit(X, y))
    assert equal_curves(*fits) and all(same_parameters(fits[0], fit) for fit in fits)
    alone = [make(n_init=k, max_iter=5, alpha=0).fit(X, y).loss_ for k in (1, 2, 3)]
    assert fits[0].loss_ == alone[2] <= alone[1]


def test_n_init_keeps_the_best_validation_score(monkeypatch):
    """Not the lowest loss of the last pass, after which other parameters were kept."""
    from sknatgrad.training import starts

    seen, run = [], starts.run_with_trials

    def noting(*call):
        seen.append(run(*call))
        return seen[-1]

    monkeypatch.setattr(starts, "run_with_trials", noting)
    X, y = clouds(4, 200)
    X = X + 2.5 * np.random.default_rng(5).normal(size=X.shape)
    clf = make((10,), n_init=8, early_stopping=True, alpha=0, validation_fraction=0.4).fit(X, y)
    scores = [max(state.history.validation_scores) for _, state in seen]
    losses = [outcome.loss for outcome, *_ in seen]
    assert clf.best_validation_score_ == max(scores) > scores[np.argmin(losses)]


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_n_init_with_warm_start(n_jobs):
    """Curves hold the passes of the start that was kept, whatever the number of jobs."""
    X, y = clouds()
    clf = make(n_init=2, max_iter=3, warm_start=True, n_jobs=n_jobs, metric="qd_mc_fisher")
    clf.set_params(**NO_STOP).fit(X, y).fit(X, y)
    assert len(clf.loss_curve_) == len(clf.time_curve_) == 6
    assert clf.loss_curve_[-1] == clf.loss_


def test_n_init_survives_a_start_that_fails(monkeypatch):
    """One start that overflows does not spoil the others."""
    from sknatgrad.training import starts

    whole, calls = starts.run_with_trials, []

    def failing(*arguments):
        outcome, *others = whole(*arguments)
        calls.append(outcome)
        if len(calls) == 1:
            outcome = replace(outcome, loss=np.nan, error=ValueError("overflow"))
        return outcome, *others

    monkeypatch.setattr(starts, "run_with_trials", failing)
    X, y = clouds()
    clf = make(n_init=2, max_iter=5).fit(X, y)
    assert len(calls) == 2 and clf.score(X, y) > 0.9


def test_warm_start_goes_on():
    """Two fits of k passes reach about what one of 2k does; without it, fits start anew."""
    X, y = clouds()
    warm = make(warm_start=True, max_iter=5, alpha=0, **NO_STOP)
    first = warm.fit(X, y).loss_
    assert warm.fit(X, y).loss_ < first
    cold = make(max_iter=5, alpha=0, **NO_STOP)
    assert cold.fit(X, y).loss_ == cold.fit(X, y).loss_ == first


@pytest.mark.parametrize("batch_size", ["auto", 20])
def test_best_values_are_those_of_the_last_fit(batch_size):
    """Not of one before on easier data; calls of partial_fit go on with the fit."""
    X, y = clouds()
    parameters = {"warm_start": True, "early_stopping": True, "batch_size": batch_size}
    clf = make(max_iter=30, alpha=0, **parameters).fit(X, y)
    easy, score = clf.best_loss_, clf.best_validation_score_
    noise = np.random.default_rng(0).permutation(y)
    clf.set_params(max_iter=3).fit(X, noise)
    last = clf.loss_curve_[-clf.n_iter_ :]
    assert clf.best_loss_ == min(last) > 10 * easy
    assert clf.best_validation_score_ == max(clf.validation_scores_[-clf.n_iter_ :]) < score
    clf.set_params(early_stopping=False).partial_fit(X, noise)
    assert clf.best_loss_ == min([*last, clf.loss_])
    clf.set_params(max_iter=0).fit(X, noise)
    assert clf.best_loss_ == clf.loss_ and clf.best_validation_score_ is None


def test_histories_forget_from_the_front():
    """The best of a stream is that of what is remembered, since the fit began."""
    history = History()
    for loss in (1.0, 5.0):
        history.record(loss, 1.0)
    history.begin_fit()
    for loss in (4.0, 6.0, 7.0):
        history.record(loss, 1.0)
    for kept, best in ((5, 4.0), (4, 4.0), (2, 6.0)):
        history.keep_last(kept)
        assert len(history.losses) == kept and history.best_loss == best


@pytest.mark.parametrize("connectivity", [None, 1, 0.5, "paper"])
def test_warm_starts_hold_out_the_same_rows(monkeypatch, connectivity):
    """No row that was trained on says when to stop, whether or not links were drawn."""
    from sknatgrad.estimators import _base

    def recording(*arguments):
        parts.append(hold_out(*arguments))
        return parts[-1]

    X, y = clouds()
    parts = []
    monkeypatch.setattr(_base, "hold_out", recording)
    clf = make((8, 6), connectivity=connectivity, early_stopping=True, warm_start=True, max_iter=1)
    clf.fit(X, y).fit(X, y)
    (_, first), (_, second) = parts
    np.testing.assert_array_equal(first.X, second.X)


MASKS = [np.eye(2, 5) + np.eye(2, 5, 2), np.ones((5, 3))]


@pytest.mark.parametrize(
    ("name", "value", "same", "other"),
    [
        ("hidden_layer_sizes", 5, [(5,), np.array([5]), (np.int64(5),)], (6,)),
        ("activation", "tanh", [["tanh"], ACTIVATIONS["tanh"]], "logistic"),
        ("connectivity", 1, [np.int64(1)], 1.0),
        ("connectivity", MASKS, [[m.T.copy().T > 0 for m in MASKS]], [MASKS[0][::-1], MASKS[1]]),
    ],
)
def test_the_same_network_in_other_words(name, value, same, other):
    """Goes on, in warm fits and streams; another one is refused."""
    X, y = clouds()
    settings = {"hidden_layer_sizes": (5,), "warm_start": True, "max_iter": 1, name: value}
    clf = RiemannianMLPClassifier(**settings).fit(X, y)
    for spelling in same:
        clf.set_params(**{name: spelling}).fit(X, y).partial_fit(X, y)
    with pytest.raises(ValueError, match="have changed"):
        clf.set_params(**{name: other}).fit(X, y)


def test_parts_that_hold_functions():
    """Nothing is pickled before it must be; what is no activation is called so."""

    class Of(Activation):
        def __init__(self, function, slope):
            self.function, self.slope = function, slope

        def fill(self, v, a, r):
            a[...], r[...] = self.function(v), self.slope(v)

    X, y = clouds()
    sine = Of(lambda v: np.sin(v), lambda v: np.cos(v))
    clf = make(activation=sine, max_iter=20, warm_start=True).fit(X, y)
    assert clf.fit(X, y).score(X, y) > 0.8
    for parameters, message in (
        ({"activation": lambda v: v}, "Unknown activation"),
        ({"connectivity": (m for m in ())}, "connectivity can't be used"),
    ):
        with pytest.raises(ValueError, match=message):
            make(**parameters).fit(X, y)


def test_warm_start_refuses_other_classes():
    """In the words of scikit-learn, leaving the model usable."""
    X, y = clouds()
    clf = make(warm_start=True, max_iter=2).fit(X, y)
    want = clf.predict_proba(X)
    with pytest.raises(ValueError, match="same classes"):
        clf.fit(X, y + 1)
    with pytest.raises(ValueError, match="hidden_layer_sizes"):
        clf.set_params(hidden_layer_sizes=(3,)).fit(X, y)
    np.testing.assert_array_equal(clf.predict_proba(X), want)


def test_early_stopping_with_own_validation_set():
    """The best parameters on X_val are kept, and its scores and losses recorded."""
    X, y = load_iris(return_X_y=True)
    clf = make(early_stopping=True, n_iter_no_change=3)
    clf.fit(X[::2], y[::2], X_val=X[1::2], y_val=y[1::2])
    scores = clf.validation_scores_
    assert clf.best_validation_score_ == max(scores) == clf.score(X[1::2], y[1::2])
    assert len(scores) == len(clf.validation_loss_curve_) == clf.n_iter_
    assert least_of_best(clf) == pytest.approx(clf.loss(X[1::2], y[1::2]))
    assert clf.n_iter_ < clf.max_iter


def least_of_best(clf):
    """The lowest held-out loss among the passes of the best score."""
    scores, losses = clf.validation_scores_, clf.validation_loss_curve_
    return min(loss for score, loss in zip(scores, losses, strict=True) if score == max(scores))


@pytest.mark.parametrize("alpha", [0.0, 10.0])
def test_validation_loss_is_that_of_the_data(alpha):
    """`validation_loss_curve_` is `loss` on the held-out rows; the penalty is no part of it."""
    X, y = load_iris(return_X_y=True)
    clf = make(early_stopping=True, alpha=alpha, max_iter=5, **NO_STOP)
    clf.fit(X[::2], y[::2], X_val=X[1::2], y_val=y[1::2])
    assert least_of_best(clf) == pytest.approx(clf.loss(X[1::2], y[1::2]))


def test_validation_weights():
    """Held-out rows of weight 0 have no say."""
    X, y = load_iris(return_X_y=True)
    kw = dict(early_stopping=True, max_iter=5, **NO_STOP)
    a = make(**kw).fit(X, y, X_val=X[::2], y_val=y[::2])
    noise = np.r_[X[::2], X[::2]], np.r_[y[::2], y[::2][::-1]]
    w = np.r_[np.ones(75), np.zeros(75)]
    b = make(**kw).fit(X, y, X_val=noise[0], y_val=noise[1], sample_weight_val=w)
    np.testing.assert_allclose(a.validation_scores_, b.validation_scores_)
    np.testing.assert_allclose(a.validation_loss_curve_, b.validation_loss_curve_)


@pytest.mark.parametrize(
    ("parameters", "arguments", "message"),
    [
        ({}, {"X_val": True, "y_val": True}, "early_stopping"),
        ({"early_stopping": True}, {"X_val": True}, "y_val"),
        ({"early_stopping": True}, {"y_val": True}, "X_val"),
        ({}, {"sample_weight_val": True}, "X_val"),
    ],
)
def test_validation_arguments_go_together(parameters, arguments, message):
    """Half of a validation set, or one without early stopping."""
    X, y = clouds()
    data = {"X_val": X, "y_val": y, "sample_weight_val": np.ones(len(y))}
    with pytest.raises(ValueError, match=message):
        make(**parameters).fit(X, y, **{name: data[name] for name in arguments})


def test_verbose_format(capsys):
    """The lines that scikit-learn's users grep for."""
    X, y = clouds()
    clf = make(verbose=True, early_stopping=True, max_iter=3, **NO_STOP).fit(X, y)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 6
    for i, (loss, score) in enumerate(zip(clf.loss_curve_, clf.validation_scores_, strict=True)):
        assert lines[2 * i] == f"Iteration {i + 1}, loss = {loss:.8f}"
        assert lines[2 * i + 1] == f"Validation score: {score:f}"
    make(max_iter=3).fit(X, y)
    assert capsys.readouterr().out == ""


def test_patience():
    """Stops after exactly n_iter_no_change passes without gain; inf never does."""
    X, y = clouds()
    assert make(tol=1e9, n_iter_no_change=3, early_stopping=True).fit(X, y).n_iter_ == 4
    assert make(tol=1e9, n_iter_no_change=np.inf, early_stopping=True).fit(X, y).n_iter_ == 60
    assert make(n_iter_no_change=np.inf, tol=0.0, max_iter=20).fit(X, y).n_iter_ == 20


class Recorder:
    """Counts what scikit-learn's callback protocol tells; stops or raises at an end."""

    def __init__(self, stop_at=None, raise_at=None, error=KeyboardInterrupt):
        self.n_begun, self.n_ended = 0, 0
        self.stop_at, self.raise_at, self.error = stop_at, raise_at, error

    def setup(self, estimator, context):
        """Before the fit."""

    def teardown(self, estimator, context):
        """After it."""

    def on_fit_task_begin(self, estimator, context, **data):
        self.n_begun += 1

    def on_fit_task_end(self, estimator, context, **data):
        self.n_ended += 1
        if self.n_ended == self.raise_at:
            raise self.error
        return self.n_ended == self.stop_at


@pytest.mark.parametrize("parameters", [{}, {"batch_size": 10}, {"early_stopping": True}], ids=repr)
def test_callbacks_see_every_pass(parameters):
    """One task a pass and one for the fit, each ended; a true answer stops; bits don't change."""
    pytest.importorskip("sklearn.callback")
    X, y = clouds()
    plain = make(max_iter=5, **NO_STOP, **parameters).fit(X, y)
    for recorder, n_passes in [(Recorder(), 5), (Recorder(stop_at=3), 3)]:
        clf = make(max_iter=5, **NO_STOP, **parameters).set_callbacks(recorder).fit(X, y)
        assert clf.n_iter_ == n_passes and recorder.n_begun == recorder.n_ended == n_passes + 1
        assert clf.loss_curve_ == plain.loss_curve_[:n_passes]


@pytest.mark.parametrize("parameters", [{}, {"batch_size": 10}, {"n_init": 2}], ids=repr)
def test_callbacks_are_given_fitted_estimators(parameters):
    """As if the fit had stopped there, after another one too: they say so, and go on learning."""
    pytest.importorskip("sklearn.callback")
    kept = []

    class Keeper(Recorder):
        def on_fit_task_end(self, estimator, context, *, fitted_estimator=None, **data):
            if context.task_name == "pass":
                kept.append(fitted_estimator)

    X, y = clouds()
    clf = make(max_iter=4, **NO_STOP, **parameters).fit(X, y)
    clf.set_params(max_iter=3, alpha=2.0, warm_start=True).set_callbacks(Keeper()).fit(X, y)
    for number, at_pass in enumerate(kept):
        assert at_pass.alpha_ == 2.0 and at_pass.n_iter_ == number % 3 + 1
        assert len(at_pass.loss_curve_) == 4 + at_pass.n_iter_ and at_pass.n_outputs_ == 3
        assert at_pass.t_ == (4 + at_pass.n_iter_) * len(X)
        before = at_pass.loss(X, y)
        at_pass.set_callbacks().partial_fit(X, y)
        assert at_pass.loss(X, y) < before + 0.01
    np.testing.assert_array_equal(clf.loss_curve_[:5], kept[0].loss_curve_[:5])


def test_callbacks_after_failure_and_interrupt():
    """An interrupted callback ends the fit like Ctrl-C; a failed fit can be repeated."""
    pytest.importorskip("sklearn.callback")
    X, y = clouds()
    clf = make(max_iter=5, **NO_STOP).set_callbacks(Recorder(raise_at=3))
    with pytest.warns(UserWarning, match="interrupted"):
        clf.fit(X, y)
    assert clf.n_iter_ == len(clf.loss_curve_) == 3 and np.isfinite(clf.predict_proba(X)).all()
    recorder = Recorder()
    clf = make(max_iter=5, activation="none", **NO_STOP).set_callbacks(recorder)
    with pytest.raises(ValueError, match="none"):
        clf.fit(X, y)
    before = recorder.n_ended
    clf.set_params(activation="tanh").fit(X, y)
    assert recorder.n_ended - before == 6


@pytest.mark.parametrize(
    "parameters",
    [{}, {"n_init": 2}, {"early_stopping": True, "validation_fraction": 0.3}],
    ids=repr,
)
def test_warnings_that_are_errors_cost_no_training(monkeypatch, parameters):
    """What training ends with is told once all is stored; callbacks have seen the end."""
    X, y = clouds()
    for recorder, told in [(Recorder(), "Maximum"), (Recorder(raise_at=2), "interrupted")]:
        clf = make(max_iter=5, **NO_STOP, **parameters)
        end = partial(recorder.on_fit_task_end, None, None)
        monkeypatch.setattr(PassObserver, "end", lambda *_, end=end: end())
        with warnings.catch_warnings(), pytest.raises(UserWarning, match=told):
            warnings.simplefilter("error")
            clf.fit(X, y)
        assert clf.n_iter_ == len(clf.loss_curve_) == (5 if told == "Maximum" else 2)
        assert clf.score(X, y) > 0.9


def test_one_start_warns():
    """Of several starts the one that is kept speaks, once."""
    X, y = clouds()
    with pytest.warns(ConvergenceWarning, match="Maximum iterations .2. reached") as caught:
        make(max_iter=2, n_init=3, **NO_STOP).fit(X, y)
    assert len(caught) == 1


@pytest.mark.parametrize("error", [ValueError, RuntimeError, FloatingPointError])
@pytest.mark.parametrize("n_init", [1, 2])
def test_errors_of_callbacks_come_through(error, n_init):
    """None is taken for an overflow: the fit before stays as it is."""
    pytest.importorskip("sklearn.callback")
    X, y = clouds()
    clf = make(max_iter=5, **NO_STOP).fit(X, y)
    before = clf.predict_proba(X)
    clf.set_params(n_init=n_init, max_iter=3, random_state=1)
    clf.set_callbacks(Recorder(raise_at=2, error=error("of the user")))
    with pytest.raises(error, match="of the user"):
        clf.fit(X, y)
    assert clf.n_iter_ == 5
    np.testing.assert_array_equal(clf.predict_proba(X), before)


def test_scoring_monitor_scores_every_pass():
    """The monitor rebuilds the estimator of each pass: its last score is that of the fit."""
    callback = pytest.importorskip("sklearn.callback")
    X, y = clouds()
    monitor = callback.ScoringMonitor(scoring="neg_log_loss")
    clf = make(max_iter=4, **NO_STOP).set_callbacks(monitor).fit(X, y)
    scores = [row["neg_log_loss"] for row in monitor.get_logs().data if row["task_name"] == "pass"]
    np.testing.assert_allclose(np.negative(scores), clf.loss_curve_, rtol=1e-6)


@pytest.mark.parametrize("backend", [None, "loky", "threading"])
def test_scoring_monitor_scores_every_start(backend):
    """One row a pass below a task a start, whoever runs it, and no other bits than without."""
    callback = pytest.importorskip("sklearn.callback")
    X, y = clouds()
    plain = make(n_init=3, max_iter=4, alpha=0, **NO_STOP).fit(X, y)
    monitor, recorder = callback.ScoringMonitor(scoring="neg_log_loss"), Recorder()
    clf = clone(plain).set_params(n_jobs=2).set_callbacks(monitor)
    if backend != "loky":
        clf.set_callbacks(monitor, recorder)
    if backend is None:
        clf.set_params(n_jobs=None)
    with joblib.parallel_config(backend or "loky"):
        clf.fit(X, y)
    assert clf.loss_curve_ == plain.loss_curve_
    rows = {row["task_id_path"]: row for row in monitor.get_logs().data}
    passes = [path for path in rows if rows[path]["task_name"] == "pass"]
    assert sorted(passes) == [(0, start, number) for start in range(3) for number in range(4)]
    last = [-rows[0, start, 3]["neg_log_loss"] for start in range(3)]
    ends = [-rows[0, start]["neg_log_loss"] for start in range(3)]
    assert ends == last and min(last) == pytest.approx(clf.loss_, rel=1e-6)
    assert -rows[0,]["neg_log_loss"] == pytest.approx(clf.loss_, rel=1e-6)
    if backend != "loky":
        assert recorder.n_begun == recorder.n_ended == 1 + 3 + 12


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_interrupted_callback_at_the_end_of_a_start(n_jobs):
    """The start has ended, and is kept."""
    pytest.importorskip("sklearn.callback")
    X, y = clouds()
    one = make(max_iter=2, n_init=2, alpha=0, **NO_STOP).fit(X, y)
    clf = make(max_iter=2, n_init=2, n_jobs=n_jobs, alpha=0, **NO_STOP)
    clf.set_callbacks(Recorder(raise_at=3))
    with joblib.parallel_config("threading"), pytest.warns(UserWarning, match="interrupted"):
        clf.fit(X, y)
    assert clf.n_iter_ > 0 and clf.loss_ >= one.loss_


def test_callback_stops_one_start():
    """A true answer after a pass ends its start; the others go on."""
    pytest.importorskip("sklearn.callback")
    X, y = clouds()
    recorder = Recorder(stop_at=3)
    make(max_iter=5, n_init=2, **NO_STOP).set_callbacks(recorder).fit(X, y)
    assert recorder.n_begun == recorder.n_ended == 1 + 2 + 3 + 5


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_progress_bar_of_many_starts(n_jobs, capsys):
    """The bars of fit, starts and passes end complete."""
    callback = pytest.importorskip("sklearn.callback")
    pytest.importorskip("rich")
    X, y = clouds()
    clf = make(max_iter=3, n_init=2, n_jobs=n_jobs, **NO_STOP)
    clf.set_callbacks(callback.ProgressBar()).fit(X, y)
    shown = capsys.readouterr().out
    assert "start" in shown and "100%" in shown


def test_no_callbacks_are_needed():
    """Estimators carry no callback machinery unless scikit-learn's is asked for."""
    state = vars(make(max_iter=1).fit(*clouds()))
    assert not [name for name in state if "callback" in name]


# --------------------------------------------------------------------------- reproducibility
def test_random_state():
    """Ints and instances of the same state give the same bits; other seeds others."""
    X, y = clouds()
    kw = dict(batch_size=7, max_iter=2, early_stopping=True)
    fits = [make(random_state=seed, **kw).fit(X, y) for seed in (3, 3, np.random.RandomState(3), 4)]
    assert equal_curves(*fits[:3]) and not equal_curves(fits[0], fits[3])
    rng = np.random.RandomState(3)
    pair = [make(random_state=rng, max_iter=2).fit(X, y) for _ in range(2)]
    assert not equal_curves(*pair)


def containers(X):
    """X in layouts that hold the same numbers."""
    readonly = X.copy()
    readonly.setflags(write=False)
    raw = io.BytesIO(X.tobytes())
    return {
        "readonly": readonly,
        "fortran": np.asfortranarray(X),
        "strided": np.repeat(X, 2, axis=1)[:, ::2],
        "reversed": X[::-1][::-1],
        "list": X.tolist(),
        "buffer": np.frombuffer(raw.getvalue()).reshape(X.shape),
    }


@pytest.mark.parametrize("kind", containers(np.ones((2, 2))))
@pytest.mark.parametrize("batch_size", ["auto", 16])
def test_layouts_of_dense_data(kind, batch_size):
    """Memory layout does not matter, and the input is left alone."""
    X, y = clouds()
    data = containers(X)[kind]
    want = make(batch_size=batch_size, max_iter=5).fit(X, y).predict_proba(X)
    got = make(batch_size=batch_size, max_iter=5).fit(data, y).predict_proba(data)
    np.testing.assert_allclose(got, want, rtol=1e-9)
    np.testing.assert_array_equal(np.asarray(data), X)


def test_memory_maps(tmp_path):
    """Rows on disk, in mini-batches, in both precisions."""
    X, y = clouds()
    for dtype in (np.float64, np.float32):
        file = np.memmap(tmp_path / str(dtype), dtype=dtype, mode="w+", shape=X.shape)
        file[:] = X
        file.flush()
        rows = np.memmap(tmp_path / str(dtype), dtype=dtype, mode="r", shape=X.shape)
        mapped = make(batch_size=16, max_iter=5).fit(rows, y)
        assert same_parameters(mapped, make(batch_size=16, max_iter=5).fit(np.array(rows), y))


def test_single_precision_is_close_to_double():
    """float32 data change results by rounding only."""
    X, y = clouds()
    double = make(max_iter=5).fit(X, y).predict_proba(X)
    single = make(max_iter=5).fit(X.astype(np.float32), y).predict_proba(X.astype(np.float32))
    np.testing.assert_allclose(single, double, atol=1e-4)


def awkward_csr(X, kind):
    """The CSR matrix of X with duplicates, unsorted or 64-bit indices, or explicit zeros."""
    matrix = sp.csr_array(X)
    data, indices, indptr = matrix.data, matrix.indices, matrix.indptr
    if kind == "duplicates":
        data, indices, indptr = np.repeat(data / 2, 2), np.repeat(indices, 2), 2 * indptr
    elif kind == "unsorted":
        order = np.concatenate([np.arange(a, b)[::-1] for a, b in pairwise(indptr)])
        data, indices = data[order], indices[order]
    elif kind == "int64":
        indices, indptr = indices.astype(np.int64), indptr.astype(np.int64)
    elif kind == "zeros":
        matrix = sp.csr_array(np.where(X == 0, 1.0, X))
        data, indices, indptr = X.ravel().copy(), matrix.indices, matrix.indptr
    for array in (data, indices, indptr):
        array.setflags(write=False)
    return sp.csr_array((data, indices, indptr), shape=X.shape)


@pytest.mark.parametrize("kind", ["plain", "duplicates", "unsorted", "int64", "zeros"])
@pytest.mark.parametrize("metric", ["qd_bp", "bp", "kron_bp", "fisher", "euclidean"])
@pytest.mark.parametrize("batch_size", ["auto", 16])
def test_awkward_sparse_matrices(kind, metric, batch_size):
    """Equal to dense in fit and prediction, read-only arrays untouched."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 8)) * (rng.random((60, 8)) < 0.3)
    y = (X[:, 0] > X[:, 1]).astype(int)
    matrix = awkward_csr(X, kind)
    before = [a.copy() for a in (matrix.data, matrix.indices, matrix.indptr)]
    want = make(metric=metric, batch_size=batch_size, max_iter=3).fit(X, y).predict_proba(X)
    clf = make(metric=metric, batch_size=batch_size, max_iter=3).fit(matrix, y)
    np.testing.assert_allclose(clf.predict_proba(matrix), want, atol=1e-6)
    for old, new in zip(before, (matrix.data, matrix.indices, matrix.indptr), strict=True):
        np.testing.assert_array_equal(old, new)
        assert old.dtype == new.dtype


@pytest.mark.parametrize("batch_size", ["auto", 20])
@pytest.mark.parametrize("constant", [1.0, 1e3, 1e5, -1e8])
def test_constant_columns_of_sparse_matrices(constant, batch_size):
    """They are not centred, but wherever they are, they say nothing."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(80, 4))
    Z = np.column_stack([np.exp(X) * (rng.random(X.shape) < 0.5), np.full(80, constant)])
    y = (X[:, 0] + X[:, 1] * X[:, 2] > 0).astype(int)
    dense, matrix = make((30,), batch_size=batch_size), make((30,), batch_size=batch_size)
    got = matrix.fit(sp.csr_array(Z), y).predict_proba(sp.csr_array(Z))
    np.testing.assert_allclose(got, dense.fit(Z, y).predict_proba(Z), rtol=0, atol=1e-6)


@pytest.mark.parametrize("metric", ["qd_bp", "bp", "fisher"])
def test_number_of_threads(metric):
    """BLAS threads change no bit, of a fit or of what is asked for after it."""
    X, y = load_digits(return_X_y=True)
    got = []
    for limit in (1, 2):
        with threadpool_limits(limit):
            clf = make((10,), metric=metric, max_iter=3).fit(X[:300], y[:300])
            step = clf.direction(X[:300], y[:300])
            matrix = clf.metric_matrix(X[:300], layer=0, unit=3)
            got.append((clf.predict_proba(X), clf.loss(X, y), matrix, *step[0], *step[1]))
    for one, other in zip(*got, strict=True):
        np.testing.assert_array_equal(one, other)


def test_chunks_of_rows_do_not_matter():
    """Little working memory, many chunks: the same fit up to rounding."""
    from sklearn import config_context

    X, y = load_digits(return_X_y=True)
    want = make((10,), max_iter=3).fit(X, y).predict_proba(X)
    with config_context(working_memory=1):
        got = make((10,), max_iter=3).fit(X, y).predict_proba(X)
    np.testing.assert_allclose(got, want, rtol=1e-6)


# ------------------------------------------------------------------------------- invariance
DATA = {"digits": load_digits, "iris": load_iris, "breast_cancer": load_breast_cancer}
CHANGES = {
    "scale": lambda X: 1000 * X,
    "shift": lambda X: X + 1e3,
    "columns": lambda X: X * np.logspace(-6, 6, X.shape[1]),
    "sign": lambda X: -X,
}
INVARIANT = ["qd_bp", "kron_bp", "bp", "qd_fisher"]


def default_fit(metric, X, y, **parameters):
    """A fit with default settings but the metric; and what it predicts for the rows."""
    clf = RiemannianMLPClassifier(metric=metric, random_state=0, **parameters).fit(X, y)
    return clf, clf.predict_proba(X)


@pytest.fixture(scope="module")
def originals():
    """Fits on data as they are, made once."""
    found = {}

    def get(data, metric, **parameters):
        key = data, metric, tuple(parameters.items())
        if key not in found:
            X, y = DATA[data](return_X_y=True)
            found[key] = default_fit(metric, X, y, **parameters)
        return found[key]

    return get


@pytest.mark.parametrize(
    ("data", "metric", "change"),
    [
        *spread(["iris", "breast_cancer"], INVARIANT, CHANGES),
        *(slow("digits", metric, change) for metric in INVARIANT for change in CHANGES),
    ],
)
def test_units_of_features_do_not_matter(originals, metric, data, change):
    """Other origins, scales and signs: the same losses and predictions from first to last pass."""
    X, y = DATA[data](return_X_y=True)
    old, want = originals(data, metric)
    X = CHANGES[change](X)
    new, proba = default_fit(metric, X, y)
    assert old.n_iter_ == new.n_iter_ > 5
    np.testing.assert_allclose(new.loss_curve_, old.loss_curve_, atol=1e-6)
    np.testing.assert_allclose(proba, want, atol=1e-6)


@pytest.mark.parametrize("metric", INVARIANT)
@pytest.mark.parametrize("batch_size", ["auto", 50])
def test_zeros_and_ones_can_be_exchanged(metric, batch_size):
    """1 - X for skewed binary features, in batches of all sizes."""
    rng = np.random.default_rng(0)
    X = (rng.random((150, 8)) < np.linspace(0.1, 0.9, 8)).astype(float)
    y = (X[:, 0] + X[:, 3] + X[:, 6] + rng.random(150) > 1.8).astype(int)
    kw = dict(batch_size=batch_size, max_iter=20, **NO_STOP)
    old, want = default_fit(metric, X, y, **kw)
    new, proba = default_fit(metric, 1 - X, y, **kw)
    np.testing.assert_allclose(new.loss_curve_, old.loss_curve_, atol=1e-6)
    np.testing.assert_allclose(proba, want, atol=1e-6)


@pytest.mark.parametrize("data", slow_but(DATA, "iris", "breast_cancer"))
@pytest.mark.parametrize(
    ("metric", "change"),
    [
        ("euclidean", "scale"),
        ("euclidean", "shift"),
        ("euclidean", "columns"),
        ("diag_bp", "shift"),
    ],
)
def test_units_matter_to_metrics_that_depend_on_them(originals, metric, data, change):
    """The comparison can fail: metrics that are not invariant give other results."""
    X, y = DATA[data](return_X_y=True)
    want = originals(data, metric, max_iter=30)[1]
    proba = default_fit(metric, CHANGES[change](X), y, max_iter=30)[1]
    assert np.abs(proba - want).max() > 1e-3


@pytest.mark.parametrize("data", slow_but(DATA, "iris", "breast_cancer"))
@pytest.mark.parametrize("change", ["scale", "columns"])
def test_diagonal_metrics_are_invariant_under_scaling(originals, data, change):
    """Scales, not origins, are nothing to a diagonal metric."""
    X, y = DATA[data](return_X_y=True)
    want = originals(data, "diag_bp", max_iter=30)[1]
    proba = default_fit("diag_bp", CHANGES[change](X), y, max_iter=30)[1]
    np.testing.assert_allclose(proba, want, atol=1e-6)


@pytest.mark.parametrize("metric", [*INVARIANT, "unitwise_fisher"])
@pytest.mark.parametrize("data", slow_but(["digits", "iris"], "iris"))
def test_units_of_activities_do_not_matter(metric, data):
    """tanh and logistic hidden units start correspondingly from one seed, and stay so."""
    X, y = DATA[data](return_X_y=True)
    kw = dict(hidden_layer_sizes=(20, 10), max_iter=20, **NO_STOP)
    old, want = default_fit(metric, X, y, activation="tanh", **kw)
    for activation in ("logistic", ["logistic", "tanh"]):
        new, proba = default_fit(metric, X, y, activation=activation, **kw)
        np.testing.assert_allclose(new.loss_curve_, old.loss_curve_, atol=1e-6)
        np.testing.assert_allclose(proba, want, atol=1e-6)


@pytest.mark.parametrize("metric", ["euclidean", "diag_bp"])
def test_units_of_activities_matter_to_the_others(metric):
    """The counterpart: these start alike and part."""
    X, y = load_iris(return_X_y=True)
    both = [
        [default_fit(metric, X, y, activation=a, max_iter=n)[1] for a in ("tanh", "logistic")]
        for n in (0, 10)
    ]
    np.testing.assert_allclose(*both[0], atol=1e-12)
    assert np.abs(both[1][0] - both[1][1]).max() > 1e-3


@pytest.mark.parametrize("output", ["bernoulli", "spherical"])
def test_units_of_outputs_do_not_matter(output):
    """Bernoulli units may be logistic or tanh: the same fit."""
    X, y = load_breast_cancer(return_X_y=True)
    activations = ("logistic", "tanh") if output == "bernoulli" else ("auto", "logistic")
    fits = [
        default_fit("qd_bp", X, y, output=output, output_activation=a, max_iter=20)[1]
        for a in activations
    ]
    np.testing.assert_allclose(*fits, atol=1e-6)


@pytest.mark.parametrize("metric", INVARIANT)
def test_units_of_features_do_not_matter_online(metric):
    """The same for streams: what the first call fixes, it fixes invariantly."""
    X, y = load_iris(return_X_y=True)
    rows = np.random.default_rng(0).permutation(150)
    found = []
    for change in (lambda X: X, *CHANGES.values()):
        Z = change(X)
        clf = make((10,), metric=metric)
        for part in np.array_split(rows, 10):
            clf.partial_fit(Z[part], y[part], classes=[0, 1, 2])
        found.append(clf.predict_proba(Z))
    for proba in found[1:]:
        np.testing.assert_allclose(proba, found[0], atol=1e-6)


@pytest.mark.parametrize("fraction", [0.5, 0.8, 0.9])
def test_no_class_is_held_out_as_a_whole(fraction):
    """However few rows are left to train on, and however many classes there are."""
    for y in (np.repeat([0, 1], [98, 2]), np.repeat(np.arange(30), 2)):
        data = Data(np.zeros((len(y), 1)), y, None)
        for seed in range(20):
            train, held_out = hold_out(data, y, fraction, np.random.RandomState(seed))
            assert set(train.target) == set(y) and len(held_out.target) > 0


def test_all_zero_weights_are_named():
    with pytest.raises(ValueError, match="sample_weight must not be all zero"):
        RiemannianMLPClassifier().fit(np.eye(4), [0, 0, 1, 1], sample_weight=np.zeros(4))

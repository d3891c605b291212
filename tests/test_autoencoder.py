"""The auto-encoder: codes, reconstructions, scores, outputs a column, sparse data, scikit-learn."""

import pickle
import tempfile
import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from engine import random_csr
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from sknatgrad import RiemannianAutoEncoder
from sknatgrad.estimators import _prediction

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def make(hidden_layer_sizes=(6, 3, 5), **parameters):
    """A small auto-encoder."""
    defaults = {"random_state": 0, "max_iter": 5}
    return RiemannianAutoEncoder(hidden_layer_sizes, **{**defaults, **parameters})


@pytest.fixture(scope="module")
def iris():
    """Four columns."""
    return load_iris().data


@pytest.fixture(scope="module")
def digits():
    """Pixels between 0 and 1."""
    return load_digits().data[:400] / 16


def mixed_columns(n=200):
    """A bit, a count, two real columns that go with it."""
    rng = np.random.default_rng(0)
    z = rng.normal(size=n)
    columns = [z > 0, rng.poisson(np.exp(z)), 1e3 * z + 5, 1e-3 * rng.normal(size=n)]
    return np.column_stack(columns).astype(float), ["bernoulli", "poisson", "square", "square"]


def on_disk(X):
    """The same array in a file."""
    file = np.memmap(tempfile.TemporaryFile(), X.dtype, "w+", shape=X.shape)
    file[:] = X
    return file


# ------------------------------------------------------------------- consistency
def test_codes_are_decoded_in_bounded_memory(iris, monkeypatch):
    """Some rows at a time."""
    est = make().fit(iris)
    codes = est.transform(iris)
    whole = est.inverse_transform(codes)
    monkeypatch.setattr(_prediction, "_PREDICTION_BYTES", 1 << 12)
    assert sum(1 for _ in est._prediction_chunks(codes)) > 10
    np.testing.assert_allclose(est.inverse_transform(codes), whole, rtol=1e-12)


@pytest.mark.parametrize("connectivity", [None, 2, "paper"])
@pytest.mark.parametrize("activation", ["tanh", "logistic", ["relu", "tanh", "identity"]])
@pytest.mark.parametrize("code_layer", [None, 0, 2])
def test_decoded_codes_are_the_reconstruction(iris, activation, connectivity, code_layer):
    """inverse_transform(transform(X)) is predict(X), whichever layer is the code."""
    est = make(activation=activation, connectivity=connectivity, code_layer=code_layer).fit(iris)
    codes = est.transform(iris)
    assert codes.shape == (150, {None: 3, 0: 6, 2: 5}[code_layer])
    assert est.predict(iris).shape == iris.shape
    np.testing.assert_allclose(est.inverse_transform(codes), est.predict(iris), atol=1e-12)


@pytest.mark.parametrize("output", ["bernoulli", "square", "poisson"])
@pytest.mark.parametrize("batch_size", ["auto", 100])
def test_scores_are_minus_losses(digits, output, batch_size):
    """score is the mean of score_samples and minus the loss, with weights as well."""
    est = make(output=output, batch_size=batch_size).fit(digits)
    samples, weight = est.score_samples(digits), np.arange(400) % 3
    assert samples.shape == (400,)
    assert est.score(digits) == pytest.approx(samples.mean(), rel=1e-12)
    assert est.loss(digits) == pytest.approx(-est.score(digits), rel=1e-12)
    assert est.score(digits, sample_weight=weight) == pytest.approx(
        np.average(samples, weights=weight)
    )
    assert est.loss(digits, weight) == pytest.approx(-est.score(digits, sample_weight=weight))


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array, on_disk])
def test_rows_of_weight_0_do_not_count(digits, kind):
    """The score and the loss do not see them, though the output can't have drawn them."""
    est = make(output="bernoulli").fit(digits)
    X, weight = digits.copy(), np.arange(400) % 3
    X[::3] = -1e9
    counted = est.score(digits[weight > 0], sample_weight=weight[weight > 0])
    assert est.score(kind(X), sample_weight=weight) == pytest.approx(counted, rel=1e-12)
    assert est.loss(kind(X), weight) == pytest.approx(-counted, rel=1e-12)
    with pytest.raises(ValueError, match="targets in"):
        est.score(kind(X))


def test_samples_are_scored_by_their_likelihood(digits):
    """Bernoulli: the cross-entropy of each row; square: half the squared error."""
    est = make(output="bernoulli").fit(digits)
    P = est.predict(digits)
    entropy = (digits * np.log(P) + (1 - digits) * np.log(1 - P)).sum(axis=1)
    np.testing.assert_allclose(est.score_samples(digits), entropy, rtol=1e-9)
    est = make(output="square").fit(digits)
    error = ((est.predict(digits) - digits) ** 2).sum(axis=1)
    np.testing.assert_allclose(est.score_samples(digits), -error / 2, rtol=1e-9)


def test_rows_are_independent(digits):
    """What is computed of a row does not depend on the others."""
    est = make().fit(digits)
    for method in (est.transform, est.predict, est.score_samples):
        np.testing.assert_allclose(method(digits[7:8])[0], method(digits)[7], rtol=1e-10)


def test_wide_enough_code_reconstructs(iris):
    """Training lowers the loss; with linear units the code is as good as principal components."""
    losses = [make(max_iter=n).fit(iris).loss(iris) for n in (0, 10, 50)]
    assert losses[0] > losses[1] > losses[2]
    Z = StandardScaler().fit_transform(iris)
    est = make((2,), activation="identity", alpha=0.0, max_iter=500, tol=1e-10).fit(Z)
    pca = PCA(2).fit(Z)
    best = ((pca.inverse_transform(pca.transform(Z)) - Z) ** 2).sum(axis=1).mean()
    assert 2 * est.loss(Z) == pytest.approx(best, rel=1e-3)


# ------------------------------------------------------------------- outputs
def test_output_follows_the_range_of_the_data(iris, digits):
    """Bernoulli where all features lie in [0, 1], else square; dense or sparse."""
    for X, bernoulli in ((digits, True), (iris, False), (-digits, False), (2 * digits, False)):
        for container in (np.asarray, sp.csr_array):
            est = make(max_iter=1).fit(container(X))
            inside = np.all((est.predict(X) >= 0) & (est.predict(X) <= 1))
            assert est.out_activation_ == ("logistic" if bernoulli else "identity")
            assert inside or not bernoulli


@pytest.mark.parametrize(("batch_size", "max_iter"), [("auto", 15), (50, 40)])
def test_one_output_a_column(batch_size, max_iter):
    """Each column is read in its own way; the score is the sum of those of the columns."""
    X, outputs = mixed_columns()
    est = make(output=outputs, batch_size=batch_size, max_iter=max_iter).fit(X)
    P = est.predict(X)
    assert ((P[:, 0] > 0) & (P[:, 0] < 1)).all() and (P[:, 1] > 0).all()
    assert np.corrcoef(P[:, 2], X[:, 2])[0, 1] > 0.9
    assert np.mean((P[:, 0] > 0.5) == X[:, 0]) > 0.9
    assert np.isfinite(est.score_samples(X)).all()
    np.testing.assert_allclose(est.inverse_transform(est.transform(X)), P, rtol=1e-9)
    assert est.loss(X) == pytest.approx(-est.score(X))


def test_recorded_loss_of_mixed_columns_is_the_loss():
    """Nats of Bernoulli columns are not rescaled by the units of the others."""
    X, outputs = mixed_columns()
    for factor in (1.0, 1e-3):
        est = make(output=outputs, alpha=0.0, max_iter=20).fit(X * [1, 1, factor, factor])
        assert np.isfinite(est.loss_curve_).all() and np.diff(est.loss_curve_).max() <= 0
    X = (X[:, :2] > 1) * 1.0
    est = make(output=["bernoulli", "bernoulli"], alpha=0.0).fit(X)
    assert est.loss_ == pytest.approx(est.loss(X), rel=1e-9)


def test_recorded_loss_does_not_depend_on_units_of_real_columns():
    """Two bits and a real column: with the column's unit the loss of the bits stays what it is."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.random((200, 2)) < 0.5, rng.normal(size=200)]).astype(float)
    recorded = []
    for factor in (1.0, 1e3, 1e-3):
        est = make((1,), output=["bernoulli", "bernoulli", "square"], alpha=0.0)
        est.fit(X * [1, 1, factor])
        recorded.append(est.loss_curve_)
    np.testing.assert_allclose(recorded[1], recorded[0], rtol=1e-6)
    np.testing.assert_allclose(recorded[2], recorded[0], rtol=1e-6)


@pytest.mark.parametrize(
    ("output", "message"),
    [
        (["bernoulli"], "output has 1 entries"),
        ("softmax", "output"),
        (["square", "square", "softmax", "square"], "softmax"),
        ("bernoulli", r"\[0, 1\]|between 0 and 1"),
        ("nonsense", "output"),
    ],
)
def test_outputs_that_do_not_fit(iris, output, message):
    """The message names what is wrong."""
    with pytest.raises(ValueError, match=message):
        make(output=output).fit(iris)


# ------------------------------------------------------------------- the code layer
def test_code_layer(iris):
    """The narrowest one, the first of equals, or the one asked for; a wrong one is named."""
    assert make((3, 2, 2)).fit(iris).transform(iris).shape == (150, 2)
    assert make(4).fit(iris).transform(iris).shape == (150, 4)
    for wrong, message in ((3, "code_layer"), (-1, "code_layer"), (1.5, "code_layer")):
        with pytest.raises(ValueError, match=message):
            make(code_layer=wrong).fit(iris)
    with pytest.raises(ValueError, match="hidden_layer_sizes"):
        make(()).fit(iris)


def test_code_layer_of_given_links(iris):
    """Masks say which layers there are, and a code that they do not have is refused early."""
    masks = [np.ones((4, 3)), np.ones((3, 2)), np.ones((2, 4))]
    assert make(connectivity=masks).fit(iris).transform(iris).shape == (150, 2)
    assert make(connectivity=masks, code_layer=0).fit(iris).transform(iris).shape == (150, 3)
    est = make(connectivity=masks, code_layer=2)
    with pytest.raises(ValueError, match="code_layer=2 is not one of the 2"):
        est.fit(iris)
    assert not hasattr(est, "topology_")
    with pytest.raises(ValueError, match="hidden layer"):
        make(connectivity=[np.ones((4, 4))]).fit(iris)


def test_codes_of_another_width_are_refused(iris):
    """The message says how many columns are needed."""
    with pytest.raises(ValueError, match="3"):
        make().fit(iris).inverse_transform(np.zeros((2, 4)))


# ------------------------------------------------------------------- sparse data
def big_sparse(n_samples=20_000, n_features=1000):
    """Bits, one in two hundred set; dense it would take 160 MB."""
    X = random_csr(n_samples, n_features, 5e-3)
    X.data[:] = 1.0
    return X


@pytest.fixture(scope="module")
def fitted_on_sparse():
    """A fit of one pass, with the peak of memory while it lasted."""
    X = big_sparse()
    tracemalloc.start()
    est = make((2,), max_iter=1, batch_size=2000).fit(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return est, X, peak


def test_fit_does_not_make_sparse_data_dense(fitted_on_sparse):
    """Memory of the fit stays below the dense size."""
    _, X, peak = fitted_on_sparse
    assert peak < 0.75 * 8 * X.shape[0] * X.shape[1]


@pytest.mark.parametrize("method", ["score_samples", "score", "loss", "transform"])
def test_methods_do_not_make_sparse_data_dense(fitted_on_sparse, method):
    """Nor do the methods: memory is that of some rows at a time."""
    est, X, _ = fitted_on_sparse
    tracemalloc.start()
    getattr(est, method)(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.75 * 8 * X.shape[0] * X.shape[1]


def test_validation_does_not_make_sparse_data_dense():
    """Held-out rows are scored some at a time as well: a fourth of their dense size is enough."""
    X = big_sparse(16_000, 500)
    tracemalloc.start()
    make((2,), max_iter=1, early_stopping=True).fit(X[:4000], X_val=X[4000:])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2 * 8 * 12_000 * 500


@pytest.mark.parametrize("batch_size", ["auto", 50])
@pytest.mark.parametrize("binary", [True, False])
def test_sparse_equals_dense(batch_size, binary):
    """Sparse rows give what dense ones give, in all methods."""
    X = random_csr(150, 12, 0.2)
    X = X if binary else 10 * X
    one, other = make(batch_size=batch_size), make(batch_size=batch_size)
    one.fit(X)
    other.fit(X.toarray())
    D = X.toarray()
    np.testing.assert_allclose(one.transform(X), other.transform(D), atol=1e-6)
    np.testing.assert_allclose(one.score_samples(X), other.score_samples(D), rtol=1e-6)
    np.testing.assert_allclose(one.score_samples(X), one.score_samples(D), rtol=1e-9)
    with pytest.raises(ValueError, match="inverse_transform"):
        one.predict(X)


# ------------------------------------------------------------------- scikit-learn
def test_frames(iris):
    """Feature names in, names of codes out."""
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(iris, columns=["a", "b", "c", "d"], index=np.arange(150) + 7)
    est = make().set_output(transform="pandas").fit(frame)
    codes = est.transform(frame)
    assert list(codes.columns) == list(est.get_feature_names_out())
    assert list(codes.index) == list(frame.index) and codes.shape == (150, 3)
    assert list(est.get_feature_names_out()) == [f"riemannianautoencoder{i}" for i in range(3)]
    assert list(est.feature_names_in_) == ["a", "b", "c", "d"]
    back = est.inverse_transform(codes)
    np.testing.assert_allclose(back, est.predict(frame), atol=1e-12)


def test_pipelines(iris):
    """As a step before a classifier, at the end of a pipeline, in a search."""
    y = load_iris().target
    steps = make_pipeline(MinMaxScaler(), make((5, 3, 5), max_iter=30), LogisticRegression())
    assert steps.fit(iris, y).score(iris, y) > 0.8
    ends = make_pipeline(StandardScaler(), make())
    codes = ends.fit_transform(iris)
    np.testing.assert_array_equal(codes, ends.transform(iris))
    assert ends.inverse_transform(codes).shape == iris.shape and np.isfinite(ends.score(iris))
    grid = GridSearchCV(make(), {"hidden_layer_sizes": [(2,), (3,)]}, cv=2).fit(iris)
    assert np.isfinite(grid.best_score_)


def test_inspection_takes_rows_alone(iris):
    """direction, metric_matrix and loss of X; targets are the inputs."""
    est = make((2,), max_iter=3).fit(iris)
    coefs, intercepts = est.direction(iris, metric="bp", damping=0.01)
    assert [c.shape for c in coefs] == [c.shape for c in est.coefs_]
    assert [b.shape for b in intercepts] == [b.shape for b in est.intercepts_]
    matrix = est.metric_matrix(iris, metric="op")
    assert matrix.shape == (22, 22) and np.linalg.eigvalsh(matrix)[0] > -1e-9 * matrix.max()
    assert est.metric_matrix(iris, layer=1, unit=3).shape == (3, 3)
    step = 1e-6
    before = est.loss(iris)
    pairs = zip(est.coefs_, coefs, strict=True), zip(est.intercepts_, intercepts, strict=True)
    est.set_coefs(*([a + step * b for a, b in pair] for pair in pairs))
    assert est.loss(iris) < before


def test_targets_are_ignored(iris):
    """y is there for pipelines only."""
    one, other = make().fit(iris), make().fit(iris, np.arange(150))
    assert one.loss_curve_ == other.loss_curve_
    np.testing.assert_array_equal(make().fit_transform(iris), one.transform(iris))


@pytest.mark.parametrize("output", ["auto", "square"])
def test_single_precision(digits, output):
    """float32 in, float32 out."""
    X = digits.astype(np.float32)
    est = make(output=output).fit(X)
    codes = est.transform(X)
    assert codes.dtype == est.predict(X).dtype == est.inverse_transform(codes).dtype == np.float32
    assert est.coefs_[0].dtype == np.float32


def test_clones_and_pickles(iris):
    """A list of outputs is a parameter like others; pickles compute the same."""
    est = make(output=["square"] * 4, code_layer=0)
    assert clone(est).get_params() == est.get_params()
    est.fit(iris)
    other = pickle.loads(pickle.dumps(est))
    np.testing.assert_array_equal(other.transform(iris), est.transform(iris))


def test_early_stopping(iris):
    """The best held-out score is kept."""
    est = make(early_stopping=True, max_iter=60).fit(iris[::2], X_val=iris[1::2])
    assert est.best_validation_score_ == max(est.validation_scores_)
    chosen = int(np.argmax(est.validation_scores_))
    assert est.loss(iris[1::2]) == pytest.approx(est.validation_loss_curve_[chosen], rel=0.5)


def test_validation_losses_count_as_training_losses(iris):
    """Features in units of their variance in training, times the mean variance."""
    rows, held_out = iris[::2], iris[1::2]
    est = make(early_stopping=True, max_iter=20, output="square").fit(rows, X_val=held_out)
    error, variance = (held_out - est.predict(held_out)) ** 2, rows.var(axis=0)
    want = 0.5 * variance.mean() * (error / variance).sum(axis=1).mean()
    assert want == pytest.approx(min(est.validation_loss_curve_), rel=1e-9)
    assert est.best_validation_score_ == -min(est.validation_loss_curve_)


@pytest.mark.parametrize("how", ["fit", "partial_fit"])
@pytest.mark.parametrize("output", ["poisson", ["poisson", "square", "poisson", "bernoulli"]])
def test_sparse_counts_are_those_of_dense_ones(how, output):
    """Whatever the format, a column without counts included."""
    X = sp.csr_array(np.random.default_rng(0).poisson(0.4, (60, 4)) * [1.0, 5.0, 0.0, 0.0])
    scores = [getattr(make((3,), output=output), how)(Z).score(Z) for Z in (X, X.toarray())]
    assert scores[0] == pytest.approx(scores[1], rel=1e-9) and np.isfinite(scores[0])


def test_early_stopping_in_other_units(iris):
    """Held-out losses of small numbers are small: what counts as a gain is, too."""
    one, other = (
        make(early_stopping=True, max_iter=25, output="square").fit(X[::2], X_val=X[1::2])
        for X in (iris, 1e-4 * iris)
    )
    assert one.n_iter_ == other.n_iter_ == 25


def excess(dtype):
    """Rows in [0, 1], and the same with ends that scaling has rounded the wrong way."""
    inside = np.random.default_rng(0).random((40, 3)).astype(dtype)
    inside[:2] = [[0.0], [1.0]]
    beyond = inside.copy()
    beyond[:2] += 2 * np.finfo(dtype).eps * np.array([[-1], [1]], dtype)
    return inside, beyond


def on_workers(X):
    return pytest.importorskip("dask.array").from_array(X, (20, 3))


@pytest.mark.parametrize("output", ["auto", "bernoulli", ["bernoulli", "square", "bernoulli"]])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array, on_disk, on_workers])
def test_rounding_errors_stay_in_the_unit_interval(kind, dtype, output):
    """They choose no other output, and it does not see them."""
    if kind is on_disk and isinstance(output, list):
        pytest.skip("outputs of several kinds need X in memory")
    inside, beyond = map(kind, excess(dtype))
    est = make((2,), output=output, max_iter=3)
    want, found = (clone(est).fit(X) for X in (inside, beyond))
    assert found.out_activation_ == want.out_activation_
    assert found.score(beyond) == pytest.approx(want.score(inside), rel=1e-5)
    if kind is not on_workers:
        rows, _ = found._checked_rows(beyond, None, None, reset=False)
        data = rows.encoded(found._targets)
        target = data.target[:, :] if isinstance(output, str) else data.target[[0, 2]]
        assert target.min() == 0 and target.max() == 1
        assert found.loss(beyond) == pytest.approx(-found.score(beyond), rel=1e-6)


def test_values_beyond_the_unit_interval():
    """Real ones are no rounding errors, and the message says what helps."""
    inside, _ = excess(float)
    est = make((2,), max_iter=1).fit(inside)
    inside[0, 0] = 1.001
    assert clone(est).fit(inside).out_activation_ == "identity"
    for ask in (est.score, est.loss, clone(est).set_params(output="bernoulli").fit):
        with pytest.raises(ValueError, match=r"MinMaxScaler\(clip=True\)"):
            ask(inside)

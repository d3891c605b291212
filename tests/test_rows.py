"""Rows that stay on disk: the same fits as in memory, within a bound of memory."""

import subprocess
import sys
import textwrap

import numpy as np
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.datasets import load_diabetes, load_digits, load_iris

from sknatgrad import RiemannianAutoEncoder, RiemannianMLPClassifier, RiemannianMLPRegressor
from sknatgrad.numerics.sums import BRANCHING, ordered_map, tree_sum
from sknatgrad.training.data.rows import SlicedRows, is_sliceable, shuffled

pytestmark = pytest.mark.filterwarnings("ignore:Maximum iterations")


class Sliced:
    """What HDF5 and Zarr data sets offer: slices of rows, and a record of what was read."""

    def __init__(self, array):
        self._array, self.shape, self.dtype, self.ndim = array, array.shape, array.dtype, array.ndim
        self.largest = self.n_reads = self.n_rows = 0

    def __getitem__(self, rows):
        assert isinstance(rows, slice) and rows.step in (None, 1)
        found = self._array[rows].copy()
        self.n_reads, self.n_rows = self.n_reads + 1, self.n_rows + len(found)
        self.largest = max(self.largest, len(found))
        return found


class Labelled(Sliced):
    """As an array of xarray: it might hold one of Dask, and does not."""

    def __dask_graph__(self):
        return None

    def __array__(self, dtype=None, copy=None):
        return np.array(self._array, dtype)


def mapped(array, path):
    """The same array in a file."""
    file = np.memmap(path, array.dtype, "w+", shape=array.shape)
    file[:] = array
    return np.memmap(path, array.dtype, "r", shape=array.shape)


def fits(X, y, kind, **options):
    """An estimator of each kind, fitted."""
    options = {"random_state": 0, "max_iter": 4, **options}
    if kind == "classifier":
        return RiemannianMLPClassifier((6,), **options).fit(X, y)
    if kind == "regressor":
        return RiemannianMLPRegressor(hidden_layer_sizes=(6,), **options).fit(X, y)
    return RiemannianAutoEncoder((3,), **options).fit(X)


DATA = {"classifier": load_iris, "regressor": load_diabetes, "autoencoder": load_iris}


@pytest.mark.parametrize("options", [{}, {"batch_size": 32}, {"early_stopping": True}], ids=str)
@pytest.mark.parametrize("kind", DATA)
def test_memmap_is_the_array(kind, options, tmp_path):
    """Bit for bit, in fit and prediction, mini-batches and held-out rows included."""
    X, y = DATA[kind](return_X_y=True)
    Z = mapped(X, tmp_path / "X")
    expected, actual = fits(X, y, kind, **options), fits(Z, y, kind, **options)
    for a, b in zip(expected.coefs_, actual.coefs_, strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(expected.predict(X), actual.predict(Z))
    assert expected.loss_curve_ == actual.loss_curve_


@pytest.mark.parametrize("kind", DATA)
def test_arrays_that_can_only_be_sliced(kind):
    """Whole batches are the same; mini-batches are runs of rows, and learn as well."""
    X, y = DATA[kind](return_X_y=True)
    expected, actual = fits(X, y, kind), fits(Sliced(X), y, kind)
    np.testing.assert_array_equal(expected.predict(X), actual.predict(Sliced(X)))
    for options in ({"batch_size": 32}, {"early_stopping": True, "batch_size": 32}):
        estimator = fits(Sliced(X), y, kind, **options)
        assert estimator.loss_curve_[-1] < estimator.loss_curve_[0]
        assert np.isfinite(estimator.score(Sliced(X), y))


def test_integers_are_read_as_doubles():
    X, y = load_digits(return_X_y=True)
    X = X[:200].astype(np.uint8)
    expected = fits(X.astype(float), y[:200], "classifier")
    np.testing.assert_array_equal(
        expected.predict_proba(X), fits(Sliced(X), y[:200], "classifier").predict_proba(Sliced(X))
    )
    single = fits(Sliced(X.astype(np.float32)), y[:200], "classifier")
    assert single.coefs_[0].dtype == np.float32


@pytest.mark.parametrize("kind", DATA)
def test_bad_rows_are_named(kind, monkeypatch):
    """NaN in any row, no rows, one dimension, another length or width: as for arrays."""
    for size in ("_PART", "_CACHED"):
        monkeypatch.setattr(f"sknatgrad.numerics.walk.{size}", 500)
    X, y = DATA[kind](return_X_y=True)
    bad = X.copy()
    bad[100, 1] = np.nan
    with pytest.raises(ValueError, match="X contains NaN"):
        fits(Sliced(bad), y, kind)
    with pytest.raises(ValueError, match="0 sample"):
        fits(Sliced(X[:0]), y[:0], kind)
    with pytest.raises(ValueError, match="2D array"):
        fits(Sliced(X[:, 0]), y, kind)
    with pytest.raises(ValueError, match=r"1 features?, but"):
        fits(X, y, kind).predict(Sliced(X[:, :1]))
    if kind != "autoencoder":
        with pytest.raises(ValueError, match="inconsistent numbers of samples"):
            fits(Sliced(X), y[1:], kind)


@pytest.mark.parametrize("kind", DATA)
def test_labelled_arrays_are_rows_in_memory(kind):
    X, y = DATA[kind](return_X_y=True)
    expected, actual = fits(X, y, kind), fits(Labelled(X), y, kind)
    np.testing.assert_array_equal(actual.coefs_[0], expected.coefs_[0])
    np.testing.assert_array_equal(actual.predict(Labelled(X)), expected.predict(X))


def test_what_is_sliceable(tmp_path):
    pandas = pytest.importorskip("pandas")
    X = np.eye(3)
    assert is_sliceable(Sliced(X)) and is_sliceable(mapped(X, tmp_path / "X"))
    for other in (X, X.tolist(), sparse.csr_array(X), pandas.DataFrame(X)):
        assert not is_sliceable(other)


def test_rows_by_number():
    """Any order, repetitions, far and near; few rows that were not asked for are read."""
    X = np.arange(3000.0).reshape(1000, 3)
    source = Sliced(X)
    rows = SlicedRows(source)
    for chosen in ([5, 3, 3, 999, 0], [], np.arange(1000)[::-1], np.arange(0, 1000, 500)):
        chosen = np.asarray(chosen, int)
        np.testing.assert_array_equal(rows[chosen], X[chosen])
        part = rows.select(chosen)
        assert part.shape == (len(chosen), 3)
        np.testing.assert_array_equal(part[1:], X[chosen[1:]])
        np.testing.assert_array_equal(part[np.arange(len(chosen))[::2]], X[chosen[::2]])
    source.largest = 0
    rows[np.arange(0, 1000, 100)]
    assert source.largest == 1
    assert (rows.min(), rows.max()) == (0, 2999)


def test_rows_by_number_are_read_in_parts(monkeypatch):
    """However near to each other all of them are."""
    monkeypatch.setattr("sknatgrad.numerics.walk._PART", 2400)
    source = Sliced(np.arange(3000.0).reshape(1000, 3))
    np.testing.assert_array_equal(SlicedRows(source)[np.arange(1000)], source[:])
    source.largest = 0
    SlicedRows(source)[np.arange(0, 1000, 2)]
    assert source.largest <= 100


@pytest.mark.parametrize("kind", DATA)
def test_rows_are_read_a_few_times_in_large_parts(kind):
    """Checked with their extremes, for means, for powers of deviations, for copies, to be held.

    An auto-encoder looks for no copies. It reads its targets twice more: for the first metric, and
    a last loss.
    """
    source = Sliced(np.random.default_rng(0).normal(size=(4000, 1000)))
    fits(source, np.arange(4000) % 3 > 0, kind, max_iter=0)
    assert source.n_reads <= (10 if kind != "autoencoder" else 17)


def test_signs_of_symmetric_targets_are_found_in_one_reading():
    """Of rows not held: checks, means, powers, signs, copies, first metric, last loss."""
    source = Sliced(np.random.default_rng(0).normal(size=(4000, 1000)))
    with config_context(working_memory=50):
        fits(source, np.arange(4000) % 2, "classifier", max_iter=0)
    assert source.n_rows == 7 * 4000


def test_a_stream_reads_constant_columns_no_more_often():
    """The moments that tell its start tell also that nothing new is known of them."""
    X = np.random.default_rng(0).normal(size=(4000, 1000))
    X[:, 0] = 1.0
    source = Sliced(X)
    RiemannianMLPRegressor(hidden_layer_sizes=(6,)).partial_fit(source, X[:, 1] ** 2)
    assert source.n_reads <= 8


def test_clipped_rows(tmp_path):
    X = np.arange(12.0).reshape(4, 3)
    for source, run in ((Sliced(X), 4), (mapped(X, tmp_path / "X"), 1)):
        rows = SlicedRows(source).T.clip(2.0, 7.0).T
        np.testing.assert_array_equal(rows[:], X.clip(2, 7))
        np.testing.assert_array_equal(rows.extremes, [[2, 2, 2], [7, 7, 7]])
        assert rows.run_length(64) == run


def test_orders():
    rng = np.random.RandomState(0)
    for X, run in ((np.eye(100), 1), (SlicedRows(Sliced(np.eye(100))), 4)):
        order = shuffled(X, 64, rng)
        np.testing.assert_array_equal(np.sort(order), np.arange(100))
        kept = np.mean(np.diff(order) == 1)
        assert kept < 0.1 if run == 1 else 0.7 < kept < 0.8


@pytest.mark.parametrize("n", [0, 1, 2, BRANCHING, BRANCHING + 1, 100, BRANCHING**2 + 3])
def test_tree_sums(n):
    """All terms once, left before right, in a tree of the same shape for any threads."""
    trees = [
        tree_sum(ordered_map(lambda i: f"{i}", range(n), threads), lambda a, b: f"({a} {b})")
        for threads in (1, 3)
    ]
    assert trees[0] == trees[1]
    numbers = (trees[0] or "").replace("(", " ").replace(")", " ").split()
    assert numbers == [str(i) for i in range(n)]
    depth = max(np.cumsum([{"(": 1, ")": -1}.get(c, 0) for c in trees[0] or " "]))
    assert depth <= BRANCHING * 3


MEMORY = """
    import resource, sys, numpy as np, sklearn
    sklearn.set_config(working_memory=200)
    from sklearn.utils._testing import ignore_warnings
    from sknatgrad import RiemannianMLPClassifier
    n, d = 200_000, 100
    X = np.memmap(sys.argv[1], np.float64, "r", shape=(n, d))
    class Sliced:
        shape, dtype, ndim = X.shape, X.dtype, 2
        def __getitem__(self, rows):
            with open(sys.argv[1], "rb") as file:
                file.seek(rows.start * d * 8)
                size = (min(rows.stop, n) - rows.start) * d
                return np.fromfile(file, np.float64, size).reshape(-1, d)
    y = (np.arange(n) % 2)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    estimator = RiemannianMLPClassifier((10,), max_iter=1, random_state=0, BATCH)
    ignore_warnings(estimator.fit)(Sliced(), y)
    estimator.predict(Sliced())
    print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024)
"""


@pytest.mark.parametrize("batch", ["batch_size=200_000", "batch_size=1000, early_stopping=True"])
def test_memory_is_bounded(batch, tmp_path):
    """A fit on 160 MB in a file takes less than half of that."""
    path = tmp_path / "X"
    with open(path, "wb") as file:
        rng = np.random.default_rng(0)
        for _ in range(20):
            rng.standard_normal((10_000, 100)).tofile(file)
    code = textwrap.dedent(MEMORY).replace("BATCH", batch)
    result = subprocess.run(
        [sys.executable, "-c", code, path], capture_output=True, text=True, check=True
    )
    assert int(result.stdout) < 160e6 / 2


@pytest.mark.parametrize("metric", ["qd_bp", "bp", "mc_fisher", "qd_mc_fisher"])
def test_threads_change_no_bits(metric):
    """Also of the sampled metrics, whose draws belong to the rows."""
    X, y = load_iris(return_X_y=True)
    with config_context(working_memory=1e-2):
        one, two = (
            fits(X, y, "classifier", metric=metric, n_jobs=n_jobs, max_iter=8) for n_jobs in (1, 3)
        )
    assert one.loss_curve_ == two.loss_curve_
    for a, b in zip(one.coefs_, two.coefs_, strict=True):
        np.testing.assert_array_equal(a, b)


def hdf5(folder, X):
    """The rows in an HDF5 file."""
    h5py = pytest.importorskip("h5py")
    with h5py.File(folder / "rows.h5", "w") as file:
        file["X"] = X
    return h5py.File(folder / "rows.h5")["X"]


def zarr_array(folder, X):
    """The rows in a Zarr store of several chunks."""
    zarr = pytest.importorskip("zarr")
    path = str(folder / "rows.zarr")
    store = zarr.open(path, mode="w", shape=X.shape, chunks=(70, 5), dtype="f8")
    store[:] = X
    return store


@pytest.mark.parametrize("stored", [hdf5, zarr_array])
def test_files_of_well_known_libraries(stored, tmp_path):
    """The bits of arrays in memory: fit, predict, transform, partial_fit."""
    X = np.random.default_rng(0).normal(size=(300, 5))
    y = X[:, 0] * X[:, 1] > 0
    rows = stored(tmp_path, X)
    settings = {"random_state": 0, "max_iter": 5, "batch_size": 50}
    for cls, target in (
        (RiemannianMLPClassifier, y),
        (RiemannianMLPRegressor, X[:, 2]),
        (RiemannianAutoEncoder, None),
    ):
        models = [cls(hidden_layer_sizes=(4,), **settings) for _ in range(2)]
        for model, own in zip(models, (X, rows), strict=True):
            model.fit(own, target).partial_fit(own, target)
        method = "predict" if target is not None else "transform"
        np.testing.assert_array_equal(
            getattr(models[0], method)(X), getattr(models[1], method)(rows)
        )

"""Compiled kernels: the switch, and the same numbers as NumPy and SciPy give."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec

import joblib
import numpy as np
import pytest
from engine import assert_close, graphs, problem_of
from scipy import sparse

import sknatgrad
from sknatgrad import METRICS, RiemannianMLPClassifier, get_metric, get_output, kernel_context
from sknatgrad.compiled import KERNELS, get_kernels, set_kernels, switch
from sknatgrad.compiled.switch import with_kernels
from sknatgrad.metrics import linalg
from sknatgrad.network import ACTIVATIONS
from sknatgrad.numerics.overflow import quiet
from sknatgrad.numerics.parallel import parallel_results
from sknatgrad.numerics.sums import ordered_map
from sknatgrad.numerics.vectors import ahead, between
from sknatgrad.training import BatchPass

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
needs_numba = pytest.mark.skipif(find_spec("numba") is None, reason="numba is not installed")
GRAPHS = graphs()
# Full metrics have no compiled solve; sampled ones draw other targets where a probability
# differs by rounding.
COMPILED_METRICS = [n for n in METRICS if n not in ("fisher", "op") and "mc_fisher" not in n]
TOLERANCE = 1e-12


# ---------------------------------------------------------------------- the switch
@pytest.fixture(autouse=True)
def restored():
    """Leave the kernels as they were."""
    before = get_kernels()
    yield
    set_kernels(before)


def test_numpy_is_the_default():
    code = "import sys, sknatgrad; print(sknatgrad.get_kernels(), 'numba' in sys.modules)"
    environment = {k: v for k, v in os.environ.items() if k != switch.VARIABLE}
    found = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert found.stdout.split() == ["numpy", "False"]


@needs_numba
def test_context_ends_however_it_is_left():
    set_kernels("numpy")
    with pytest.raises(ZeroDivisionError), kernel_context("numba"):
        assert get_kernels() == "numba"
        raise ZeroDivisionError
    assert get_kernels() == "numpy"
    assert with_kernels("numba", get_kernels) == "numba"
    assert get_kernels() == "numpy"


@needs_numba
def test_contexts_of_threads_that_overlap():
    """Each thread has its own, in whatever order they are left; the process knows of none."""
    set_kernels("numpy")
    contexts = kernel_context("numba"), kernel_context("numba")
    with ThreadPoolExecutor(1) as first, ThreadPoolExecutor(1) as second:
        threads = first, second

        def seen():
            return [get_kernels(), *(thread.submit(get_kernels).result() for thread in threads)]

        for thread, context in zip(threads, contexts, strict=True):
            thread.submit(context.__enter__).result()
        assert seen() == ["numpy", "numba", "numba"]
        first.submit(contexts[0].__exit__, None, None, None).result()
        assert seen() == ["numpy", "numpy", "numba"]
        set_kernels("numba")
        first.submit(set_kernels, "numpy").result()
        assert seen() == ["numpy", "numpy", "numba"]
        second.submit(contexts[1].__exit__, None, None, None).result()
        assert seen() == ["numpy"] * 3


@needs_numba
def test_a_fit_keeps_its_kernels_while_others_choose_theirs(monkeypatch):
    """Those of the process, though another thread enters a context in the middle of it."""
    set_kernels("numpy")
    used, choose = set(), ThreadPoolExecutor(1)
    entered, run = [], BatchPass.run

    def run_beside(passes):
        if not entered:
            entered.append(kernel_context("numba"))
            choose.submit(entered[0].__enter__).result()
        used.add(get_kernels())
        return run(passes)

    monkeypatch.setattr(BatchPass, "run", run_beside)
    X = np.random.default_rng(0).normal(size=(30, 3))
    with choose:
        RiemannianMLPClassifier((3,), max_iter=3).fit(X, X[:, 0] > 0)
        assert choose.submit(get_kernels).result() == "numba"
        choose.submit(entered[0].__exit__, None, None, None).result()
    assert used == {"numpy"}


@needs_numba
def test_a_choice_inside_of_a_context_ends_with_it():
    set_kernels("numpy")
    with kernel_context("numba"):
        with kernel_context("numpy"):
            set_kernels("numba")
            assert get_kernels() == "numba"
            set_kernels("numpy")
        assert get_kernels() == "numba"
    assert get_kernels() == "numpy"


@pytest.mark.parametrize("use", [set_kernels, lambda name: kernel_context(name).__enter__()])
def test_unknown_kernels_are_refused(use):
    before = get_kernels()
    with pytest.raises(ValueError, match=r"kernels must be one of .*'numpy', 'numba'.*'fortran'"):
        use("fortran")
    assert get_kernels() == before


def test_environment_variable(monkeypatch):
    monkeypatch.setattr(switch._Process, "kernels", None)
    monkeypatch.setenv(switch.VARIABLE, "fortran")
    with pytest.raises(ValueError, match=switch.VARIABLE):
        get_kernels()
    monkeypatch.setenv(switch.VARIABLE, "numpy")
    assert get_kernels() == "numpy"


def test_missing_numba_is_said_at_once(monkeypatch):
    set_kernels("numpy")
    monkeypatch.setattr(switch, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"sknatgrad\[fast\]"):
        set_kernels("numba")
    assert get_kernels() == "numpy"


def test_names_are_public():
    assert {"get_kernels", "kernel_context", "set_kernels"} <= set(sknatgrad.__all__)
    assert KERNELS[0] == "numpy"


# ---------------------------------------------------------------------- the same numbers
def both(compute, *arguments):
    """What a function returns under either kind of kernels, as lists of arrays."""
    for name in KERNELS:
        yield with_kernels(name, lambda: [np.array(part) for part in compute(*arguments)])


def assert_same(compute, *arguments, tolerance=TOLERANCE):
    expected, found = both(compute, *arguments)
    assert len(expected) == len(found) > 0
    for a, b in zip(found, expected, strict=True):
        assert_close(a, b, tolerance)


def contractions(problem, form=np.asarray, dtype=np.float64):
    """All that a linearization offers."""
    lin = problem.network.linearize(problem.theta, form(problem.X.astype(dtype)), problem.weights)
    rng = np.random.default_rng(0)
    topology, n = lin.topology, lin.n_samples
    seed = rng.uniform(size=(topology.n_outputs, n)).astype(lin.dtype)
    values = rng.uniform(size=(topology.n_units, n)).astype(lin.dtype)
    yield from (lin.v, lin.a, lin.pull(seed), lin.pull_squared(seed))
    yield lin.pull(np.stack([seed, seed**2, 1 - seed], axis=1)).ravel()
    yield from (lin.edge_mean(values), lin.edge_mean(values, power=2))
    yield from lin.edge_moments(values)
    if topology.outputs_are_last:
        yield lin.pull_each(seed, slice(0, 2)).ravel()
    yield from lin.unit_gram(values)
    yield from lin.unit_gram(values, widening=0.1)


@needs_numba
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("n_samples", [1, 7, 40])
@pytest.mark.parametrize("name", GRAPHS)
def test_contractions(name, n_samples, form):
    assert_same(contractions, problem_of("square", GRAPHS[name], n_samples=n_samples), form)


@pytest.fixture(scope="module")
def sparse_problem():
    """Units enough for stacks of blocks, of unequal fan-in."""
    from sknatgrad import Topology

    topology = Topology.random_links(
        [30, 12, 6, 12, 30], 4, ["source"] * 2 + ["target"] * 2, replace=True, random_state=0
    )
    return problem_of("bernoulli", topology, n_samples=9)


def steps(name, problem, damping, mode):
    """Statistics and direction of a metric."""
    metric, point = get_metric(name), problem.point()
    statistics = metric.statistics(point, np.random.RandomState(0))
    yield from statistics[0]
    gradient = point.gradient()
    yield metric.solve(problem.topology, statistics, gradient, damping, mode)
    yield np.diag(metric.reduction.to_dense(problem.topology, statistics[0]))


@needs_numba
@pytest.mark.parametrize("damping, mode", [(1e-3, "relative"), (1e-3, "absolute")])
@pytest.mark.parametrize("name", COMPILED_METRICS)
def test_metrics(name, damping, mode, sparse_problem):
    assert_same(steps, name, sparse_problem, damping, mode, tolerance=1e-10)


def at_extremes(n_samples):
    """Activations and a softmax of values of all sizes, and what moves parameters."""
    v = np.random.default_rng(0).normal(size=(5, n_samples))
    v *= np.resize([1.0, 30.0, 800.0], n_samples)
    for activation in ACTIVATIONS.values():
        yield from activation.value_and_slope(v)
    softmax, target = get_output("softmax"), np.arange(n_samples) % 5
    prepared = softmax.prepared(v)
    yield from (softmax.loss(prepared, target), softmax.score(prepared, target))
    yield from (prepared.p, prepared.q, softmax.fisher_diagonal(prepared))
    found, finite = ahead(v[0], v[1], 0.3)
    yield from (found, [finite], between(v[0], v[1], 0.3))
    with quiet():  # as in a pass
        finite = [ahead(bad * v[0], v[1], 1e308)[1] for bad in (1.0, np.nan)]
    yield finite


@needs_numba
@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")
@pytest.mark.parametrize("n_samples", [1, 9, 200])
def test_functions_of_few_samples(n_samples):
    assert_same(at_extremes, n_samples)


@needs_numba
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_overflow_is_seen(bad):
    """A loss that is no number is none in compiled loops either."""
    for name in KERNELS:
        with kernel_context(name), np.errstate(invalid="ignore"):
            v = np.array([[0.0], [bad], [1.0]])
            assert not np.isfinite(get_output("softmax").loss(v, np.array([2]))).any()


def singular_stack():
    """Blocks with null rows, repeated columns, no samples, one sample, and sound ones."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(10, 8, 5))
    rows[:, :, 0] = 1.0
    rows[0, :, 3] = 0.0
    rows[1, :, 4] = rows[1, :, 2]
    rows[2] = 0.0
    rows[3, 1:] = 0.0
    rows[4, :, 1] = 2.0
    rows[5] *= 1e-160
    rows[6, :, 1:] *= 1e100
    blocks = rows.transpose(0, 2, 1) @ rows
    return blocks, rows.transpose(0, 2, 1) @ rng.normal(size=(10, 8, 2))


@needs_numba
@pytest.mark.parametrize("relative", [0.0, 1e-3])
@pytest.mark.parametrize("absolute", [None, 1e-3])
def test_singular_blocks(relative, absolute):
    blocks, rhs = singular_stack()
    damping = None if absolute is None else np.full(blocks.shape[:2], absolute)
    with kernel_context("numba"):
        factor = linalg.centred_factor(blocks, relative, damping)
        assert isinstance(factor, linalg.CompiledFactor)
    with np.errstate(all="ignore"):
        expected = linalg.CentredFactor(blocks.copy(), relative, damping).solve(rhs)
        assert_close(factor.solve(rhs), expected, 1e-9)


@needs_numba
def test_training_is_the_same_to_rounding_and_in_every_run():
    rng = np.random.RandomState(0)
    X = rng.normal(size=(60, 20))
    y = (X[:, :3].sum(axis=1) > 0).astype(int)

    def fitted(metric, **arguments):
        est = RiemannianMLPClassifier(
            (12, 12), metric=metric, connectivity=5, max_iter=4, random_state=0, **arguments
        ).fit(X, y)
        return [*est.intercepts_, est.predict_proba(X), est.loss_curve_]

    for metric in ("bp", "qd_bp"):
        for batch_size in (1, 60):
            assert_same(lambda m, b: fitted(m, batch_size=b), metric, batch_size, tolerance=1e-7)
    with kernel_context("numba"):
        for first, second in zip(fitted("bp"), fitted("bp"), strict=True):
            np.testing.assert_array_equal(first, second)


@needs_numba
@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_calls_in_other_processes_and_threads_follow(backend):
    """Those of the paper's trainings too, which are nothing but such calls."""
    with joblib.parallel_config(backend):
        with kernel_context("numba"):
            results = parallel_results(2, get_kernels, [()] * 4)
        assert list(results) == ["numba"] * 4


@needs_numba
def test_threads_on_chunks_follow():
    with kernel_context("numba"):
        assert list(ordered_map(lambda _: get_kernels(), range(4), 2)) == ["numba"] * 4


@needs_numba
@pytest.mark.slow
def test_worker_processes_follow():
    """Independent starts in two processes are those of one process, bit for bit."""
    X = np.random.RandomState(0).normal(size=(30, 6))
    y = (X[:, 0] > 0).astype(int)
    with kernel_context("numba"):
        one, two = (
            RiemannianMLPClassifier(
                (5,), connectivity=2, metric="bp", n_init=2, n_jobs=n, max_iter=2, random_state=0
            ).fit(X, y)
            for n in (1, 2)
        )
    np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(X))

"""joblib's cluster backends: the same bits as in this process."""

import joblib
import pytest
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV

from sknatgrad import RiemannianMLPClassifier
from sknatgrad.experiments import repeated_runs

pytestmark = [
    pytest.mark.slow,  # a cluster takes seconds to start
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning"),
]


@pytest.fixture(scope="module")
def dask():
    """Two worker processes."""
    distributed = pytest.importorskip("distributed")
    cluster = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with distributed.LocalCluster(processes=True, **cluster) as workers:
        with distributed.Client(workers):
            yield "dask"


@pytest.fixture(scope="module")
def ray():
    """Two worker processes."""
    ray = pytest.importorskip("ray")
    from ray.util.joblib import register_ray

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    register_ray()
    yield "ray"
    ray.shutdown()


@pytest.fixture(params=["dask", "ray"])
def backend(request):
    """Name of a registered backend."""
    return request.getfixturevalue(request.param)


def small(**parameters):
    """A classifier that is quick to fit."""
    return RiemannianMLPClassifier((5,), max_iter=5, random_state=0, **parameters)


def starts():
    """Curves of the best of three starts."""
    X, y = load_iris(return_X_y=True)
    return small(n_init=3, n_jobs=2, batch_size=20).fit(X, y).loss_curve_


def runs():
    """Scores and losses of repeated runs."""
    X, y = load_iris(return_X_y=True)
    result = repeated_runs({"one": small()}, X, y, n_runs=3, n_jobs=2, random_state=0)
    return [(record["test_score"], record["loss_curve"]) for record in result.records]


def search():
    """Scores of a search, and the curve of its last fit."""
    X, y = load_iris(return_X_y=True)
    grid = GridSearchCV(small(), {"metric": ["bp", "qd_bp"]}, cv=2, n_jobs=2).fit(X, y)
    return grid.cv_results_["mean_test_score"].tolist(), grid.best_estimator_.loss_curve_


@pytest.mark.parametrize("work", [starts, runs, search])
def test_same_bits(backend, work):
    """Whoever does the work, and wherever."""
    want = work()
    with joblib.parallel_config(backend):
        assert work() == want

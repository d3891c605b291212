"""scikit-learn's own checks of estimators, without any excuse."""

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from selection import slow
from sklearn.utils.estimator_checks import estimator_checks_generator, parametrize_with_checks

from sknatgrad import (
    METRICS,
    RiemannianAutoEncoder,
    RiemannianMLPClassifier,
    RiemannianMLPRegressor,
)

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

# Numbers of checks in scikit-learn 1.9; versions before and after differ by a few.
N_CHECKS = {
    RiemannianMLPClassifier: 68,
    RiemannianMLPRegressor: 61,
    RiemannianAutoEncoder: 55,
}
DEFAULTS = [estimator() for estimator in N_CHECKS]

# One metric of each family. The Monte-Carlo ones are left out: a row of weight 2 draws one target
# and two copies of it draw two, so weight is repetition in the mean only.
UNITWISE = ["bp", "unitwise_fisher"]
QUASI_DIAGONAL = ["qd_bp", "qd_fisher"]
OTHERS = ["diag_bp", "kron_bp", "adagrad", "euclidean"]
# These step by about 1 / error near a perfect fit, and a full matrix of 15 rows is singular: two
# ways of adding up the same weights drift apart, from 1e-16 to more than the 1e-7 that the checks
# of sample weights allow, within some 10 steps. So few steps are made.
CHAOTIC = ["unitwise_op", "qd_op", "diag_op", "fisher", "op"]


def small(estimator, metric):
    """An estimator that is quick to fit."""
    # The same happens to auto-encoders under AdaGrad, which divides by the roots of gradients that
    # vanish: from 1e-14 after 10 passes to 1e-8 after 30.
    rooted = metric == "adagrad" and estimator is RiemannianAutoEncoder
    max_iter = 5 if metric in CHAOTIC else 20 if rooted else 30
    return estimator(hidden_layer_sizes=(6,), metric=metric, max_iter=max_iter)


METRIC_FAMILIES = UNITWISE + QUASI_DIAGONAL + OTHERS + CHAOTIC
FAMILIES = [
    small(estimator, metric)
    for metric in METRIC_FAMILIES
    for estimator in (RiemannianMLPClassifier, RiemannianMLPRegressor)
]
CLASSIFIERS, REGRESSORS = FAMILIES[::2], FAMILIES[1::2]
AUTOENCODERS = [small(RiemannianAutoEncoder, metric) for metric in METRIC_FAMILIES]


# Checks that make many fits, almost two thirds of what the families take: by default each runs for
# two or three estimators of the families, not for the same ones each time. All others run for all.
LONG = [
    "check_estimator_sparse_matrix",
    "check_estimator_sparse_array",
    "check_estimators_dtypes",
    "check_classifiers_classes",
    "check_classifiers_train",
    "check_classifier_data_not_an_array",
    "check_sample_weight_equivalence_on_sparse_data",
    "check_classifiers_multilabel_representation_invariance",
    "check_sample_weight_equivalence_on_dense_data",
    "check_fit_idempotent",
    "check_supervised_y_2d",
    "check_class_weight_classifiers",
]
TURNS = 7


def parametrize_in_turns(estimators):
    """All checks of all estimators, most of the long ones marked slow."""
    every, seen, cases = parametrize_with_checks(estimators), Counter(), []
    names, pairs = every.args
    for estimator, check in pairs:
        name = check.func.__name__
        key = name, *check.keywords.items()
        waits = name in LONG and (seen[key] - LONG.index(name)) % TURNS
        cases.append(slow(estimator, check) if waits else (estimator, check))
        seen[key] += 1
    return pytest.mark.parametrize(names, cases, **every.kwargs)


@parametrize_with_checks(DEFAULTS)
def test_defaults(estimator, check):
    """The default settings of all estimators pass all checks."""
    check(estimator)


@parametrize_in_turns(CLASSIFIERS + REGRESSORS[:2])
def test_families(estimator, check):
    """So do metrics of every family; by default the long checks run for some of them."""
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(
    [
        small(estimator, metric)
        for metric in METRICS
        if "mc_" not in metric and metric not in METRIC_FAMILIES
        for estimator in N_CHECKS
    ]
    + REGRESSORS[2:]
    + AUTOENCODERS
)
def test_all_metrics(estimator, check):
    """And the rest of the metrics, of the regressors and of the auto-encoder."""
    check(estimator)


@pytest.mark.parametrize("estimator", N_CHECKS, ids=lambda cls: cls.__name__)
def test_number_of_checks(estimator):
    """No tag makes scikit-learn pass over checks."""
    assert len(list(estimator_checks_generator(estimator()))) >= N_CHECKS[estimator] - 2


CHECKED = """
import json, warnings
warnings.simplefilter("ignore")
from sklearn.utils.estimator_checks import check_estimator
import test_conformance
results = [
    (type(estimator).__name__, result["check_name"], result["status"])
    for estimator in eval("{estimators}", vars(test_conformance))
    for result in check_estimator(estimator, on_fail=None, on_skip=None)
]
print(json.dumps(results))
"""


@pytest.mark.parametrize(
    "estimators",
    [
        "[small(RiemannianMLPClassifier, 'qd_op')]",  # the quickest
        slow("DEFAULTS + FAMILIES + AUTOENCODERS"),
    ],
)
def test_array_api_dispatch(estimators):
    """With SCIPY_ARRAY_API, which must be set before SciPy is imported, no check is skipped."""
    run = subprocess.run(
        [sys.executable, "-c", CHECKED.format(estimators=estimators)],
        env={**os.environ, "SCIPY_ARRAY_API": "1"},
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    results = json.loads(run.stdout.splitlines()[-1])
    assert [result for result in results if result[2] != "passed"] == []
    assert len(results) >= sum(N_CHECKS[type(est)] - 2 for est in eval(estimators))

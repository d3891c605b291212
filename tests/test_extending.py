"""Parts that users add: errors say which part, and what it must have."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

from sknatgrad import RiemannianMLPClassifier
from sknatgrad.metrics import METRICS, Backpropagated, Metric, Modulus, OuterProduct, Reduction
from sknatgrad.network import ACTIVATIONS
from sknatgrad.network.activations import Activation
from sknatgrad.outputs import OUTPUTS, Output, Square
from sknatgrad.training import STEP_RULES
from sknatgrad.training.steps.rules import BatchRule, Constant, ConstantRate

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def fit(**parameters):
    X, y = load_iris(return_X_y=True)
    return RiemannianMLPClassifier((3,), random_state=0, max_iter=3, **parameters).fit(X, y)


@pytest.mark.parametrize(
    ("registry", "parameter", "entry", "wanted"),
    [
        (ACTIVATIONS, "activation", Activation, "an Activation object"),
        (ACTIVATIONS, "activation", np.tanh, "an Activation object"),
        (OUTPUTS, "output", Square(), "a class, an Output"),
        (METRICS, "metric", Reduction, "a Modulus and a Reduction"),
        (METRICS, "metric", (Reduction, Backpropagated), "a Modulus and a Reduction"),
        (METRICS, "metric", (Backpropagated,), "a Modulus and a Reduction"),
        (STEP_RULES, "learning_rate", Constant, "a BatchRule and a MiniBatchRule or None"),
        (STEP_RULES, "learning_rate", (ConstantRate, Constant), "a BatchRule and a MiniBatchRule"),
        (STEP_RULES, "learning_rate", (None, ConstantRate), "a BatchRule and a MiniBatchRule"),
    ],
)
def test_wrong_entries_of_registries(registry, parameter, entry, wanted, monkeypatch):
    monkeypatch.setitem(registry, "mine", entry)
    with pytest.raises(TypeError, match=f"'mine' is registered as .* it must be .*{wanted}"):
        fit(**{parameter: "mine"})


class Returning(Activation):
    def fill(self, v, a, r):
        return np.tanh(v), 1 - np.tanh(v) ** 2


class Bare(Reduction):
    def statistics(self, point, modulus, rng):
        return point.lin.edge_mean(point.values(modulus, rng), power=2)


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"activation": Activation()}, NotImplementedError, "Activation must have fill"),
        ({"activation": Returning()}, TypeError, "Returning.fill must write into a and r"),
        ({"output": Output("identity")}, NotImplementedError, "Output must have"),
        ({"metric": Metric(Modulus(), Bare())}, NotImplementedError, "Modulus must have seeds"),
        (
            {"metric": Metric(OuterProduct(), Bare())},
            TypeError,
            "Bare.statistics must return",
        ),
        ({"metric": Metric(OuterProduct(), Reduction())}, NotImplementedError, "have statistics"),
    ],
)
def test_incomplete_parts(parameters, error, message):
    with pytest.raises(error, match=message):
        fit(**parameters)


def test_incomplete_rules(monkeypatch):
    monkeypatch.setitem(STEP_RULES, "mine", (BatchRule, None))
    with pytest.raises(NotImplementedError, match="BatchRule must have search"):
        fit(learning_rate="mine")


class Doubled(Reduction):
    """A diagonal of twice the usual size, whose invariance nobody has claimed."""

    def statistics(self, point, modulus, rng):
        return (2 * point.lin.edge_mean(point.values(modulus, rng), power=2),)

    def factorize(self, topology, statistics, relative=0.0, absolute=None):
        size = (1 + relative) * statistics[0] + (0.0 if absolute is None else absolute)
        return lambda gradient: np.divide(gradient, size, out=0 * gradient, where=size > 0)


def test_reductions_are_not_taken_for_invariant():
    """Training leaves the units of the data to them."""
    X, y = load_iris(return_X_y=True)
    settings = {"random_state": 0, "max_iter": 5, "metric": Metric(Backpropagated(), Doubled())}
    here, there = (
        RiemannianMLPClassifier((3,), **settings).fit(Z, y).predict_proba(Z) for Z in (X, X + 10)
    )
    assert np.abs(here - there).max() > 1e-3

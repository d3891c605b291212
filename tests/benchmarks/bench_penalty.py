"""Held-out scores under the penalty by evidence, with parts of it left out, and fixed ones.

Run as ``python tests/benchmarks/bench_penalty.py``; with ``--levels 2`` networks have two such
hidden layers, and what is left out is what matters to them. Three folds; R^2 of regressions,
log-loss of classifications. Small and noisy tables, where the penalty matters most. No other
strengths are tried but in the first row: that would make up for what is left out.
"""

import argparse
import warnings
from unittest import mock

import numpy as np
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_digits,
    make_classification,
    make_friedman1,
)
from sklearn.metrics import log_loss, r2_score
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_predict
from threadpoolctl import threadpool_limits

from sknatgrad import RiemannianMLPClassifier, RiemannianMLPRegressor
from sknatgrad.training import trials
from sknatgrad.training.data.scaling import InputScale
from sknatgrad.training.penalty import evidence, noise


def texts(n_samples=800, n_words=1500, length=50, n_topics=4):
    """Counts of words whose frequencies follow Zipf's law, and the topics."""
    rng = np.random.default_rng(0)
    frequency = rng.lognormal(sigma=0.5, size=(n_topics, n_words)) / np.arange(2, n_words + 2)
    frequency /= frequency.sum(axis=1, keepdims=True)
    topic = rng.integers(0, n_topics, size=n_samples)
    counts = rng.multinomial(length, frequency[topic]).astype(float)
    return counts[:, counts.any(axis=0)], topic


def rare_effects(n_samples=450):
    """Fifty events, each in every fiftieth row, that matter; and ten numbers, of which two do."""
    rng = np.random.default_rng(0)
    events = (rng.random((n_samples, 50)) < 0.02).astype(float)
    numbers = rng.normal(size=(n_samples, 10))
    effects = events @ rng.normal(scale=2.0, size=50)
    y = effects + np.sin(2 * numbers[:, 0]) + numbers[:, 1]
    return np.hstack([events, numbers]), y + 0.3 * rng.normal(size=n_samples)


def weak_signal(of_signal, n_samples=4500, n_features=100):
    """Many features, of which one says a little of targets ``of_signal(rng, signal)``."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_samples, n_features))
    return X, of_signal(rng, X[:, 0] / 2)


def noisy(rng, signal):
    """Numbers with four times as much noise as signal."""
    return signal + rng.normal(size=len(signal))


def labelled(rng, logit):
    """Labels of these logits."""
    return (rng.random(len(logit)) < 1 / (1 + np.exp(-logit))).astype(int)


DIABETES = load_diabetes(return_X_y=True)
PLANE = np.random.default_rng(0).uniform(-1, 1, size=(700, 2))
REGRESSIONS = {
    "diabetes, 20": (DIABETES, (20,)),
    "diabetes, 100": (DIABETES, (100,)),
    "Friedman, 50": (make_friedman1(1000, 20, noise=2.0, random_state=0), (50,)),
    "rare effects, 100": (rare_effects(), (100,)),
    "weak numbers, 100": (weak_signal(noisy), (100,)),
}
CLASSES = {
    "breast cancer, 20": (load_breast_cancer(return_X_y=True), (20,)),
    "noisy labels, 100": (
        make_classification(600, 20, n_informative=5, flip_y=0.3, random_state=1),
        (100,),
    ),
    "noisy classes, 100": (
        make_classification(6000, 40, n_informative=10, n_classes=4, flip_y=0.1, random_state=1),
        (100,),
    ),
    "digits, 30": (load_digits(return_X_y=True), (30,)),
    "checkerboard, 100": ((PLANE, np.floor(2 * PLANE).sum(axis=1) % 2), (100,)),
    "texts, 50": (texts(), (50,)),
    "few texts, 50": (texts(300), (50,)),
    "weak labels, 100": (weak_signal(labelled), (100,)),
}
VARIANTS = {
    "T = 0.1": {"CROWDING": 1e9, "CROWDING_OF_LABELS": 1e9, "COLDEST": 0.1},
    "T = 1/2": {"CROWDING": 1e9, "CROWDING_OF_LABELS": 1e9},
    "T = 1": {"COLDEST": 1.0},
    "one strength of all features": {"LIKENESS": 1e12},
}
# Powers of the rarity that features' strengths have as a prior mean, in place of 2.
RARITIES = {"rare features like others": 0, "r^3 in place of r^2": 3}
SCHEDULES = {
    "the first estimate after one step": {"EARLIEST": 1},
    "the same, from alpha = 1": {"EARLIEST": 1, "START": 1.0},
    "after sixteen steps, from alpha = 0.1": {"EARLIEST": 16, "START": 0.1},
    "an estimate after every pass": {"EVERY": 1},
    "estimates without end": {"SEARCH": 1_000_000},
}
LEFT = {
    "noise of few labels up to ten times": {"FEW_LABELS": 0},
    "noise of many labels up to twice": {"FEW_LABELS": np.inf},
}


def scores(n_levels=1, **parameters):
    """One score a data set."""
    parameters["random_state"] = 0
    for (X, y), sizes in REGRESSIONS.values():
        model = RiemannianMLPRegressor(hidden_layer_sizes=n_levels * sizes, **parameters)
        folds = KFold(3, shuffle=True, random_state=0)
        yield r2_score(y, cross_val_predict(model, X, y, cv=folds))
    for (X, y), sizes in CLASSES.values():
        model = RiemannianMLPClassifier(n_levels * sizes, **parameters)
        folds = StratifiedKFold(3, shuffle=True, random_state=0)
        yield log_loss(y, cross_val_predict(model, X, y, cv=folds, method="predict_proba"))


def prior_of(power):
    """What takes the place of `InputScale.prior_precision`."""

    def prior_precision(scale):
        precision, varies = scale.rarity**power, scale.varies
        return np.where(varies, precision, 1.0) * np.mean(1 / precision[varies])

    return property(prior_precision)


def print_row(name, values):
    """A row of a Markdown table."""
    print(f"| {name} | " + " | ".join(f"{value:.3f}" for value in values) + " |", flush=True)


def print_one_level():
    """Everything, with one hidden layer."""
    print_row("evidence alone", scores())
    for name, own in VARIANTS.items():
        with mock.patch.multiple(evidence, **own):
            print_row(name, scores())
    for name, power in RARITIES.items():
        with mock.patch.object(InputScale, "prior_precision", prior_of(power)):
            print_row(name, scores())
    for name, own in SCHEDULES.items():
        with mock.patch.multiple(evidence, **own):
            print_row(name, scores())
    for name, own in LEFT.items():
        with mock.patch.multiple(noise, **own):
            print_row(name, scores())
    with mock.patch.object(noise, "POWER", 0.5):
        print_row("root of the dispersion of labels", scores())
        with mock.patch.multiple(evidence, **VARIANTS["T = 1/2"]):
            print_row("the same, T = 1/2", scores())


def print_levels(n_levels):
    """What is different where there are several."""
    print_row("evidence alone", scores(n_levels))
    with mock.patch.object(evidence, "selectivity", lambda n: 0.0):
        print_row("all weights alike", scores(n_levels))
        with mock.patch.object(evidence, "COLDEST", 1.0):
            print_row("the same, T = 1", scores(n_levels))
    with mock.patch.object(evidence, "selectivity", lambda n: 1.0):
        print_row("p = 1", scores(n_levels))
    for power in (0.5, 1.0):
        with mock.patch.object(noise, "POWER_OF_DEEP", power):
            print_row(f"power {power:g} of the dispersion of labels", scores(n_levels))
    with mock.patch.object(evidence, "START_OF_DEEP", evidence.START):
        print_row("numbers from alpha = 0.2", scores(n_levels))
    with mock.patch.object(evidence, "OF_DEEP", 1.0):
        print_row("temperature of numbers as with one layer", scores(n_levels))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--levels", type=int, default=1, help="hidden layers")
    n_levels = parser.parse_args().levels
    print("| penalty | " + " | ".join([*REGRESSIONS, *CLASSES]) + " |")
    print("|---" * (1 + len(REGRESSIONS) + len(CLASSES)) + "|")
    with threadpool_limits(1):
        print_row("default", scores(n_levels))
        with mock.patch.object(trials, "_has_settled", lambda *arguments: False):
            if n_levels == 1:
                print_one_level()
            else:
                print_levels(n_levels)
        for alpha in (0.0, 1.0, 10.0, 100.0):
            print_row(f"alpha = {alpha:g}", scores(n_levels, alpha=alpha))

"""What mini-batches gain where their cap is halved ever more reluctantly.

Run as ``python tests/benchmarks/bench_cap.py``. Defaults on raw public tables, and with six layers
of 30 units; auto-encoders of 64, 8 and 64 units (square loss) on standardised tables; and tables of
noise (see `bench_batches.py`). Three rules: the cap is halved after each pass which gains less
than 2 %; what counts as little becomes less with each cut, in the proportion of the loss that is
left to that of the first pass; it is halved with each cut. Test losses of the others as shares of
those of the first rule (with noise, of squared errors), by how much scores are higher, and passes;
means over two seeds.
"""

import warnings
from unittest import mock

import bench_batches
import numpy as np
from bench_race import load_task
from recorded_fits import loss, score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from sknatgrad import RiemannianAutoEncoder, RiemannianMLPClassifier, RiemannianMLPRegressor
from sknatgrad.training.steps.rules import CappedChange

TABLES = """compactiv puma32h winequality electrical_grid_stability skillcraft1 casp diamonds
    spambase banana magic phoneme ring twonorm chess ada sylva
    marketing optdigits penbased satimage segment texture letter splice page-blocks nursery kr-vs-k
"""
CODED = "optdigits satimage compactiv skillcraft1"
DEEP = "magic phoneme winequality twonorm"
SEEDS = 7, 8
N_CODED, N_NOISE = 2000, 5000


def end_pass(factor):
    """The end of a pass for which little is times ``factor(loss that is left)`` with each cut."""

    def end(rule, loss):
        if rule._first is None:
            rule._first = loss
        if loss > rule._best - rule._little * abs(rule._best):
            rule.radius /= 2
            rule._little *= factor(loss / rule._first)
        rule._best = min(rule._best, loss)

    return end


RULES = [end_pass(lambda left: 1.0), end_pass(lambda left: min(1.0, left)), end_pass(lambda _: 0.5)]


def predicted(name, seed, **network):
    """Test loss, test score and passes of a default fit."""
    task = load_task(name, seed)
    cls = RiemannianMLPRegressor if task.regression else RiemannianMLPClassifier
    model = cls(random_state=seed, **network).fit(task.X_train, task.y_train)
    test = task.X_test, task.y_test
    return loss(task, model, *test), score(task, model, *test), model.n_iter_


def deep(name, seed):
    """The same with six layers."""
    return predicted(name, seed, hidden_layer_sizes=[30] * 6)


def coded(name, seed):
    """Half the squared error of an auto-encoder on test rows, R^2 and passes."""
    task = load_task(name, seed)
    coder = RiemannianAutoEncoder((64, 8, 64), output="square", max_iter=500, random_state=seed)
    model = make_pipeline(StandardScaler(), coder).fit(task.X_train[:N_CODED])
    error = -model.score(task.X_test)
    varied = np.square(model[0].transform(task.X_test)).sum(1).mean() / 2
    return error, 1 - error / varied, coder.n_iter_


def noisy(name, seed):
    """Squared error of means, in units of their variance, R^2 and passes."""
    draw, loss = {
        "numbers": (bench_batches.numbers, "squared_error"),
        "counts": (bench_batches.counts, "poisson"),
    }[name]
    X, mean, y = draw(np.random.default_rng(seed), N_NOISE + bench_batches.N_TEST)
    model = RiemannianMLPRegressor(loss, random_state=seed).fit(X[:N_NOISE], y[:N_NOISE])
    error = np.mean((model.predict(X[N_NOISE:]) - mean[N_NOISE:]) ** 2) / mean[N_NOISE:].var()
    return error, 1 - error, model.n_iter_


def compared(fit, name):
    """A row for each rule: log-ratio of losses, gain in score, passes."""
    found = []
    for seed in SEEDS:
        fits = []
        for rule in RULES:
            with mock.patch.object(CappedChange, "end_pass", rule):
                fits.append(fit(name, seed))
        errors, scores, passes = np.transpose(fits)
        found.append([np.log(errors / errors[0]), scores - scores[0], passes])
    return np.mean(found, axis=0).T


def print_rows(fit, names):
    """One row a data set, and one for all."""
    found = []
    for name in names.split():
        found.append(compared(fit, name))
        _print_row(name, found[-1])
    _print_row(f"*{fit.__name__}, mean*", np.mean(found, axis=0))


def _print_row(name, rules):
    (_, _, first), *others = rules
    cells = [f"{first:.0f}"]
    for share, gain, passes in others:
        cells += [f"{np.exp(share):.3f}, {gain:+.4f}", f"{passes:.0f}"]
    print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    print("| data | always 2 %: passes | by what is left: loss, score | passes | halved | passes |")
    print("|---|---|---|---|---|---|")
    with threadpool_limits(limits=1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        print_rows(predicted, TABLES)
        print_rows(coded, CODED)
        print_rows(noisy, "numbers counts")
        print_rows(deep, DEEP)

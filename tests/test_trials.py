"""What loss to expect on new rows, and the other penalties that are tried by it."""

from types import SimpleNamespace

import numpy as np
import pytest
from engine import jacobian, objective_on
from sklearn.datasets import make_friedman1, make_regression
from sklearn.metrics import r2_score
from sklearn.model_selection import train_test_split

from sknatgrad import RiemannianMLPClassifier, RiemannianMLPRegressor
from sknatgrad.network import Network, Topology
from sknatgrad.outputs import Output, get_output
from sknatgrad.training import Data, Model, comparison, trials
from sknatgrad.training.comparison import expects
from sknatgrad.training.data import objective as objective_module
from sknatgrad.training.judges import ByHeldOut
from sknatgrad.training.penalty import expectation
from sknatgrad.training.penalty.expectation import degrees_of_freedom, expected_loss
from sknatgrad.training.penalty.l2 import Penalty, Strength
from sknatgrad.training.state import Task

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

OUTPUTS = ("square", "poisson", "bernoulli")
GRAPHS = {"full": (4, 5, 1), "deep": (4, 3, 4, 1), "several": (4, 5, 3)}


def an_objective(output, graph, weighted=False, n_samples=15):
    """A penalised objective, and parameters to look at it from."""
    rng = np.random.default_rng(0)
    topology = Topology.layered(GRAPHS[graph])
    X = rng.normal(size=(n_samples, 4)) * [1, 20, 0.3, 1] + [5, 0, 1, -2]
    target = rng.integers(2, size=(topology.n_outputs, n_samples)).astype(float)
    weight = rng.integers(1, 4, size=n_samples).astype(float) if weighted else None
    total = float(n_samples if weight is None else weight.sum())
    # Units of a full level share the scale of their sources, and each has one of its own.
    of_units = rng.uniform(0.5, 2, topology.n_units)
    of_sources = topology.by_source(1 / X.std(axis=0), rng.uniform(0.5, 2, topology.n_units))
    standard = (of_sources[topology.source] * of_units[topology.owner]) ** 2
    standard = np.where(topology.is_weight, standard, 0.0)
    features = rng.uniform(0.5, 2, 4)
    penalty = Penalty(topology, standard, total, Strength(0.7, features), of_units)
    objective = objective_on(
        Network.build(topology), get_output(output), X, target, weight, penalty=penalty
    )
    return objective, 0.5 * rng.normal(size=topology.n_parameters)


def slow_degrees(objective, theta):
    """By derivatives of the outputs in all parameters, found by finite differences."""
    topology, penalty, data = objective.network.topology, objective.penalty, objective.data
    n_samples, n_outputs = len(data.X), topology.n_outputs
    weight = np.ones(n_samples) if data.weight is None else data.weight
    share = weight / weight.sum()
    derivatives = jacobian(lambda t: objective.output_values(t).ravel(), theta, 2e-3)
    derivatives = derivatives.reshape(n_outputs, n_samples, -1)
    a = objective.network.linearize(theta, data.X).a
    means = topology.by_source(data.X.T @ share, a @ share)
    scale = np.sqrt(penalty.relative)
    scale[topology.bias] = penalty.of_biases
    for i in np.flatnonzero(topology.is_weight):
        bias = topology.bias[topology.owner[i]]
        derivatives[:, :, i] -= means[topology.source[i]] * derivatives[:, :, bias]
    derivatives /= scale
    v, output = objective.output_values(theta), objective.output
    rows = np.empty_like(derivatives)
    for n in range(n_samples):
        fisher = output.fisher_factor(output.prepared(v[:, [n]]), slice(None))[:, :, 0]
        rows[:, n] = np.sqrt(penalty.weight * share[n]) * fisher.T @ derivatives[:, n]
    curvature = np.einsum("kni,knj->ij", rows, rows)
    inverse = np.linalg.inv(curvature + 0.7 * np.eye(len(theta)))
    follows = np.einsum("kni,ij,lnj->kl", rows, inverse, rows)
    score = output.score(output.prepared(v), objective.encoded_target(slice(None)))
    together = (score * share) @ score.T
    return (follows * together).sum(axis=1) / np.diag(together)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("output", OUTPUTS)
def test_degrees_of_freedom(output, graph, weighted, monkeypatch):
    """Those of the derivatives written out; how rows are divided does not matter."""
    objective, theta = an_objective(output, graph, weighted)
    want = slow_degrees(objective, theta)
    assert degrees_of_freedom(objective, objective.evaluate(theta)) == pytest.approx(want, rel=1e-5)
    monkeypatch.setattr(objective_module, "_LARGEST_CHUNK", 1)
    monkeypatch.setattr(objective_module, "_FEWEST_ROWS", 4)
    divided, _ = an_objective(output, graph, weighted)
    assert len(divided._chunks) > 1
    found = degrees_of_freedom(divided, divided.evaluate(theta))
    assert found == pytest.approx(want, rel=1e-5)


@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("weighted", [False, True])
def test_expected_loss(graph, weighted):
    """Generalised cross-validation, of as many observations as the penalty speaks of."""
    objective, theta = an_objective("square", graph, weighted)
    evaluation = objective.evaluate(theta)
    left = 1 - degrees_of_freedom(objective, evaluation) / objective.penalty.weight
    assert (0.05 < left).all() and (left < 0.9).all()
    residuals = objective.output_values(theta) - objective.encoded_target(slice(None))
    losses = np.average(0.5 * residuals**2, axis=1, weights=objective.data.weight)
    want = np.sum(losses / left**2)
    assert expected_loss(objective, evaluation) == pytest.approx(want, rel=1e-12)


def test_fits_without_residuals_are_blamed():
    """Where parameters are as many as rows, and the penalty is next to nothing."""
    objective, theta = an_objective("square", "full", n_samples=16)
    weak = objective.with_penalty(objective.penalty.of(Strength(1e-12)))
    evaluation = weak.evaluate(theta)
    assert degrees_of_freedom(weak, evaluation).item() > 14
    assert expected_loss(weak, evaluation) > 64 * evaluation.data_loss


def test_held_out_rows_must_gain_more_than_chance():
    """Five per cent, and two standard errors of the difference; rows count by their weights."""
    best = np.random.default_rng(0).uniform(0.5, 1.5, size=50)
    noise = np.tile([1.0, -1.0], 25)
    judge = ByHeldOut(None, Data(np.zeros((50, 1)), np.zeros((1, 50))))
    assert judge.prefers(0.9 * best, best) and not judge.prefers(0.97 * best, best)
    assert judge.prefers(0.9 * best + 0.1 * noise, best)
    assert not judge.prefers(0.9 * best + 0.5 * noise, best)
    assert not judge.prefers(np.full(50, np.nan), best)
    overflowed = np.where(noise > 0, np.inf, best)
    with np.errstate(all="raise"):
        assert judge.prefers(best, overflowed) and not judge.prefers(overflowed, best)
    weight = np.r_[np.ones(25), np.zeros(25)]
    judge = ByHeldOut(None, Data(np.zeros((50, 1)), np.zeros((1, 50)), weight))
    assert judge.prefers(np.r_[0.9 * best[:25], 9 * best[25:]], best)


@pytest.mark.parametrize("n_samples, told", [(2000, True), (2001, False)])
def test_what_is_cheap(n_samples, told):
    """Rows, the work on each pair of them, and full levels."""
    network = Network.build(Topology.layered((10, 20, 1)))
    assert expectation.can_be_told(network, n_samples) == told
    wide = Network.build(Topology.layered((10**6, 2, 1)))
    assert not expectation.can_be_told(wide, 200)
    thin = Network.build(Topology.random_links((10, 20, 1), 3, random_state=0))
    assert not expectation.can_be_told(thin, 200)


# ------------------------------------------------------------------------------ what it is for
def products(n_samples, seed=2):
    """A function of pairs of features, which says nothing of single ones."""
    X = np.random.default_rng(seed).uniform(-1, 1, size=(n_samples + 1000, 8))
    return X, (X[:, :-1] * X[:, 1:]).sum(axis=1)


def squares(n_samples, seed=0):
    X = np.random.default_rng(seed).normal(size=(n_samples + 1000, 15))
    return X, (X**2).sum(axis=1)


def spectra(n_samples, seed=0):
    """Many features that five hidden variables make."""
    rng = np.random.default_rng(seed)
    hidden = rng.normal(size=(n_samples + 300, 5))
    X = hidden @ rng.normal(size=(5, 1000)) + rng.normal(size=(n_samples + 300, 1000))
    return X, hidden[:, 0] + 0.1 * rng.normal(size=len(X))


def friedman(n_samples, seed=0):
    return make_friedman1(n_samples + 1000, noise=1.0, random_state=seed)


def correlated(n_samples, seed=0):
    return make_regression(n_samples + 300, 400, effective_rank=10, noise=0.5, random_state=seed)


@pytest.mark.parametrize(
    "data, n_samples, start, least",
    [
        (products, 300, 3, 0.9),
        (squares, 500, 0, 0.75),
        (spectra, 40, 0, 0.9),
        (friedman, 200, 0, 0.87),
        (correlated, 200, 0, 0.7),
    ],
)
def test_signals_that_evidence_holds_down(data, n_samples, start, least):
    """They are learnt. With the evidence of the first fit alone R2 is 0.16 to 0.83."""
    X, y = data(n_samples)
    model = RiemannianMLPRegressor(random_state=start)
    assert model.fit(X[:n_samples], y[:n_samples]).score(X[n_samples:], y[n_samples:]) > least


@pytest.mark.parametrize("seed", range(3))
def test_noise_is_held_down(seed):
    """Eight parts of noise to one of signal: without trials R2 is -1.9 to -3.5."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(1150, 20))
    y = X[:150, 0] + 8 * rng.normal(size=150)
    model = RiemannianMLPRegressor(random_state=seed).fit(X[:150], y)
    assert model.score(X[150:], X[150:, 0]) > -0.6


@pytest.mark.parametrize("change", [lambda X: 1000 * X, lambda X: 1 - X, lambda X: X + 1e3])
def test_units_of_features_change_nothing(change):
    """The same trials, and the same fit."""
    X, y = products(200)
    first, other = (
        RiemannianMLPRegressor(random_state=3).fit(rows, y[:200])
        for rows in (X[:200], change(X[:200]))
    )
    assert first.alpha_ == pytest.approx(other.alpha_, rel=1e-6)
    np.testing.assert_allclose(first.predict(X), other.predict(change(X)), atol=1e-6)


def test_weights_are_copies():
    """Rows that count twice are as two rows."""
    X, y = products(100)
    twice = np.arange(200) % 100
    settings = {"hidden_layer_sizes": (30,), "random_state": 3}
    copies = RiemannianMLPRegressor(**settings).fit(X[twice], y[twice])
    weighted = RiemannianMLPRegressor(**settings).fit(
        X[:100], y[:100], sample_weight=np.full(100, 2)
    )
    assert weighted.alpha_ == pytest.approx(copies.alpha_, rel=1e-6)
    np.testing.assert_allclose(weighted.predict(X), copies.predict(X), atol=1e-6)


@pytest.mark.parametrize("kind", ["twice", "bootstrap"])
def test_copies_leave_no_more_to_the_residuals(kind):
    """Rows that come again do not make noise a signal."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1060, 5))
    signal = np.sin(X[:, 0]) + X[:, 1]
    y = signal + 0.7 * rng.normal(size=1060)
    rows = np.arange(120) % 60 if kind == "twice" else rng.integers(60, size=60)
    model = RiemannianMLPRegressor(random_state=0).fit(X[rows], y[rows])
    assert model.score(X[60:], signal[60:]) > 0.75


# ------------------------------------------------------------------------------------- where
@pytest.fixture
def n_runs(monkeypatch):
    """A list that gets the strength that is tried in each run, None in the first one."""
    runs, run = [], trials.run

    def counted(*arguments, **options):
        strength = arguments[1].strength
        runs.append(strength.alpha if strength.fixed else None)
        return run(*arguments, **options)

    monkeypatch.setattr(trials, "run", counted)
    return runs


@pytest.mark.parametrize(
    "settings, most", [({}, 10), ({"alpha": 0.1}, 1), ({"max_iter": 28}, 1), ({"n_init": 2}, 20)]
)
def test_trials_follow_what_was_found(n_runs, settings, most):
    """Not a strength set by hand, nor an estimate that has not settled; those of every start."""
    X, y = products(100)
    RiemannianMLPRegressor(hidden_layer_sizes=(10,), random_state=0, **settings).fit(
        X[:100], y[:100]
    )
    least = 1 + settings.get("n_init", 1) if most > 1 else 1
    assert least <= len(n_runs) <= most


def test_times_include_the_fits_before(monkeypatch):
    """Passes of a fit with another strength come after those of the first one."""
    times, run = [], trials.run

    def timed(task, state, *arguments):
        outcome = run(task, state, *arguments)
        times.append(state.history.times)
        return outcome

    monkeypatch.setattr(trials, "run", timed)
    X, y = squares(200)
    model = RiemannianMLPRegressor(random_state=0).fit(X[:200], y[:200])
    kept = times.index(model.time_curve_)
    assert kept > 0 and model.time_curve_[0] > times[kept - 1][-1]


@pytest.mark.parametrize("start", range(4))
def test_warm_fits_go_on(n_runs, start):
    """With the penalty of the best trial, which is held: each is one run."""
    X, y = products(300)
    model = RiemannianMLPRegressor(random_state=start, warm_start=True).fit(X[:300], y[:300])
    before, n_first, alpha = model.score(X[300:], y[300:]), len(n_runs), model.alpha_
    for _ in range(2):
        model.fit(X[:300], y[:300])
    assert n_first > 1 and len(n_runs) == n_first + 2 and model.alpha_ == pytest.approx(alpha)
    assert model.score(X[300:], y[300:]) > before - 0.02


@pytest.mark.parametrize("when", [2, 3])
def test_interrupts_keep_the_best_so_far(monkeypatch, when):
    """Of Ctrl-C in a trial users are warned, and have the fits before."""
    run, calls = trials.run, []

    def interrupted(*arguments, **options):
        calls.append(0)
        if len(calls) == when:
            raise KeyboardInterrupt
        return run(*arguments, **options)

    monkeypatch.setattr(trials, "run", interrupted)
    X, y = products(300)
    with pytest.warns(UserWarning, match="interrupted"):
        model = RiemannianMLPRegressor(random_state=3).fit(X[:300], y[:300])
    assert len(calls) == when
    score = model.score(X[300:], y[300:])
    assert score > 0.7 if when == 3 else score < 0.5


def test_held_out_rows_decide():
    """Where there are some."""
    X, y = products(400)
    train, held_out, of_train, of_held_out = train_test_split(X[:400], y[:400], random_state=0)
    model = RiemannianMLPRegressor(random_state=3, early_stopping=True, n_iter_no_change=30)
    model.fit(train, of_train, X_val=held_out, y_val=of_held_out)
    assert model.score(X[400:], y[400:]) > 0.9
    assert model.best_validation_score_ == pytest.approx(model.score(held_out, of_held_out))


def test_progress_is_told(capsys):
    """A line a trial."""
    X, y = products(100)
    model = RiemannianMLPRegressor(hidden_layer_sizes=(10,), random_state=0, verbose=True)
    model.fit(X[:100], y[:100])
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("Penalty")]
    assert lines and all("tried: expected loss" in line for line in lines)


@pytest.mark.parametrize("n_samples, least", [(60, 0.2), (1000, 0.9)])
def test_held_out_rows_do_not_choose_among_passes_without_a_penalty(n_samples, least):
    """One of these may be the best by chance; patience does not end the search for a penalty."""
    scores = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(n_samples + 1000, 10))
        mean = X @ rng.normal(size=10) / np.sqrt(10)
        y = mean + rng.normal(size=len(mean))
        model = RiemannianMLPRegressor(random_state=seed, early_stopping=True)
        model.fit(X[:n_samples], y[:n_samples])
        assert model.best_validation_score_ == max(model.validation_scores_)
        scores.append(model.score(X[n_samples:], mean[n_samples:]))
    assert np.mean(scores) > least


@pytest.mark.parametrize("settings", [{"metric": "diag_bp"}, {"damping_mode": "absolute"}])
def test_patience_counts_where_no_fit_follows(settings):
    """As where the penalty is given."""
    X, y = products(100)
    for more in (settings, {"alpha": 1.0}):
        model = RiemannianMLPRegressor(
            early_stopping=True, tol=1e9, n_iter_no_change=2, random_state=0, **more
        )
        assert model.fit(X, y).n_iter_ == 3


def test_three_levels_do_not_learn_noise_by_heart():
    """Fits that are worse than a constant have far to go: they do, and at worst become one."""
    scores = []
    for seed in range(2):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(1200, 20))
        y = X[:, 0] + 2 * rng.normal(size=1200)
        model = RiemannianMLPRegressor(hidden_layer_sizes=(50, 50, 50), random_state=seed)
        scores.append(model.fit(X[:200], y[:200]).score(X[200:], X[200:, 0]))
    assert min(scores) > -0.1 and np.mean(scores) > 0.2


# ------------------------------------------------------------------------------- comparison
class Waiting(Output):
    """A density: its loss may be negative."""

    nonnegative = False


@pytest.mark.parametrize(
    "output, hidden, last, want",
    [
        ("square", (3,), 1, True),
        ("square", (3,), 2, True),
        ("square", (3, 3), 1, True),
        ("square", (), 1, False),
        ("poisson", (3,), 1, False),
        ("bernoulli", (3,), 1, False),
        ("bernoulli", (3, 3), 1, False),
        ("bernoulli", (3, 3), 2, False),
        ("softmax", (3, 3), 2, False),
        (Waiting(), (3,), 1, False),
        (Waiting(), (3, 3), 1, False),
    ],
)
def test_where_the_expected_loss_counts(output, hidden, last, want):
    """Of numbers, where there are hidden levels."""
    output = output if isinstance(output, Output) else get_output(output)
    network = Network.build(Topology.layered((4, *hidden, last)))
    X, target = np.zeros((20, 4)), np.zeros((last, 20))
    assert expects(Model(network, output), Data(X, target)) == want


@pytest.mark.parametrize(
    "output, hidden, alpha, validation, wanted",
    [
        ("square", (3,), "auto", None, "expected_loss"),
        ("bernoulli", (3,), "auto", None, "surprise"),
        ("square", (3,), 1.0, None, None),
        ("square", (3,), "auto", ("rows", 0.7), (-0.7, 0.2)),
        ("square", (3,), "auto", ("rows", None), (0.2, 0.2)),
    ],
)
def test_what_fits_are_compared_by(output, hidden, alpha, validation, wanted, monkeypatch):
    """Held-out rows first, by score or loss; the penalised loss where all have the same penalty."""
    for name in ("expected_loss", "surprise"):
        monkeypatch.setattr(comparison, name, lambda *arguments, name=name: name)
    objective, theta = an_objective("square", "full")
    state = SimpleNamespace(
        row_weight=1.0,
        strength=Strength(2.0),
        coordinates=None,
        path=SimpleNamespace(average=theta),
    )
    monkeypatch.setattr(comparison, "make_penalty", lambda *arguments: objective.penalty)
    monkeypatch.setattr(comparison, "make_objective", lambda *arguments: objective)
    monkeypatch.setattr(comparison, "make_validator", lambda *given: lambda _: (given[-1], 0.2))
    model = Model(Network.build(Topology.layered((4, *hidden, 1))), get_output(output))
    settings = SimpleNamespace(adapts_alpha=lambda network: alpha == "auto")
    found = comparison.compared_by(Task(model, settings, objective.data), state, validation)
    assert found == (wanted or objective.evaluate(theta).loss)


# ------------------------------------------------------------------ several targets and levels
def noisy_lines(n_samples, n_features, n_targets, seed):
    """Rows, noisy targets of the first of them, and true ones of the others."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_samples + 1000, n_features))
    Y = X @ rng.normal(size=(n_features, n_targets)) / np.sqrt(n_features)
    Y[:n_samples] += 2 * rng.normal(size=(n_samples, n_targets))
    return X, Y


@pytest.mark.parametrize("n_samples, n_targets, least", [(300, 20, 0.45), (950, 3, 0.65)])
def test_several_targets_are_not_learnt_by_heart(n_samples, n_targets, least):
    """As many numbers a row are as many that pull at the weights they share: R^2 was -1 and 0."""
    for seed in range(2):
        X, Y = noisy_lines(n_samples, 10, n_targets, seed)
        model = RiemannianMLPRegressor(random_state=seed).fit(X[:n_samples], Y[:n_samples])
        assert model.score(X[n_samples:], Y[n_samples:]) > least


def test_several_targets_have_trials():
    """Products of features, each target some of them."""
    X, y = products(200)
    Y = np.column_stack([y, X[:, 0] * X[:, 1], X[:, 2] * X[:, 3]])
    model = RiemannianMLPRegressor(random_state=1).fit(X[:200], Y[:200])
    assert model.score(X[200:], Y[200:]) > 0.85


@pytest.mark.parametrize("estimator", [RiemannianMLPRegressor, RiemannianMLPClassifier])
def test_deep_networks_begin_anew(estimator):
    """With the strength that was found: what the first steps learn by heart is not kept."""
    X, y = noisy_lines(600, 20, 1, 0)
    truth, y = y[600:, 0], y[:600, 0]
    y = y if estimator is RiemannianMLPRegressor else (y > 0).astype(int)
    model = estimator(hidden_layer_sizes=(60, 60), random_state=0).fit(X[:600], y)
    if estimator is RiemannianMLPRegressor:
        assert model.score(X[600:], truth) > 0.7
    else:
        assert model.loss(X[600:], (truth > 0).astype(int)) < 0.65


def test_deep_networks_find_late_signals():
    """Which the first strength, that of several levels, holds down."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(800, 1))
    y = np.sin(15 * X[:, 0])
    noise = 0.1 * rng.normal(size=300)
    model = RiemannianMLPRegressor(hidden_layer_sizes=(60, 60), random_state=0)
    assert model.fit(X[:300], y[:300] + noise).score(X[300:], y[300:]) > 0.9


def test_deep_networks_do_not_collapse_where_one_target_is_noise():
    """Though the first strength, that of three targets, holds down all of them."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(760, 6))
    Y = np.column_stack([X[:, 0] * X[:, 1], X[:, 2] + 1e3 * X[:, 3] ** 2, rng.normal(size=760)])
    for seed in range(2):
        model = RiemannianMLPRegressor(hidden_layer_sizes=(20, 20, 20), random_state=seed)
        found = model.fit(X[:160], Y[:160]).predict(X[160:])
        assert r2_score(Y[160:, :2], found[:, :2]) > 0.6


def test_trials_are_the_same_in_other_units():
    """To the bit in training, as data and strengths are rounded; predictions to 1e-12."""
    X, y = noisy_lines(300, 10, 1, 3)
    y = (y[:300, 0] > 0).astype(int)
    model = RiemannianMLPClassifier((40, 40), random_state=0)
    want = model.fit(X[:300], y).predict_proba(X[300:])
    factor = 10.0 ** np.random.default_rng(0).uniform(-6, 6, size=10)
    for change in (lambda X: 1000 * X, lambda X: factor * X, lambda X: 1 - X):
        found = model.fit(change(X[:300]), y).predict_proba(change(X[300:]))
        np.testing.assert_allclose(found, want, atol=1e-12)

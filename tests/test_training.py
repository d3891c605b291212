"""Parts of training: step rules, objective, coordinates, passes, stopping."""

import copy
import math
import threading

import numpy as np
import pytest
import scipy.sparse as sp
from engine import assert_close, objective_on, parts_of, problem_of, random_csr, scale_of
from sklearn import config_context
from sklearn.datasets import load_diabetes, load_digits, load_iris
from threadpoolctl import threadpool_info, threadpool_limits

from sknatgrad import (
    METRICS,
    RiemannianAutoEncoder,
    RiemannianMLPClassifier,
    RiemannianMLPRegressor,
    get_metric,
)
from sknatgrad.network import Network, Topology
from sknatgrad.numerics.overflow import quiet
from sknatgrad.numerics.single_thread import single_thread
from sknatgrad.training import (
    STEP_RULES,
    BatchPass,
    Coordinates,
    Descent,
    History,
    InputScale,
    MiniBatchPass,
    RunningMetric,
    Schedule,
    Stopping,
    Trainer,
)
from sknatgrad.training.data import objective as objective_module
from sknatgrad.training.data.objective import Evaluation
from sknatgrad.training.data.scaling import OutputScale
from sknatgrad.training.penalty.l2 import Penalty, Strength
from sknatgrad.training.settings import noise_share
from sknatgrad.training.steps.descent import steepest
from sknatgrad.training.steps.momentum import Momentum, _least
from sknatgrad.training.steps.path import Path
from sknatgrad.training.steps.rules import (
    Adaptive,
    CappedChange,
    Constant,
    ConstantRate,
    LineSearch,
    TrustRegion,
)

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

NO_STOP = {"tol": 0.0, "n_iter_no_change": 10_000}


def evaluation_at(parameters, loss):
    """An evaluation without penalty and without forward passes."""
    return Evaluation(parameters=parameters, loss=float(loss), data_loss=float(loss), points=None)


class Valley:
    """An objective of one parameter with a loss that is given."""

    def __init__(self, loss):
        self.loss, self.calls = loss, []

    def evaluate(self, parameters):
        self.calls.append(float(parameters[0]))
        return evaluation_at(parameters, self.loss(parameters[0]))


def search(rule, loss, start=0.0, direction=1.0, slope=1.0):
    """One search of a rule from a start along a direction."""
    valley = Valley(loss)
    begin = evaluation_at(np.array([start]), loss(start))
    return rule.search(valley, begin, np.array([direction]), slope), valley.calls


def objective_of(output="softmax", n_samples=40, weighted=True, hidden=(4,), **options):
    """An objective on random data, and its problem."""
    problem = problem_of(output, (3, *hidden, 3), n_samples=n_samples)
    weights = problem.weights if weighted else None
    objective = objective_on(
        problem.network, problem.output, problem.X, problem.target, weights, **options
    )
    own = problem.output.start(3)
    return objective, np.concatenate([problem.theta, own])


def make(hidden_layer_sizes=(5,), **parameters):
    """A small classifier without penalty."""
    defaults = {"random_state": 0, "alpha": 0.0}
    return RiemannianMLPClassifier(hidden_layer_sizes, **{**defaults, **parameters})


# ------------------------------------------------------------------- step rules
def test_adaptive_halves_and_grows_by_a_tenth():
    """A better or equal loss multiplies the rate by 1.1, a worse one halves and cancels."""
    rule = Adaptive(0.4)
    following, calls = search(rule, lambda x: (x - 1) ** 2)
    assert calls == [0.4] and following.parameters[0] == 0.4 and rule.rate == 0.4 * 1.1
    following, calls = search(rule, lambda x: x**2)
    assert following is None and len(calls) == 1 and rule.rate == 0.4 * 1.1 / 2
    following, _ = search(rule, lambda x: 7.0)
    assert following is not None and rule.rate == 0.4 * 1.1 / 2 * 1.1


def test_adaptive_rates_of_a_fit():
    """From one pass to the next the rate goes by 1.1 or 1/2, with the loss falling or kept."""
    X, y = load_iris(return_X_y=True)
    clf = make(learning_rate="adaptive", learning_rate_init=3.0, max_iter=60, **NO_STOP)
    clf.fit(X, y)
    rates, losses = np.array([3.0, *clf.learning_rate_curve_]), np.array(clf.loss_curve_)
    accepted = np.isclose(rates[1:] / rates[:-1], 1.1, rtol=1e-14, atol=0)
    halved = rates[1:] / rates[:-1] == 0.5
    assert (accepted ^ halved).all()
    assert halved.sum() == clf.n_rejected_steps_ > 0
    assert (np.diff(losses)[halved[1:]] == 0).all() and (np.diff(losses)[accepted[1:]] <= 0).all()


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", STEP_RULES)
def test_a_loss_that_is_not_finite_is_a_rejection(name, bad):
    """Whatever the rule: overflow never counts as an improvement."""
    rule, _ = STEP_RULES[name]
    following, _ = search(rule(1.0), lambda x: bad if x > 0 else 1.0)
    assert following is None


def test_line_search_goes_to_the_parabola_and_halves_until_it_gains():
    """Too long a step is cut to a quarter, then halved; the next search starts near it."""
    rule = LineSearch(1.0)
    following, calls = search(rule, lambda x: 100 * (x - 0.05) ** 2, slope=10.0)
    assert calls == [1.0, 0.25, 0.125, 0.0625]
    assert following.parameters[0] == rule.rate == 0.0625
    _, calls = search(rule, lambda x: 100 * (x - 0.05) ** 2, slope=10.0)
    assert calls == [0.125, 0.0625]  # the power of 2 nearest 0.05


def test_line_search_grows_where_the_metric_has_no_scale():
    """A parabola that promises more is believed once a step, and only there."""
    rule = LineSearch(1.0)
    _, calls = search(rule, lambda x: (x - 10) ** 2 / 20, slope=1.0)
    assert calls == [1.0] and rule.rate == 1.0
    rule = LineSearch(1.0, natural=False)
    for k in range(3):
        following, calls = search(rule, lambda x: (x - 10) ** 2 / 20, slope=1.0)
        assert calls == [2.0**k, 2.0 ** (k + 1)]
        assert rule.rate == calls[1] == following.parameters[0]


def test_line_search_keeps_a_good_rate():
    """No second forward pass where the minimum is met; a worse second trial is not taken."""
    rule = LineSearch(1.0)
    following, calls = search(rule, lambda x: (x - 1) ** 2 / 2, slope=1.0)
    assert calls == [1.0] and rule.rate == 1.0

    def step(x):
        return 5.0 if 0.1 < x < 0.9 else 1 - 0.1 * x

    following, calls = search(rule, step, slope=1.0)
    assert calls == [1.0, 0.5] and following.parameters[0] == rule.rate == 1.0


def test_line_search_comes_back():
    """To the initial rate, by factors of 2, after steps that had to be much shorter."""
    rule, rates = LineSearch(1.0), []
    search(rule, lambda x: 100 * (x - 0.05) ** 2, slope=10.0)
    for _ in range(6):
        _, calls = search(rule, lambda x: (x - 10) ** 2 / 20, slope=1.0)
        rates.append(calls[0])
    assert rates == [0.125, 0.25, 0.5, 1.0, 1.0, 1.0]


def test_rates_do_not_carry_rounding_errors_on():
    """Losses that differ in their last digits lead to the same rates."""
    rates = []
    for error in (0.0, 1e-9):
        rule = LineSearch(1.0)
        search(rule, lambda x, error=error: (x - 0.4) ** 2 * (1 + error), slope=0.8)
        rates.append(rule.rate)
    assert rates == [0.5, 0.5]


def test_line_search_gives_up():
    """Where nothing gains the rule is exhausted, until its next search; its rate is as it was."""
    rule = LineSearch(1.0)
    following, calls = search(rule, lambda x: x**2 + abs(x))
    assert following is None and rule.exhausted and rule.rate == 1.0 and len(calls) == 39
    following, _ = search(rule, lambda x: -x)
    assert following is not None and not rule.exhausted


class Bowl:
    """A quadratic loss whose second derivatives are `matrix`."""

    def __init__(self, matrix):
        self.matrix = matrix

    def products(self, evaluation, changes):
        return np.array(changes) @ self.matrix @ np.array(changes).T


def test_momentum_is_conjugate_gradients_on_a_quadratic_loss():
    """Where the model is exact, steps lead to the minimum in as many as there are directions."""
    rng = np.random.default_rng(0)
    root = rng.normal(size=(6, 6))
    bowl, x, goal = Bowl(root @ root.T + np.eye(6)), np.zeros(6), rng.normal(size=6)
    momentum, distances = Momentum(), []
    for _ in range(10):
        gradient = bowl.matrix @ (goal - x)
        taken, slope = momentum.add(bowl, None, gradient, gradient, gradient @ gradient)
        assert slope == pytest.approx(gradient @ taken) and slope > 0
        momentum.keep(taken)
        x = x + taken
        distances.append(np.linalg.norm(goal - x))
    # But for the bits of a share.
    assert distances[2] > 1e-2 and distances[-1] < 1e-3 * distances[2]


def test_momentum_has_round_shares():
    """Rounding errors of products end in no step: shares have few bits."""
    rng = np.random.default_rng(1)
    bowl, steepest, last = Bowl(np.diag(rng.uniform(1, 2, size=4))), *np.eye(4)[:2]
    momentum = Momentum()
    momentum.keep(last)
    taken, _ = momentum.add(bowl, None, np.array([1.0, 1.0, 0.0, 0.0]), steepest, 1.0)
    assert (taken[:2] > 0).all() and not taken[2:].any()
    mantissa, _ = np.frexp(taken[:2])
    np.testing.assert_array_equal(2**6 * mantissa, np.round(2**6 * mantissa))
    np.testing.assert_allclose(taken[:2], 1 / np.diag(bowl.matrix)[:2], rtol=2**-6)


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_momentum_is_bounded_in_the_end(sign):
    """The best share of steepest descent beside a bounded one of the last step."""
    products, slopes = np.array([[2.0, 0.9], [0.9, 0.5]]), np.array([1.0 + sign, 1.0])
    free, bounded = _least(products, slopes), _least(products, slopes, 0.8)
    assert abs(free[1]) > 1 and bounded[1] == math.copysign(0.8, free[1])
    np.testing.assert_array_equal(_least(products, slopes, 100.0), free)
    near = bounded + 0.01 * np.array([[0, 0], [1, 0], [-1, 0]])
    losses = [x @ products @ x / 2 - x @ slopes for x in near]
    assert losses[0] == min(losses)
    bowl, last = Bowl(np.eye(2)), np.array([1e-3, 0.0])
    momentum, gradient, shares = Momentum(), np.array([3e-3, 1.0]), []
    for _ in range(60):
        momentum.keep(last)
        taken, _ = momentum.add(bowl, None, gradient, np.array([0.0, 1.0]), 1.0)
        shares.append(taken[0] / last[0])
    assert shares[:28] == pytest.approx([3.0] * 28) and shares[28:] == pytest.approx(
        [0.8] * 32, 0.01
    )


@quiet()  # as all passes are
def test_momentum_leaves_out_what_has_no_curvature():
    """Flat and overflowing changes; and where all is flat, the direction as it is."""
    gradient, flat = np.array([1.0, 0.0]), np.array([0.0, 1.0])
    momentum, bowl = Momentum(), Bowl(np.diag([4.0, 0.0]))
    assert not momentum.forget()
    for last in (flat, 1e200 * gradient):
        momentum.keep(last)
        taken, slope = momentum.add(bowl, None, gradient, gradient, 1.0)
        np.testing.assert_allclose(taken, [0.25, 0.0], atol=1e-12)
        assert slope == pytest.approx(0.25)
    momentum.keep(flat)
    taken, slope = momentum.add(Bowl(np.zeros((2, 2))), None, gradient, gradient, 1.0)
    assert taken is gradient and slope == 1.0 and not momentum.forget()


def test_products_have_the_penalty_and_are_sums_over_chunks(monkeypatch):
    """Second derivatives of the penalty count; how rows are divided does not."""
    topology = Topology.layered((3, 4, 3))
    standard = np.where(topology.is_weight, 1.0, 0.0)
    penalty = Penalty(topology, standard, 40.0, Strength(2.0))
    objective, theta = objective_of(penalty=penalty)
    changes = np.random.RandomState(0).standard_normal((3, len(theta)))
    evaluation = objective.evaluate(theta)
    found = objective.products(evaluation, changes)
    ridge = changes * objective.ridge @ changes.T
    bare = objective.data_products(evaluation, changes)
    assert np.abs(ridge).max() > 1e-2 * np.abs(found).max()
    np.testing.assert_allclose(found, bare + ridge, rtol=1e-12)
    monkeypatch.setattr(objective_module, "_LARGEST_CHUNK", 1)
    monkeypatch.setattr(objective_module, "_FEWEST_ROWS", 7)
    divided, _ = objective_of(penalty=penalty)
    assert len(divided._chunks) > 1
    np.testing.assert_allclose(
        divided.products(divided.evaluate(theta), changes), found, rtol=1e-10
    )


@pytest.mark.parametrize("metric", ["qd_bp", "kron_bp", "bp"])
def test_momentum_gets_further_in_as_many_passes(monkeypatch, metric):
    """On one objective; it is the whole-batch default."""
    X, y = load_diabetes(return_X_y=True)
    settings = {"metric": metric, "alpha": 0.0, "random_state": 0, "max_iter": 60, **NO_STOP}
    with_it = RiemannianMLPRegressor(hidden_layer_sizes=(20,), **settings).fit(X, y).loss_curve_
    monkeypatch.setattr(LineSearch, "searches", False)
    without = RiemannianMLPRegressor(hidden_layer_sizes=(20,), **settings).fit(X, y).loss_curve_
    assert with_it[-1] < 0.85 * without[-1]


def test_trust_region_caps_the_predicted_change():
    """rate^2 slope / 2 is at most the radius, the promised gain the loss, the rate its limit."""
    rule = CappedChange(0.5)
    for slope in (1e-6, 1.0, 8.0, 1e6):
        for loss in (1e-3, 1.0, 100.0):
            rate = rule.propose(slope, loss)
            caps = 0.5, np.sqrt(2 * rule.radius * max(1.0, loss) / slope), loss / slope
            assert rate == pytest.approx(min(caps), rel=1e-12)
    assert rule.propose(0.0, 1.0) == rule.propose(-1.0, 1.0) == rule.propose(1.0, np.inf) == 0.0


def test_trust_region_is_shared_by_small_batches():
    """Slopes and losses count as means over the last steps, evenly over the first ones."""
    rule = CappedChange(10.0, radius=0.01, memory=4)
    slopes, mean = [1.0, 9.0, 2.0, 4.0, 100.0], 0.0
    for step, slope in enumerate(slopes, start=1):
        mean += (slope - mean) / min(step, 4)
        assert rule.propose(slope, 1.0) == pytest.approx(np.sqrt(0.02 / mean))
    assert np.mean(slopes[:4]) * 3 / 4 + 100 / 4 == pytest.approx(mean)


def test_trust_region_keeps_pace_with_the_loss():
    """Once the length of a pass is known, its steps share a part of the loss; only once."""
    rule = CappedChange(10.0, radius=0.01)
    assert rule.momentum == 0
    rule.pace(20)
    assert rule.radius == pytest.approx(0.06 / 20) and rule.momentum == 0.7
    for loss in (1e-3, 1.0, 100.0):
        assert rule.propose(2.0, loss) == pytest.approx(min(np.sqrt(0.003 * loss), loss / 2))
    rule.radius /= 2
    rule.pace(20)
    assert rule.radius == pytest.approx(0.03 / 20)


@pytest.mark.parametrize(
    ("loss", "factor"),
    [
        (lambda x: -x, 2.0),
        (lambda x: -0.3 * x, 1.0),
        (lambda x: -0.05 * x, 0.5),
        (lambda x: x, 0.25),
    ],
)
def test_trust_region_follows_the_prediction(loss, factor):
    """Twice the radius for what was predicted, half for less than a quarter, a quarter if worse."""
    rule = TrustRegion(1.0)
    rule.radius = 0.5
    following, _ = search(rule, loss, slope=1.0)
    assert rule.radius == 0.5 * factor
    assert (following is None) == (factor == 0.25)


def radii(rule, losses):
    """Those of mini-batches after passes with these losses."""
    found = []
    for loss in losses:
        rule.end_pass(loss)
        found.append(rule.radius)
    return found


@pytest.mark.parametrize("first", [1.0, 10.0])
def test_trust_region_shrinks_after_a_pass_without_gain(first):
    """Of mini-batches: one that gains less than 2 %; less with each cut, by the share of the loss.

    Here half of that of the first pass is left.
    """
    losses = np.array([2.0, 1.0, 0.97, 0.96, 0.948, 0.944, 0.9435])
    assert radii(CappedChange(1.0), first * losses) == [1, 1, 1, 0.5, 0.5, 0.25, 0.125]


def test_trust_region_is_left_while_the_loss_falls():
    """However slowly, once most of it has been learnt: equal gains do not cut it for ever."""
    falling = 0.997 ** np.arange(100)
    assert radii(CappedChange(1.0), [2.0, *falling])[-1] > 0.1


def test_trust_region_of_noise_shrinks_for_ever():
    """Where next to nothing can be learnt, small gains are noise; of densities nobody knows."""
    falling = 0.997 ** np.arange(100)
    assert radii(CappedChange(1.0), 10 + falling)[-1] < 1e-20
    for nonnegative, patient in ((False, True), (True, False)):
        rule = CappedChange(1.0)
        rule.suit(500, 0.0, nonnegative, patient)
        assert radii(rule, [2.0, *falling])[-1] < 1e-20


@pytest.mark.parametrize(
    "hidden, alpha, patient",
    [((), "auto", True), ((4,), 1.0, True), ((4, 4), "auto", False), ((4, 4), 0.0, True)],
)
def test_several_levels_with_a_penalty_are_not_patient(hidden, alpha, patient, monkeypatch):
    """These learn noise by heart."""
    told = []
    monkeypatch.setattr(CappedChange, "suit", lambda rule, *given: told.append(given[-1]))
    X, y = load_iris(return_X_y=True)
    make(hidden_layer_sizes=hidden, alpha=alpha, batch_size=40, max_iter=1).fit(X, y)
    assert told == [patient]


def test_mini_batches_of_little_noise_do_not_stop_early():
    """A curved surface in ten dimensions takes many passes, each of which gains a little."""
    rng = np.random.default_rng(0)
    X = np.tanh(rng.normal(size=(400, 3)) @ rng.normal(size=(3, 10)))
    coder = RiemannianAutoEncoder((12, 3, 12), output="square", batch_size=100, max_iter=80)
    coder.set_params(random_state=0, **NO_STOP).fit(X)
    assert coder.loss_curve_[-1] < 0.7 * coder.loss_curve_[40]


def batch_pass(objective, parameters, rule, metric="bp"):
    """A pass on all rows without safeguards."""
    descent = Descent(get_metric(metric), 0.01, "relative")
    running = RunningMetric(descent.metric, 0.0)
    return BatchPass(objective, parameters, descent, running, rule, np.random.RandomState(0))


@pytest.mark.parametrize("rule", [Adaptive, TrustRegion])
def test_rejected_step_changes_nothing(rule):
    """Parameters keep their bits and the direction is not computed again."""
    objective, parameters = objective_of()
    passes = batch_pass(objective, parameters, rule(1e-3))
    passes.run()
    passes.run()
    before = passes.parameters.copy()
    passes.rule.rate = passes.rule.largest_rate = 1e3
    passes.rule.radius = 1e9
    count = {"evaluate": 0, "differentiate": 0}

    def counting(name, method):
        def counted(*args):
            count[name] += 1
            return method(*args)

        return counted

    for name in count:
        setattr(objective, name, counting(name, getattr(objective, name)))
    rejected = passes.n_rejected
    loss, _ = passes.run()
    direction = passes._direction[0].copy()
    passes.run()
    assert passes.n_rejected == rejected + 2 and count == {"evaluate": 2, "differentiate": 1}
    np.testing.assert_array_equal(passes.parameters, before)
    np.testing.assert_array_equal(passes._direction[0], direction)
    assert loss == objective.evaluate(before).loss


def test_random_metric_is_drawn_anew_after_a_rejected_step():
    objective, parameters = objective_of()
    passes = batch_pass(objective, parameters, Adaptive(1e6), "qd_mc_fisher")
    moduli, differentiate = [], objective.differentiate

    def watched(*args):
        gradient, statistics = differentiate(*args)
        moduli.append(statistics[0][0])
        return gradient, statistics

    objective.differentiate = watched
    for _ in range(3):
        passes.run()
    assert passes.n_rejected == 3
    np.testing.assert_array_equal(passes.parameters, parameters)
    assert not np.allclose(moduli[0], moduli[1]) and not np.allclose(moduli[1], moduli[2])


def test_accepted_step_is_parameters_plus_rate_times_direction():
    """The first step, by hand."""
    objective, parameters = objective_of()
    passes = batch_pass(objective, parameters, Constant(0.3), "qd_fisher")
    metric = get_metric("qd_fisher")
    gradient, statistics = objective.differentiate(objective.evaluate(parameters), metric)
    d = metric.solve(objective.network.topology, statistics, gradient, 0.01, "relative")
    loss, _ = passes.run()
    assert_close(passes.parameters, parameters + 0.3 * d, 1e-14)
    assert loss == objective.evaluate(passes.parameters).loss


# ------------------------------------------------------------------- objective
@pytest.mark.parametrize("name", [n for n in METRICS if parts_of(n)[0] != "mc_fisher"])
@pytest.mark.parametrize("output", ["softmax", "scaled_softmax", "bernoulli", "square"])
def test_chunks_are_one_chunk(name, output):
    """Loss, gradient and statistics do not depend on how rows are cut."""
    metric, results = get_metric(name), []
    for memory in (1000, 1e-2):
        with config_context(working_memory=memory):
            objective, parameters = objective_of(output)
        assert (len(objective._chunks) > 5) == (memory < 1)
        evaluation = objective.evaluate(parameters)
        gradient, statistics = objective.differentiate(evaluation, metric)
        alone = objective.statistics(parameters, metric, None)
        results.append(
            [np.array([evaluation.loss]), gradient, *statistics[0], statistics[1], *alone[0]]
        )
    for one, many in zip(*results, strict=True):
        assert_close(many, one, 1e-12)


def test_one_row_a_chunk():
    """Even less memory than a row takes is enough."""
    with config_context(working_memory=1e-6):
        objective, parameters = objective_of()
    assert len(objective._chunks) == 40
    other, _ = objective_of()
    assert objective.evaluate(parameters).loss == pytest.approx(other.evaluate(parameters).loss)


def test_weights_are_repetitions():
    """Weight k is k rows, weight 0 none, in loss, gradient and statistics."""
    problem, metric = problem_of("softmax", (3, 4, 3), n_samples=12), get_metric("bp")
    weights = np.arange(12) % 4
    rows = np.repeat(np.arange(12), weights)
    found = []
    for objective in (
        objective_on(
            problem.network, problem.output, problem.X, problem.target, weights.astype(float)
        ),
        objective_on(problem.network, problem.output, problem.X[rows], problem.target[rows]),
    ):
        evaluation = objective.evaluate(problem.theta)
        gradient, statistics = objective.differentiate(evaluation, metric)
        dense = metric.reduction.to_dense(problem.topology, statistics[0])
        found.append([np.array([evaluation.loss]), gradient, dense])
    for one, other in zip(*found, strict=True):
        assert_close(one, other, 1e-12)


@pytest.mark.parametrize("features", [None, np.array([0.5, 0.0, 7.0])])
def test_penalty_is_divided_by_the_weight(features):
    """sum strength s w^2 / (2 W), its slope in the gradient and its curvature in `ridge`."""
    plain, parameters = objective_of()
    topology, W = plain.network.topology, plain.total_weight
    standard = np.random.default_rng(0).uniform(size=len(parameters)) * topology.is_weight
    penalty = Penalty(topology, standard, W, Strength(2.0, features))
    objective, _ = objective_of(penalty=penalty)
    strength = np.full(len(parameters), 2.0)
    if features is not None:
        for i in np.flatnonzero(topology.source < 3):
            strength[i] *= features[topology.source[i]]
    want = strength * standard / W
    np.testing.assert_allclose(objective.ridge, want, rtol=1e-14)
    difference = objective.evaluate(parameters).loss - plain.evaluate(parameters).loss
    assert difference == pytest.approx(want @ parameters**2 / 2, rel=1e-10)
    gradients = [o.differentiate(o.evaluate(parameters))[0] for o in (objective, plain)]
    assert_close(gradients[0] - gradients[1], -want * parameters, 1e-10)


def test_parts_have_the_penalty():
    """Objectives on some rows have that of all; others may be set beside it."""
    plain, parameters = objective_of()
    topology = plain.network.topology
    penalty = Penalty(topology, topology.is_weight * 1.0, plain.total_weight, Strength())
    objective = plain.with_penalty(penalty)
    assert objective.ridge is None and objective.penalty_at(parameters) == 0
    stronger = objective.with_penalty(penalty.of(Strength(3.0)))
    part = stronger.rows(slice(0, 7))
    assert part.penalty_at(parameters) == stronger.penalty_at(parameters) > 0
    assert plain.penalty is None and not objective.penalises


# ------------------------------------------------------------------- coordinates
def network():
    """A network in which inputs also feed the outputs' layer through links of chance."""
    topology = Topology.random_links([4, 5, 3], 2, random_state=0)
    return Network.build(topology, "tanh", "identity")


def test_coordinates_round_trip():
    """Inward, then outward, is the identity; and inward networks compute the same."""
    net, rng = network(), np.random.default_rng(0)
    theta = rng.normal(size=net.topology.n_parameters)
    X = rng.normal(size=(30, 4)) * [1e3, 1, 1e-3, 5] + [7, -1e3, 0, 2]
    X[:, 3] = 2.0
    inputs = scale_of(X)
    outputs = OutputScale(np.array([1.0, -50.0, 0.0]), np.array([2.0, 1e3, 1e-3]))
    coordinates = Coordinates(net, inputs, outputs)
    inward = coordinates.inward(theta)
    assert_close(coordinates.outward(inward), theta, 1e-12)
    given = net.linearize(theta, X).output_preactivations
    trained = net.linearize(inward, inputs.apply(X)).output_preactivations
    np.testing.assert_allclose(outputs.apply(given), trained, rtol=1e-9, atol=1e-9)


def test_coordinates_leave_parameters_alone():
    """They work on copies."""
    net = network()
    theta = np.ones(net.topology.n_parameters)
    coordinates = Coordinates(net, InputScale(np.ones(4), 2 * np.ones(4)))
    coordinates.inward(theta)
    coordinates.outward(theta)
    np.testing.assert_array_equal(theta, 1.0)


@pytest.mark.parametrize("weighted", [False, True])
def test_scale_of_sparse_data_is_that_of_dense(weighted):
    """Mean, deviation and sign of skewness, with and without weights."""
    rng = np.random.default_rng(0)
    X = random_csr(200, 12, 0.2)
    weight = rng.integers(0, 4, size=200).astype(float) if weighted else None
    one, other = scale_of(X, weight), scale_of(X.toarray(), weight)
    np.testing.assert_allclose(one.centre, other.centre, rtol=1e-12)
    np.testing.assert_allclose(one.scale, other.scale, rtol=1e-12)
    if weighted:
        repeated = scale_of(np.repeat(X.toarray(), weight.astype(int), axis=0))
        np.testing.assert_allclose(one.scale, repeated.scale, rtol=1e-12)
    scaled = one.without_centre().apply(X)
    assert sp.issparse(scaled) and scaled.nnz == X.nnz
    np.testing.assert_allclose(one.apply(X), other.apply(X.toarray()), atol=1e-12)


def test_scale_of_numpys_moments():
    """Standard coordinates have mean 0 and deviation 1; -x has those of x."""
    X = np.random.default_rng(0).gamma(1.0, size=(300, 3)) * [1, -1e5, 1e-5] + [0, 3, -7]
    scale = scale_of(X)
    Z = scale.apply(X)
    np.testing.assert_allclose(Z.mean(axis=0), 0, atol=1e-10)
    np.testing.assert_allclose(Z.std(axis=0), 1, rtol=1e-10)
    assert (scale.scale > 0).tolist() == [True, False, True]
    np.testing.assert_allclose(scale_of(1 - X).apply(1 - X), Z, atol=1e-8)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rounded_coordinates(form, dtype):
    """Multiples of 2^-28, or what single precision makes of these; the same in other units."""
    X = np.random.default_rng(0).integers(0, 256, size=(2000, 5)) * np.arange(5)
    data = form(X.astype(dtype))
    scale = scale_of(data)
    scale = scale.without_centre() if sp.issparse(data) else scale
    exact, rounded = scale.apply(data), scale.apply(data, rounded=True)
    assert abs(exact - rounded).max() <= (2**-28 if dtype == np.float64 else 2**-20)
    assert abs(exact - rounded).max() > 0
    if dtype == np.float64:
        values = rounded.data if sp.issparse(rounded) else rounded
        np.testing.assert_array_equal(values * 2.0**28 % 1, 0)
    changes = [lambda X: 1000 * X] + ([] if sp.issparse(data) else [lambda X: X + 1000])
    for change in changes:
        other = change(data)
        told = scale_of(other)
        told = told.without_centre() if sp.issparse(data) else told
        assert abs(told.apply(other, rounded=True) - rounded).max() == 0


def test_what_rounding_leaves_of_the_mean_is_centred():
    """Also where the mean itself has few digits; the network says the same in both tellings."""
    X = np.random.default_rng(0).integers(0, 256, size=(2000, 4)) / 256
    near, far = scale_of(X), scale_of(X + 2.0**30)
    np.testing.assert_allclose(far.apply(X + 2.0**30), near.apply(X), rtol=0, atol=1e-13)
    net = network()
    theta = np.random.default_rng(1).normal(size=net.topology.n_parameters)
    coordinates = Coordinates(net, far)
    given = net.linearize(coordinates.outward(theta), X + 2.0**30).output_preactivations
    told = net.linearize(theta, far.apply(X + 2.0**30)).output_preactivations
    np.testing.assert_allclose(given, told, rtol=0, atol=1e-4)
    assert_close(coordinates.inward(coordinates.outward(theta)), theta, 1e-5)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_prior_precision_of_rare_inputs(form):
    """As of inputs told by the difference between their values, in any units."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.random(1000) < p for p in (0.5, 0.1, 0.01, 0.99)]).astype(float)
    X = np.column_stack([X, np.full(1000, 0.25)])
    rate = X[:, :4].mean(axis=0)
    scale = scale_of(form(X))
    prior = scale.prior_precision
    np.testing.assert_allclose(prior[:4] * rate * (1 - rate), prior[0] / 4, rtol=0.01)
    assert np.mean(1 / prior[:4]) == pytest.approx(1) and np.isfinite(prior).all()
    told = scale_of(form(X * [1e5, -1, 1e-5, 3, 1]))
    np.testing.assert_allclose(told.prior_precision, prior, rtol=1e-10)
    weight = rng.integers(0, 3, size=1000)
    np.testing.assert_allclose(
        scale_of(form(X), weight).prior_precision,
        scale_of(form(np.repeat(X, weight, axis=0))).prior_precision,
        rtol=1e-10,
    )
    constant = scale_of(form(np.ones((9, 2)))).prior_precision
    assert constant.tolist() == [1, 1]


@pytest.mark.parametrize("value", [0.0, 1.0, 0.1, -1e100, 1e-100])
def test_constant_columns(value):
    """Scale exactly 0, divisor 1, whatever rounding the mean of equal numbers has."""
    X = np.full((77, 2), value)
    X[:, 1] = np.arange(77)
    scale = scale_of(X)
    assert scale.scale[0] == 0.0 and scale.divisor[0] == 1.0 and scale.scale[1] != 0
    fallback = scale.with_fallback()
    assert fallback.scale[0] == (abs(value) or 1.0) or fallback.scale[0] == pytest.approx(
        abs(value), rel=1e-12
    )


def test_single_precision_is_kept():
    """Of single-precision inputs the coordinates are single, computed in double."""
    X = (1e4 + np.random.default_rng(0).normal(size=(50, 2))).astype(np.float32)
    scale = scale_of(X)
    Z = scale.apply(X)
    assert Z.dtype == np.float32 and scale.centre.dtype == np.float64
    np.testing.assert_allclose(Z.astype(float).mean(axis=0), 0, atol=1e-6)


# ------------------------------------------------------------------- passes
def test_path_averages_the_last_tenth():
    """Of n steps the average is within a tenth of n of the last, and constant paths stay."""
    path = Path.starting_at(np.zeros(1))
    for step in range(1, 1001):
        path = path.advanced(np.array([float(step)]))
    assert path.n_steps == 1000 and path.last[0] == 1000
    assert 1000 - 0.15 * 1000 < path.average[0] < 1000 - 0.05 * 1000


def test_path_forgets_its_start_and_is_affine():
    """The first step replaces the start; averages commute with affine maps."""
    rng = np.random.default_rng(0)
    steps = rng.normal(size=(20, 3))
    one, other = Path.starting_at(np.full(3, 1e6)), Path.starting_at(np.full(3, -5.0))
    for step in steps:
        one, other = one.advanced(step), other.advanced(2 * step + 1)
    np.testing.assert_allclose(other.average, 2 * one.average + 1, rtol=1e-12)
    assert np.abs(one.average).max() < 10


def mini_pass(objective, parameters, rule, batch_size=8, **options):
    """A pass over mini-batches."""
    descent = Descent(get_metric("bp"), 0.01, "relative")
    running = RunningMetric(descent.metric, 1000.0)
    start = Path.starting_at(parameters)
    rng = np.random.RandomState(0)
    schedule = Schedule(batch_size, **options)
    return MiniBatchPass(objective, start, descent, running, rule, rng, schedule)


def test_pass_sees_every_row_once():
    """The pass's loss is the weighted mean of batch losses; with a rate of 0 that of all rows."""
    objective, parameters = objective_of()
    passes = mini_pass(objective, parameters, ConstantRate(0.0), batch_size=7)
    loss, _ = passes.run()
    assert loss == pytest.approx(objective.evaluate(parameters).loss)
    np.testing.assert_array_equal(passes.parameters, parameters)
    assert passes.path.n_steps == 6


@pytest.mark.parametrize(("batch_size", "sizes"), [(39, {20}), (15, {13, 14}), (8, {8})])
def test_batches_of_a_pass_are_equally_large(batch_size, sizes):
    """No step is left to a few rows: it would be as long as one on many."""
    objective, parameters = objective_of()
    passes = mini_pass(objective, parameters, ConstantRate(0.0), batch_size)
    seen, step = [], passes._step
    passes._step = lambda part, *rest: seen.append(part.n_samples) or step(part, *rest)
    passes.run()
    assert sum(seen) == objective.n_samples and set(seen) == sizes


@pytest.mark.parametrize("batch_size", [1, 3])
def test_rows_enter_the_metric_together(batch_size):
    """Those of some steps as one batch, once the window is full; each of them is a step."""
    objective, parameters = objective_of()
    rule, parts = ConstantRate(0.0), []
    passes = mini_pass(objective, parameters, rule, batch_size, steps_together=4)
    passes.running.window, follow = 10.0, passes.solver.update
    passes.solver.update = lambda part, *rest: parts.append(part) or follow(part, *rest)
    loss, _ = passes.run()
    assert loss == pytest.approx(objective.evaluate(parameters).loss)
    assert passes.path.n_steps == -(-objective.n_samples // batch_size)
    sizes = [part.n_samples for part in parts]
    assert sum(sizes) == objective.n_samples
    assert set(sizes[:3]) <= {batch_size, batch_size - 1}
    assert all(4 * (batch_size - 1) < size <= 4 * batch_size for size in sizes[-3:-1])
    expected = RunningMetric(passes.descent.metric, 10.0)
    for part in parts:
        statistics = part.statistics(parameters, passes.descent.metric, None)
        expected.update(statistics, part.total_weight)
    for one, other in zip(passes.running.statistics[0], expected.statistics[0], strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-12)


def test_mini_batch_steps_go_on_with_the_last(monkeypatch):
    """Heavy-ball momentum from the second pass on; a cut step is what the next goes on with."""
    objective, parameters = objective_of()
    rule, taken = ConstantRate(0.01), []
    rule.pace = lambda n_steps: setattr(rule, "momentum", 0.5)
    passes = mini_pass(objective, parameters, rule, batch_size=7)

    def recorded(solve, gradient):
        found = steepest(solve, gradient)
        taken.append((passes.path.last, found[0]))
        return found

    monkeypatch.setattr("sknatgrad.training.steps.mini_batch_pass.steepest", recorded)
    for _ in range(3):
        passes.run()
    places, directions = map(np.array, zip(*taken, strict=True))
    steps, n = np.diff(places, axis=0), passes.n_steps
    np.testing.assert_allclose(steps[: n + 1], 0.01 * directions[: n + 1], rtol=1e-8, atol=1e-12)
    want = 0.01 * directions[n + 1 : -1] + 0.5 * steps[n:-1]
    np.testing.assert_allclose(steps[n + 1 :], want, rtol=1e-8, atol=1e-12)
    passes._checked = lambda step, part, current, trusted: (current.parameters, 0.25)
    part = objective.rows(np.arange(7))
    step = np.ones(len(parameters))
    carried = 1 + 0.5 * passes._last_step
    passes._take(step, part, part.evaluate(parameters), True)
    np.testing.assert_allclose(passes._last_step, 0.25 * carried)


def test_noisy_gradients_are_carried_on_less():
    """By how many sources a hidden unit has for each row of a large batch."""
    shares = [noise_share(np.array([3, 300]), rows) for rows in (50, 200, 300, 400, 600, 1000)]
    np.testing.assert_allclose(shares, [0, 1, 1, 0.5, 0, 0])
    assert noise_share(np.array([3]), 200) == noise_share(np.array([]), 200) == 0
    momenta = []
    for noise in (0.0, 0.5, 1.0):
        rule = CappedChange(1.0)
        rule.suit(500, noise, nonnegative=True, patient=True)
        rule.pace(10)
        momenta.append(rule.momentum)
    np.testing.assert_allclose(momenta, [0.7, 0.6, 0.5])


def test_mini_batch_overflow_is_rejected():
    """A step to where the loss is not finite is cancelled; the next batch goes on."""
    objective, parameters = objective_of("square", weighted=False)
    passes = mini_pass(objective, parameters, ConstantRate(1e308))
    with np.errstate(all="ignore"):
        passes.run()
    assert 0 < passes.n_rejected <= passes.n_steps
    np.testing.assert_array_equal(passes.parameters, parameters)


# ------------------------------------------------------------------- stopping
class Scripted:
    """Passes whose losses are given in advance; parameters and cancelled steps count them."""

    class rule:
        rate = 1.0

    def __init__(self, losses):
        self.losses, self.number = list(losses), 0

    @property
    def parameters(self):
        return np.array([float(self.number)])

    @property
    def path(self):
        return Path.starting_at(self.parameters)

    @property
    def n_rejected(self):
        return self.number

    def run(self):
        self.number += 1
        return (self.losses[self.number - 1],) * 2


def trained(losses, scores=None, **stopping):
    """A trainer after its run on scripted losses (and validation scores)."""
    stopping = {"max_iter": len(losses), "tol": 0.0, "n_iter_no_change": 3, **stopping}
    validate = None if scores is None else lambda p: (scores[int(p[0]) - 1], 0.0)
    trainer = Trainer(Scripted(losses), History(), Stopping(**stopping), validate)
    trainer.run()
    return trainer


def test_patience_counts_exactly():
    """Stop after exactly n_iter_no_change passes in a row without gain; a gain starts anew."""
    losses = [5, 4, 4, 4, 3, 3, 3, 3, 1]
    assert trained(losses).n_iter == 8
    assert trained(losses, n_iter_no_change=2).n_iter == 4
    assert trained(losses, n_iter_no_change=1).n_iter == 3
    assert trained(losses, n_iter_no_change=np.inf).n_iter == 9


def test_small_gains_are_measured_from_the_best():
    """A pass gains if it beats the best loss so far by more than tol."""
    assert trained([10, 9.5, 9.0, 8.5, 8.0], tol=1.0).n_iter == 4
    assert trained([10, 8, 6, 4, 2], tol=1.0).n_iter == 5
    assert trained([10, 9, 8, 7, 6], tol=1.0).n_iter == 4, "a gain of tol is none"


def test_loss_below_tol_ends_the_fit():
    """Nothing is left to gain below tol; not so where a validation score decides."""
    assert trained([1, 0.05, 0.04, 0.03], tol=0.1).n_iter == 2
    assert trained([1, 0.05, 0.04, 0.03], scores=[1, 2, 3, 4], tol=0.1).n_iter == 4


def test_losses_of_densities_have_no_end():
    """They may be negative: a small one says nothing."""
    losses = [1, 0.05, -1, -2, -3]
    assert trained(losses, tol=0.1, least_loss=-np.inf).n_iter == 5
    assert trained(losses, tol=0.1).n_iter == 2


def test_best_scores_are_restored():
    """The first of the best validation scores is what is kept."""
    scores = [1, 5, 3, 5, 4, 6, 6, 2, 2]
    trainer = trained(range(9, 0, -1), scores, n_iter_no_change=9)
    assert trainer.n_iter == 9 and trainer.parameters[0] == 6 and trainer.best == 6
    trainer = trained(range(9, 0, -1), scores, n_iter_no_change=2)
    assert trainer.n_iter == 4 and trainer.parameters[0] == 2


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_overflow_keeps_the_pass_before(bad):
    """The error names its reason; parameters, curves and counts end at the last whole pass."""
    trainer = Trainer(Scripted([3, 2, bad, 1]), History(), Stopping(4, 0.0, 9))
    outcome = trainer.run()
    assert outcome.n_iter == 2 and outcome.loss == 2 and "non-finite" in str(outcome.error)
    assert trainer.parameters[0] == 2 and trainer.reached.n_rejected == 2
    assert trainer.history.losses == [3, 2] and len(trainer.history.rates) == 2


@pytest.mark.parametrize("batch_size", ["auto", 40])
@pytest.mark.parametrize("early_stopping", [False, True])
def test_curves_are_of_one_length(batch_size, early_stopping):
    """One entry a pass, in all curves; with warm_start they go on."""
    X, y = load_iris(return_X_y=True)
    clf = make(batch_size=batch_size, early_stopping=early_stopping, max_iter=6, warm_start=True)
    clf.set_params(**NO_STOP)
    for total in (6, 12):
        clf.fit(X, y)
        curves = [clf.loss_curve_, clf.learning_rate_curve_, clf.time_curve_]
        if early_stopping:
            curves += [clf.validation_scores_, clf.validation_loss_curve_]
        assert [len(curve) for curve in curves] == [total] * len(curves)
        assert clf.n_iter_ == 6 and (np.diff(clf.time_curve_) > 0).all()


@pytest.mark.parametrize("kind", ["classifier", "regressor"])
@pytest.mark.parametrize("batch_size", ["auto", 40])
def test_early_stopping_restores_the_best(kind, batch_size):
    """The network has the best score on the held-out rows, and of equal ones the least loss."""
    X, y = load_iris(return_X_y=True)
    cls = RiemannianMLPClassifier if kind == "classifier" else RiemannianMLPRegressor
    est = cls(hidden_layer_sizes=(5,), random_state=0, early_stopping=True, max_iter=25)
    est.set_params(batch_size=batch_size, **NO_STOP)
    est.fit(X[::2], y[::2], X_val=X[1::2], y_val=y[1::2])
    assert est.best_validation_score_ == max(est.validation_scores_)
    assert est.score(X[1::2], y[1::2]) == pytest.approx(est.best_validation_score_, abs=1e-12)
    scores, losses = map(np.array, (est.validation_scores_, est.validation_loss_curve_))
    least = losses[scores == scores.max()].min()
    assert est.loss(X[1::2], y[1::2]) == pytest.approx(least, rel=1e-9)


@pytest.mark.parametrize("name", METRICS)
def test_whole_batch_losses_never_rise(name):
    """The line search takes no worse step, in any metric."""
    X, y = load_iris(return_X_y=True)
    clf = make(metric=name, max_iter=15, **NO_STOP).fit(X, y)
    assert (np.diff(clf.loss_curve_) <= 0).all()
    assert clf.loss_ == clf.loss_curve_[-1] == pytest.approx(clf.loss(X, y), rel=1e-9)


def test_histories_resume():
    """After a pause times go on where they ended, also after a copy."""
    history = History()
    for _ in range(3):
        history.record(1.0, 0.1)
    other = copy.deepcopy(history)
    other.resume()
    other.record(0.5, 0.1)
    assert (np.diff(other.times) >= 0).all() and other.times[-1] < history.times[-1] + 1
    other.keep_last(2)
    assert other.losses == [1.0, 0.5] and len(other.times) == len(other.rates) == 2
    assert len(other.validation_scores) == len(other.validation_losses) == 2


@pytest.mark.parametrize("parameters", [{}, {"metric": "kron_bp"}, {"batch_size": 200}])
def test_threads_of_the_library_change_no_bit(parameters):
    """One BLAS thread or two: the same model and predictions, and the limit is given back."""
    X, y = load_digits(return_X_y=True)
    found = []
    for n_threads in (1, 2):
        with threadpool_limits(n_threads):
            clf = RiemannianMLPClassifier((20,), random_state=0, max_iter=3, **parameters)
            found.append(clf.fit(X, y).predict_proba(X))
            after = {lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"}
            assert after <= {n_threads}
    np.testing.assert_array_equal(*found)


def test_any_thread_holds_the_threads_of_the_library():
    """And gives them back, also those that another one has taken."""

    def n_threads():
        return {lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"}

    def in_thread(function):
        thread = threading.Thread(target=lambda: found.append(function()))
        thread.start()
        thread.join()

    def inside():
        with single_thread():
            return n_threads()

    found = []
    with threadpool_limits(2):
        before = n_threads()
        in_thread(inside)
        assert n_threads() == before
        held = single_thread()
        held.__enter__()
        in_thread(lambda: held.__exit__(None, None, None))
        assert n_threads() == before
    assert found[0] <= {1}


def test_a_registered_rule_can_be_asked_for(monkeypatch):
    """A class and an entry of the registry are all there is to a rule (doc/extending.md)."""

    class Cautious(ConstantRate):
        default_rate = 0.05

    X, y = load_iris(return_X_y=True)
    classifier = RiemannianMLPClassifier(
        hidden_layer_sizes=(5,), learning_rate="cautious", batch_size=50, max_iter=5
    )
    with pytest.raises(ValueError, match="learning_rate"):
        classifier.fit(X, y)
    monkeypatch.setitem(STEP_RULES, "cautious", (Constant, Cautious))
    assert set(classifier.fit(X, y).learning_rate_curve_) == {0.05}
    # Other processes know nothing of it.
    classifier.set_params(n_init=2, n_jobs=2)
    assert set(classifier.fit(X, y).learning_rate_curve_) == {0.05}


@pytest.mark.parametrize("name", ["auto", "trust_region", "constant"])
def test_steps_of_another_kind_have_another_rule(name):
    """From whole batches to mini-batches, to a stream, and back."""
    X, y = load_iris(return_X_y=True)
    clf = make(learning_rate=name, warm_start=True, max_iter=2)
    whole, stochastic = STEP_RULES[name]
    rules = [clf.set_params(batch_size=size).fit(X, y)._state.rule for size in (150, 50)]
    rules += [clf.partial_fit(X[:50], y[:50])._state.rule for _ in range(2)]
    rules.append(clf.set_params(batch_size="auto").fit(X, y)._state.rule)
    kinds = [whole, stochastic, stochastic, stochastic, whole]
    assert [type(rule) for rule in rules] == kinds
    assert rules[2] is not rules[1]


@pytest.mark.parametrize("streaming", [False, True])
def test_rules_that_compare_losses_are_refused_for_mini_batches(streaming):
    """With what to do instead."""
    X, y = load_iris(return_X_y=True)
    clf = make(learning_rate="line_search", batch_size=50)
    advice = r"partial_fit: use one of \['auto', 'constant', 'trust_region'\]"
    if not streaming:
        advice = "mini-batches: set batch_size to the number of rows or more, or use one of"
    with pytest.raises(ValueError, match=advice):
        clf.partial_fit(X, y, classes=[0, 1, 2]) if streaming else clf.fit(X, y)

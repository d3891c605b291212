"""Outputs: distributions over targets, read from pre-activations."""

import itertools
import pickle
from decimal import Decimal, localcontext

import numpy as np
import pytest
import reference as ref
from engine import (
    KNOWN_PAIRS,
    PAIRS,
    RECTIFIED_SPHERES,
    allowed_activations,
    assert_close,
    case_of,
    derivative,
    enumerate_targets,
    jacobian,
    make_output,
)
from scipy import stats
from scipy.special import expit

from sknatgrad import RiemannianAutoEncoder, RiemannianMLPClassifier
from sknatgrad.network import ACTIVATIONS, Network, Topology, get_activation
from sknatgrad.network.activations_by_unit import AffineActivation
from sknatgrad.numerics.moments import weighted_moments
from sknatgrad.outputs import OUTPUTS, Mixed, Softmax, Spherical, get_output

EXTREMES = np.array(list(itertools.product([-1e4, 0.0, 1e4], repeat=3))).T
N_OUTPUTS = 3


@pytest.fixture(params=[*PAIRS, ("mixed", "several")], ids="-".join)
def output(request):
    return make_output(*request.param)


def random_preactivations(n_samples=6, seed=0):
    """Pre-activations (n_outputs, n_samples) away from the kinks at 0."""
    v = np.random.default_rng(seed).normal(size=(N_OUTPUTS, n_samples))
    return v + 0.3 * np.sign(v)


def targets_of(output, v):
    """Targets of all kinds: the enumerated ones, and drawn ones."""
    enumerated = enumerate_targets(output, v) or []
    return [y for _, y in enumerated] + [output.sample(v, np.random.RandomState(0))]


def expectation(output, v, function):
    """E_y function(y), and its standard error (0 where y is enumerated)."""
    enumerated = enumerate_targets(output, v)
    if enumerated is not None:
        return sum(p * function(y) for p, y in enumerated), 0.0
    rng = np.random.RandomState(0)
    values = np.array([function(output.sample(v, rng)) for _ in range(20_000)])
    return values.mean(axis=0), values.std(axis=0) / np.sqrt(len(values))


def as_values(output, y):
    """Targets as values, classes one-hot: (n_outputs, n_samples)."""
    return np.equal.outer(np.arange(N_OUTPUTS), y).astype(float) if output.discrete else y


def assert_expected(actual, expected, tolerance=1e-10):
    mean, error = expected
    assert (np.abs(actual - mean) <= tolerance * max(1, np.abs(mean).max()) + 5 * error).all()


# ---------------------------------------------------------------------- definitions
def test_probabilities_sum_to_one(output):
    """sum_y omega(y) = 1; the loss of the square output leaves ln sqrt(2 pi) out."""
    total, _ = expectation(output, random_preactivations(), lambda y: 1.0)
    np.testing.assert_allclose(total, 1, rtol=1e-12)


def test_score_is_minus_the_derivative_of_the_loss(output):
    v = random_preactivations()
    for y in targets_of(output, v):
        for k in range(N_OUTPUTS):
            unit = np.eye(N_OUTPUTS)[:, [k]]

            def loss(t, unit=unit, y=y):
                return output.loss(v + t * unit, y)

            expected = -derivative(loss, 0.0, 2e-3)
            np.testing.assert_allclose(output.score(v, y)[k], expected, rtol=1e-8, atol=1e-10)


def test_fractional_binary_targets():
    """The cross-entropy with y in [0, 1] is the mean of the losses at 0 and 1."""
    v, y = random_preactivations(), np.random.default_rng(0).uniform(size=(N_OUTPUTS, 6))
    output = make_output("bernoulli", "tanh")
    expected = [
        sum(p * output.loss(v[[k]], np.full((1, 6), t)) for p, t in ((y[k], 1.0), (1 - y[k], 0.0)))
        for k in range(N_OUTPUTS)
    ]
    assert_close(output.loss(v, y), sum(expected), 1e-14)
    scores = [output.score(v, np.full_like(v, t)) for t in (0.0, 1.0)]
    assert_close(output.score(v, y), (1 - y) * scores[0] + y * scores[1], 1e-14)


def test_score_has_mean_zero(output):
    """E_y d ln omega(y) / d v = 0."""
    v = random_preactivations()
    assert_expected(np.zeros_like(v), expectation(output, v, lambda y: output.score(v, y)))


def test_fisher_factor_is_a_square_root_of_the_fisher_matrix(output):
    """S S^T = E_y[score score^T], summed over all y."""
    v = random_preactivations()
    S = output.fisher_factor(v)

    def product(y):
        score = output.score(v, y)
        return np.einsum("on,pn->opn", score, score)

    actual = np.einsum("ofn,pfn->opn", S, S)
    assert_expected(actual, expectation(output, v, product))


@pytest.mark.parametrize("v", [random_preactivations(), EXTREMES], ids=["random", "extreme"])
def test_fisher_diagonal_is_the_sum_of_squares_of_the_factor(output, v):
    with np.errstate(over="ignore"):
        S, diagonal = output.fisher_factor(v), output.fisher_diagonal(v)
        assert S.shape == (N_OUTPUTS, N_OUTPUTS, v.shape[1])
        np.testing.assert_allclose(diagonal, (S**2).sum(axis=1), rtol=1e-13, atol=1e-300)


def test_whitened_changes_have_the_products_of_the_fisher_matrix(output):
    """x^T S S^T y, whichever square root is used."""
    v = random_preactivations()
    S, (x, y) = output.fisher_factor(v), np.random.default_rng(0).normal(size=(2, *v.shape))
    actual = (output.whitened(v, x) * output.whitened(v, y)).sum(axis=0)
    assert_close(actual, np.einsum("on,ofn,pfn,pn->n", x, S, S, y))
    prepared = output.whitened(output.prepared(v), x)
    np.testing.assert_array_equal(prepared, output.whitened(v, x))


@pytest.mark.parametrize("chunk", [1, 2])
def test_chunks_of_columns_make_the_whole_factor(output, chunk):
    v = random_preactivations()
    starts = range(0, N_OUTPUTS, chunk)
    parts = [output.fisher_factor(v, slice(start, start + chunk)) for start in starts]
    np.testing.assert_array_equal(np.concatenate(parts, axis=1), output.fisher_factor(v))


def test_mean_is_the_expected_target(output):
    v = random_preactivations()
    expected = expectation(output, v, lambda y: as_values(output, y))
    assert_expected(output.mean(v), expected)


def test_logits_grow_with_the_mean(output):
    """The mean of classes is the softmax of the logits, of binary targets their expit."""
    v = random_preactivations()
    logits, mean = output.logits(v), output.mean(v)
    if output.discrete:
        odds = np.exp(logits - logits.max(axis=0))
        np.testing.assert_allclose(mean, odds / odds.sum(axis=0), rtol=1e-12, atol=1e-300)
    elif output.name == "bernoulli":
        np.testing.assert_allclose(mean, expit(logits), rtol=1e-13)
    for k in range(N_OUTPUTS if not output.discrete else 0):
        order = np.argsort(logits[k], kind="stable")
        assert (np.diff(mean[k][order]) >= 0).all()


@pytest.mark.parametrize("v", [random_preactivations(), EXTREMES], ids=["random", "extreme"])
def test_logarithms_of_the_mean(output, v):
    """ln p and ln(1 - p) where the mean is a probability."""
    logarithms = output.log_mean(v)
    if logarithms is None:
        assert not (output.discrete or output.name == "bernoulli")
        return
    mean = output.mean(v)
    np.testing.assert_allclose(np.exp(logarithms[0]), mean, rtol=1e-13, atol=1e-300)
    np.testing.assert_allclose(np.exp(logarithms[1]), 1 - mean, rtol=1e-13, atol=1e-15)
    assert not np.isnan(logarithms).any() and (np.array(logarithms) <= 0).all()


def test_drawn_targets_are_accepted(output):
    output.check_target(output.sample(random_preactivations(), np.random.RandomState(0)))


@pytest.mark.parametrize(
    ("name", "value"), [("bernoulli", 1.5), ("bernoulli", -0.1), ("poisson", -1.0)]
)
def test_impossible_targets_are_refused(name, value):
    target = np.array([[0.0, value], [0.0, 0.0]])
    for output in (get_output(name), get_output([name, "square"])):
        with pytest.raises(ValueError, match=r"needs targets"):
            output.check_target(target)


def moments_of(target, weights):
    """`Moments` of targets (n_outputs, n_samples), None of class numbers."""
    return weighted_moments(target.T, weights) if target.ndim == 2 else None


@pytest.mark.parametrize("weights", [None, np.array([1.0, 2, 0, 1, 3])])
def test_starting_point(output, weights):
    """Centre and scale of pre-activations, such that the mean output is the mean target."""
    v = random_preactivations(5)
    target = output.sample(v, np.random.RandomState(0))
    total = 5 if weights is None else weights.sum()
    point = output.starting_point(moments_of(target, weights), total, N_OUTPUTS)
    if point is None:
        return
    centre, scale = point
    assert centre.shape == scale.shape == (N_OUTPUTS,) and (scale > 0).all()
    if output.name in ("square", "poisson"):
        mean = np.average(target, axis=1, weights=weights)
        mean = np.maximum(mean, 1e-8) if output.name == "poisson" else mean
        np.testing.assert_allclose(output.mean(centre[:, None])[:, 0], mean, rtol=1e-12)
    if np.all(output.free_scale):
        moved = output.starting_point(moments_of(-3 * target + 1, weights), total, N_OUTPUTS)
        np.testing.assert_allclose(moved[0], -3 * centre + 1, rtol=1e-12)
        np.testing.assert_allclose(moved[1], 3 * scale, rtol=1e-12)


@pytest.mark.parametrize("gain", [-1.0, 1.0])
def test_spheres_of_units_that_may_be_off_start_where_they_are_on(gain):
    """Whatever the sign that a rectified unit responds to."""
    activation = AffineActivation(ACTIVATIONS["relu"], *np.array([[1.0], [0.0], [gain]]))
    centre, scale = Spherical(activation).starting_point(None, 5, N_OUTPUTS)
    np.testing.assert_array_equal(centre, np.full(N_OUTPUTS, 2.0 * gain))
    assert (scale < np.abs(centre)).all()


def test_unit_of_the_loss():
    """It follows the targets where these have units; else it is a nat."""
    rng = np.random.default_rng(0)
    target, weight = rng.poisson(0.1, size=(2, 50)).astype(float), rng.uniform(size=50)
    square, poisson, bernoulli = map(get_output, ("square", "poisson", "bernoulli"))
    mean = np.average(target, axis=1, weights=weight)
    variance = np.average((target.T - mean) ** 2, axis=0, weights=weight)
    moments, larger = moments_of(target, weight), moments_of(100 * target, weight)
    assert square.loss_unit(moments_of(3 * target, weight)) == pytest.approx(9 * variance.mean())
    assert poisson.loss_unit(moments) == pytest.approx(mean.sum())
    assert poisson.loss_unit(larger) == 1.0 == bernoulli.loss_unit(moments)
    for scale in (1e-3, 1e3):
        moments = moments_of(scale * target, None)
        mixed = get_output([square, bernoulli]).loss_unit(moments)
        assert mixed == min(1.0, square.loss_unit(moments.of([0])))


def test_a_shift_is_a_factor_where_the_output_says_so(output):
    """Of the mean, in every unit."""
    v = random_preactivations()
    if np.any(output.multiplicative):
        chosen = np.broadcast_to(output.multiplicative, N_OUTPUTS)
        moved = output.mean(v + np.log(3)), 3 * output.mean(v)
        np.testing.assert_allclose(moved[0][chosen], moved[1][chosen], rtol=1e-14)


def test_arguments_are_not_modified(output):
    v = random_preactivations()
    y = output.sample(v, np.random.RandomState(0))
    kept = v.copy(), y.copy()
    output.loss(v, y), output.score(v, y), output.fisher_factor(v), output.fisher_diagonal(v)
    output.mean(v)
    np.testing.assert_array_equal(v, kept[0])
    np.testing.assert_array_equal(y, kept[1])


# ---------------------------------------------------------------------- sampling
def test_samples_have_the_right_frequencies(output):
    """A chi-square test over all targets, or over ten equally likely intervals of a Gaussian.

    Other outputs: mean target and second moment of the score within 5 standard errors.
    """
    n_draws = 20_000
    v = random_preactivations(1)
    y = output.sample(np.tile(v, n_draws), np.random.RandomState(0))
    drawn = as_values(output, y)
    targets = enumerate_targets(output, v)
    if not (output.discrete or output.name in ("bernoulli", "square")):
        squares = output.score(np.tile(v, n_draws), y) ** 2
        for values, expected in ((drawn, output.mean(v)), (squares, output.fisher_diagonal(v))):
            error = values.std(axis=1) / np.sqrt(n_draws)
            assert (np.abs(values.mean(axis=1) - expected[:, 0]) < 5 * error).all()
    elif output.name == "square":
        cells = np.floor(10 * stats.norm.cdf(drawn - output.mean(v)))
        for counts in (np.bincount(row.astype(int), minlength=10) for row in cells):
            assert stats.chisquare(counts).pvalue > 1e-4
        assert np.abs(np.corrcoef(drawn) - np.eye(N_OUTPUTS)).max() < 5 / np.sqrt(n_draws)
    else:
        expected = n_draws * np.array([p[0] for p, _ in targets])
        values = [as_values(output, y) for _, y in targets]
        counts = np.array([(drawn == y).all(axis=0).sum() for y in values])
        possible = expected > 1e-9
        assert counts.sum() == n_draws and not counts[~possible].any()
        assert stats.chisquare(counts[possible], expected[possible]).pvalue > 1e-4


@pytest.mark.parametrize("activation", allowed_activations("bernoulli"))
def test_equal_uniforms_give_equal_draws(activation):
    """Units that express the same probability draw the same targets from the same numbers."""
    v = 3 * random_preactivations(500)
    one, other = make_output("bernoulli", "logistic"), make_output("bernoulli", activation)
    w = v / ACTIVATIONS[activation].logistic_gain
    draws = [o.sample(x, np.random.RandomState(1)) for o, x in ((one, v), (other, w))]
    np.testing.assert_array_equal(*draws)
    assert 0 < draws[0].mean() < 1


def test_draws_follow_the_generator(output):
    v = np.tile(random_preactivations(1), 50)
    first, again, other = (output.sample(v, np.random.RandomState(seed)) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


# ---------------------------------------------------------------------- extreme logits
def test_everything_is_finite_at_extreme_preactivations(output):
    """An output whose mean overflows, as e^v does, may be infinite there, but not NaN."""
    with np.errstate(all="ignore"):
        bounded = np.isfinite(output.mean(EXTREMES)).all()
        v = EXTREMES if bounded else EXTREMES[:, (EXTREMES < 1).all(axis=0)]
    with np.errstate(all="raise", under="ignore"):
        for y in targets_of(output, v):
            assert np.isfinite(output.loss(v, y)).all()
            assert np.isfinite(output.score(v, y)).all()
        for method in (output.fisher_factor, output.fisher_diagonal, output.mean, output.logits):
            assert np.isfinite(method(v)).all()
    with np.errstate(all="ignore"):
        for y in targets_of(output, v):
            y = y[..., np.arange(EXTREMES.shape[1]) % v.shape[1]]
            assert not np.isnan(output.loss(EXTREMES, y)).any()
            assert not np.isnan(output.score(EXTREMES, y)).any()
        for method in (output.fisher_factor, output.fisher_diagonal):
            assert not np.isnan(method(EXTREMES)).any()


class Exact:
    """The paper's formulas for one sample, in decimal arithmetic of 300 digits."""

    def __init__(self, name, activation, v, coefficients):
        self.name, self.gain = name, ACTIVATIONS[activation].logistic_gain
        self.v = [Decimal(float(x)) for x in v]
        self.a, self.r = zip(*(self._activity(activation, x) for x in self.v), strict=True)
        if name == "bernoulli":
            z = [Decimal(self.gain) * x for x in self.v]
            self.p, self.q = ([1 / (1 + (-sign * x).exp()) for x in z] for sign in (1, -1))
        elif name == "spherical":
            S = sum(a * a for a in self.a)
            self.p = [a * a / S for a in self.a] if S else None
        elif name != "square":
            self.t = [Decimal(float(t)) for t in coefficients]
            e = [(t * a).exp() for t, a in zip(self.t, self.a, strict=True)]
            self.p = [x / sum(e) for x in e]

    @staticmethod
    def _activity(activation, x):
        if activation.endswith("relu") and x <= 0:
            return Decimal(0), Decimal(0)
        if activation == "log_relu":
            return (1 + x).ln(), 1 / (1 + x)
        if activation in ("relu", "identity"):
            return x, Decimal(1)
        gain = Decimal(ACTIVATIONS[activation].gain)
        low, high = (Decimal(getattr(ACTIVATIONS[activation], n)) for n in ("low", "high"))
        e = (-gain * x).exp()
        return low + (high - low) / (1 + e), (high - low) * gain * e / (1 + e) ** 2

    def is_possible(self, y):
        """Whether the target has a probability above 0."""
        return self.name in ("square", "bernoulli") or self.p[y] > 0

    def loss(self, y):
        if self.name == "square":
            pairs = zip(y, self.a, strict=True)
            return sum((Decimal(float(t)) - a) ** 2 for t, a in pairs) / 2
        if self.name == "bernoulli":
            return -sum((p if t else q).ln() for t, p, q in zip(y, self.p, self.q, strict=True))
        return -self.p[y].ln()

    def score(self, y):
        values = []
        for k, (a, r) in enumerate(zip(self.a, self.r, strict=True)):
            if self.name == "square":
                values.append((Decimal(float(y[k])) - a) * r)
            elif self.name == "bernoulli":
                values.append(Decimal(self.gain) * (self.q[k] if y[k] else -self.p[k]))
            elif self.name == "spherical":
                values.append(2 * r / a * ((k == y) - self.p[k]) if a else Decimal(0))
            else:
                values.append(self.t[k] * ((k == y) - self.p[k]))
        return values

    def fisher(self, k, j):
        if self.name == "square":
            return self.r[k] ** 2 * (k == j)
        if self.name == "bernoulli":
            return Decimal(self.gain) ** 2 * self.p[k] * self.q[k] * (k == j)
        if self.name == "spherical":
            S = sum(a * a for a in self.a)
            return 4 * self.r[k] * self.r[j] / S * ((k == j) - self.a[k] * self.a[j] / S)
        return self.t[k] * self.t[j] * self.p[k] * ((k == j) - self.p[j])


def assert_digits(actual, exact, digits=1e-11):
    """Relative accuracy, as far as numbers are above 1e-125: there slopes end, see Sigmoid."""
    exact = np.array(exact, dtype=float)
    np.testing.assert_allclose(actual, exact, rtol=digits, atol=1e-125)


GRID = np.array(list(itertools.product([-1e4, -150.0, -40.0, 0.0, 3.0, 40.0, 1e4], repeat=2))).T
GRID = np.concatenate([GRID, np.full((1, GRID.shape[1]), -1.0)])


@pytest.mark.parametrize("v", [EXTREMES, GRID], ids=["extremes", "grid"])
@pytest.mark.parametrize("pair", KNOWN_PAIRS + RECTIFIED_SPHERES, ids="-".join)
def test_extreme_preactivations_keep_all_digits(pair, v):
    """Loss, score, and Fisher matrix are right to 1e-11, relatively, in every saturation."""
    output = make_output(*pair)
    targets = [y for _, y in enumerate_targets(output, v)]
    if pair[0] == "square":
        targets = [np.full_like(v, t) for t in (2.5, -3.0)]
    S = output.fisher_factor(v)
    F = np.einsum("ofn,pfn->opn", S, S)
    losses, scores = ([f(v, y) for y in targets] for f in (output.loss, output.score))
    diagonal, mean = output.fisher_diagonal(v), output.mean(v)
    with localcontext() as context:
        context.prec, context.Emin, context.Emax = 300, -(10**9), 10**9
        for n in range(v.shape[1]):
            t = getattr(output, "coefficients", None)
            exact = Exact(*pair, v[:, n], np.ones(3) if t is None else t)
            if pair[0] == "spherical" and exact.p is None:
                continue
            for y, loss, score in zip(targets, losses, scores, strict=True):
                if exact.is_possible(y[..., n]):
                    assert_digits(loss[n], exact.loss(y[..., n]))
                    assert_digits(score[:, n], exact.score(y[..., n]))
            expected = [[exact.fisher(k, j) for j in range(3)] for k in range(3)]
            assert_digits(F[:, :, n], expected)
            assert_digits(diagonal[:, n], np.diag(np.array(expected)))
            assert_digits(mean[:, n], exact.a if pair[0] == "square" else exact.p)


@pytest.mark.parametrize("pair", RECTIFIED_SPHERES, ids="-".join)
def test_spherical_output_without_any_activity(pair):
    """All a = 0: classes are equally probable, score and Fisher matrix vanish."""
    output = make_output(*pair)
    v = np.full((3, 2), [-1.0, -1e4])
    np.testing.assert_allclose(output.mean(v), 1 / 3, rtol=1e-15)
    assert not output.score(v, np.array([0, 2])).any()
    assert not output.fisher_factor(v).any() and not output.fisher_diagonal(v).any()


def test_spherical_fisher_matrix_at_an_activity_of_zero():
    """F_kj = 4 r_k r_j / S (delta_kj - a_k a_j / S) has no pole where a_k = 0."""
    output = make_output("spherical", "identity")
    for tiny in (0.0, 1e-300, 1e-13, -1e-13):
        a = np.array([tiny, 1.0, -2.0])
        S = output.fisher_factor(a[:, None])[:, :, 0]
        expected = 4 / (a @ a) * (np.eye(3) - np.outer(a, a) / (a @ a))
        assert_close(S @ S.T, expected, 1e-12)


# ---------------------------------------------------------------------- output parameters
@pytest.mark.parametrize("name", OUTPUTS)
def test_output_parameters(name):
    """parameter_score is -d loss / d t; parameter_factor a square root of its second moment."""
    output, v = make_output(name), random_preactivations()
    start = output.start(N_OUTPUTS)
    assert output.n_parameters == len(start)
    if not len(start):
        return
    for y in targets_of(output, v):

        def loss(t, y=y):
            return output.with_parameters(t).loss(v, y)

        expected = -jacobian(loss, start).T
        actual = output.with_parameters(start).parameter_score(v, y)
        assert_close(actual, expected, 1e-9)

    def product(y):
        score = output.parameter_score(v, y)
        return np.einsum("on,pn->opn", score, score)

    S = output.parameter_factor(v)
    assert_expected(np.einsum("ofn,pfn->opn", S, S), expectation(output, v, product))


def test_parameters_start_at_a_plain_softmax():
    scaled, plain, v = OUTPUTS["scaled_softmax"](), Softmax(), random_preactivations()
    scaled = scaled.with_parameters(scaled.start(N_OUTPUTS))
    y = np.arange(6) % 3
    for method, targets in [
        ("loss", [y]),
        ("score", [y]),
        ("fisher_factor", []),
        ("fisher_diagonal", []),
        ("mean", []),
    ]:
        a, b = (getattr(output, method)(v, *targets) for output in (scaled, plain))
        np.testing.assert_allclose(a, b, rtol=1e-14)


@pytest.mark.parametrize("kind", ["layered", "skip"])
def test_metric_of_the_output_parameters(kind):
    """E_x[a_j a_k (p_j delta_jk - p_j p_k)]: the paper's remark on output parameters."""
    case = case_of("scaled_softmax", "tanh", kind)
    arguments = case.net, case.reference_theta, case.X, case.vartheta, case.weights
    expected = ref.output_parameter_metric(*arguments)
    assert_close(case.point().output_metric(), expected, 1e-13)


# ---------------------------------------------------------------------- several kinds
def test_mixed_output_is_the_product_of_its_parts():
    """Losses add, the Fisher matrix is block-diagonal, each unit has its own output's numbers."""
    names = ["poisson", "bernoulli", "square"]
    output, v = get_output(names), random_preactivations()
    y = output.sample(v, np.random.RandomState(0))
    parts = [(get_output(name), v[[k]], y[[k]]) for k, name in enumerate(names)]
    assert_close(output.loss(v, y), sum(part.loss(v, y) for part, v, y in parts), 1e-14)
    assert_close(output.score(v, y), np.concatenate([o.score(v, y) for o, v, y in parts]), 1e-14)
    for method in ("mean", "fisher_diagonal", "logits"):
        expected = np.concatenate([getattr(o, method)(v) for o, v, _ in parts])
        assert_close(getattr(output, method)(v), expected, 1e-14)
    expected = np.concatenate([o.activation.value(v) for o, v, _ in parts])
    assert_close(output.activation.value(v), expected, 1e-14)


def test_a_list_of_one_kind_is_that_output():
    """With all that it can do: logarithms of small probabilities, rows that are not in memory."""
    assert not isinstance(get_output(["bernoulli"] * 3), Mixed)
    own = OUTPUTS["square"]()
    assert get_output([own, own]) is own
    assert isinstance(get_output([own, OUTPUTS["square"]()]), Mixed)


@pytest.mark.parametrize("outputs", [[3, 5], [5, 3]])
def test_mixed_outputs_at_several_depths(outputs):
    """Each output unit has its own activation, wherever in the graph it stands."""
    adjacency = np.zeros((6, 6))
    adjacency[[0, 1, 0, 1, 2, 3, 4, 0], [2, 2, 3, 3, 4, 4, 5, 5]] = 1
    topology = Topology.from_sparse(adjacency, n_inputs=2, outputs=outputs)
    output = get_output(["square", "bernoulli"])
    lin = Network.build(topology, "tanh", output.activation).linearize(
        np.linspace(-1, 1, topology.n_parameters), np.eye(2)
    )
    v, a = lin.output_preactivations, lin.a[topology.outputs]
    np.testing.assert_array_equal(a[0], v[0])
    np.testing.assert_allclose(a[1], 1 / (1 + np.exp(-v[1])))


@pytest.mark.parametrize("n_labels", [1, 2])
def test_labels_of_poisson_outputs_are_those_of_their_probabilities(n_labels):
    """A class from a mean of 1/2 on."""
    X = np.random.default_rng(0).normal(size=(200, 3))
    Y = (X[:, :n_labels] + 0.5 * X[:, 2:] > 0).astype(int)
    clf = RiemannianMLPClassifier((4,), output="poisson", random_state=0, max_iter=30)
    clf.fit(X, Y[:, 0] if n_labels == 1 else Y)
    proba = clf.predict_proba(X)
    likely = proba.argmax(axis=1) if n_labels == 1 else (proba > 0.5).astype(int)
    np.testing.assert_array_equal(clf.predict(X), likely)
    assert clf.score(X, clf.predict(X)) == 1 and np.mean(clf.predict(X) == Y.squeeze()) > 0.8


def test_equal_outputs_named_one_by_one_train_as_one():
    """They start alike: what places initial weights is each unit's own."""
    binary_rows = np.random.default_rng(0).integers(2, size=(40, 6)).astype(float)
    together, apart = (
        RiemannianAutoEncoder((3,), output=output, max_iter=5, random_state=0).fit(binary_rows)
        for output in ("bernoulli", ["bernoulli"] * binary_rows.shape[1])
    )
    np.testing.assert_allclose(apart.loss_curve_, together.loss_curve_, rtol=1e-9)


def test_mixed_output_keeps_the_activation_of_each_unit():
    """Two outputs of one name but of different activations stay different."""
    kinds = [get_output("bernoulli", name) for name in ("logistic", "tanh")]
    output, v = Mixed(kinds), np.array([[0.5], [0.5]])
    expected = np.concatenate([kind.mean(v[:1]) for kind in kinds])
    assert_close(output.mean(v), expected, 1e-14)


@pytest.mark.parametrize("name", ["softmax", "spherical", "scaled_softmax"])
def test_classes_are_not_mixed(name):
    with pytest.raises(ValueError, match=rf"'{name}'.*can't be mixed"):
        get_output(["square", name])


@pytest.mark.parametrize("empty", [[], ()])
def test_an_output_of_no_unit_is_refused(empty):
    for make in (get_output, Mixed):
        with pytest.raises(ValueError, match=r"output must have one entry.*empty"):
            make(empty)


# ---------------------------------------------------------------------- names
@pytest.mark.parametrize("wrong", ["gaussian", None, 3, ["square", "gaussian"]])
def test_unknown_outputs(wrong):
    with pytest.raises(ValueError, match=r"output.*choose one of.*softmax"):
        get_output(wrong)


@pytest.mark.parametrize("name", OUTPUTS)
def test_names_and_activations(name):
    output = get_output(name)
    assert output.name == name and get_output(output) is output
    for activation in ACTIVATIONS:
        if activation in allowed_activations(name):
            assert get_output(name, activation).activation is ACTIVATIONS[activation]
            assert get_output(name, get_activation(activation)).name == name
        else:
            with pytest.raises(ValueError, match=f"output_activation='{activation}'.*'{name}'"):
                get_output(name, activation)
    with pytest.raises(ValueError, match="activation 'nonsense'"):
        get_output(name, "nonsense")


def test_which_activations_are_allowed():
    sigmoids = ["logistic", "tanh", "scaled_tanh"]
    assert [name for name in sigmoids if name in allowed_activations("bernoulli")] == sigmoids
    assert not {"relu", "log_relu", "identity"} & set(allowed_activations("bernoulli"))
    assert allowed_activations("softmax") == ["identity"]
    assert set(allowed_activations("square")) == set(ACTIVATIONS)
    assert set(allowed_activations("spherical")) == set(ACTIVATIONS)


def test_outputs_pickle(output):
    again, v = pickle.loads(pickle.dumps(output)), random_preactivations()
    y = output.sample(v, np.random.RandomState(0))
    np.testing.assert_array_equal(again.loss(v, y), output.loss(v, y))

"""Activation functions and their slopes."""

import pickle

import numpy as np
import pytest
from engine import derivative
from scipy.special import expit, log_expit

from sknatgrad.network import ACTIVATIONS, AffineActivation, get_activation
from sknatgrad.network.activations_by_unit import SplitActivation

SIGMOIDS = [name for name in ACTIVATIONS if ACTIVATIONS[name].logistic_gain is not None]
V = np.linspace(-6, 6, 40).reshape(4, 10)  # no kink within the reach of a difference


@pytest.fixture(params=ACTIVATIONS)
def activation(request):
    return ACTIVATIONS[request.param]


def test_slope_is_the_derivative(activation):
    a, r = activation.value_and_slope(V)
    np.testing.assert_allclose(r, derivative(activation.value, V), atol=1e-9)
    np.testing.assert_array_equal(activation.value(V), a)


def test_results_are_new_arrays(activation):
    v = V.copy()
    a, r = activation.value_and_slope(v)
    assert a.shape == r.shape == v.shape
    assert not (np.shares_memory(a, v) or np.shares_memory(r, v) or np.shares_memory(a, r))
    np.testing.assert_array_equal(v, V)


def test_fill_writes_into_views(activation):
    whole = np.full((2, 2 * len(V), V.shape[1]), np.nan)
    activation.fill(V, whole[0, ::2], whole[1, 1::2])
    a, r = activation.value_and_slope(V)
    np.testing.assert_array_equal(whole[0, ::2], a)
    np.testing.assert_array_equal(whole[1, 1::2], r)
    assert np.isnan(whole[0, 1::2]).all() and np.isnan(whole[1, ::2]).all()


def test_largest_slope(activation):
    """The supremum of |s'|."""
    slope = activation.value_and_slope(50 * np.linspace(-1, 1, 2001)[None] ** 3)[1]
    assert np.isclose(np.abs(slope).max(), activation.largest_slope, rtol=1e-4)
    ones = np.ones(2)
    rewritten = AffineActivation(activation, -2 * ones, 7 * ones, [1, 3] * ones)
    expected = np.array([[2], [6]]) * activation.largest_slope
    np.testing.assert_allclose(rewritten.largest_slope, expected)


def test_values_are_finite_however_large_v_is(activation):
    v = np.array([[-1e300, -1e4, -0.0, 0.0, 1e4, 1e300]])
    for array in (*activation.value_and_slope(v), *activation.log_value(v)):
        assert np.isfinite(array).all()


def test_logarithm_of_the_activity(activation):
    """log_value is (ln|a|, a'/a); where a = 0, a floor and 0."""
    a, r = activation.value_and_slope(V)
    logarithm, rate = activation.log_value(V)
    alive = a != 0
    np.testing.assert_allclose(logarithm[alive], np.log(np.abs(a[alive])), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(rate[alive], r[alive] / a[alive], rtol=1e-12)
    assert (logarithm[~alive] < -500).all() and (rate[~alive] == 0).all()


@pytest.mark.parametrize("name", ["relu", "log_relu", "identity"])
def test_logarithm_of_zero(name):
    logarithm, rate = ACTIVATIONS[name].log_value(np.zeros((1, 1)))
    assert logarithm < -500 and rate == 0


def test_logarithm_of_a_saturated_logistic_unit():
    """ln expit(v) = v for very negative v, at the rate 1; at the other end 0, at the rate e^-v."""
    logarithm, rate = ACTIVATIONS["logistic"].log_value(np.array([[-1e4, -800.0, 40.0, 300.0]]))
    np.testing.assert_allclose(logarithm[0], log_expit([-1e4, -800, 40, 300]), rtol=1e-14)
    np.testing.assert_allclose(rate[0], [1, 1, np.exp(-40), np.exp(-300)], rtol=1e-13)


@pytest.mark.parametrize("name", SIGMOIDS)
def test_sigmoids_are_affine_functions_of_expit(name):
    """a = low + (high - low) expit(g v), and low, high give midpoint and half range."""
    activation = ACTIVATIONS[name]
    low, high = activation.value(np.array([[-1e4, 1e4]]))[0]
    expected = low + (high - low) * expit(activation.logistic_gain * V)
    np.testing.assert_allclose(activation.value(V), expected, rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(activation.midpoint, (low + high) / 2, atol=1e-15)
    np.testing.assert_allclose(activation.half_range, (high - low) / 2, rtol=1e-15)


@pytest.mark.parametrize("name", SIGMOIDS)
def test_slope_keeps_its_relative_accuracy_in_saturation(name):
    """s'(v) = span g e^-z / (1 + e^-z)^2 with z = |g v|, the same at both ends.

    As far as z <= 300; beyond that the slope stays there, near 1e-130, and its square is not 0.
    """
    activation = ACTIVATIONS[name]
    z = np.append(np.linspace(0, 300, 200), 1e4)
    v = z / activation.logistic_gain * np.array([[1], [-1]])
    slope = activation.value_and_slope(v)[1]
    factor = 2 * activation.half_range * activation.logistic_gain
    expected = factor * np.exp(-z) / (1 + np.exp(-z)) ** 2
    np.testing.assert_allclose(slope[:, :-1], np.tile(expected[:-1], (2, 1)), rtol=1e-12)
    assert (0 < slope[:, -1] ** 2).all() and (slope[:, -1] < 1e-128).all()


@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("logistic", lambda v: 1 / (1 + np.exp(-v))),
        ("tanh", np.tanh),
        ("scaled_tanh", lambda v: 1.7159 * np.tanh(2 * v / 3)),
        ("relu", lambda v: np.where(v > 0, v, 0)),
        ("log_relu", lambda v: np.log1p(np.where(v > 0, v, 0))),
        ("identity", lambda v: v),
    ],
)
def test_names(name, function):
    """The six functions of the public interface."""
    np.testing.assert_allclose(ACTIVATIONS[name].value(V), function(V), rtol=1e-12, atol=1e-15)
    assert get_activation(name) is ACTIVATIONS[name]
    assert get_activation(ACTIVATIONS[name]) is ACTIVATIONS[name]


@pytest.mark.parametrize("wrong", ["sigmoid", None, 3, ["tanh"]])
def test_unknown_names(wrong):
    with pytest.raises(ValueError, match=r"activation.*choose one of.*tanh"):
        get_activation(wrong)


def test_affine_activation(activation):
    """alpha s(gamma v) + beta, with one triple a unit."""
    alpha, beta, gamma = np.random.default_rng(0).uniform(0.5, 2, size=(3, len(V)))
    rewritten = AffineActivation(activation, -alpha, beta, gamma)
    expected = [beta[k] - alpha[k] * activation.value(gamma[k] * V[k]) for k in range(len(V))]
    np.testing.assert_allclose(rewritten.value(V), expected, rtol=1e-14)
    v = V + 0.1 * np.sign(V)
    slope = rewritten.value_and_slope(v)[1]
    np.testing.assert_allclose(slope, derivative(rewritten.value, v), atol=1e-9)


def test_affine_activation_starts_as_its_base(activation):
    """What places initial weights changes with the units' coordinates."""
    alpha, beta, gamma = np.array([-2.0, 0.5]), np.array([1.0, -3.0]), np.array([0.25, 4.0])
    rewritten = AffineActivation(activation, alpha, beta, gamma)
    np.testing.assert_array_equal(rewritten.midpoint, alpha * activation.midpoint + beta)
    np.testing.assert_array_equal(rewritten.half_range, alpha * activation.half_range)
    np.testing.assert_array_equal(rewritten.input_gain, gamma * activation.input_gain)


def test_split_activation_has_the_numbers_of_each_unit():
    logistic, tanh = ACTIVATIONS["logistic"], ACTIVATIONS["tanh"]
    split = SplitActivation(((np.array([0, 2]), logistic), (np.array([1]), tanh)))
    for name in ("midpoint", "half_range", "input_gain", "span", "largest_slope"):
        of = [getattr(activation, name) for activation in (logistic, tanh, logistic)]
        np.testing.assert_array_equal(np.ravel(getattr(split, name)), of)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_logarithms_keep_the_precision(activation, dtype):
    assert {part.dtype for part in activation.log_value(V.astype(dtype))} == {np.dtype(dtype)}


def test_activations_pickle(activation):
    again = pickle.loads(pickle.dumps(activation))
    np.testing.assert_array_equal(again.value(V), activation.value(V))

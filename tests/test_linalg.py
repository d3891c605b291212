"""Linear systems with stacks of positive semi-definite matrices, regular and singular."""

import numpy as np
import pytest
from engine import assert_close

from sknatgrad.metrics.linalg import (
    CentredFactor,
    PseudoInverse,
    ScaledFactor,
    centred_variance,
)
from sknatgrad.numerics.arithmetic import rounding, safe_divide

SIZES = [1, 2, 6, 24, 25, 30]  # on both sides of the size up to which stacks are solved together


def scaled_solve(matrices, rhs, floor=0.0):
    return ScaledFactor(matrices, floor).solve(rhs)


def pseudo_solve(matrix, rhs):
    return PseudoInverse(matrix, len(matrix) * rounding(matrix)).solve(rhs)


def centred_solve(blocks, rhs, relative=0.0, absolute=None):
    return CentredFactor(blocks, relative, absolute).solve(rhs)


def second_moments(rng, n, m, n_samples=None, offset=1.0):
    """A stack E[a a^T] with a_0 = 1 and other entries around `offset`."""
    n_samples = n_samples or 3 * m + 5
    a = offset + rng.normal(size=(n, m, n_samples))
    a[:, 0] = 1.0
    return a @ a.transpose(0, 2, 1) / n_samples


def damped(A, relative=0.0, absolute=0.0):
    """A + relative diag(0, A_ii - A_0i^2 / A_00) + absolute, block by block."""
    A = A.copy()
    for block, extra in zip(A, np.broadcast_to(absolute, A.shape[:2]), strict=True):
        variance = np.diag(block) - block[0] ** 2 / block[0, 0]
        block += np.diag(relative * variance + extra)
    return A


def test_safe_divide():
    """x / y, and 0 where y = 0 or the quotient overflows."""
    numerator = np.array([1.0, 0.0, 1.0, -1.0, 1e300, -3.0, 1.0])
    denominator = np.array([2.0, 0.0, 0.0, 0.0, 1e-300, 1e300, 5e-324])
    with np.errstate(all="raise"):
        quotient = safe_divide(numerator, denominator)
    np.testing.assert_allclose(quotient, [0.5, 0, 0, 0, 0, -3e-300, 0])
    assert safe_divide(np.ones((3, 1)), np.ones(2)).shape == (3, 2)
    assert safe_divide(1.0, np.array([4.0])) == 0.25


def test_centred_variance():
    """A_ii - A_0i^2 / A_00, and 0 where that is rounding."""
    corner, border = np.array([2.0, 1.0, 0.0, 1.0]), np.array([1.0, 3.0, 0.0, 1e8])
    diagonal = np.array([1.0, 9.0 * (1 + 1e-15), 0.0, 1e16 + 2.0])
    np.testing.assert_array_equal(centred_variance(corner, border, diagonal), [0.5, 0, 0, 0])


@pytest.mark.parametrize("m", SIZES)
@pytest.mark.parametrize(
    ("relative", "absolute"), [(0.0, None), (0.1, None), (0.0, 0.2), (0.1, 0.2), (0.0, "varied")]
)
def test_centred_solve(m, relative, absolute):
    """(A + damping) x = b for every block, whether damped or not; arguments are kept."""
    rng = np.random.default_rng(m)
    A, b = second_moments(rng, 4, m), rng.normal(size=(4, m, 3))
    if absolute is not None:
        absolute = rng.uniform(size=(4, m)) if absolute == "varied" else np.full((4, m), absolute)
    kept = A.copy(), b.copy()
    x = centred_solve(A, b, relative, absolute)
    expected = np.linalg.solve(damped(A, relative, 0.0 if absolute is None else absolute), b)
    assert_close(x, expected, 1e-10)
    np.testing.assert_array_equal(A, kept[0])
    np.testing.assert_array_equal(b, kept[1])


@pytest.mark.parametrize("m", SIZES)
def test_one_block_for_many_right_hand_sides(m):
    rng = np.random.default_rng(m)
    A, b = second_moments(rng, 1, m), rng.normal(size=(1, m, 50))
    assert_close(centred_solve(A, b, 0.1), np.linalg.solve(damped(A, 0.1), b), 1e-10)


@pytest.mark.parametrize("scale", [1e-140, 1e-10, 1e10, 1e140])
@pytest.mark.parametrize("m", [6, 30])
def test_scale_of_a_signal_does_not_matter(m, scale):
    """a_i -> scale a_i divides x_i by the scale, to the last digits, at any size."""
    rng = np.random.default_rng(m)
    A, b = second_moments(rng, 3, m), rng.normal(size=(3, m, 1))
    factor = np.where(np.arange(m) % 2, scale, 1.0)
    x = centred_solve(A, b, 1e-3)
    y = centred_solve(A * factor * factor[:, None], b * factor[:, None], 1e-3)
    assert_close(y * factor[:, None], x, 1e-10)


@pytest.mark.parametrize("m", [6, 30])
def test_origin_of_a_signal_does_not_matter(m):
    """a_i -> a_i + t leaves x_i, also if t is a thousand times the deviation of a_i."""
    rng = np.random.default_rng(m)
    a = rng.normal(size=(m, 200))
    a[0] = 1.0
    T = np.eye(m)
    T[1:, 0] = 1e3 * rng.normal(size=m - 1)
    A, b = a @ a.T / 200, rng.normal(size=(m, 1))
    x, y = (centred_solve((M @ A @ M.T)[None], (M @ b)[None], 1e-3)[0] for M in (np.eye(m), T))
    assert_close(y[1:], x[1:], 1e-8)


@pytest.mark.parametrize("m", [6, 30])
@pytest.mark.parametrize("relative", [0.0, 1e-3])
@pytest.mark.parametrize("case", ["constant", "null", "repeated", "few", "all_null", "one_sample"])
def test_singular_blocks(case, relative, m):
    """A right-hand side in the image of A is reached: A x = b with x finite."""
    rng = np.random.default_rng(m)
    a = 1 + rng.normal(size=(m, {"few": m // 2, "one_sample": 1}.get(case, 3 * m)))
    a[0] = 1.0
    if case == "constant":
        a[2] = 7.0
    elif case == "null":
        a[2] = 0.0
    elif case == "repeated":
        a[3], a[4] = a[2], 2 * a[1] - a[2] + 3
    elif case == "all_null":
        a[:] = 0.0
    A = a @ a.T / a.shape[1]
    b = a @ rng.normal(size=(a.shape[1], 1))
    stack = np.stack([A, A + np.eye(m)])
    x = centred_solve(stack, np.stack([b, b]), relative)
    assert np.isfinite(x).all()
    expected = damped(np.stack([A, A + np.eye(m)]), relative) if A.any() else stack
    assert_close(expected @ x, np.stack([b, b]), 1e-8)
    assert_close(x[1], np.linalg.solve(expected[1], b), 1e-10)
    if case in ("constant", "null"):
        assert abs(x[0, 2, 0]) <= 1e-8 * np.abs(x[0]).max()


def test_nearly_singular_blocks_have_small_residuals():
    """Hilbert matrices, of condition 1e13: the solution is not determined, its image is."""
    i = np.arange(1, 11)
    H = 1.0 / (i[:, None] + i - 1)
    b = H @ np.ones((10, 1))
    for x in (centred_solve(H[None], b[None])[0], scaled_solve(H[None].copy(), b[None])[0]):
        assert_close(H @ x, b, 1e-11)


def test_null_rows_give_zero():
    A = np.diag([2.0, 0.0, 4.0])
    x = scaled_solve(A[None].copy(), np.ones((1, 3, 1)))
    np.testing.assert_allclose(x[0, :, 0], [0.5, 0, 0.25])
    floored = scaled_solve(
        A[None].copy(), np.ones((1, 3, 1)), floor=np.array([[1e-14, 1e-14, 1e6]])
    )
    np.testing.assert_allclose(floored[0, :, 0], [0.5, 0, 0])


def test_bias_alone():
    """Units without links have blocks of size 1."""
    x = centred_solve(np.array([[[2.0]], [[0.0]]]), np.ones((2, 1, 1)), 0.1)
    np.testing.assert_array_equal(x[:, 0, 0], [0.5, 0])
    assert scaled_solve(np.empty((2, 0, 0)), np.empty((2, 0, 1))).shape == (2, 0, 1)


@pytest.mark.parametrize("m", [3, 30])
def test_stack_is_solved_block_by_block(m):
    """A singular block does not change the solution of its neighbours."""
    rng = np.random.default_rng(0)
    A, b = second_moments(rng, 5, m), rng.normal(size=(5, m, 2))
    A[1] = np.outer(A[1, 0], A[1, 0])
    A[3] = 0.0
    x = centred_solve(A, b, 1e-2)
    for k in range(5):
        assert_close(x[k], centred_solve(A[[k]], b[[k]], 1e-2)[0], 1e-12)


@pytest.mark.parametrize("m", [2, 30])
def test_steps_that_overflow_are_zero(m):
    """A block whose solution is not finite gives no step; the others do."""
    A = np.stack([np.eye(m), 1e-320 * np.eye(m), np.full((m, m), np.nan)])
    with np.errstate(all="ignore"):
        x = scaled_solve(A, np.full((3, m, 1), 1e10))
    np.testing.assert_array_equal(x[:, :, 0], [[1e10] * m, [0] * m, [0] * m])


@pytest.mark.parametrize("m", [3, 30])
def test_one_factor_for_many_solves(m):
    """Right-hand sides do not change what has been factored, nor are they changed."""
    rng = np.random.default_rng(0)
    A, b = second_moments(rng, 4, m), rng.normal(size=(2, 4, m, 2))
    A[1] = np.outer(A[1, 0], A[1, 0])
    for factor in (CentredFactor(A, 0.1), ScaledFactor(A.copy())):
        kept = b.copy()
        first = factor.solve(b[0])
        assert_close(factor.solve(3 * b[0] - b[1]), 3 * first - factor.solve(b[1]), 1e-9)
        np.testing.assert_array_equal(factor.solve(b[0]), first)
        np.testing.assert_array_equal(b, kept)


@pytest.mark.parametrize("m", [3, 30])
def test_pseudo_solve(m):
    """The solution of minimum norm, of the nearest right-hand side that has one."""
    rng = np.random.default_rng(m)
    a, b = rng.normal(size=(m, m // 2 + 1)), rng.normal(size=(m, 2))
    A = a @ a.T
    assert_close(pseudo_solve(A, b), np.linalg.pinv(A, 1e-10, hermitian=True) @ b, 1e-9)
    assert np.isnan(pseudo_solve(np.full((2, 2), np.inf), np.ones((2, 1)))).all()


@pytest.mark.parametrize("m", [3, 30])
def test_single_precision(m):
    """Matrices in float32: what is lost is their precision, and singular ones are noticed."""
    rng = np.random.default_rng(0)
    A, b = second_moments(rng, 4, m, 20 * m), rng.normal(size=(4, m, 2))
    x = centred_solve(A.astype(np.float32), b, 0.1)
    assert_close(x, centred_solve(A, b, 0.1), 1e-4)
    a = rng.normal(size=(m, 50))
    a[0], a[1] = 1.0, a[2]
    A, b = a @ a.T / 50, a @ rng.normal(size=(50, 1))
    x = centred_solve(A[None].astype(np.float32), b[None])[0]
    assert_close(A @ x, b, 1e-4)


def test_rounding_is_above_machine_precision():
    for dtype in (np.float64, np.float32):
        eps = np.finfo(dtype).eps
        assert eps < rounding(np.zeros(1, dtype)) < 1e3 * eps

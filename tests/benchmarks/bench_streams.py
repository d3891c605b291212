"""What streams follow, by how many rows the averaged parameters speak of.

Run as ``python tests/benchmarks/bench_streams.py``. R^2 of each call's rows before they are
learnt, where the plane that makes the targets turns by a radian in so many rows; R^2 on new rows
without noise after 12,000 rows of a function that stays. 20 units, 30 rows a call.
"""

import warnings
from unittest import mock

import numpy as np
from threadpoolctl import threadpool_limits

from sknatgrad import RiemannianMLPRegressor
from sknatgrad.training import assembly

ROWS_A_CALL, N_CALLS, N_FEATURES = 30, 800, 5


def turning(rows_a_radian):
    """Mean score of calls before they are learnt, after the first 200."""
    rng, scores = np.random.default_rng(0), []
    model = RiemannianMLPRegressor(hidden_layer_sizes=(20,), random_state=0)
    for call in range(N_CALLS):
        X = rng.normal(size=(ROWS_A_CALL, N_FEATURES))
        angle = call * ROWS_A_CALL / rows_a_radian
        y = X[:, 0] * np.cos(angle) + X[:, 1] * np.sin(angle)
        if call > 200:
            scores.append(model.score(X, y))
        model.partial_fit(X, y)
    return np.mean(scores)


def staying(noise):
    """Mean score over three streams, noise in deviations."""
    scores = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        model = RiemannianMLPRegressor(hidden_layer_sizes=(20,), random_state=seed)
        for _ in range(N_CALLS // 2):
            X = rng.normal(size=(ROWS_A_CALL, N_FEATURES))
            signal = np.sin(X[:, 0]) + X[:, 1]
            model.partial_fit(X, signal + noise * rng.normal(size=len(X)))
        X = rng.normal(size=(2000, N_FEATURES))
        scores.append(model.score(X, np.sin(X[:, 0]) + X[:, 1]))
    return np.mean(scores)


def main():
    """Print a Markdown table."""
    print("| rows averaged | a radian in 900 rows | in 3000 | in 9000 | noise 1 | noise 3 |")
    print("|---" * 6 + "|")
    with threadpool_limits(limits=1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for memory in (2000, 1000, 500, 200):
            with mock.patch.object(assembly, "STREAM_MEMORY", memory):
                values = [*map(turning, (900, 3000, 9000)), *map(staying, (1.0, 3.0))]
            cells = " | ".join(f"{value:.3f}" for value in values)
            print(f"| {memory} | {cells} |", flush=True)


if __name__ == "__main__":
    main()

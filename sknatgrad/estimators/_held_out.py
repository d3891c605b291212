"""Rows held out for early stopping."""

import math

import numpy as np
from sklearn.model_selection import train_test_split

from ..training.data.rows import is_partitioned
from ._weights import check_total_weight, without_zero_weights


def hold_out(data, stratify, fraction, rng):
    """Training and held-out rows of `Data`.

    Parameters
    ----------
    data : Data
    stratify : array-like or None
        Classes whose proportions are kept. Where they are too many or too rare for that,
        one row of each is kept for training at least.
    fraction : float
        Share of the rows held out.
    rng : RandomState

    Returns
    -------
    training, held_out : Data

    Raises
    ------
    ValueError
        If there are too few rows.
    """
    if data.whole_batches_only:
        raise ValueError(
            "early_stopping=True can't hold out rows that lie on workers: pass X_val and y_val."
        )
    n_rows = data.X.shape[0]
    try:
        train, held_out = _split(n_rows, stratify, float(fraction), rng)
    except ValueError as problem:
        raise ValueError(
            f"early_stopping=True can't hold out validation_fraction={fraction} of {n_rows} "
            f"samples: {problem} Pass X_val and y_val, or set early_stopping=False."
        ) from problem
    return data.rows(np.sort(train)), data.rows(np.sort(held_out))


def validation_data(estimator, targets, X_val, y_val, sample_weight_val):
    """`Data` of the rows given to `fit` for early stopping, by `targets`; None without.

    Raises
    ------
    ValueError
        If they can't be used, or do not go together.
    """
    if X_val is None:
        if y_val is not None or sample_weight_val is not None:
            raise ValueError("y_val and sample_weight_val need X_val.")
        return None
    if not estimator.early_stopping:
        raise ValueError("X_val is used for early stopping: set early_stopping=True.")
    if y_val is None:
        raise ValueError("X_val needs y_val.")
    if is_partitioned(X_val):
        raise ValueError("X_val must be rows in memory: pass X_val.compute(), y_val.compute().")
    rows, y = estimator._checked_rows(X_val, y_val, sample_weight_val, reset=False)
    data, _ = without_zero_weights(rows.encoded(targets), y)
    check_total_weight(data, "validation")
    return data


def _split(n_rows, stratify, fraction, rng):
    """Numbers of the rows for training, and of those held out."""
    rows = np.arange(n_rows)
    if stratify is None:
        return train_test_split(rows, test_size=fraction, random_state=rng)
    _, first, classes, counts = np.unique(
        stratify, return_index=True, return_inverse=True, return_counts=True
    )
    # In the order of their first rows: which are drawn does not depend on what they are called.
    classes = np.argsort(np.argsort(first))[classes]
    n_held_out = math.ceil(fraction * n_rows)
    # The rarest class has a row to train on, and each may have one that is held out.
    if counts.min() * (n_rows - n_held_out) >= n_rows and n_held_out >= len(counts):
        return train_test_split(rows, test_size=fraction, random_state=rng, stratify=classes)
    order = rng.permutation(n_rows)
    _, first = np.unique(classes[order], return_index=True)
    others = np.delete(order, first)
    if not len(others):
        raise ValueError("Each class has one sample only.")
    held_out = others[:n_held_out]
    return np.setdiff1d(rows, held_out), held_out

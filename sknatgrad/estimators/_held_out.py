"""Rows held out for early stopping."""

import math

import numpy as np
from sklearn.model_selection import train_test_split


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
        If there are too few rows, or a part has no weight.
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
    parts = data.rows(np.sort(train)), data.rows(np.sort(held_out))
    for part, name in zip(parts, ("training", "validation"), strict=True):
        if part.weight is not None and not part.weight.any():
            raise ValueError(
                f"early_stopping=True left the {name} set without positive sample_weight: change "
                "random_state or validation_fraction, or pass X_val."
            )
    return parts


def _split(n_rows, stratify, fraction, rng):
    """Numbers of the rows for training, and of those held out."""
    rows = np.arange(n_rows)
    if stratify is None:
        return train_test_split(rows, test_size=fraction, random_state=rng)
    _, classes, counts = np.unique(stratify, return_inverse=True, return_counts=True)
    n_held_out = math.ceil(fraction * n_rows)
    if counts.min() > 1 and n_held_out >= len(counts):
        return train_test_split(rows, test_size=fraction, random_state=rng, stratify=classes)
    order = rng.permutation(n_rows)
    _, first = np.unique(classes[order], return_index=True)
    others = np.delete(order, first)
    if not len(others):
        raise ValueError("Each class has one sample only.")
    held_out = others[:n_held_out]
    return np.setdiff1d(rows, held_out), held_out

"""Rows held out for early stopping."""

import numpy as np
from sklearn.model_selection import train_test_split


def hold_out(data, stratify, fraction, rng):
    """Training and held-out rows of `Data`.

    Parameters
    ----------
    data : Data
    stratify : array-like or None
        Classes whose proportions are kept.
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
    rows = np.arange(data.X.shape[0])
    try:
        train, held_out = train_test_split(
            rows, test_size=fraction, random_state=rng, stratify=stratify
        )
    except ValueError as problem:
        raise ValueError(
            f"early_stopping=True can't hold out validation_fraction={fraction} of {len(rows)} "
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

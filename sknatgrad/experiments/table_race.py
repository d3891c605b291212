"""The race on a user's own table."""

from dataclasses import dataclass

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.preprocessing import OneHotEncoder

from ..estimators import RiemannianMLPClassifier, RiemannianMLPRegressor
from ..estimators._architecture import layer_sizes
from ..estimators._auto_metric import auto_metric
from ..network import Topology
from .csv_table import TableError
from .dataset import check_task
from .race import Competitor, plain_gradient_note

METRICS = ("qd_bp", "kron_bp")
MOST_LEVELS = 100
MISSING_LEVEL = "(missing)"


@dataclass(frozen=True)
class Split:
    """Encoded rows.

    Attributes
    ----------
    X_train, X_test : ndarray of shape (n_rows, n_inputs)
    y_train, y_test : ndarray of shape (n_rows,)
    report : tuple of str
        Lines that say how the columns were encoded.
    """

    X_train: np.ndarray
    X_test: np.ndarray
    y_train: np.ndarray
    y_test: np.ndarray
    report: tuple

    def __iter__(self):
        """The four arrays, in the order of `run_race`."""
        return iter((self.X_train, self.y_train, self.X_test, self.y_test))


def split_and_encode(dataset, test_size=0.25, random_state=0):
    """Training and test rows; what encodes them is learnt from the training rows.

    Parameters
    ----------
    dataset : Dataset
    test_size : float, default=0.25
        Share of the test rows; stratified in classification.
    random_state : int, default=0

    Returns
    -------
    Split

    Raises
    ------
    TableError
        If the rows can't be parted so.
    """
    classification = dataset.task == "classification"
    target = dataset.target.astype(str if classification else float)
    try:
        train, test = train_test_split(
            np.arange(len(target)),
            test_size=test_size,
            random_state=random_state,
            stratify=target if classification else None,
        )
    except ValueError as problem:
        raise TableError(f"can't set test rows apart: {problem}") from problem
    _check_parts(target[train], target[test], classification)
    X_train, X_test, report = _encode(dataset, train, test)
    return Split(X_train, X_test, target[train], target[test], report)


def _check_parts(train, test, classification):
    if classification:
        unseen = sorted(set(test) - set(train))
        if unseen:
            raise TableError(
                f"class {unseen[0]!r} has no training row: choose a smaller share of test rows."
            )
    elif len(test) < 2:
        raise TableError("R^2 needs two test rows or more: choose a larger share of test rows.")
    if len(set(train)) == 1:
        raise TableError("all training rows have the same target: choose another seed.")


def _encode(dataset, train, test):
    """Inputs of the two parts, and lines on where they come from."""
    parts, found, rare = [], [], []
    if dataset.number_names:
        imputer = SimpleImputer(add_indicator=True, keep_empty_features=True)
        parts.append(_fit_transform(imputer, dataset.numbers, train, test))
        found.append(_counted(len(dataset.number_names), "column", "columns") + " of numbers")
    if dataset.category_names:
        missing = np.equal(dataset.categories, None)
        encoder = OneHotEncoder(
            handle_unknown="ignore", max_categories=MOST_LEVELS + 1, sparse_output=False
        )
        levels = np.where(missing, MISSING_LEVEL, dataset.categories)
        parts.append(_fit_transform(encoder, levels, train, test))
        counts = [len(known) for known in encoder.categories_]
        found.append(
            _counted(len(counts), "column", "columns")
            + f" of categories ({_counted(sum(counts), 'level', 'levels')} in the training rows)"
        )
        rare = _on_rare_levels(dataset.category_names, counts)
    X_train, X_test = (np.hstack(arrays) for arrays in zip(*parts, strict=True))
    line = f"Features: {', '.join(found)}; {_counted(X_train.shape[1], 'input', 'inputs')}."
    return X_train, X_test, (line, *rare)


def _fit_transform(encoder, rows, train, test):
    return encoder.fit_transform(rows[train]), encoder.transform(rows[test])


def _on_rare_levels(names, counts):
    return [
        f"Column {name!r}: the {MOST_LEVELS} most frequent of {count} levels have an input each, "
        "the others share one."
        for name, count in zip(names, counts, strict=True)
        if count > MOST_LEVELS + 1
    ]


def _counted(count, one, many):
    return f"{count} {one if count == 1 else many}"


def table_competitors(task, metrics=None, random_state=0, max_iter=None, n_inputs=1):
    """Our estimator in several metrics, and scikit-learn's usual suspects.

    Parameters
    ----------
    task : {"classification", "regression"}
    metrics : list of str, optional
        By default the estimator's own default, and qd_bp and kron_bp.
    random_state : int, default=0
    max_iter : int, optional
        Largest number of passes of the networks; each keeps its own default if this
        is not given.
    n_inputs : int, default=1
        Of the table once it is encoded: the default metric depends on it.

    Returns
    -------
    list of Competitor
        scikit-learn's last: the network with Adam and the linear model standardised.

    Raises
    ------
    ValueError
        If there is no such task or metric.
    """
    check_task(task)
    regression = task == "regression"
    common = {"random_state": random_state}
    if max_iter is not None:
        common["max_iter"] = max_iter
    own = RiemannianMLPRegressor if regression else RiemannianMLPClassifier
    sizes = layer_sizes(n_inputs, own().hidden_layer_sizes, n_outputs=1)
    default = auto_metric(Topology.layered(sizes))
    names = [default, *METRICS] if metrics is None else metrics
    ours = [
        Competitor(name, own(metric=name, **common), note=_note(name, default))
        for name in dict.fromkeys(names)
    ]
    adam = (MLPRegressor if regression else MLPClassifier)(**common)
    linear = Ridge() if regression else LogisticRegression(max_iter=1000)
    trees = (HistGradientBoostingRegressor if regression else HistGradientBoostingClassifier)(
        random_state=random_state
    )
    return [
        *ours,
        Competitor("Adam (scikit-learn)", adam, True, "standardised"),
        Competitor(type(linear).__name__, linear, True, "standardised"),
        Competitor("HistGradientBoosting", trees),
    ]


def _note(name, default):
    return "our default" if name in (default, "auto") else plain_gradient_note(name)

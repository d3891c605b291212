"""From a table of text to numbers, categories and a target."""

import math
from collections import Counter
from dataclasses import dataclass

import numpy as np

from .csv_table import TableError

TASKS = ("classification", "regression")
MOST_CLASSES = 20
FEWEST_ROWS = 10
_LISTED = 10
_NUMBERING_NAMES = frozenset(["column 1", "unnamed: 0", "index", "id", "row", "rownames"])


@dataclass(frozen=True)
class Dataset:
    """What a table holds.

    Attributes
    ----------
    task : {"classification", "regression"}
    target : ndarray of shape (n_rows,)
        Class names, or numbers.
    numbers : ndarray of shape (n_rows, n_numbers)
        NaN where one is missing.
    categories : ndarray of shape (n_rows, n_categories), of str or None
        None where one is missing.
    number_names, category_names : tuple of str
    report : tuple of str
        Lines that say what was made of the table.
    """

    task: str
    target: np.ndarray
    numbers: np.ndarray
    categories: np.ndarray
    number_names: tuple
    category_names: tuple
    report: tuple


def make_dataset(table, target, task=None):
    """Tell numbers from categories, and set aside what can't be learnt from.

    Parameters
    ----------
    table : Table
    target : str
        Name of the column to predict.
    task : {"classification", "regression"}, optional
        Guessed by default: regression if the target has numbers of more than 20
        different values.

    Returns
    -------
    Dataset

    Raises
    ------
    TableError
        If there is nothing to learn, or from nothing.
    ValueError
        If there is no such task.
    """
    if task is not None:
        check_task(task)
    position = table.position(target)
    entries = np.array(table.columns[position], dtype=object)
    values, remarks = _parse(entries, table.separator)
    known = np.array([entry is not None for entry in entries])
    if values is not None:
        known = np.isfinite(values)
    report = [_target_line(target, known, remarks)]
    task, guess = _task(target, values, entries[known], known, task)
    labels = values if task == "regression" else _class_names(entries, values)
    if task == "classification":
        known, dropped = _without_single_rows(labels, known)
        report += dropped
    _check_enough(target, labels[known], task)
    report.append(_task_line(labels[known], task, guess))
    columns = list(zip(table.names, table.columns, strict=True))
    del columns[position]
    return _with_features(columns, table.separator, known, task, labels[known], report)


def check_task(task):
    """Raise ValueError if there is no such task."""
    if task not in TASKS:
        raise ValueError(f"task must be one of {TASKS}, got {task!r}.")


def _with_features(columns, separator, known, task, target, report):
    numbers, categories, missing, dropped = {}, {}, [], []
    for place, (name, column) in enumerate(columns):
        entries = np.array(column, dtype=object)[known]
        values, remarks = _parse(entries, separator)
        report += [f"Column {name!r}: {remark}" for remark in remarks]
        useless = _useless(name, entries, values)
        if useless:
            dropped.append(f"{name!r} ({useless})")
            continue
        (categories if values is None else numbers)[place] = entries if values is None else values
        n_missing = _n_missing(entries, values)
        if n_missing:
            missing.append((name, n_missing, values is not None))
    if not numbers and not categories:
        raise TableError(f"no feature is left. Dropped: {_listed(dropped) or 'none'}.")
    report += _missing_lines(missing)
    if dropped:
        report.append(f"Dropped columns: {', '.join(dropped)}.")
    return Dataset(
        task=task,
        target=target,
        numbers=_stack(numbers.values(), len(target), float),
        categories=_stack(categories.values(), len(target), object),
        number_names=tuple(columns[place][0] for place in numbers),
        category_names=tuple(columns[place][0] for place in categories),
        report=tuple(report),
    )


def _stack(columns, n_rows, dtype):
    columns = list(columns)
    return np.column_stack(columns).astype(dtype) if columns else np.empty((n_rows, 0), dtype)


# ----------------------------------------------------------------------------- columns
def _parse(entries, separator):
    """Numbers (NaN: missing) or None if the column has other entries; and remarks."""
    present = [entry for entry in entries if entry is not None]
    values = _numbers(present)
    remarks = []
    if values is None and separator != ",":
        values = _numbers([entry.replace(",", ".") for entry in present])
        if values is not None:
            remarks.append("read with decimal commas.")
    if values is None:
        return None, _on_almost_numbers(present)
    if not present:
        return np.full(len(entries), np.nan), []
    infinite = sum(map(math.isinf, values))
    if infinite:
        remarks.append(f"{infinite} infinite entries count as missing.")
    full = np.full(len(entries), np.nan)
    full[[entry is not None for entry in entries]] = values
    full[~np.isfinite(full)] = np.nan
    return full, remarks


def _numbers(entries):
    try:
        numbers = [float(entry) for entry in entries]
    except ValueError:
        return None
    # float() also reads 1_000, which no other program writes for a number.
    return None if any("_" in entry for entry in entries) else numbers


def _on_almost_numbers(entries):
    others = [entry for entry in entries if _numbers([entry]) is None]
    if len(others) * 2 >= len(entries):
        return []
    return [
        f"categories, since {len(others)} of its {len(entries)} entries are no numbers, "
        f"such as {others[0]!r}."
    ]


def _n_missing(entries, values):
    if values is not None:
        return int(np.isnan(values).sum())
    return sum(entry is None for entry in entries)


def _useless(name, entries, values):
    """Why nothing can be learnt from a column; empty if it can."""
    n_missing = _n_missing(entries, values)
    if n_missing == len(entries):
        return "empty"
    distinct = len({entry for entry in entries if entry is not None})
    if values is not None:
        distinct = len(np.unique(values[~np.isnan(values)]))
    if distinct == 1 and not n_missing:
        return "constant"
    if values is None and distinct == len(entries) - n_missing > 1:
        return "an entry of its own in each row"
    if values is None or n_missing or distinct < len(entries) or not _names_an_id(name):
        return ""
    return "numbers the rows" if np.array_equal(values, np.rint(values)) else ""


def _names_an_id(name):
    """Whether a column is called like one that tells rows apart."""
    lower = name.lower()
    return (
        lower in _NUMBERING_NAMES or lower.endswith(("_id", " id")) or name.endswith(("Id", "ID"))
    )


def _missing_lines(missing):
    numbers = [f"{name!r} {count}" for name, count, numeric in missing if numeric]
    levels = [f"{name!r} {count}" for name, count, numeric in missing if not numeric]
    lines = []
    if numbers:
        lines.append(
            f"Missing numbers: {', '.join(numbers)}; filled by the mean of the training rows, "
            "and marked by a further column each."
        )
    if levels:
        lines.append(f"Missing categories: {', '.join(levels)}; a level of their own.")
    return lines or ["Missing entries: none."]


def _listed(items):
    shown = ", ".join(items[:_LISTED])
    return f"{shown}, ..." if len(items) > _LISTED else shown


# ------------------------------------------------------------------------------ target
def _target_line(name, known, remarks):
    lost = int((~known).sum())
    rows = "row" if lost == 1 else "rows"
    line = f"Target: {name!r}"
    if lost:
        line += f"; {lost} {rows} without it dropped"
    return " ".join([f"{line}.", *(remark[0].upper() + remark[1:] for remark in remarks)])


def _task(name, values, present, known, task):
    if task == "regression" and values is None:
        other = next(entry for entry in present if _numbers([entry]) is None)
        raise TableError(
            f"the target {name!r} has entries that are no numbers, such as {other!r}: "
            "is this a task of classification?"
        )
    if task is not None:
        return task, ""
    if values is None:
        return "classification", "guessed: its entries are no numbers"
    distinct = len(np.unique(values[known]))
    guess = f"guessed: it has numbers of {distinct} different values"
    return "regression" if distinct > MOST_CLASSES else "classification", guess


def _class_names(entries, values):
    """Classes as text; numbers that are equal are one class."""
    if values is None:
        return entries
    names = [str(int(v)) if v == np.rint(v) else repr(float(v)) for v in np.nan_to_num(values)]
    return np.array(names, dtype=object)


def _without_single_rows(labels, known):
    """Rows of classes that have another row; one alone can't be trained on and tested."""
    counts = Counter(labels[known])
    single = sorted(name for name, count in counts.items() if count == 1)
    if not single or len(single) == len(counts):
        return known, []
    line = f"Dropped rows: {len(single)} of classes with one row only: {_listed(single)}."
    return known & ~np.isin(labels, single), [line]


def _check_enough(name, target, task):
    if len(target) < FEWEST_ROWS:
        raise TableError(
            f"too few rows with a target: {len(target)}, at least {FEWEST_ROWS} are needed."
        )
    distinct = len(set(target))
    if distinct == 1:
        kind = "class" if task == "classification" else "value"
        raise TableError(f"the target {name!r} has one {kind} only: {target[0]!s}.")
    if task == "classification" and distinct == len(target):
        raise TableError(f"the target {name!r} has a class of its own in each row.")


def _task_line(target, task, guess):
    how = f" ({guess})" if guess else ""
    if task == "regression":
        low, high = target.min(), target.max()
        return f"Task: regression{how}, targets from {low:g} to {high:g}."
    counts = Counter(target).most_common()
    classes = _listed([f"{name} ({count})" for name, count in counts])
    return f"Task: classification{how}, {len(counts)} classes: {classes}."

"""How many observations rows stand for."""

from typing import NamedTuple

import numpy as np
from scipy import sparse

from ...numerics.arithmetic import power_of_two, safe_divide
from ...numerics.walk import blocks, rows_of_part
from .rows import chunks

# Larger weights are no counts.
_LARGEST_COUNT = 1e6
# Columns are dealt out to so many parts, if there are two for each of them; else to two parts.
_PARTS = 4


class Census(NamedTuple):
    """Rows, as far as it matters how many observations they are; arrays with an entry a row.

    Attributes
    ----------
    parts : ndarray of uint64, (n_samples, n_parts)
        `digests` of the features.
    target : ndarray of uint64, (n_samples,)
        `digest` of the targets.
    weight : ndarray of shape (n_samples,)
    counts, rows : ndarray of shape (n_samples,)
        How many observations a row may stand for, if counts are whole numbers; and if not.
    whole : ndarray of bool, (n_samples,)
        Whether they are.
    """

    parts: np.ndarray
    target: np.ndarray
    weight: np.ndarray
    counts: np.ndarray
    rows: np.ndarray
    whole: np.ndarray

    @classmethod
    def of(cls, parts, target, weight, counts):
        """That of the rows that weigh."""
        weighing = weight > 0
        counts = counts[weighing]
        whole = counts.max(initial=0) <= _LARGEST_COUNT and (counts == np.round(counts)).all()
        of_rows = counts, np.ones(len(counts)), np.full(len(counts), whole)
        return cls(parts[weighing], target[weighing], weight[weighing], *of_rows)

    def together(self):
        """One entry for all of them, where copies are not looked for."""
        if not len(self.weight):
            return self
        first = {name: getattr(self, name)[:1] for name in ("parts", "target", "whole")}
        weight = self.weight.sum(keepdims=True)
        counts, rows = (np.array([kish(self.weight, c)]) for c in (self.counts, self.rows))
        return Census(weight=weight, counts=counts, rows=rows, **first)


def kish(weight, counts):
    """Kish's effective sample size ``(sum w)^2 / sum (w^2 / c)`` (*Survey Sampling*, 1965).

    Of rows of weight w that stand for c observations each; 0 without rows.
    """
    # Squares of any weight are numbers, and sums of counts stay exact.
    share = weight / float(power_of_two(weight.max(initial=0.0) or 1.0))
    return float(safe_divide(share.sum() ** 2, np.sum(share**2 / counts)))


def effective_sample_size(censuses, copies=True):
    """How many observations there are in a data set: the effective sample size of `kish`.

    With n rows that weigh the same it is n, and the less, the more their weights differ. Weights
    that are whole numbers are counts: a row of weight 3 is three rows. Others, and those of
    classes, say how much rows matter relative to each other.

    Rows that are alike are one observation each if they are independent, and one together, with
    their mean weight, if they are copies, as from oversampling or a bootstrap. The result lies
    between the two, by how `overdetermined` it is that they are alike, and by how much `agreement`
    there is in their targets.

    Parameters
    ----------
    censuses : iterable of Census
        Of parts of the data set.
    copies : bool
        Whether to look for them.

    Returns
    -------
    float
    """
    census = Census(*(np.concatenate(each) for each in zip(*censuses, strict=True)))
    counts = census.counts if census.whole.all() else census.rows
    independent = kish(census.weight, counts)
    if not copies or not independent:
        return independent
    kinds = _numbered(_joined(census.parts))
    of_kinds = np.bincount(kinds, counts)
    if len(of_kinds) == counts.sum():
        return independent
    copied = kish(np.bincount(kinds, census.weight) / of_kinds, np.ones(len(of_kinds)))
    share = overdetermined(kinds, census.parts, counts)
    share *= agreement(kinds, _numbered(census.target), counts)
    return (1 - share) * independent + share * copied


def overdetermined(kinds, parts, counts):
    """The degree, 0 to 1, to which rows are alike by more than chance.

    Where features have few values rows are alike by chance, and then many more are alike in some
    of the features. Copies are alike in all features, where other rows are in none. It is
    ``1 - p / q``, with q the share of rows that repeat another one, and p the share of different
    rows that repeat another one in a part of the features, that part where it is least.

    Parameters
    ----------
    kinds : ndarray of shape (n_samples,)
        Numbers from 0, equal where rows are.
    parts : ndarray of shape (n_samples, n_parts)
        Equal where parts of rows are.
    counts : ndarray of shape (n_samples,)
        How often each row counts; rows alike there are.
    """
    n_kinds = kinds.max() + 1
    told_apart = max(len(np.unique(part)) for part in parts.T)
    return max(0.0, 1 - (1 - told_apart / n_kinds) / (1 - n_kinds / counts.sum()))


def agreement(kinds, targets, counts):
    """How much rows that are alike agree in their targets, 0 to 1.

    One minus the probability that two of them have different targets, over that of any two rows:
    1 where targets of rows alike are always equal, 0 where rows alike say nothing of the target.

    Parameters
    ----------
    kinds, targets : ndarray of shape (n_samples,)
        Numbers from 0, equal where rows, and where targets are equal.
    counts : ndarray of shape (n_samples,)
        How often each row counts; rows alike there are.
    """
    n, n_values = counts.sum(), targets.max() + 1
    of_kind, of_value = np.bincount(kinds, counts), np.bincount(targets, counts)
    pairs, pair = np.unique(kinds * n_values + targets, return_inverse=True)
    same = np.sum(np.bincount(pair, counts) ** 2 / of_kind[pairs // n_values])
    within = (n - same) / (n - len(of_kind))
    among_all = (n - np.sum(of_value**2) / n) / (n - 1)
    return 1 - min(1.0, float(safe_divide(within, among_all)))


def digests(rows, chosen=slice(None)):
    """Numbers of the parts of each row, equal for equal parts.

    Of four parts each has every fourth column, of two every second; its number is the sum of those
    of its entries.

    Parameters
    ----------
    rows : ndarray or sparse matrix of shape (n_rows, n_columns), or SlicedRows
    chosen : slice or ndarray of int
        Columns that count, those that vary: others would change how they are divided.

    Returns
    -------
    ndarray of uint64, (n_rows, n_parts)
    """
    each = _of_sparse if sparse.issparse(rows) else _of_dense
    chosen = np.arange(rows.shape[1])[chosen]
    n_parts = _PARTS if len(chosen) >= 2 * _PARTS else 2
    none = np.empty((0, n_parts), np.uint64)
    return np.concatenate([none, *each(rows, chosen, n_parts)])


def digest(rows):
    """A number for each row, equal for equal rows, (n_rows,) of uint64; `rows` as above."""
    return _joined(digests(rows))


def _joined(parts):
    """One number for the parts of a row."""
    return parts.sum(axis=1, dtype=np.uint64)


def _numbered(values):
    """Numbers from 0, equal where values are."""
    return np.unique(values, return_inverse=True)[1]


def _of_dense(rows, chosen, n_parts):
    columns = _mixed(np.arange(len(chosen), dtype=np.uint64))
    for _, block in blocks(rows):
        entries = _of_entries(block[:, chosen], columns)
        parts = [entries[:, i::n_parts].sum(axis=1, dtype=np.uint64) for i in range(n_parts)]
        yield np.column_stack(parts)


def _of_sparse(rows, chosen, n_parts):
    columns = _mixed(np.arange(rows.shape[1], dtype=np.uint64))
    part_of = np.full(rows.shape[1], -1)
    part_of[chosen] = np.arange(len(chosen)) % n_parts
    for chunk in chunks(rows.shape[0], rows_of_part(rows)):
        block = sparse.csr_array(rows[chunk])
        block.sum_duplicates()
        block.eliminate_zeros()
        entries, part = _of_entries(block.data, columns[block.indices]), part_of[block.indices]
        parts = []
        for i in range(n_parts):
            sums = np.cumsum(np.where(part == i, entries, 0), dtype=np.uint64)
            parts.append(np.diff(np.append(np.uint64(0), sums)[block.indptr]))
        yield np.column_stack(parts)


def _of_entries(values, columns):
    """Numbers of entries in columns that have such numbers."""
    # Adding 0 makes one zero of both.
    bits = np.ascontiguousarray(values, dtype=float) + 0.0
    return _mixed(bits.view(np.uint64) ^ columns)


def _mixed(numbers):
    """Numbers whose bits all depend on all bits, each from one only: overwrites them.

    The last steps of the generator splitmix64 (Steele, Lea and Flood, OOPSLA 2014).
    """
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        numbers ^= numbers >> np.uint64(shift)
        numbers *= np.uint64(factor)
    numbers ^= numbers >> np.uint64(31)
    return numbers

"""Tables as text files hold them: a header or none, numbers, words, gaps."""

import csv
import io
import re

GAPS = ("?", "<null>")
# Columns with more gaps than this are left out; of the others, rows with gaps.
MOST_GAPS = 0.05


def read_columns(text, target=-1, delimiter=",", left_out=()):
    """The columns of features and the one of the target, as lists of words without gaps.

    `left_out` holds numbers of columns, or names where the text begins with a line of names.
    """
    names, rows = _rows(text, delimiter)
    columns = list(zip(*rows, strict=True))
    dropped = {names.index(name) if isinstance(name, str) else name for name in left_out}
    target %= len(columns)
    features = [
        column
        for i, column in enumerate(columns)
        if i != target and i not in dropped and _gaps(column) <= MOST_GAPS * len(rows)
    ]
    kept = [row for row in zip(*features, columns[target], strict=True) if not _gaps(row)]
    *features, labels = zip(*kept, strict=True)
    return features, labels


def is_numeric(column):
    """Whether all words are numbers."""
    return all(map(_is_number, column))


def _rows(text, delimiter):
    body = re.split(r"(?i)@data[^\n]*\n", text, maxsplit=1)[-1]
    rows = [
        [word.strip() for word in row]
        for row in csv.reader(io.StringIO(body), delimiter=delimiter)
        if row
    ]
    named = _holds_numbers(rows[1]) and not _holds_numbers(rows[0])
    return (rows[0], rows[1:]) if named else ([], rows)


def _holds_numbers(row):
    return any(map(_is_number, row))


def _is_number(word):
    try:
        float(word)
    except ValueError:
        return False
    return True


def _gaps(words):
    return sum(word in GAPS for word in words)

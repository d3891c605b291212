"""Tables of text: a user's own file, read with care."""

import codecs
import csv
import difflib
import gzip
import io
import zlib
from dataclasses import dataclass
from pathlib import Path

MISSING = frozenset(["", "NA", "N/A", "NaN", "nan", "null", "NULL", "?"])
_SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}


class TableError(ValueError):
    """What is wrong with a table, in one line."""


@dataclass(frozen=True)
class Table:
    """Columns of text.

    Attributes
    ----------
    names : tuple of str
        Column names; columns without one are called by their number.
    columns : tuple of tuple of (str or None)
        Entries without the blanks around them; None where one is missing.
    separator : str
    notes : tuple of str
        What is worth telling about how the file was read.
    """

    names: tuple
    columns: tuple
    separator: str = ","
    notes: tuple = ()

    @property
    def n_rows(self):
        """Rows, the header left out."""
        return len(self.columns[0])

    def position(self, name):
        """Where a column stands.

        Raises
        ------
        TableError
            If there is none of that name, or more than one.
        """
        found = [i for i, known in enumerate(self.names) if known == name]
        if len(found) == 1:
            return found[0]
        if found:
            raise TableError(f"{len(found)} columns are called {name!r}: rename them.")
        raise TableError(f"no column is called {name!r}. {self._advice(name)}")

    def _advice(self, name):
        other = _other_separator(self.names)
        if other:
            return other
        lower = {known.lower(): known for known in reversed(self.names)}
        close = difflib.get_close_matches(name.lower(), lower, n=3, cutoff=0.5)
        if close:
            return f"The closest names: {', '.join(repr(lower[key]) for key in close)}."
        more = ", ..." if len(self.names) > 10 else ""
        return f"Columns: {', '.join(map(repr, self.names[:10]))}{more}."


def read_table(path, separator=","):
    """Read a table with a header line.

    Parameters
    ----------
    path : str or Path
        Text in UTF-8, UTF-16 with its byte order mark, or else Latin-1; compressed if
        the name ends in ``.gz``.
    separator : str, default=","
        One character.

    Returns
    -------
    Table

    Raises
    ------
    TableError
        If there is no such file, or it is not a table.
    ValueError
        If the separator is not one character.
    """
    if len(separator) != 1 or separator in '"\r\n':
        raise ValueError(f"separator must be one character, got {separator!r}.")
    text, notes = _decode(_read_bytes(Path(path)))
    reader = csv.reader(
        io.StringIO(text, newline=""), delimiter=separator, skipinitialspace=True, strict=True
    )
    try:
        header, rows = _rows(reader)
    except csv.Error as problem:
        raise TableError(f"line {reader.line_num}: {problem}.") from problem
    if not rows:
        raise TableError("the table has a header but no rows.")
    names = tuple(name.strip() or f"column {i}" for i, name in enumerate(header, 1))
    columns = tuple(tuple(map(_entry, column)) for column in zip(*rows, strict=True))
    return Table(names, columns, separator, tuple(notes))


def _read_bytes(path):
    opening = gzip.open if path.suffix.lower() == ".gz" else open
    try:
        with opening(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        raise TableError(f"there is no file {str(path)!r}.") from None
    except IsADirectoryError:
        raise TableError(f"{str(path)!r} is a folder, not a file.") from None
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise TableError(f"{str(path)!r} is not a gzip file, or a damaged one.") from None
    except OSError as problem:
        raise TableError(f"can't read {str(path)!r}: {problem.strerror}.") from problem


def _decode(data):
    """The text, and what is worth telling about it."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        try:
            return data.decode("utf-16"), ["Read as UTF-16."]
        except UnicodeDecodeError:
            raise TableError("the file begins like UTF-16, but is not.") from None
    if b"\0" in data:
        raise TableError("this is not a text file: save the table as CSV.")
    try:
        return data.decode("utf-8-sig"), []
    except UnicodeDecodeError as problem:
        line = data.count(b"\n", 0, problem.start) + 1
        return data.decode("latin-1"), [f"Not UTF-8 (line {line}): read as Latin-1."]


def _rows(reader):
    """Header and rows; lines without any text are left out."""
    header = next((row for row in reader if any(map(str.strip, row))), None)
    if header is None:
        raise TableError("the file is empty.")
    rows = []
    for row in reader:
        if len(row) == len(header):
            rows.append(row)
        elif any(map(str.strip, row)):
            line = f"line {reader.line_num} has {_count(row)}, the header {_count(header)}."
            raise TableError(" ".join(filter(None, [line, _other_separator(header)])))
    while rows and not any(map(str.strip, rows[-1])):
        rows.pop()
    return header, rows


def _other_separator(header):
    """What a header of one field seems to be parted by; empty if by nothing."""
    if len(header) == 1:
        for separator, called in _SEPARATORS.items():
            if separator in header[0]:
                return f"The header seems to be parted by {called}: separator {separator!r}?"
    return ""


def _count(row):
    return "1 field" if len(row) == 1 else f"{len(row)} fields"


def _entry(text):
    text = text.strip()
    return None if text in MISSING else text

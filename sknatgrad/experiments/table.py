"""Aligned text tables."""

import math

GAP = "  "


def text_table(header, rows, left=(0,)):
    r"""A table as text: columns aligned, a rule below the header.

    Parameters
    ----------
    header : list of str
        Column titles. Lines of a title are parted by line breaks and stand at the
        bottom of the header.
    rows : list of list of str
        Cells, as many a row as there are titles.
    left : collection of int, default=(0,)
        Columns that are flush left; the others are flush right.

    Returns
    -------
    str
        Lines without trailing blanks, without a line break at the end.

    Examples
    --------
    >>> print(text_table(["name", "test\nloss"], [["bp", "0.1"], ["qd_bp", "0.12"]]))
           test
    name   loss
    -----------
    bp      0.1
    qd_bp  0.12
    """
    titles = [title.split("\n") for title in header]
    height = max(map(len, titles))
    titles = [[""] * (height - len(lines)) + lines for lines in titles]
    head = [list(line) for line in zip(*titles, strict=True)]
    columns = list(zip(*head, *rows, strict=True))
    widths = [max(map(len, column)) for column in columns]
    rule = "-" * (sum(widths) + len(GAP) * (len(widths) - 1))
    lines = [_line(cells, widths, left) for cells in [*head, *rows]]
    return "\n".join([*lines[:height], rule, *lines[height:]])


def _line(cells, widths, left):
    padded = [
        cell.ljust(width) if column in left else cell.rjust(width)
        for column, (cell, width) in enumerate(zip(cells, widths, strict=True))
    ]
    return GAP.join(padded).rstrip()


def number(value, digits):
    """A number with a fixed count of decimals, or a dash if it is not finite.

    Positive values that would be shown as 0 become an upper bound, ``<0.001``.

    Parameters
    ----------
    value : float
    digits : int

    Returns
    -------
    str

    Examples
    --------
    >>> number(0.12345, 3), number(0.0001, 3), number(-0.0001, 3), number(float("nan"), 3)
    ('0.123', '<0.001', '0.000', '-')
    """
    if not abs(value) < float("inf"):
        return "-"
    smallest = 10.0**-digits
    if 0 < value < smallest / 2:
        return f"<{smallest:.{digits}f}"
    return f"{value:z.{digits}f}"


def markdown_table(header, rows):
    r"""A table in Markdown: the first column flush left, the others flush right.

    Parameters
    ----------
    header : list of str
        Line breaks in titles become blanks.
    rows : list of list of str

    Returns
    -------
    str

    Examples
    --------
    >>> print(markdown_table(["name", "test\nloss"], [["bp", "0.1"]]))
    | name | test loss |
    |---|---:|
    | bp | 0.1 |
    """
    titles = [title.replace("\n", " ").strip() for title in header]
    sides = ["---", *["---:"] * (len(header) - 1)]
    lines = [f"| {' | '.join(cells)} |" for cells in [titles, *rows]]
    return "\n".join([lines[0], f"|{'|'.join(sides)}|", *lines[1:]])


def plus_minus(mean, deviation, digits):
    """Mean and standard deviation as text; the mean alone if there is no deviation."""
    text = number(mean, digits)
    return text if math.isnan(deviation) else f"{text} ± {number(deviation, digits)}"

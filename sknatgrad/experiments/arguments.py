"""Values of command line arguments, read with care."""

import argparse
import difflib

from ..metrics import ALIASES, METRICS


def metric_names(text):
    """The metrics of a list with commas, each once."""
    names = list(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    if not names:
        raise argparse.ArgumentTypeError("name at least one metric.")
    known = [*METRICS, *ALIASES, "auto"]
    for name in names:
        if name not in known:
            close = difflib.get_close_matches(name, known, n=1)
            hint = f"Did you mean {close[0]!r}? " if close else ""
            raise argparse.ArgumentTypeError(
                f"unknown metric {name!r}. {hint}Known: {', '.join(METRICS)}, auto."
            )
    return names


def whole_number(smallest, largest=None):
    """A parser of integers within bounds."""

    def parse(text):
        try:
            value = int(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number.") from None
        if value < smallest or (largest is not None and value > largest):
            bound = f"at least {smallest}" if value < smallest else f"at most {largest}"
            raise argparse.ArgumentTypeError(f"must be {bound}, got {value}.")
        return value

    return parse


def share(text):
    """A number between 0 and 1."""
    try:
        value = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number.") from None
    if not 0 < value < 1:
        raise argparse.ArgumentTypeError(f"must be between 0 and 1, got {text}.")
    return value


def character(text):
    """One character that may stand between fields."""
    value = {"tab": "\t", "\\t": "\t"}.get(text, text)
    if len(value) != 1 or value in '"\r\n':
        raise argparse.ArgumentTypeError(f"must be one character, got {text!r}.")
    return value

"""Which cases of a long parametrisation run by default; the others wait for `-m slow`."""

import itertools

import pytest


def slow(*values):
    """A case that does not run by default."""
    return pytest.param(*values, marks=pytest.mark.slow)


def slow_but(values, *quick):
    """All values of one parameter; by default those that are named."""
    return [value if value in quick else slow(value) for value in values]


def spread(*parameters):
    """All combinations; by default as few as let every value of every parameter come up."""
    parameters, cases = [list(values) for values in parameters], []
    rounds = range(max(map(len, parameters)))
    chosen = {tuple(i % len(values) for values in parameters) for i in rounds}
    for places in itertools.product(*(range(len(values)) for values in parameters)):
        case = [values[i] for i, values in zip(places, parameters, strict=True)]
        cases.append(pytest.param(*case) if places in chosen else slow(*case))
    return cases

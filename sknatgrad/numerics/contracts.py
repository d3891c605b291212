"""Errors of parts that users add and that do not keep their contract."""


def missing(part, method):
    """The error of a part without a method that it must have."""
    return NotImplementedError(f"{type(part).__name__} must have {method} (doc/extending.md).")


def misregistered(name, entry, wanted):
    """The error of an entry of a registry that is not what is `wanted` there."""
    return TypeError(
        f"{name!r} is registered as {entry!r}; it must be {wanted} (doc/extending.md)."
    )


def is_pair_of(entry, first, second):
    """Whether an entry is a pair of subclasses."""
    pair = isinstance(entry, tuple) and len(entry) == 2
    return pair and is_kind_of(entry[0], first) and is_kind_of(entry[1], second)


def is_kind_of(entry, base):
    """Whether an entry is a class, and a subclass of `base`."""
    return isinstance(entry, type) and issubclass(entry, base)

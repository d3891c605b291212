"""Errors of parts that users add and that do not keep their contract."""


def missing(part, method):
    """The error of a part without a method that it must have."""
    return NotImplementedError(f"{type(part).__name__} must have {method} (doc/extending.md).")


def misregistered(name, entry, wanted):
    """The error of an entry of a registry that is not what is `wanted` there."""
    return TypeError(
        f"{name!r} is registered as {entry!r}; it must be {wanted} (doc/extending.md)."
    )


def is_kind_of(entry, base):
    """Whether an entry is a class, and a subclass of `base`."""
    return isinstance(entry, type) and issubclass(entry, base)

"""Values that an object computes once, when they are first asked for."""

from functools import cached_property


def without_caches(instance):
    """The attributes of an object but for what `cached_property` has stored, a dict."""
    own = type(instance)
    return {
        name: value
        for name, value in vars(instance).items()
        if not isinstance(getattr(own, name, None), cached_property)
    }

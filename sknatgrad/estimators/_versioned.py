"""Pickles that know which version wrote them."""

import warnings

from .._version import __version__


class InconsistentVersionWarning(UserWarning):
    """An estimator was saved by another version of sknatgrad."""


class VersionedMixin:
    """Writes the version into pickles, and warns where another one reads them."""

    def __getstate__(self):
        return {**super().__getstate__(), "_sknatgrad_version": __version__}

    def __setstate__(self, state):
        state = dict(state)
        version = state.pop("_sknatgrad_version", "unknown")
        if version != __version__:
            warnings.warn(
                f"This {type(self).__name__} was saved by sknatgrad {version} and is loaded by "
                f"{__version__}. Results may differ.",
                InconsistentVersionWarning,
                stacklevel=2,
            )
        super().__setstate__(state)

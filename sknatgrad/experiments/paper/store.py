"""Results on disk: one small file a training, so that what is done stays done."""

import json
import os
import tempfile
from dataclasses import asdict
from pathlib import Path

from .training import Curve

FORMAT = "sknatgrad paper experiment, 1"


class Store:
    """A folder of results.

    Parameters
    ----------
    folder : Path
    """

    def __init__(self, folder):
        self.folder = Path(folder)

    def path(self, training):
        """The file of a training."""
        return self.folder / f"{training.key}.json"

    def write(self, training, curve):
        """Keep a result. A file is there as a whole or not at all."""
        write_kept(self.path(training), FORMAT, training.settings, curve=asdict(curve))

    def read(self, training):
        """A result, or None if there is none for the settings of the training.

        Returns
        -------
        curve : Curve or None
        problem : str
            Why what is there can't be used; empty if nothing is there.
        """
        content, problem = read_kept(self.path(training), FORMAT, training.settings)
        if content is None:
            return None, problem
        try:
            kept = content["curve"]
            curve = Curve(kept["steps"], kept["bits"])
            whole = len(curve.steps) == len(curve.bits) > 0
        except (KeyError, TypeError):
            whole = False
        return (curve, "") if whole else (None, "damaged")


def write_kept(path, form, settings, **results):
    """Keep results as JSON, with the settings that they belong to."""
    content = {"format": form, "settings": settings, **results}
    write_whole(path, json.dumps(content) + "\n")


def read_kept(path, form, settings):
    """What `write_kept` kept for these settings, or None.

    Returns
    -------
    content : dict or None
    problem : str
        Why what is there can't be used; empty if nothing is there.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        same = content["format"] == form and content["settings"] == settings
    except FileNotFoundError:
        return None, ""
    except (ValueError, KeyError, TypeError):
        return None, "damaged"
    return (content, "") if same else (None, "other settings")


def write_whole(path, text):
    """Write a file so that readers, and interrupts, see all of it or nothing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".part")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise

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
        content = {"format": FORMAT, "settings": training.settings, "curve": asdict(curve)}
        write_whole(self.path(training), json.dumps(content) + "\n")

    def read(self, training):
        """A result, or None if there is none for the settings of the training.

        Returns
        -------
        curve : Curve or None
        problem : str
            Why what is there can't be used; empty if nothing is there.
        """
        try:
            content = json.loads(self.path(training).read_text(encoding="utf-8"))
            if content["format"] != FORMAT or content["settings"] != training.settings:
                return None, "other settings"
            curve = Curve(**content["curve"])
            if not len(curve.steps) == len(curve.bits) > 0:
                return None, "damaged"
        except FileNotFoundError:
            return None, ""
        except (ValueError, KeyError, TypeError):
            return None, "damaged"
        return curve, ""


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

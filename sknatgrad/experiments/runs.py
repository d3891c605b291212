"""What came of repeated runs."""

import csv
import json
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .table import plus_minus, text_table

_ORIGINS = ("name", "run", "split_seed", "estimator_seed", "n_train", "n_test")
OUTCOMES = (
    "train_score",
    "test_score",
    "train_loss",
    "fit_seconds",
    "n_iter",
    "loss_curve",
    "time_curve",
    "error",
)
_CURVES = ("loss_curve", "time_curve")
# What `table` summarises, the fields of its rows, their titles and decimals.
_SUMMARIES = (
    ("test_score", "test_score", "test\nscore", 4),
    ("train_loss", "train_loss", "training\nloss", 5),
    ("fit_seconds", "seconds", "seconds", 2),
    ("n_iter", "passes", "passes", 1),
)
_FOOTNOTE = "Means and standard deviations over the runs. Passes: n_iter_ of each method."
_FORMAT = "sknatgrad repeated runs, 1"


@dataclass
class RepeatedRuns:
    """Records of repeated runs; ``print`` shows a table of means.

    Parameters
    ----------
    records : list of dict
        One a run and estimator, with the keys ``name``, ``run``, ``split_seed``,
        ``estimator_seed``, ``n_train``, ``n_test``, ``train_score``, ``test_score``,
        ``train_loss`` (the last of the loss curve), ``fit_seconds``, ``n_iter``,
        ``loss_curve``, ``time_curve`` and ``error``. What there isn't is None.
    """

    records: list

    @property
    def names(self):
        """Names of the estimators, in order."""
        return list(dict.fromkeys(record["name"] for record in self.records))

    def table(self):
        """Means and standard deviations over the runs that went well.

        Returns
        -------
        list of dict
            One an estimator: ``name``, ``n_runs`` (those that went well), ``n_failed``,
            and ``_mean`` and ``_std`` of ``test_score``, ``train_loss``, ``seconds`` and
            ``passes``. The standard deviation of a sample, NaN for less than two runs.
        """
        return [self._row(name) for name in self.names]

    def _row(self, name):
        done = self._done(name)
        n_all = sum(record["name"] == name for record in self.records)
        row = {"name": name, "n_runs": len(done), "n_failed": n_all - len(done)}
        for key, field, *_ in _SUMMARIES:
            values = [record[key] for record in done if record[key] is not None]
            row[f"{field}_mean"] = float(np.mean(values)) if values else math.nan
            row[f"{field}_std"] = float(np.std(values, ddof=1)) if len(values) > 1 else math.nan
        return row

    def _done(self, name):
        return [r for r in self.records if r["name"] == name and not r["error"]]

    def __str__(self):
        rows = self.table()
        failures = any(row["n_failed"] for row in rows)
        header = ["estimator", "runs", *["failed"] * failures, *(s[2] for s in _SUMMARIES)]
        cells = [
            [
                row["name"],
                str(row["n_runs"]),
                *[str(row["n_failed"])] * failures,
                *(_mean_and_deviation(row, field, digits) for _, field, _, digits in _SUMMARIES),
            ]
            for row in rows
        ]
        return f"{text_table(header, cells)}\n\n{_FOOTNOTE}"

    def curves(self, name):
        """Loss curves of an estimator, one row a run that went well.

        Parameters
        ----------
        name : str

        Returns
        -------
        losses, times : ndarray of shape (n_runs, n_passes)
            Short curves are padded with their last value. Where no times of the passes
            are known, the time of the fit is divided evenly among them.

        Raises
        ------
        ValueError
            If there are no curves under that name.
        """
        done = [record for record in self._done(name) if record["loss_curve"]]
        if not done:
            raise ValueError(f"There are no loss curves of {name!r}; names: {self.names}.")
        losses = [np.array(record["loss_curve"], dtype=float) for record in done]
        times = [
            even_times(record["fit_seconds"], len(loss))
            if record["time_curve"] is None
            else np.array(record["time_curve"], dtype=float)
            for record, loss in zip(done, losses, strict=True)
        ]
        return _padded(losses), _padded(times)

    def to_csv(self, path):
        """Write the records as a table, curves left out.

        Parameters
        ----------
        path : str or Path
        """
        # Without records the table is its header.
        fields = self.records[0] if self.records else (*_ORIGINS, *OUTCOMES)
        keys = [key for key in fields if key not in _CURVES]
        with open(path, "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, keys, extrasaction="ignore")
            writer.writeheader()
            writer.writerows(self.records)

    def to_json(self, path):
        """Write everything; numbers that are not finite become null.

        Parameters
        ----------
        path : str or Path
        """
        content = {"format": _FORMAT, "records": _finite(self.records)}
        text = json.dumps(content, indent=1, allow_nan=False)
        Path(path).write_text(text + "\n", encoding="utf-8")

    @classmethod
    def from_json(cls, path):
        """Read what `to_json` wrote.

        Parameters
        ----------
        path : str or Path

        Returns
        -------
        RepeatedRuns

        Raises
        ------
        ValueError
            If the file holds something else.
        """
        content = json.loads(Path(path).read_text(encoding="utf-8"))
        if not isinstance(content, dict) or content.get("format") != _FORMAT:
            raise ValueError(f"{path} does not hold repeated runs in the format {_FORMAT!r}.")
        return cls(content["records"])


def _mean_and_deviation(row, field, digits):
    return plus_minus(row[f"{field}_mean"], row[f"{field}_std"], digits)


def _padded(curves):
    length = max(map(len, curves))
    return np.array([np.pad(curve, (0, length - len(curve)), mode="edge") for curve in curves])


def _finite(value):
    """The same in values that JSON has."""
    if isinstance(value, dict):
        return {key: _finite(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [_finite(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def even_times(seconds, n_passes):
    """Times of passes that are taken to last equally long.

    Parameters
    ----------
    seconds : float
        Of all passes together.
    n_passes : int

    Returns
    -------
    ndarray of shape (n_passes,)
        Seconds from the start to the end of each pass.
    """
    return seconds * np.arange(1, n_passes + 1) / max(1, n_passes)

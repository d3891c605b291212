"""What losses are measured in."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class LossUnits:
    """Factors between the loss that training minimises and what users see or set.

    Targets may be expressed in any units. Where training works in standard coordinates, so is
    the loss that it minimises; elsewhere it is that of the targets as given.

    Attributes
    ----------
    reported : float
        What a unit of the minimised loss is worth in the losses that users see.
    tol : float
        How much of the minimised loss a `tol` of 1 is.
    alpha : float
        How much of it the penalty of strength 1 is, relative to standard targets.
    """

    reported: float = 1.0
    tol: float = 1.0
    alpha: float = 1.0

    @classmethod
    def of(cls, model, data, coordinates, raw):
        """Those of a training in these coordinates, with `raw` from `raw_target_scale`."""
        free = bool(np.all(model.output.free_scale))
        standard = coordinates.outputs
        return cls(
            reported=standard.loss_unit if free and standard is not None else 1.0,
            tol=_of_output(model, data) if standard is None else 1.0,
            alpha=raw.loss_unit if free and raw is not None else 1.0,
        )


def _of_output(model, data):
    unit = model.output.loss_unit(data.target_moments)
    return unit if np.isfinite(unit) and unit > 0 else 1.0

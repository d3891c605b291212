"""Interpretations of the output units as distributions over targets.

A new output is one file here and one entry of `OUTPUTS`.
"""

from ..numerics.contracts import is_kind_of, misregistered
from ._base import Output
from .bernoulli import Bernoulli
from .mixed import Mixed
from .poisson import Poisson
from .softmax import ScaledSoftmax, Softmax
from .spherical import Spherical
from .square import Square

OUTPUTS = {cls.name: cls for cls in (Square, Bernoulli, Softmax, Spherical, ScaledSoftmax, Poisson)}


def get_output(output, activation="auto", n_outputs=None):
    """The `Output` of that name; an `Output` passes through.

    Parameters
    ----------
    output : str, Output or list of them
        A list, one an output unit, makes a `Mixed` output, or the one that it repeats.
    activation : str or Activation
        Activation of the output units; "auto" takes the output's own.
    n_outputs : int, optional
        Output units, where a list must name as many.

    Raises
    ------
    ValueError
        If the name is unknown, the activation does not suit the output or the list does
        not have that length.
    TypeError
        If something else is registered.
    """
    if isinstance(output, Output):
        return output
    if isinstance(output, list | tuple):
        if n_outputs not in (None, len(output)):
            raise ValueError(f"output has {len(output)} entries, there are {n_outputs} targets.")
        named = {name: get_output(name, activation) for name in output if isinstance(name, str)}
        mixed = Mixed(
            [named[one] if isinstance(one, str) else get_output(one, activation) for one in output]
        )
        return mixed.groups[0][0] if len(mixed.groups) == 1 else mixed
    if not isinstance(output, str) or output not in OUTPUTS:
        raise ValueError(
            f"Unknown output {output!r}: choose one of {sorted(OUTPUTS)} or pass an instance of an "
            "Output."
        )
    found = OUTPUTS[output]
    if not is_kind_of(found, Output):
        raise misregistered(output, found, "a class, an Output")
    return found(activation)


__all__ = [
    "OUTPUTS",
    "Bernoulli",
    "Mixed",
    "Output",
    "Poisson",
    "ScaledSoftmax",
    "Softmax",
    "Spherical",
    "Square",
    "get_output",
]

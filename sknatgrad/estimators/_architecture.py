"""From constructor arguments to networks."""

from numbers import Integral

import numpy as np
from scipy import sparse

from ..network import Topology
from ..network.activations import get_activation
from ..training.by_value import by_value
from ._data import canonical

# The links a unit of the paper's sparse auto-encoder.
_PAPER_LINKS = 5


def layer_sizes(n_inputs, hidden_layer_sizes, n_outputs):
    """All layer sizes, inputs first.

    Raises
    ------
    ValueError
        If a hidden size is not a positive integer.
    """
    hidden = np.atleast_1d(np.asarray(hidden_layer_sizes, dtype=object)).tolist()
    for size in hidden:
        if not isinstance(size, Integral) or isinstance(size, bool) or size < 1:
            raise ValueError(
                f"hidden_layer_sizes must be positive integers, got {hidden_layer_sizes!r}."
            )
    return [n_inputs, *map(int, hidden), n_outputs]


def build_topology(connectivity, sizes, rng):
    """The topology that `connectivity` asks for.

    Parameters
    ----------
    connectivity : None, int, float, "paper", list of matrices or Topology
    sizes : list of int
    rng : RandomState
    """
    try:
        topology = _topology(connectivity, sizes, rng)
    except ValueError as problem:
        raise ValueError(f"connectivity can't be used: {problem}") from problem
    if topology.n_inputs != sizes[0] or topology.n_outputs != sizes[-1]:
        raise ValueError(
            f"connectivity has {topology.n_inputs} inputs and {topology.n_outputs} outputs; the "
            f"data need {sizes[0]} and {sizes[-1]}."
        )
    return topology


def _topology(connectivity, sizes, rng):
    if connectivity is None:
        return Topology.layered(sizes)
    if isinstance(connectivity, Topology):
        return connectivity
    if isinstance(connectivity, list | tuple):
        return Topology.from_sparse(connectivity)
    if isinstance(connectivity, str) and connectivity == "paper":
        n_pairs = len(sizes) - 1
        sides = ["source" if i < n_pairs // 2 else "target" for i in range(n_pairs)]
        return Topology.random_links(sizes, _PAPER_LINKS, sides, replace=True, random_state=rng)
    if isinstance(connectivity, Integral) and not isinstance(connectivity, bool):
        return Topology.random_links(sizes, int(connectivity), random_state=rng)
    if isinstance(connectivity, float | np.floating) and 0 < connectivity <= 1:
        counts = [max(1, round(connectivity * n)) for n in sizes[:-1]]
        return Topology.random_links(sizes, counts, random_state=rng)
    raise ValueError(
        "it must be None, links a unit (int), a density in (0, 1] (float), 'paper', a list of "
        f"masks (n_in, n_out) or a Topology; got {connectivity!r}."
    )


def architecture_key(estimator, output):
    """What the network of an estimator depends on besides the numbers of its ends, by value.

    Equal for equal networks, however their parameters are spelt. `output` is what the estimator's
    parameter of that name stands for.

    Raises
    ------
    ValueError
        If hidden sizes or activations can't be used.
    """
    connectivity, hidden = estimator.connectivity, None
    if not isinstance(connectivity, list | tuple | Topology):
        hidden = layer_sizes(0, estimator.hidden_layer_sizes, 0)
    reading = output.name, output.activation, estimator.output, estimator.output_activation
    # Only the regressor has a parameter that says which loss.
    loss = vars(estimator).get("loss")
    activations = _activations(estimator.activation)
    return by_value((activations, _links(connectivity), hidden, reading, loss))


def _activations(activation):
    """That of each hidden level, or the one of all."""
    several = isinstance(activation, list | tuple)
    each = [by_value(get_activation(one)) for one in (activation if several else [activation])]
    return each[:1] if all(one == each[0] for one in each) else each


def _links(connectivity):
    """Masks as the places where they are not 0; a number of links, which 1 is, is no density."""
    if isinstance(connectivity, Integral):
        return "links a unit", int(connectivity)
    if not isinstance(connectivity, list | tuple):
        return connectivity
    masks = (canonical(sparse.csr_array(mask)) for mask in connectivity)
    return [(mask.shape, np.stack(mask.nonzero())) for mask in masks]

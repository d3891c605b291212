"""From constructor arguments to networks, metrics and step rules."""

from numbers import Integral, Real

import numpy as np
from scipy import sparse

from ..network import Topology
from ..training.step_rules import DEFAULT_RATES, STEP_RULES

# The links a unit of the paper's sparse auto-encoder.
_PAPER_LINKS = 5
# Up to this many rows, a step on all of them costs little more than its overhead.
LARGEST_FULL_BATCH = 4096
_MINI_BATCH = 500


def layer_sizes(n_inputs, hidden_layer_sizes, n_outputs):
    """All layer sizes, inputs first.

    Raises
    ------
    ValueError
        If a hidden size is not a positive integer.
    """
    hidden = np.atleast_1d(np.asarray(hidden_layer_sizes, dtype=object)).tolist()
    for size in hidden:
        if not isinstance(size, Integral) or size < 1:
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
    if connectivity is None:
        return Topology.layered(sizes)
    if isinstance(connectivity, Topology):
        return _check_ends(connectivity, sizes)
    if isinstance(connectivity, str) and connectivity == "paper":
        n_pairs = len(sizes) - 1
        sides = ["source" if i < n_pairs // 2 else "target" for i in range(n_pairs)]
        return Topology.random_links(sizes, _PAPER_LINKS, sides, replace=True, random_state=rng)
    if isinstance(connectivity, list | tuple):
        return _check_ends(Topology.from_sparse(connectivity), sizes)
    if isinstance(connectivity, Integral) and not isinstance(connectivity, bool):
        return Topology.random_links(sizes, int(connectivity), random_state=rng)
    if isinstance(connectivity, Real) and 0 < connectivity <= 1:
        counts = [max(1, round(connectivity * n)) for n in sizes[:-1]]
        return Topology.random_links(sizes, counts, random_state=rng)
    raise ValueError(
        "connectivity must be None, links a unit (int), a density in (0, 1] (float), 'paper', a "
        f"list of masks (n_in, n_out) or a Topology; got {connectivity!r}."
    )


def _check_ends(topology, sizes):
    if topology.n_inputs != sizes[0] or topology.n_outputs != sizes[-1]:
        raise ValueError(
            f"connectivity has {topology.n_inputs} inputs and {topology.n_outputs} outputs; the "
            f"data need {sizes[0]} and {sizes[-1]}."
        )
    return topology


def resolve_batch_size(batch_size, n_samples):
    """Rows a step."""
    if batch_size == "auto":
        return n_samples if n_samples <= LARGEST_FULL_BATCH else _MINI_BATCH
    return min(int(batch_size), n_samples)


def build_step_rule(learning_rate, rate, whole_batch):
    """A fresh step rule.

    Raises
    ------
    ValueError
        If the rule compares losses and there are mini-batches.
    """
    if learning_rate == "auto":
        learning_rate = "line_search" if whole_batch else "trust_region"
    rule = STEP_RULES[learning_rate]
    if not whole_batch and not rule.stochastic:
        usable = sorted(name for name, cls in STEP_RULES.items() if cls.stochastic)
        raise ValueError(
            f"learning_rate={learning_rate!r} compares losses on the whole data set and is not "
            f"compatible with mini-batches: set batch_size to the number of rows or more, or use "
            f"one of {usable}."
        )
    return rule(DEFAULT_RATES[learning_rate] if rate == "auto" else float(rate))


def metric_window(metric_decay, batch_weight, topology, whole_batch):
    """Sample weight over which the metric is averaged."""
    if metric_decay == "auto":
        if whole_batch:
            return 0.0
        largest = max(group.fan_in for group in topology.groups)
        return max(20.0 * batch_weight, 4.0 * (1 + largest), 200.0)
    return batch_weight / metric_decay


def canonical(X):
    """X itself, or a CSR copy without duplicate entries."""
    if not sparse.issparse(X):
        return X
    X = sparse.csr_array(X)
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X

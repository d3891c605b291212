"""Objects of the library for the tests, most of them built from nets of the slow reference.

The tests run over the registries. What the reference doesn't know, say a new output, is left out
of the comparisons with it and goes through all other tests.
"""

import functools
import itertools
from dataclasses import dataclass, replace

import numpy as np
import reference as ref
from scipy import sparse

from sknatgrad.metrics import METRICS, LossPoint, get_metric
from sknatgrad.network import (
    ACTIVATIONS,
    AffineActivation,
    Network,
    Topology,
    get_activation,
    initialize,
)
from sknatgrad.outputs import OUTPUTS, Bernoulli, Mixed, get_output
from sknatgrad.training import Data, Model, Objective

KINDS = ("layered", "sparse", "skip")
KNOWN_OUTPUTS = [name for name in OUTPUTS if name in ref.OUTPUTS]
KNOWN_ACTIVATIONS = [name for name in ACTIVATIONS if name in ref.ACTIVATIONS]


def scale_of(X, weight=None):
    """The `InputScale` of rows."""
    return Data(X, None, weight).scale


def objective_on(network, output, X, target, weight=None, **options):
    """The `Objective` of a network with that output on rows."""
    return Objective(Model(network, output), Data(X, target, weight), **options)


def allowed_activations(output):
    """Names of the activations that an output allows."""
    names = []
    for name in ACTIVATIONS:
        try:
            OUTPUTS[output](name)
        except ValueError:
            continue
        names.append(name)
    return names


# Outputs and their activations; "mixed" has outputs of several kinds, see `make_output`.
PAIRS = [(output, name) for output in OUTPUTS for name in allowed_activations(output)]
# At a = 0, as of rectified units, the reference divides by 0.
RECTIFIED_SPHERES = [("spherical", "relu"), ("spherical", "log_relu")]
KNOWN_PAIRS = [
    pair
    for pair in PAIRS
    if pair[0] in KNOWN_OUTPUTS and pair[1] in KNOWN_ACTIVATIONS and pair not in RECTIFIED_SPHERES
]


# ------------------------------------------------------------------------------ numbers
def random_csr(n_rows, n_columns, density, seed=0):
    """A random CSR array, in words that SciPy 1.11 knows as well."""
    return sparse.csr_array(sparse.random(n_rows, n_columns, density, random_state=seed))


def assert_close(actual, desired, tolerance=1e-8):
    """Closeness relative to the largest entry."""
    scale = np.abs(desired).max(initial=0.0)
    np.testing.assert_allclose(actual, desired, rtol=0, atol=tolerance * max(scale, 1e-300))


def derivative(function, x, step=1e-2):
    """f'(x) elementwise by central differences of order 6, f acting on the last axis alone."""
    terms = [(45, 1), (-9, 2), (1, 3)]
    return sum(w * (function(x + k * step) - function(x - k * step)) for w, k in terms) / 60 / step


def jacobian(function, x, step=1e-2):
    """The matrix d f_i / d x_j by central differences of order 6."""
    return np.stack(
        [derivative(lambda t, e=e: function(x + t * e), 0.0, step) for e in np.eye(len(x))], axis=-1
    )


# ------------------------------------------------------------------------------ outputs
def make_output(name, activation="auto", n_outputs=3, seed=0):
    """An output with its own parameters, if any, away from their start."""
    if name == "mixed":
        kinds = ["square", "bernoulli", "poisson"]
        return get_output([kinds[k % 3] for k in range(n_outputs)])
    output = OUTPUTS[name](activation)
    noise = np.random.default_rng(seed).uniform(-0.5, 0.5, size=n_outputs)
    start = output.start(n_outputs)
    return output.with_parameters(start + noise[: len(start)])


def gauss_quadrature(diagonal, off_diagonal):
    """Nodes and weights of the measure whose orthogonal polynomials have this recurrence."""
    n_nodes = diagonal.shape[-1]
    matrix = np.zeros((*diagonal.shape, n_nodes))
    i = np.arange(n_nodes)
    matrix[..., i, i] = diagonal
    matrix[..., i[1:], i[:-1]] = off_diagonal
    nodes, vectors = np.linalg.eigh(matrix)
    return nodes, vectors[..., 0, :] ** 2


# The recurrences of the Hermite and of the Charlier polynomials, for each mean.
QUADRATURES = {
    "square": lambda mean, n: gauss_quadrature(
        mean[..., None] + np.zeros(n), np.sqrt(np.arange(1, n))
    ),
    "poisson": lambda mean, n: gauss_quadrature(
        mean[..., None] + np.arange(n), np.sqrt(mean[..., None] * np.arange(1, n))
    ),
}


def enumerate_targets(output, v, n_nodes=3):
    """Pairs (probability of each sample, targets), so that sums over them are expectations.

    All classes, all binary vectors, or the nodes of Gauss quadrature, exact for polynomials of
    degree below 2 n_nodes in the target. None for an output of another kind.
    """
    n_outputs, n_samples = v.shape
    if isinstance(output, Mixed):
        return enumerate_mixed(output, v, n_nodes)
    if output.discrete:
        targets = [np.full(n_samples, k) for k in range(n_outputs)]
    elif isinstance(output, Bernoulli):
        vectors = itertools.product((0.0, 1.0), repeat=n_outputs)
        targets = [np.tile(np.array(y)[:, None], n_samples) for y in vectors]
    elif output.name in QUADRATURES:
        nodes, weights = QUADRATURES[output.name](output.mean(v), n_nodes)
        units = np.arange(n_outputs)
        return [
            (weights[units, :, i].prod(axis=0), nodes[units, :, i])
            for i in itertools.product(range(n_nodes), repeat=n_outputs)
        ]
    else:
        return None
    return [(np.exp(-output.loss(v, y)), y) for y in targets]


def enumerate_mixed(output, v, n_nodes):
    """The same for a mixed output: all combinations of the targets of its groups."""
    targets = []
    rows = np.concatenate([rows for _, rows in output.groups])
    parts = [enumerate_targets(part, v[rows], n_nodes) for part, rows in output.groups]
    for combination in itertools.product(*parts):
        y = np.empty_like(v)
        y[rows] = np.concatenate([values for _, values in combination])
        targets.append((np.prod([p for p, _ in combination], axis=0), y))
    return targets


class Recorder:
    """An output that keeps the targets it draws."""

    def __init__(self, output):
        self.output, self.draws = output, []

    def __getattr__(self, name):
        return getattr(self.output, name)

    def sample(self, v, rng):
        self.draws.append(self.output.sample(v, rng))
        return self.draws[-1]


class Replayer(Recorder):
    """An output whose next draws are given ones."""

    def __init__(self, output, draws):
        self.output, self.draws = output, list(draws)

    def sample(self, v, rng):
        return self.draws.pop(0)


# ------------------------------------------------------------- nets of the reference
@dataclass(frozen=True, eq=False)
class Case:
    """A net of the reference with data, and the same in the library's terms.

    ``order[p]`` is where the reference keeps the library's parameter p.
    """

    name: str
    net: ref.Net
    reference_theta: np.ndarray
    X: np.ndarray
    y: np.ndarray
    weights: np.ndarray
    vartheta: np.ndarray
    network: Network
    output: object
    order: np.ndarray

    @property
    def topology(self):
        return self.network.topology

    @property
    def theta(self):
        return self.reference_theta[self.order]

    @property
    def options(self):
        """Keyword arguments of the reference's functions."""
        return {"weights": self.weights, "vartheta": self.vartheta}

    @property
    def target(self):
        return encode(self.output, self.y)

    def reordered(self, array):
        """A vector or matrix over theta of the reference, in the library's order."""
        return array[self.order] if array.ndim == 1 else array[np.ix_(self.order, self.order)]

    def point(self, output=None):
        """The loss on the data."""
        lin = self.network.linearize(self.theta, self.X, self.weights)
        return LossPoint(lin, output or self.output, self.target)


def encode(output, y):
    """Targets (n_samples, ...) with the sample axis last."""
    return np.asarray(y) if output.discrete else np.asarray(y).T


def topology_of(net):
    """The `Topology` of a net of the reference."""
    size = ref.n_units(net)
    adjacency = sparse.lil_array((size, size))
    for k in ref.computed_units(net):
        for i in ref.parents(net, k):
            adjacency[i, k] = 1
    return Topology.from_sparse(adjacency, n_inputs=net.n_inputs, outputs=net.outputs)


def parameter_order(net, topology):
    """Where the reference keeps each parameter of the library."""
    unit = np.concatenate([np.arange(net.n_inputs), topology.order])
    order = []
    for owner, source in zip(topology.owner, topology.source, strict=True):
        k = topology.order[owner]
        place = 0 if source < 0 else 1 + ref.parents(net, k).index(unit[source])
        order.append(ref.unit_slice(net, k).start + place)
    return np.array(order)


def network_of(net):
    """The `Network` of a net of the reference."""
    topology = topology_of(net)
    activations = []
    for level, outputs in zip(topology.levels, topology.level_outputs, strict=True):
        units = topology.order[level.units]
        activation = get_activation(net.activations[units[0] - net.n_inputs])
        if net.affine is not None and outputs is None:
            triples = np.array([ref.affine(net, k) for k in units])
            activation = AffineActivation(activation, *triples.T)
        activations.append(activation)
    return Network(topology, tuple(activations))


@functools.cache
def case_of(output, activation="tanh", kind="layered", last=None, seed=0, n_samples=12):
    """A random net with data, weights and output parameters; `last`: the output activation."""
    rng = np.random.default_rng(seed)
    net, theta = ref.random_net(rng, output, activation, kind)
    X, y = ref.random_data(rng, output, net, n_samples)
    if last is not None:
        hidden = net.activations[: -len(net.outputs)]
        net = replace(net, activations=hidden + (last,) * len(net.outputs))
    weights = rng.uniform(0.5, 2.0, size=n_samples)
    network = network_of(net)
    vartheta = rng.uniform(0.5, 2.0, size=len(net.outputs))
    object_ = OUTPUTS[output](net.activations[-1]).with_parameters(vartheta)
    order = parameter_order(net, network.topology)
    return Case(output, net, theta, X, y, weights, vartheta, network, object_, order)


# ----------------------------------------------------------- instances of the library alone
@dataclass(frozen=True, eq=False)
class Problem:
    """A network of the library with data; it needs no reference."""

    network: Network
    output: object
    theta: np.ndarray
    X: np.ndarray
    target: np.ndarray
    weights: np.ndarray | None

    @property
    def topology(self):
        return self.network.topology

    def point(self, theta=None, output=None, rows=slice(None)):
        """The loss at given parameters, on the chosen samples."""
        theta = self.theta if theta is None else theta
        weights = None if self.weights is None else self.weights[rows]
        lin = self.network.linearize(theta, self.X[rows], weights)
        return LossPoint(lin, output or self.output, self.target[..., rows])


def problem_of(output, topology=(3, 4, 3), hidden="tanh", last="auto", seed=0, n_samples=12):
    """A random network with inputs and targets drawn from the outputs of another one."""
    rng = np.random.RandomState(seed)
    if not isinstance(topology, Topology):
        topology = Topology.layered(topology)
    output = make_output(output, last, topology.n_outputs, seed)
    network = Network.build(topology, hidden, output.activation)
    X = rng.standard_normal((n_samples, topology.n_inputs))
    teacher = network.linearize(initialize(network, rng), X)
    target = output.sample(teacher.output_preactivations, rng)
    theta = initialize(network, rng) + 0.1 * rng.standard_normal(topology.n_parameters)
    weights = rng.uniform(0.5, 2.0, size=n_samples)
    return Problem(network, output, theta, X, target, weights)


def away_from_kinks(*arguments, distance=0.03, **options):
    """A problem where no pre-activation is near 0, so that finite differences see no kink."""
    for seed in itertools.count():
        problem = problem_of(*arguments, seed=seed, **options)
        if np.abs(problem.point().lin.v).min() > distance:
            return problem


def graphs():
    """Topologies of all kinds, by name."""
    rng = np.random.default_rng(0)
    dag = np.triu(rng.uniform(size=(13, 13)) < 0.4, 1)
    dag[:, :4] = 0
    constant = dag.copy()
    constant[:, 5] = 0
    unfed = [np.array([[1, 0, 1], [1, 0, 1]]), np.array([[1, 0], [1, 1], [0, 0]])]
    return {
        "layered": Topology.layered([4, 5, 3, 2]),
        "wide": Topology.layered([2, 1, 3]),
        "by_target": Topology.random_links([6, 5, 4, 3], 2, random_state=0),
        "by_source": Topology.random_links([4, 6, 5, 3], 2, by="source", random_state=1),
        "dag": Topology.from_sparse(dag, n_inputs=4),
        "dag_with_chosen_outputs": Topology.from_sparse(dag, n_inputs=4, outputs=[11, 6]),
        "dag_with_a_constant_unit": Topology.from_sparse(constant, n_inputs=4),
        "unit_without_links": Topology.from_sparse(unfed),
        "few_links_all_shared": Topology.random_links([4, 5, 1], 2, random_state=0),
    }


# ------------------------------------------------------------------------------ metrics
def parts_of(name):
    """Modulus name and reduction prefix of a metric of the registry."""
    metric = get_metric(name)
    return metric.modulus.name, metric.reduction.prefix


def metrics(*prefixes, moduli=None):
    """Names of the metrics with one of these reductions (of these moduli)."""
    return [
        name
        for name in METRICS
        if parts_of(name)[1] in prefixes and (moduli is None or parts_of(name)[0] in moduli)
    ]


def damped(topology, prefix, matrix, relative=0.0, absolute=0.0):
    """What `solve` should invert, from the undamped `to_dense`: the documentation's definition.

    Relative damping adds to each weight's A_ii its centred variance A_ii - A_0i^2 / A_00; to the
    diagonal metrics, which know no A_0i, all of A_ii. Both are added before a reduction.
    """
    if prefix == "euclidean":
        return matrix
    kept = matrix**2 if prefix == "root_diag" else np.array(matrix)
    diagonal = np.diag(kept).copy()
    bias = topology.bias[topology.owner]
    corner, border = diagonal[bias], kept[np.arange(len(kept)), bias]
    variance = diagonal - np.divide(border**2, corner, out=np.zeros_like(corner), where=corner > 0)
    variance = np.where(topology.is_weight, variance, 0.0)
    kept[np.diag_indices_from(kept)] += absolute + relative * (
        diagonal if "diag" in prefix else variance
    )
    if prefix == "root_diag":
        return np.sqrt(kept)
    if prefix == "qd":
        for unit in range(topology.n_units):
            row = topology.row(unit)
            kept[row, row] = quasi_diagonal_block(kept[row, row])
    return kept


def quasi_diagonal_block(A):
    """Its A_00, A_0i and A_ii, and A_0i A_0j / A_00 elsewhere."""
    reduced = np.outer(A[0], A[0]) / A[0, 0] if A[0, 0] > 0 else np.zeros_like(A)
    np.fill_diagonal(reduced, np.diag(A))
    return reduced

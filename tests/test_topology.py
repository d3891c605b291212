"""Graphs of units, the layout of their parameters, and the layouts of their links."""

import pickle
import time
from itertools import pairwise

import numpy as np
import pytest
from engine import assert_close, graphs, problem_of
from scipy import sparse

from sknatgrad.network import Network, Topology, parameters
from sknatgrad.network import fan_in as fan_in_module
from sknatgrad.network import links as layouts
from sknatgrad.network.layers import random_layers
from sknatgrad.network.links import listed

GRAPHS = graphs()


@pytest.fixture(params=GRAPHS)
def topology(request):
    return GRAPHS[request.param]


def edges(topology):
    """The links as a set of pairs (source, target), inputs first."""
    is_weight = topology.is_weight
    targets = topology.owner[is_weight] + topology.n_inputs
    return set(zip(topology.source[is_weight].tolist(), targets.tolist(), strict=True))


def fan_in(topology, level):
    return np.diff(topology.levels[level].indptr)


# ---------------------------------------------------------------------- constructors
def test_layered():
    topology = Topology.layered([3, 4, 2])
    links = {(i, 3 + k) for i in range(3) for k in range(4)}
    links |= {(3 + i, 7 + k) for i in range(4) for k in range(2)}
    assert edges(topology) == links
    assert topology.n_parameters == 4 * 4 + 2 * 5
    assert (topology.n_inputs, topology.n_units, topology.n_outputs) == (3, 6, 2)
    assert topology.layer_sizes == (3, 4, 2)
    assert "3-4-2" in repr(topology)
    np.testing.assert_array_equal(topology.outputs, [4, 5])


@pytest.mark.parametrize("sizes", [[], [3], [3, 0], [0, 2], [3, -1, 2]])
def test_layer_sizes_are_checked(sizes):
    with pytest.raises(ValueError, match=r"[Ll]ayer sizes"):
        Topology.layered(sizes)


def test_random_links_by_target():
    """Each target draws n_links different sources."""
    topology = Topology.random_links([9, 7, 5], 3, random_state=0)
    for level in range(2):
        np.testing.assert_array_equal(fan_in(topology, level), 3)
    assert len(edges(topology)) == 3 * 7 + 3 * 5


def test_random_links_by_source():
    """Each source draws n_links different targets; fan-ins differ."""
    topology = Topology.random_links([9, 7, 5], 3, by="source", random_state=0)
    sources = [source for source, _ in edges(topology)]
    np.testing.assert_array_equal(np.bincount(sources), 3)
    assert len(np.unique(fan_in(topology, 0))) > 1


@pytest.mark.parametrize("by", ["source", "target"])
def test_random_links_with_replacement(by):
    """Repeated links are merged, so that units have at most n_links links."""
    topology = Topology.random_links([6, 40, 6], 5, by=by, replace=True, random_state=0)
    owners = [edge[0 if by == "source" else 1] for edge in edges(topology)]
    counts = np.bincount(owners)
    counts = counts[counts > 0]
    assert counts.max() == 5 and counts.min() < 5


def test_random_links_by_pair_of_layers():
    by = ["source", "target"]
    topology = Topology.random_links([6, 5, 4], [2, 3], by=by, random_state=0)
    assert len(topology.levels[0].sources) == 2 * 6
    np.testing.assert_array_equal(fan_in(topology, 1), 3)


def test_more_links_than_sources_is_a_full_layer():
    assert edges(Topology.random_links([3, 4, 2], 99)) == edges(Topology.layered([3, 4, 2]))


def test_random_links_are_reproducible():
    def drawn(seed, **options):
        return edges(Topology.random_links([9, 7, 5], 3, random_state=seed, **options))

    for options in ({}, {"by": "source"}, {"replace": True}):
        assert drawn(0, **options) == drawn(np.random.RandomState(0), **options)
        assert drawn(0, **options) != drawn(1, **options)


@pytest.mark.parametrize("by", ["source", "target"])
def test_drawing_few_links_does_not_permute_large_layers(by):
    """200,000 numbers for each of 1,000 units took seconds; the draws are as good as ever."""
    sizes = (200_000, 1000) if by == "target" else (1000, 200_000)
    n_links = 5
    start = time.perf_counter()
    first = random_layers(sizes, n_links, by, False, 0, merge=False)[1][0]
    assert time.perf_counter() - start < 2
    again = random_layers(sizes, n_links, by, False, np.random.RandomState(0), merge=False)[1][0]
    np.testing.assert_array_equal(np.concatenate(first), np.concatenate(again))
    indptr, sources = first
    pairs = np.stack([sources, np.repeat(np.arange(sizes[1]), np.diff(indptr))])
    assert len(np.unique(pairs, axis=1).T) == n_links * 1000
    owners, others = pairs[::-1] if by == "target" else pairs
    np.testing.assert_array_equal(np.bincount(owners), n_links)
    assert 0 <= others.min() and others.max() < 200_000
    assert abs(others.mean() - 100_000) < 5 * 200_000 / np.sqrt(12 * 5000)


def test_draws_from_layers_of_up_to_1000_units_are_those_of_the_permutation():
    """Published runs depend on them."""
    drawn = random_layers((1000, 3), 4, "target", False, 0, merge=True)[1][0][1]
    rng = np.random.RandomState(0)
    expected = [np.sort(rng.choice(1000, 4, replace=False)) for _ in range(3)]
    np.testing.assert_array_equal(drawn, np.concatenate(expected))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([3, 2], 0), "n_links"),
        (([3, 2], 1.5), "n_links"),
        (([3, 2], "a"), "n_links must be integers"),
        (([3, 2], None), "n_links must be integers >= 1, got None"),
        (([3, 2], [1, 1]), "n_links must be one value, or 1, .* got 2"),
        (([3, 2], 1, "both"), "by must be"),
        (([3, 2], 1, None), "by must be 'target' or 'source', got None"),
        (([3, 2], 1, ["target", "target"]), "by must be one value, or 1, .* got 2"),
    ],
)
def test_random_link_arguments_are_checked(arguments, message):
    with pytest.raises(ValueError, match=message):
        Topology.random_links(*arguments)


@pytest.mark.parametrize(
    "form", [np.asarray, sparse.csr_array, sparse.csc_matrix, sparse.coo_array, sparse.lil_array]
)
def test_masks(form):
    """Entry [i, k] of a mask is the link from unit i of a layer to unit k of the next."""
    first, second = np.array([[1, 0, 2], [0, 0, -1.5]]), np.array([[1], [0], [1]])
    topology = Topology.from_sparse([form(first), form(second)])
    assert edges(topology) == {(0, 2), (0, 4), (1, 4), (2, 5), (4, 5)}
    assert topology.layer_sizes == (2, 3, 1)


def test_masks_ignore_stored_zeros_and_merge_repetitions():
    mask = sparse.coo_array(([1.0, 0.0, 1.0, 1.0], ([0, 0, 1, 1], [0, 1, 1, 1])), shape=(2, 2))
    assert edges(Topology.from_sparse([mask])) == {(0, 2), (1, 3)}


@pytest.mark.parametrize(
    ("masks", "message"),
    [
        ([np.ones((2, 3)), np.ones((2, 1))], "mask 1 has 2 rows.*3 units"),
        ([np.ones(3)], "two-dimensional"),
        ([np.full((2, 2), np.nan)], "NaN"),
        ([], "Layer sizes"),
    ],
)
def test_masks_that_do_not_fit(masks, message):
    with pytest.raises(ValueError, match=message):
        Topology.from_sparse(masks)


def test_adjacency_is_renumbered_by_depth():
    """order maps new units to given ones: 0, 1 inputs; 4 -> 2 -> 3 against the numbering."""
    links = {(0, 4), (1, 4), (4, 2), (0, 2), (2, 3), (1, 3), (4, 5)}
    adjacency = np.zeros((6, 6))
    adjacency[tuple(zip(*links, strict=True))] = 1
    topology = Topology.from_sparse(adjacency)
    assert topology.n_inputs == 2 and topology.layer_sizes is None
    given = np.concatenate([[0, 1], topology.order])
    assert {(given[i], given[k]) for i, k in edges(topology)} == links
    assert all(i < k for i, k in edges(topology))
    np.testing.assert_array_equal(topology.order[topology.outputs], [3, 5])


def test_an_adjacency_matrix_may_be_a_list_of_lists():
    adjacency = np.triu(np.ones((5, 5)), 1) * (np.arange(5) > 1)
    expected = Topology.from_sparse(adjacency, n_inputs=2)
    assert edges(Topology.from_sparse(adjacency.tolist(), n_inputs=2)) == edges(expected)


def test_adjacency_with_named_outputs():
    """An output may feed other units; outputs keep the order in which they are named."""
    adjacency = np.triu(np.ones((5, 5)), 1)
    adjacency[:, :2] = 0
    topology = Topology.from_sparse(adjacency, n_inputs=2, outputs=[4, 2])
    np.testing.assert_array_equal(topology.order[topology.outputs], [4, 2])
    for level, outputs in zip(topology.levels, topology.level_outputs, strict=True):
        units = topology.order[level.units]
        assert outputs is None or units.tolist() == [[4, 2][i] for i in outputs]


def test_adjacency_of_layers_is_layered():
    layered = Topology.layered([3, 4, 2])
    adjacency = np.zeros((9, 9))
    adjacency[tuple(zip(*edges(layered), strict=True))] = 1
    topology = Topology.from_sparse(adjacency)
    assert edges(topology) == edges(layered)
    np.testing.assert_array_equal(topology.order, np.arange(3, 9))
    np.testing.assert_array_equal(topology.outputs, layered.outputs)


CHAIN = np.diag([1.0, 1.0, 1.0], 1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((np.ones((2, 3)),), "square"),
        ((CHAIN + np.diag([0.0, 1.0, 0.0], -1),), "cycle"),
        ((CHAIN + np.diag([0.0, 1.0, 0.0, 0.0]),), "cycle"),
        ((CHAIN, 0), "n_inputs"),
        ((CHAIN, 4), "n_inputs"),
        ((CHAIN, 1.5), "n_inputs must be an integer.*got 1.5"),
        ((np.zeros((3, 3)),), "no links: n_inputs"),
        ((np.eye(3),), "Unit 0 has incoming links"),
        ((np.ones(3),), r"square, got shape \(.*3"),
        ((sparse.coo_array(np.ones(3)),), r"square, got shape \(.*3"),
        ((CHAIN, 2), "Input units must have no incoming links"),
        ((CHAIN, 1, [0]), "outputs must be computed units, 1 to 3, got 0"),
        ((CHAIN, 1, [2, 4]), "outputs must be computed units, 1 to 3, got 4"),
        ((CHAIN, 1, []), "outputs"),
        ((CHAIN, 1, [3, 3]), "outputs"),
    ],
)
def test_adjacency_is_checked(arguments, message):
    with pytest.raises(ValueError, match=message):
        Topology.from_sparse(*arguments)


# ---------------------------------------------------------------------- parameters
def test_parameters_stand_unit_by_unit_bias_first(topology):
    """theta = (w_0k, (w_ik)_{i -> k})_k, i increasing, every source before its target."""
    start = 0
    for unit in range(topology.n_units):
        row = topology.row(unit)
        assert row.start == start == topology.bias[unit]
        assert (topology.owner[row] == unit).all()
        sources = topology.source[row]
        assert sources[0] == -1 and (np.diff(sources) > 0).all()
        assert sources.max() < topology.n_inputs + unit
        start = row.stop
    assert start == topology.n_parameters
    np.testing.assert_array_equal(topology.is_weight, topology.source >= 0)


def test_levels_and_groups_partition_the_units(topology):
    units = np.concatenate([np.arange(topology.n_units)[level.units] for level in topology.levels])
    np.testing.assert_array_equal(units, np.arange(topology.n_units))
    seen = []
    theta = np.arange(topology.n_parameters)
    for group in topology.groups:
        rows = group.take(theta)
        assert rows.shape == (len(group.units), 1 + group.fan_in)
        sources = np.broadcast_to(group.sources, (len(group.units), group.fan_in))
        parts = zip(group.units, group.lengths, rows, sources, strict=True)
        for unit, length, row, incoming in parts:
            own = topology.row(unit)
            np.testing.assert_array_equal(row[:length], theta[own])
            np.testing.assert_array_equal(incoming[: length - 1], topology.source[own][1:])
            assert not row[length:].any()
            seen.append(unit)
        written = np.full(topology.n_parameters, -1)
        group.put(written, rows)
        own = np.isin(topology.owner, group.units)
        np.testing.assert_array_equal(written, np.where(own, theta, -1))
        table = np.stack([theta, -theta], axis=1)
        np.testing.assert_array_equal(group.take(table), np.stack([rows, -rows], axis=2))
    assert sorted(seen) == list(range(topology.n_units))
    order = np.concatenate([group.units for group in topology.groups])
    np.testing.assert_array_equal(order[topology.grouped_position], np.arange(topology.n_units))


def test_fan_in_counts_links_of_chosen_inputs_and_of_all_units(topology):
    chosen = np.arange(topology.n_inputs) % 2 == 0
    expected, every = np.zeros(topology.n_units), np.zeros(topology.n_units)
    for unit in range(topology.n_units):
        sources = topology.source[topology.row(unit)][1:]
        every[unit] = len(sources)
        expected[unit] = sum(s >= topology.n_inputs or bool(chosen[s]) for s in sources)
    np.testing.assert_array_equal(topology.fan_in(chosen), expected)
    np.testing.assert_array_equal(topology.fan_in(), every)


def test_groups_are_padded_while_that_is_cheap(monkeypatch):
    """Fan-ins that differ a little share a group; at no price each has its own."""
    masks = [np.triu(np.ones((12, 12)))]
    (padded,) = Topology.from_sparse(masks).groups
    assert padded.fan_in == 12
    np.testing.assert_array_equal(padded.lengths, 1 + np.arange(12, 0, -1))
    monkeypatch.setattr(fan_in_module, "_GROUP_PRICE", 0)
    groups = Topology.from_sparse(masks).groups
    assert [group.fan_in for group in groups] == list(range(1, 13))
    assert all(group.padding is None for group in groups)


def test_split_and_join(topology):
    """coefs[l][i, k] is the weight from i to k; join undoes split, from dense arrays too."""
    theta = np.random.default_rng(0).normal(size=topology.n_parameters)
    coefs, intercepts = parameters.split(topology, theta)
    np.testing.assert_array_equal(parameters.join(topology, coefs, intercepts), theta)
    dense = [coef.toarray() if sparse.issparse(coef) else coef for coef in coefs]
    np.testing.assert_array_equal(parameters.join(topology, dense, intercepts), theta)
    as_coo = [sparse.coo_array(coef) for coef in dense]
    np.testing.assert_array_equal(parameters.join(topology, as_coo, intercepts), theta)
    for level, coef, intercept in zip(topology.levels, dense, intercepts, strict=True):
        np.testing.assert_array_equal(theta[level.bias], intercept)
        first = topology.n_inputs + level.units.start - len(coef) if topology.layer_sizes else 0
        for p in level.link_params:
            target = topology.owner[p] - level.units.start
            assert coef[topology.source[p] - first, target] == theta[p]


def test_split_has_the_shape_of_the_layers():
    """However few sources a layer listens to, and whether or not its units share them."""
    masks = np.zeros((4, 3)), np.ones((3, 2))
    masks[0][[0, 2]] = 1
    for topology in (
        Topology.random_links((6, 50, 1), 5, random_state=0),
        Topology.from_sparse(masks),
        Topology.from_sparse([np.zeros((4, 3)), np.ones((3, 2))]),
    ):
        coefs, intercepts = parameters.split(topology, np.arange(1.0, 1 + topology.n_parameters))
        sizes = topology.layer_sizes
        assert [coef.shape for coef in coefs] == list(pairwise(sizes))
        joined = parameters.join(topology, coefs, intercepts)
        np.testing.assert_array_equal(joined, np.arange(1.0, 1 + topology.n_parameters))


def test_graphs_without_any_link():
    """An output that nothing feeds is its bias."""
    adjacency = np.zeros((4, 4))
    adjacency[0, 2] = 1
    topology = Topology.from_sparse(adjacency, n_inputs=2, outputs=[3])
    theta = np.arange(1.0, 1 + topology.n_parameters)
    coefs, intercepts = parameters.split(topology, theta)
    np.testing.assert_array_equal(parameters.join(topology, coefs, intercepts), theta)


def test_split_gives_copies_and_keeps_zero_weights():
    topology = GRAPHS["by_target"]
    theta = np.zeros(topology.n_parameters)
    coefs, intercepts = parameters.split(topology, theta)
    intercepts[0][:] = 1
    assert not theta.any()
    assert sum(coef.nnz for coef in coefs) == topology.is_weight.sum()
    assert all(coef.format == "csr" for coef in coefs)


def test_split_of_layers_is_what_scikit_learn_has():
    coefs, intercepts = parameters.split(Topology.layered([3, 4, 2]), np.arange(26.0))
    assert [coef.shape for coef in coefs] == [(3, 4), (4, 2)]
    assert [intercept.shape for intercept in intercepts] == [(4,), (2,)]
    assert all(isinstance(coef, np.ndarray) for coef in coefs)
    np.testing.assert_array_equal(coefs[0][:, 1], [5, 6, 7])


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_join_refuses_what_does_not_fit(form):
    topology = Topology.from_sparse([np.eye(3), np.ones((3, 2))])
    good = form(np.diag([1.0, 2, 3])), form(np.ones((3, 2)))
    biases = np.zeros(3), np.zeros(2)
    parameters.join(topology, good, biases)
    with pytest.raises(ValueError, match="2 arrays"):
        parameters.join(topology, good[:1], biases)
    with pytest.raises(ValueError, match="2 arrays"):
        parameters.join(topology, good, biases[:1])
    with pytest.raises(ValueError, match=r"coefs\[1\].*\(3, 2\).*\(2, 2\)"):
        parameters.join(topology, [good[0], form(np.ones((2, 2)))], biases)
    with pytest.raises(ValueError, match=r"intercepts\[1\].*\(2,\).*\(3,\)"):
        parameters.join(topology, good, [np.zeros(3), np.zeros(3)])
    with pytest.raises(ValueError, match=r"coefs\[0\] has 6 weights where"):
        parameters.join(topology, [form(np.ones((3, 3))), good[1]], biases)
    with pytest.raises(ValueError, match="finite"):
        parameters.join(topology, good, [np.array([0, np.inf, 0]), np.zeros(2)])


# ---------------------------------------------------------------------- layouts of links
def three_layouts():
    """The links of a full (4, 5) block as full, masked and sparse links, with theta's size."""
    params = np.arange(24).reshape(4, 6)[:, 1:].ravel()
    targets, columns = np.repeat(np.arange(4), 5), np.tile(np.arange(5), 4)
    given = (4, 5), params, targets, columns, slice(0, 5)
    full = layouts.FullLinks(4, slice(0, 24), slice(1, 6), slice(0, 5))
    return [full, layouts.MaskedLinks(*given), layouts.SparseLinks(*given)]


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, lambda x: sparse.csc_array(x)])
@pytest.mark.parametrize("links", three_layouts(), ids=lambda links: type(links).__name__)
def test_layouts_have_the_same_products(links, form):
    rng = np.random.default_rng(0)
    theta = rng.normal(size=24)
    activities, values = rng.normal(size=(5, 7)), rng.normal(size=(4, 7))
    W = theta.reshape(4, 6)[:, 1:]
    weights = links.weights(theta)
    product = np.empty((4, 7))
    links.forward(weights, form(activities), product, True)
    assert_close(product, W @ activities, 1e-14)
    links.forward(weights, form(activities), product, False)
    assert_close(product, 2 * W @ activities, 1e-14)
    for squared, matrix in ((False, W), (True, W**2)):
        back = np.ones((5, 7))
        links.backward(weights, values, back, squared)
        assert_close(back, 1 + matrix.T @ values, 1e-14)
    sums = np.full(24, np.nan)
    links.edge_sums(values, form(activities), sums)
    sums = sums.reshape(4, 6)
    assert np.isnan(sums[:, 0]).all()
    assert_close(sums[:, 1:], values @ activities.T, 1e-14)


@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csc_array])
@pytest.mark.parametrize("share", [0.0, 0.001, 0.5])
@pytest.mark.parametrize("n_links", [5, 600])
def test_edge_sums_of_sparse_signals_cost_what_the_links_read(n_links, share, form, monkeypatch):
    """Few links read their sources' entries, no product of matrices; many share products."""
    rng, n_sources, n_targets, n_samples = np.random.default_rng(0), 10_000, 20, 30
    activities = sparse.random_array((n_sources, n_samples), density=share, rng=rng)
    values = rng.normal(size=(n_targets, n_samples))
    used = np.sort(rng.choice(n_sources, n_sources // 3, replace=False))
    targets = np.repeat(np.arange(n_targets), n_links)
    columns = np.concatenate(
        [np.sort(rng.choice(len(used), n_links, replace=False)) for _ in range(n_targets)]
    )
    params = rng.permutation(len(targets) + 3)[: len(targets)]
    links = layouts.SparseLinks((n_targets, len(used)), params, targets, columns, used)
    expected = (activities.toarray()[used[columns]] * values[targets]).sum(axis=1)
    products, cross_sums = [], listed.cross_sums
    monkeypatch.setattr(listed, "cross_sums", lambda *pair: products.append(1) or cross_sums(*pair))
    for gather_size in (1 << 18, 100):
        monkeypatch.setattr(listed, "_GATHER_SIZE", gather_size)
        sums = np.full(len(targets) + 3, np.nan)
        links.edge_sums(values, form(activities), sums)
        assert_close(sums[params], expected, 1e-13)
        assert np.isnan(sums).sum() == 3
    assert bool(products) == (n_links == 600)


@pytest.mark.parametrize("links", three_layouts(), ids=lambda links: type(links).__name__)
def test_layouts_keep_single_precision(links):
    assert links.weights(np.ones(24, np.float32)).dtype == np.float32


LAYOUTS = {"masked": (0.0, 1 << 62), "sparse": (2.0, 0)}
SPARSE_GRAPHS = [
    "by_target",
    "by_source",
    "dag",
    "dag_with_chosen_outputs",
    "dag_with_a_constant_unit",
    "unit_without_links",
]


def products(name, form):
    """All that a linearization computes, on a new copy of a graph."""
    topology = graphs()[name]
    problem = problem_of("square", topology, n_samples=6)
    lin = Network(topology, problem.network.activations).linearize(
        problem.theta, form(problem.X), problem.weights
    )
    rng = np.random.default_rng(0)
    seed, values = (rng.uniform(size=(n, 6)) for n in (topology.n_outputs, topology.n_units))
    pulled = lin.pull(seed), lin.pull_squared(seed), lin.pull(np.stack([seed, seed**2], axis=1))
    means = lin.edge_mean(values), lin.edge_mean(values, power=2)
    kinds = {type(links) for level in topology.levels for links in level.links}
    return kinds, [lin.v, lin.a, *(pulled[:2]), pulled[2].ravel(), *means]


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, sparse.csc_matrix])
@pytest.mark.parametrize("name", SPARSE_GRAPHS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_networks_with_masked_and_sparse_links_are_the_same(layout, name, form, monkeypatch):
    expected = products(name, np.asarray)[1]
    share, size = LAYOUTS[layout]
    monkeypatch.setattr(layouts, "DENSE_SHARE", share)
    monkeypatch.setattr(layouts, "DENSE_SIZE", size)
    monkeypatch.setattr(listed, "_GATHER_SIZE", 10)
    kinds, actual = products(name, form)
    wanted = layouts.MaskedLinks if layout == "masked" else layouts.SparseLinks
    assert wanted in kinds and kinds <= {wanted, layouts.FullLinks}
    for a, b in zip(actual, expected, strict=True):
        assert_close(a, b, 1e-13)


def test_layout_is_dense_unless_large_and_sparse():
    """The layout follows the size and the density of the links."""
    small = Topology.random_links([40, 40], 2, random_state=0)
    large = Topology.random_links([400, 400], 2, random_state=0)
    dense = Topology.random_links([400, 400], 100, random_state=0)
    kinds = [type(topology.levels[0].links[0]) for topology in (small, large, dense)]
    assert kinds == [layouts.MaskedLinks, layouts.SparseLinks, layouts.MaskedLinks]


# ---------------------------------------------------------------------- parallel links
PARALLEL = Topology.random_links([7, 5, 3, 6], 4, replace=True, merge=False, random_state=0)


def test_parallel_links_are_kept_with_a_weight_each():
    assert PARALLEL.n_parameters == 4 * (5 + 3 + 6) + 14 and PARALLEL.has_parallel_links
    merged = Topology.random_links([7, 5, 3, 6], 4, replace=True, random_state=0)
    assert not merged.has_parallel_links and merged.n_parameters < PARALLEL.n_parameters
    assert edges(PARALLEL) == edges(merged)


def test_units_with_the_same_parallel_links_are_no_full_level():
    topology = Topology.random_links([1, 2], 3, replace=True, merge=False)
    assert topology.n_parameters == 8 and not topology.levels[0].shares_sources


def test_parallel_links_compute_what_their_sums_do_and_square_apart():
    """Loops over single links: forward, backward, and backward with squares."""
    rng = np.random.RandomState(0)
    theta, X = rng.standard_normal(PARALLEL.n_parameters), rng.standard_normal((4, 7))
    lin = Network.build(PARALLEL, "tanh", "tanh").linearize(theta, X)
    links = [(p, PARALLEL.source[p], PARALLEL.owner[p]) for p in np.flatnonzero(PARALLEL.is_weight)]
    a = np.vstack([X.T, np.zeros((PARALLEL.n_units, 4))])
    for unit in range(PARALLEL.n_units):
        incoming = [theta[p] * a[source] for p, source, owner in links if owner == unit]
        a[7 + unit] = np.tanh(theta[PARALLEL.bias[unit]] + sum(incoming))
    assert_close(lin.a, a[7:])
    seed = rng.standard_normal((6, 4))
    for pull, power in ((lin.pull, 1), (lin.pull_squared, 2)):
        values = np.zeros((PARALLEL.n_units, 4))
        values[PARALLEL.outputs] = seed
        for p, source, owner in reversed(links):
            if source >= 7:
                slope = (1 - a[source] ** 2) ** power
                values[source - 7] += theta[p] ** power * values[owner] * slope
        assert_close(pull(seed), values)
    means = [(a[source] * values[owner]).mean() for _, source, owner in links]
    assert_close(lin.edge_mean(values)[PARALLEL.is_weight], means)


def test_parallel_links_do_not_fit_into_matrices():
    theta = np.arange(float(PARALLEL.n_parameters))
    with pytest.raises(ValueError, match="parallel links"):
        parameters.join(PARALLEL, *parameters.split(PARALLEL, theta))


@pytest.mark.parametrize("n_links", [None, 7])
def test_pickles_are_small(n_links):
    """What is computed from links is not in them; of full layers not even the links are."""
    sizes = (60, 50, 10)
    topology = (
        Topology.layered(sizes)
        if n_links is None
        else Topology.random_links(sizes, n_links, random_state=0)
    )
    fresh = len(pickle.dumps(topology))
    source, groups = topology.source, topology.groups
    assert len(pickle.dumps(topology)) == fresh
    assert n_links is not None or fresh < topology.n_parameters
    other = pickle.loads(pickle.dumps(topology))
    np.testing.assert_array_equal(other.source, source)
    np.testing.assert_array_equal(other.owner, topology.owner)
    assert len(other.groups) == len(groups)

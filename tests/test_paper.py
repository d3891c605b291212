"""The paper's experiments: problems, methods, what is kept, the tables and the command."""

import io
import json
from dataclasses import replace

import numpy as np
import pytest

from sknatgrad import __main__
from sknatgrad.__main__ import main
from sknatgrad.experiments.paper import problem as problems
from sknatgrad.experiments.paper import published, store
from sknatgrad.experiments.paper.campaign import carry_out
from sknatgrad.experiments.paper.command import Order, reproduce
from sknatgrad.experiments.paper.costs import measure_costs
from sknatgrad.experiments.paper.experiment import experiments
from sknatgrad.experiments.paper.methods import methods_of_the_paper
from sknatgrad.experiments.paper.ones import learn_ones_and_zeros
from sknatgrad.experiments.paper.tables import loss_table, steps_together
from sknatgrad.experiments.paper.training import recorded_steps
from sknatgrad.experiments.progress import ProgressBar

ACTIVATIONS = problems.ACTIVATIONS


class Silent:
    """Progress that counts only."""

    def __init__(self, interrupt_after=np.inf):
        self.done, self.reasons, self._limit = [], None, interrupt_after

    def begin(self, missing, n_known, reasons):
        self.n_missing, self.n_known, self.reasons = len(missing), n_known, reasons

    def end(self, training, curve):
        self.done.append(training.key)
        if len(self.done) >= self._limit:
            raise KeyboardInterrupt


def only(experiment, names):
    """The same with some of the methods."""
    return replace(experiment, methods=tuple(m for m in experiment.methods if m.name in names))


@pytest.fixture(scope="module")
def small():
    """Three quick methods, two runs."""
    names = ("euclidean", "qd_bp", "qd_mc_fisher")
    return only(experiments(2)["autoencoder"], names).shortened(1 / 200)


# ------------------------------------------------------------------------- the paper
def test_published_numbers_are_complete():
    """Table 1 has eleven rows, Table 2 all of them but the full natural gradient's."""
    assert len(published.ITERATIONS) == 11
    assert set(published.LOSSES) == set(published.ITERATIONS) - {"fisher"}
    for low, high in published.ITERATIONS.values():
        assert 0 < low <= high <= published.BUDGET
    for row in published.LOSSES.values():
        assert len(row) == len(ACTIVATIONS) and all(0 < sd < mean + 1 for mean, sd in row)
    assert published.implied_cost("qd_bp") == pytest.approx(1.342, abs=1e-3)
    assert published.implied_cost("fisher") == pytest.approx(10_000 / 9.5)
    assert published.implied_cost("kron_bp") is None


def test_all_methods_of_the_paper_are_there():
    methods = {method.name: method for method in methods_of_the_paper()}
    assert set(published.ITERATIONS) <= set(methods)
    for name in published.LOSSES:
        low, high = published.ITERATIONS[name]
        assert low <= methods[name].n_steps <= high
    assert {"qd_op", "kron_bp", "kron_fisher"} <= set(methods)
    assert {method.damping for method in methods.values()} == {1e-4}


# -------------------------------------------------------------------------- problems
def test_autoencoder_is_that_of_the_paper():
    problem = problems.draw_autoencoder(0)
    topology = problem.network.topology
    assert topology.layer_sizes == (100, 30, 10, 30, 100)
    assert problem.inputs.shape == (16, 100) and set(np.unique(problem.inputs)) == {0.0, 1.0}
    np.testing.assert_array_equal(problem.inputs.T, problem.target)
    # 5 links for each unit that draws, 170 biases; some links are parallel.
    assert topology.n_parameters == 5 * (100 + 30 + 30 + 100) + 170 == 1470
    assert topology.has_parallel_links
    fan_in = np.bincount(topology.owner) - 1
    assert (fan_in[40:] == 5).all()
    np.testing.assert_array_equal(problem.theta[topology.bias], 0.0)


@pytest.mark.parametrize("links", problems.LINKS)
def test_ways_of_drawing_links(links):
    topology = problems.draw_autoencoder(0, links).network.topology
    assert topology.has_parallel_links == (links == "parallel")
    assert (topology.n_parameters == 1470) == (links != "merged")


def test_initial_weights_have_the_deviation_of_the_paper():
    scaled = []
    for seed in range(40):
        problem = problems.draw_autoencoder(seed)
        topology = problem.network.topology
        fan_in = np.bincount(topology.owner) - 1
        scaled.append((problem.theta * np.sqrt(fan_in[topology.owner]))[topology.is_weight])
    scaled = np.concatenate(scaled)
    assert abs(scaled.mean()) < 0.02 and abs(scaled.std() - 1) < 0.02


def test_logistic_start_follows_the_equations_of_the_paper():
    """w = 4 w', w_0 = 2 w_0' - 2 sum w', written out unit by unit."""
    problem = problems.draw_autoencoder(3)
    topology = problem.network.topology
    theta = problem.implement("logistic")[2]
    for unit in range(topology.n_units):
        row = topology.row(unit)
        bias, *weights = problem.theta[row]
        expected = [2 * bias - 2 * sum(weights), *(4 * w for w in weights)]
        np.testing.assert_allclose(theta[row], expected, atol=1e-12)


@pytest.mark.parametrize("draw", [problems.draw_autoencoder, problems.draw_digits])
def test_both_implementations_start_as_one_function(draw):
    problem = draw(1)
    losses = []
    for activation in ACTIVATIONS:
        model, data, theta = problem.implement(activation)
        lin = model.network.linearize(theta, data.X)
        losses.append(model.output.loss(lin.output_preactivations, data.target).mean())
    assert losses[0] == pytest.approx(losses[1], rel=1e-12) and losses[0] > 1


# ------------------------------------------------------------------------ the results
def test_interrupted_trainings_resume(small, tmp_path):
    trainings = small.trainings(0)
    keeper = store.Store(tmp_path)
    whole = carry_out(trainings, store.Store(tmp_path / "other"), 1, Silent())
    with pytest.raises(KeyboardInterrupt):
        carry_out(trainings, keeper, 1, Silent(interrupt_after=5))
    progress = Silent()
    results = carry_out(trainings, keeper, 1, progress)
    assert progress.n_known == 5 and progress.n_missing == len(trainings) - 5
    for method in small.methods:
        for activation in ACTIVATIONS:
            np.testing.assert_array_equal(
                results.curves(small.name, method.name, activation)[1],
                whole.curves(small.name, method.name, activation)[1],
            )
    assert not list(tmp_path.rglob("*.part"))


def test_more_runs_keep_the_ones_there_are(small):
    few, more = small.trainings(0), replace(small, n_runs=5).trainings(0)
    settings = {training.key: training.settings for training in more}
    assert all(settings[training.key] == training.settings for training in few)
    assert small.trainings(1)[0].settings != few[0].settings


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: "",
        lambda text: text[: len(text) // 2],
        lambda text: text.replace('"bits": [', '"bits": [1.0, '),
        lambda text: "[]",
        lambda text: '{"format": "another"}',
        lambda text: text.replace('"steps"', '"passes"'),
    ],
)
def test_damaged_results_are_made_anew(small, tmp_path, damage):
    training = small.trainings(0)[0]
    keeper = store.Store(tmp_path)
    carry_out([training], keeper, 1, Silent())
    path = keeper.path(training)
    text = path.read_text()
    path.write_text(damage(text))
    progress = Silent()
    carry_out([training], keeper, 1, progress)
    assert progress.n_missing == 1 and sum(progress.reasons.values()) == 1
    assert json.loads(path.read_text())["curve"]["bits"] == json.loads(text)["curve"]["bits"]


def test_other_settings_are_another_result(small, tmp_path):
    keeper = store.Store(tmp_path)
    training = small.trainings(0)[0]
    carry_out([training], keeper, 1, Silent())
    assert keeper.read(training)[1] == ""
    for other in (
        replace(training, problem_seed=1),
        replace(training, method=replace(training.method, damping=1e-3)),
        replace(training, method=replace(training.method, n_steps=7)),
    ):
        assert keeper.read(other) == (None, "other settings")
    assert keeper.read(small.trainings(0)[1]) == (None, "")


def test_nothing_is_left_of_a_file_that_could_not_be_written(tmp_path):
    with pytest.raises(TypeError):
        store.write_whole(tmp_path / "a.json", None)
    assert list(tmp_path.iterdir()) == []


def test_recorded_steps():
    for n_steps in (1, 5, 10, 200, 10_000):
        steps = recorded_steps(n_steps)
        assert steps == sorted(set(steps)) and steps[-1] == n_steps and min(10, n_steps) in steps
        assert len(steps) <= 121


# ------------------------------------------------------------------------- what holds
@pytest.mark.slow
def test_order_of_the_methods_in_the_quick_form(tmp_path):
    """What the paper says of its methods shows after a twentieth of the steps already."""
    names = ("euclidean", "diag_bp", "qd_bp", "bp", "qd_mc_fisher")
    experiment = only(experiments(2)["autoencoder"], names).shortened()
    results = carry_out(experiment.trainings(0), store.Store(tmp_path), 1, Silent())
    bits = {
        (name, activation): results.losses("autoencoder", name, activation).mean()
        for name in names
        for activation in ACTIVATIONS
    }
    # Not invariant: tanh is much better.
    assert bits["euclidean", "logistic"] > bits["euclidean", "tanh"] + 20
    assert bits["diag_bp", "logistic"] > bits["diag_bp", "tanh"] + 20
    # Invariant: both alike.
    assert abs(bits["qd_bp", "logistic"] - bits["qd_bp", "tanh"]) < 3
    assert abs(bits["bp", "logistic"] - bits["bp", "tanh"]) < 3
    for activation in ACTIVATIONS:
        ordered = [bits[n, activation] for n in ("bp", "qd_bp", "diag_bp", "euclidean")]
        assert ordered == sorted(ordered)
        assert bits["qd_bp", activation] + 5 < bits["qd_mc_fisher", activation]


def test_relative_damping_keeps_both_implementations_together():
    experiment = experiments(1)["one_start"].shortened(1 / 20)
    apart = {}
    for method in experiment.methods:
        curves = [t.train() for t in experiment.trainings(0) if t.method is method]
        apart[method.name] = np.abs(np.subtract(curves[0].bits, curves[1].bits))
    for metric in ("bp", "qd_bp"):
        assert apart[f"{metric}_relative"].max() < 1e-8
        assert apart[f"{metric}_absolute"].max() > 0.01


def test_ones_are_learnt_faster_than_zeros_by_the_plain_gradient_only():
    plain, invariant = learn_ones_and_zeros(2, 0).values()
    assert (plain[0] < 0.7 * plain[1])[:, 20:].all()
    np.testing.assert_allclose(invariant[0], invariant[1], rtol=1e-10)
    assert (invariant[0][:, -1] < invariant[0][:, 0] / 2).all()


def test_steps_together():
    steps = np.array([1, 2, 5, 9])
    assert steps_together(steps, np.array([0, 0, 1e-3, 0])) == 2
    assert steps_together(steps, np.array([0, 0, 0, np.nan])) == 5
    assert steps_together(steps, np.zeros(4)) == 9
    assert steps_together(steps, np.ones(4)) == 0


def test_costs_are_those_of_steps():
    """A full natural gradient costs hundreds of plain ones."""
    experiment = experiments(1)["autoencoder"]
    # One timing of a cheap step says little on a busy machine.
    cheap = measure_costs(only(experiment, ("euclidean", "qd_bp")), 15)
    assert cheap.relative("euclidean") == 1
    assert 1 < cheap.relative("qd_bp") < 10
    full = measure_costs(only(experiment, ("euclidean", "fisher")), 1)
    assert full.relative("fisher") > 50


def test_loss_table_says_how_far_it_is_from_the_paper(small, tmp_path):
    results = carry_out(small.trainings(0), store.Store(tmp_path), 1, Silent())
    row = loss_table(small, results).rows[0]
    mean, deviation = map(float, row[2].split(" ± "))
    losses = results.losses("autoencoder", "euclidean", "logistic")
    assert mean == pytest.approx(losses.mean(), abs=0.006)
    assert deviation == pytest.approx(losses.std(ddof=1), abs=0.006)
    assert row[3] == "35.9 ± 2.1"
    assert float(row[4]) == pytest.approx((losses.mean() - 35.9) / 2.1, abs=0.06)


# ------------------------------------------------------------------------ the command
@pytest.fixture
def shortest(monkeypatch):
    """The command with next to no steps."""
    from sknatgrad.experiments.paper import command

    def shorten(n_runs):
        made = experiments(n_runs)
        return {name: experiment.shortened(1 / 10_000) for name, experiment in made.items()}

    monkeypatch.setattr(command, "_ROUNDS", 1)
    monkeypatch.setattr(command, "experiments", shorten)
    return command


@pytest.fixture
def cheapest(shortest, monkeypatch):
    """And with quasi-diagonal methods and plain gradients only."""
    everything = shortest.experiments

    def choose(n_runs):
        return {
            name: only(
                experiment,
                [m.name for m in experiment.methods if m.name.startswith(("qd_bp", "qd_mc", "eu"))],
            )
            for name, experiment in everything(n_runs).items()
        }

    monkeypatch.setattr(shortest, "experiments", choose)


def test_command_prints_tables_and_goes_on_where_it_ended(tmp_path, capsys, cheapest):
    arguments = ["paper", "--runs", "2", "--no-plot", "--out", str(tmp_path)]
    assert main(arguments) == 0
    first = capsys.readouterr().out
    next((tmp_path / "runs").rglob("*.json")).write_text("damaged")
    assert main(arguments) == 0
    second = capsys.readouterr().out
    assert "1 left out (damaged): 1 trainings to do" in second
    assert first[first.index("Table 1") :] == second[second.index("Table 1") :]
    kept = (tmp_path / "tables.md").read_text()
    for words in ("Table 1", "Table 2", "35.9 ± 2.1", "7,400 to 7,500", "parallel", "Digits"):
        assert words in first and words in kept
    assert not (tmp_path / "figures").exists()


@pytest.mark.slow
def test_command_draws_all_figures(tmp_path, capsys, shortest):
    pytest.importorskip("matplotlib")
    assert main(["paper", "--runs", "1", "--out", str(tmp_path)]) == 0
    assert str(tmp_path / "figures") in capsys.readouterr().out
    files = sorted((tmp_path / "figures").iterdir())
    assert len(files) == 16 and {path.suffix for path in files} == {".png", ".svg"}
    assert all(path.stat().st_size < 80_000 for path in files if path.suffix == ".png")


@pytest.mark.slow
def test_quick_form(tmp_path):
    results = reproduce(Order(2, 1, tmp_path, quick=True, draw=False))
    for activation in ACTIVATIONS:
        means = [
            results.losses("autoencoder", name, activation).mean()
            for name in ("bp", "qd_bp", "diag_bp", "euclidean")
        ]
        assert means == sorted(means)


def test_without_matplotlib_there_are_tables_and_a_hint(tmp_path, capsys, monkeypatch, cheapest):
    from sknatgrad.experiments.paper import command

    def missing(made, folder):
        raise ImportError("Plots need matplotlib")

    monkeypatch.setattr(command, "write_figures", missing)
    assert main(["paper", "--runs", "1", "--out", str(tmp_path)]) == 0
    output = capsys.readouterr().out
    assert "No figures. Plots need matplotlib" in output and "Table 2" in output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--runs", "0"], "must be at least 1"),
        (["--jobs", "-1"], "must be at least 1"),
        (["--runs", "many"], "not a whole number"),
        (["--seed", "-1"], "must be at least 0"),
        (["--rounds"], "unrecognized arguments"),
    ],
)
def test_wrong_arguments_exit_with_2(arguments, message, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["paper", *arguments])
    assert stopped.value.code == 2 and message in capsys.readouterr().err


def test_options_may_stand_before_the_command(tmp_path, monkeypatch):
    orders = []
    monkeypatch.setattr(__main__, "reproduce", orders.append)
    options = ["--seed", "5", "--no-plot", "--out", str(tmp_path)]
    for arguments in ([*options, "paper"], ["paper", *options]):
        assert main(arguments) == 0
    assert orders[0] == orders[1] and (orders[0].seed, orders[0].draw) == (5, False)
    assert orders[0].folder == tmp_path


@pytest.mark.parametrize("option", ["--metrics=bp", "--max-iter=3"])
def test_options_of_races_are_refused(option, capsys):
    with pytest.raises(SystemExit):
        main([option, "paper"])
    assert "are options of races" in capsys.readouterr().err


@pytest.mark.parametrize(("problem", "status"), [(BrokenPipeError(), 141), (OSError("no room"), 1)])
def test_output_that_cannot_be_written(tmp_path, monkeypatch, capsys, problem, status):
    def broken(order):
        raise problem

    monkeypatch.setattr(__main__, "reproduce", broken)
    assert main(["paper", "--out", str(tmp_path)]) == status
    assert ("no room" in capsys.readouterr().err) == (status == 1)


def test_folder_that_is_a_file_is_refused(tmp_path, capsys):
    file = tmp_path / "file"
    file.touch()
    assert main(["paper", "--quick", "--out", str(file)]) == 2
    assert "--out" in capsys.readouterr().err


# ----------------------------------------------------------------------- the progress
class Terminal(io.StringIO):
    def isatty(self):
        return True


def advanced(stream, total):
    clock = iter(range(100))
    bar = ProgressBar(total, stream, lambda: next(clock))
    for piece in range(total):
        bar.advance(f"piece {piece}")
    return stream.getvalue()


def test_progress_is_one_line_on_a_terminal():
    text = advanced(Terminal(), 4)
    assert text.count("\n") == 1 and text.endswith("\n") and text.count("\r") == 4
    assert "[############............] 2/4, 0:02 gone, 0:02 to go  piece 1" in text


def test_progress_is_twenty_lines_elsewhere():
    assert advanced(io.StringIO(), 60).count("\n") == 20
    assert advanced(io.StringIO(), 3).split("\n")[-2] == "3/3, 0:03 gone, 0:00 to go  piece 2"

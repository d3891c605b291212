"""The benchmark commands work, and their results hold what they should."""

import importlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

from sknatgrad import METRICS

BENCHMARKS = Path(__file__).parent / "benchmarks"
SUITE, INSTRUCTIONS = BENCHMARKS / "suite.py", BENCHMARKS / "bench_instructions.py"


@pytest.mark.parametrize("path", sorted(BENCHMARKS.glob("*.py")), ids=lambda path: path.stem)
def test_benchmarks_can_be_imported(path, monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    importlib.import_module(path.stem)


def test_quick_suite(tmp_path):
    target = tmp_path / "results.json"
    command = [sys.executable, SUITE, "--quick", "--repeats", "1", "--json", target]
    subprocess.run(command, check=True, capture_output=True, cwd=tmp_path)
    results = json.loads(target.read_text())
    assert results["flops"] > 0 and results["bytes"] > 0
    networks = [(row["network"], row["rows"]) for row in results["steps"]]
    assert networks == [("64-20-3", 16), ("100 units, fan-in 5", 16)]
    for row in results["steps"]:
        assert set(row["ratios"]) == set(METRICS) - {"fisher", "mc_fisher", "op"}
        assert row["ratios"]["euclidean"] == 1
        assert all(value > 0 for kind in ("ratios", "megabytes") for value in row[kind].values())
    assert set(results["slopes"]) == {"rows", "units", "fan-in", "outputs"}


# --------------------------------------------------------------------- tables
@pytest.fixture(scope="module")
def raw_tables():
    """The module that reads them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(BENCHMARKS)
        return importlib.import_module("raw_tables")


ROWS = [f"{i}, {'red' if i % 2 else 'blue'}, {'' if i else '<null>'}, {i / 2}" for i in range(40)]
ROWS[3] = "?, red, <null>, 1.5"
ROWS[4] = "4, blue, ?, 2.0"


@pytest.mark.parametrize(
    "text, layout",
    [
        ("\n".join(ROWS), {}),
        ("\n".join(["number,colour,gaps,y", *ROWS]), {"left_out": ()}),
        ("@relation t\n@attribute colour {red, blue}\n@DATA\n" + "\n".join(ROWS), {}),
        ("\n".join(ROWS).replace(",", ";"), {"delimiter": ";", "target": 3}),
    ],
)
def test_tables_of_numbers_words_and_gaps(raw_tables, text, layout):
    columns, target = raw_tables.read_columns(text, **layout)
    # One row in forty has no number, three have a gap in a column of blanks.
    numbers, colours = columns
    assert numbers == tuple(str(i) for i in range(40) if i != 3)
    assert set(colours) == {"red", "blue"} and target[:4] == ("0.0", "0.5", "1.0", "2.0")
    assert raw_tables.is_numeric(numbers) and not raw_tables.is_numeric(colours)


def test_columns_may_be_left_out(raw_tables):
    columns, _ = raw_tables.read_columns("\n".join(ROWS), left_out=(1,))
    assert len(columns) == 1
    named = "\n".join(["number,colour,gaps,y", *ROWS])
    columns, target = raw_tables.read_columns(named, target=0, left_out=("colour", "gaps"))
    assert target[0] == "0" and columns == [tuple(str(i / 2) for i in range(40) if i != 3)]


# --------------------------------------------------------------------- instructions
@pytest.fixture(scope="module")
def instructions():
    """The module that counts them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(BENCHMARKS)
        return pytest.importorskip("bench_instructions")


def test_steps_that_were_not_taken_are_noticed(instructions):
    instructions.check_steps([3.0, 2.0], [3.0, 2.0, 1.5, 1.2, 1.1, 1.0], 2)
    for few, many in (
        ([3.0], [3.0, 2.0, 1.5]),  # fewer than asked for
        ([3.0, 2.0], [3.0, 2.1, 1.5, 1.2, 1.1, 1.0]),  # from another start
        ([3.0, 3.0], [3.0, 3.0, 3.0, 3.0, 3.0, 3.0]),  # at a standstill
        ([3.0, 2.0], [3.0, 2.0, 1.5, 1.2, 1.1, float("nan")]),
    ):
        with pytest.raises(RuntimeError, match="2 and 6 steps were asked for"):
            instructions.check_steps(few, many, 2)


class Counted:
    """A counter of processes with some instructions at their start, and some a step.

    These are given for one run after the other.
    """

    def __init__(self, *runs):
        self.runs = list(runs)

    def measure(self, jobs, kernels):
        start, rate = self.runs.pop(0)
        return [(start + rate * n, [1 / (1 + k) for k in range(n)]) for *_, n in jobs]


def test_counts_are_differences_that_reproduce(instructions):
    listed = [("paper", "euclidean", 10), ("online", "bp", 1)]
    means, spread = instructions.repeated(Counted((10, 700), (30, 700)), listed, "numpy", 2)
    # A call of the second one is a hundred steps.
    assert means == {("paper", "euclidean"): 700.0, ("online", "bp"): 7.0}
    assert spread == 0
    with pytest.raises(RuntimeError, match="counts differ by 2"):
        instructions.repeated(Counted((10, 700), (10, 714)), listed, "numpy", 2)


def test_missing_counters_are_named(instructions, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SystemExit, match=r"perf.*valgrind"):
        instructions.choose(instructions.COUNTERS)


@pytest.mark.slow
def test_instructions_are_counted(instructions, tmp_path):
    """A step of more work takes more instructions, the same ones each time."""
    if not any(counter.works() for counter in instructions.COUNTERS.values()):
        pytest.skip("neither perf nor valgrind can count here")
    target = tmp_path / "counts.json"
    command = [sys.executable, INSTRUCTIONS, "--problems", "paper", "--metrics", "qd_bp"]
    subprocess.run([*command, "--json", target], check=True, capture_output=True)
    result = json.loads(target.read_text())
    plain, natural = (step["instructions"] for step in result["steps"])
    assert 1e5 < plain < natural < 1e8
    assert result["spread"] <= 0.01

"""The benchmark command works, and its results hold what they should."""

import json
import subprocess
import sys
from pathlib import Path

from sknatgrad import METRICS

SUITE = Path(__file__).parent / "benchmarks" / "suite.py"


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

"""The examples run on their own, with and without somewhere to draw."""

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from selection import slow

FOLDER = Path(__file__).parents[1] / "examples"
QUICKEST = "plot_invariance"
LONGEST = {
    "plot_digits_pipeline_grid",
    "plot_online_drift",
    "plot_paper_autoencoder",
    "plot_quasi_diagonal_vs_diagonal",
    "plot_regression_penalty",
}
NAMES = sorted(path.stem for path in FOLDER.glob("plot_*.py"))
SAID = {
    "plot_autoencoder_digits": "Area under the ROC curve",
    "plot_digits_pipeline_grid": "accuracy on the test rows",
    "plot_invariance": "euclidean  X + 1000",
    "plot_paper_autoencoder": "bp         tanh",
    "plot_quasi_diagonal_vs_diagonal": "qd_bp    losses of the first ten steps",
    "plot_regression_penalty": "ridge regression",
    "plot_online_drift": "StandardScaler + SGDClassifier",
}

pytestmark = pytest.mark.skipif(not NAMES, reason="examples are not part of an installed package")


def run(name, *arguments, cwd):
    return subprocess.run(
        [sys.executable, "-W", "error::FutureWarning", str(FOLDER / f"{name}.py"), *arguments],
        cwd=cwd,
        env={**os.environ, "MPLBACKEND": "Agg", "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )


@pytest.mark.parametrize("name", [slow(name) if name in LONGEST else name for name in NAMES])
def test_example_runs(name, tmp_path):
    pytest.importorskip("matplotlib")
    done = run(name, "--out", str(tmp_path / "figures"), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    (image,) = (tmp_path / "figures").iterdir()
    assert image.name == f"{name.removeprefix('plot_')}.png"
    assert image.read_bytes().startswith(b"\x89PNG") and f"Figure: {image}" in done.stdout
    assert SAID[name] in done.stdout


@pytest.mark.parametrize("name", NAMES)
def test_example_begins_with_a_title_and_an_account(name):
    text = ast.get_docstring(ast.parse((FOLDER / f"{name}.py").read_text(encoding="utf-8")))
    above, title, below, blank, account = text.split("\n")[:5]
    assert above == below == "=" * len(title) and not blank and account


def test_every_example_is_known_here():
    assert sorted(SAID) == NAMES


def test_example_without_matplotlib(tmp_path):
    (tmp_path / "matplotlib.py").write_text("raise ImportError('none')", encoding="utf-8")
    folders = [str(tmp_path), str(FOLDER)]
    code = f"import runpy, sys; sys.path[:0] = {folders!r}; sys.argv = ['x']; "
    code += f"runpy.run_path({str(FOLDER / QUICKEST) + '.py'!r}, run_name='__main__')"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert "No figure: matplotlib is not installed." in done.stdout
    assert [path.name for path in tmp_path.iterdir() if path.suffix == ".png"] == []


def _blocks():
    """Every block of Python in the documentation, with a name."""
    root = FOLDER.parent
    for page in [root / "README.md", *sorted((root / "doc").glob("*.md"))]:
        for block in re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.S):
            waits = "dask" in block or "numba" in block  # for workers, or for a compiler
            marks = pytest.mark.slow if waits else ()
            yield pytest.param(block, id=page.stem, marks=marks)


@pytest.mark.parametrize("block", list(_blocks()))
def test_blocks_of_the_documentation_run(block, tmp_path):
    """As scripts, word for word."""
    for needed in ("dask", "numba", "distributed"):
        if needed in block:
            pytest.importorskip(needed)
    script = tmp_path / "block.py"
    script.write_text(block, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(script)], cwd=tmp_path, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr

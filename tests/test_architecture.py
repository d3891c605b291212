"""The layers of the library: who imports whom, how long things are, what is told apart by type."""

import ast
from pathlib import Path

import pytest

import sknatgrad

ROOT = Path(sknatgrad.__file__).parent
FILES = {file.relative_to(ROOT).as_posix(): file for file in sorted(ROOT.rglob("*.py"))}
TREES = {name: ast.parse(file.read_text(encoding="utf-8")) for name, file in FILES.items()}

# What each package may import of the others; `_version` is free to all.
ALLOWED = {
    "compiled": set(),
    "numerics": {"compiled"},
    "network": {"numerics", "compiled"},
    "outputs": {"network", "numerics", "compiled"},
    "metrics": {"outputs", "network", "numerics", "compiled"},
    "training": {"metrics", "outputs", "network", "numerics", "compiled"},
    "estimators": {"training", "metrics", "outputs", "network", "numerics", "compiled"},
    "plotting": set(),
    "experiments": {
        "plotting",
        "estimators",
        "training",
        "metrics",
        "outputs",
        "network",
        "numerics",
        "compiled",
    },
}
# What each folder of `training` may import of the others, and of the files beside them.
ALLOWED_IN_TRAINING = {"data": set(), "penalty": {"data"}, "steps": {"penalty", "data"}}
LONGEST_FILE, LONGEST_FUNCTION = 330, 45


def is_docstring(node):
    """Whether a statement is a bare string."""
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def docstring_lines(node):
    """Lines of all docstrings inside a node."""
    return sum(n.end_lineno - n.lineno + 1 for n in ast.walk(node) if is_docstring(n))


def imported_packages(name, *inside):
    """Packages of the library, or inside of one, that a file imports, wherever it does."""
    here = ["sknatgrad", *name.split("/")[:-1]]
    for node in ast.walk(TREES[name]):
        if isinstance(node, ast.ImportFrom):
            base = here[: len(here) - node.level + 1] if node.level else []
            path = [*base, *(node.module or "").split(".")] if node.module else base
            targets = [[*path, alias.name] for alias in node.names]
        elif isinstance(node, ast.Import):
            targets = [alias.name.split(".") for alias in node.names]
        else:
            continue
        depth = 1 + len(inside)
        for target in targets:
            if target[:depth] == ["sknatgrad", *inside] and len(target) > depth:
                yield target[depth]


@pytest.mark.parametrize("package", ALLOWED)
def test_imports_go_one_way(package):
    """experiments -> estimators -> training -> metrics -> outputs -> network -> numerics."""
    names = [name for name in FILES if name.startswith(f"{package}/")]
    assert names
    for name in names:
        found = set(imported_packages(name)) - {package, "_version"}
        assert found <= ALLOWED[package], name


@pytest.mark.parametrize("folder", ALLOWED_IN_TRAINING)
def test_imports_go_one_way_in_training(folder):
    """session -> steps -> penalty -> data."""
    names = [name for name in FILES if name.startswith(f"training/{folder}/")]
    assert names
    for name in names:
        found = set(imported_packages(name, "training")) - {folder}
        assert found <= ALLOWED_IN_TRAINING[folder], name


def test_import_finder_sees_what_there_is():
    """The check above can fail: it finds imports of every form."""
    assert "metrics" in set(imported_packages("training/steps/descent.py"))
    assert "network" in set(imported_packages("training/data/objective.py"))
    assert "training" in set(imported_packages("estimators/_base.py"))
    assert "estimators" in set(imported_packages("__init__.py"))


@pytest.mark.parametrize("name", FILES)
def test_files_are_short(name):
    """Under 330 lines, docstrings and all."""
    assert len(FILES[name].read_text(encoding="utf-8").splitlines()) < LONGEST_FILE


@pytest.mark.parametrize("name", FILES)
def test_functions_are_short(name):
    """Under 45 lines besides their docstrings, constructors of estimators apart."""
    for node in ast.walk(TREES[name]):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if name.startswith("estimators/") and node.name == "__init__":
            continue
        length = node.end_lineno - node.lineno + 1 - docstring_lines(node)
        assert length < LONGEST_FUNCTION, node.name


def family_members():
    """Names of the outputs, moduli and reductions below their base classes."""
    from sknatgrad.metrics import Modulus, Reduction
    from sknatgrad.outputs import Output

    def below(cls):
        for sub in cls.__subclasses__():
            yield sub.__name__
            yield from below(sub)

    return {name for base in (Output, Modulus, Reduction) for name in below(base)}


@pytest.mark.parametrize("name", FILES)
def test_parts_are_not_told_apart_by_type(name):
    """No isinstance, `type(x) is`, or match on a particular output, modulus or reduction."""
    members = family_members()
    assert {"Softmax", "Fisher", "QuasiDiagonal"} <= members
    for node in ast.walk(TREES[name]):
        parts = []
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in (
            "isinstance",
            "issubclass",
        ):
            parts = node.args[1:]
        elif isinstance(node, ast.Compare) and "type(" in ast.unparse(node):
            parts = [node.left, *node.comparators]
        elif isinstance(node, ast.MatchClass):
            parts = [node.cls]
        found = {n.id for part in parts for n in ast.walk(part) if isinstance(n, ast.Name)}
        assert not found & members, ast.unparse(node)

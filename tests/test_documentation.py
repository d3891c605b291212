"""What the documentation says of the code, as far as it can be looked up."""

import ast
import inspect
import re
from pathlib import Path

import pytest

import sknatgrad
from sknatgrad import RiemannianAutoEncoder, RiemannianMLPClassifier, RiemannianMLPRegressor

ROOT, PACKAGE = Path(__file__).parents[1], Path(sknatgrad.__file__).parent
PAGES = {
    path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
    for path in [ROOT / "README.md", *sorted((ROOT / "doc").glob("*.md"))]
    if path.exists()
}
KINDS = {
    "classifier": RiemannianMLPClassifier,
    "regressor": RiemannianMLPRegressor,
    "auto-encoder": RiemannianAutoEncoder,
}

pytestmark = pytest.mark.skipif(not PAGES, reason="doc/ is not part of an installed package")


def default_in(cell, kind):
    """What a cell has for an estimator, the text of a literal; None where it has nothing.

    A default without a name before it is that of all that are not named.
    """
    defaults = dict(re.findall(r"(?:([a-z-]+) )?`(.+?)`", cell))
    assert set(defaults) <= {"", *KINDS}
    return defaults.get(kind, defaults.get(""))


@pytest.mark.parametrize("kind", KINDS)
def test_parameters_in_the_table_are_those_of_the_signature(kind):
    """Names and defaults, each parameter once."""
    text = PAGES["doc/estimators.md"].split("## Parameters\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| `(\w+)` \| [^|]+ \| ([^|]+) \|", text, re.M)
    assert len(dict(rows)) == len(rows)
    cells = {name: default_in(cell, kind) for name, cell in rows}
    documented = {name: ast.literal_eval(cell) for name, cell in cells.items() if cell}
    signature = inspect.signature(KINDS[kind]).parameters
    assert documented == {name: parameter.default for name, parameter in signature.items()}


def anchors(page):
    """Those of the headings of a page, as GitHub makes them."""
    text = re.sub(r"^```.*?^```", "", PAGES[page], flags=re.M | re.S)
    titles = (title.lower() for title in re.findall(r"^#+ (.*)$", text, re.M))
    return {re.sub(r"[^\w -]", "", title).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", [*PAGES, "CHANGELOG.md"])
def test_items_of_lists_have_lines_of_their_own(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    text = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
    assert not re.findall(r".*[.;:)] (?:[-*]|[0-9]+\.)(?: |$)", text, re.M)


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page):
    """To a file that there is, and a heading of that page."""
    for link in re.findall(r"\]\((?!https?:)([^)]+)\)", PAGES[page]):
        file, _, anchor = link.partition("#")
        target = (ROOT / page).parent / file if file else ROOT / page
        assert target.resolve().exists(), link
        if anchor:
            assert anchor in anchors(target.resolve().relative_to(ROOT).as_posix()), link


@pytest.mark.parametrize("page", PAGES)
def test_files_that_are_named_are_there(page):
    """Below the package, or in the checkout."""
    for name in re.findall(r"`((?:\w+/)+\w+\.py)`", PAGES[page]):
        assert (PACKAGE / name).exists() or (ROOT / name).exists(), name


@pytest.mark.parametrize("page", ["doc/architecture.md", "doc/notation.md"])
def test_names_are_in_the_files_that_the_map_says(page):
    """``name`` in a row behind its file, or "``name`` in ``file``"."""
    rows = re.findall(r"^\| `([\w/]+\.py)` \| `(\w+)` \|", PAGES[page], re.M)
    told = re.findall(r"`(\w+)(?:\.\w+)?` in `([\w/]+\.py)`", PAGES[page])
    assert len(rows) + len(told) > 20
    for file, name in [*rows, *((file, name) for name, file in told)]:
        tree = ast.parse((PACKAGE / file).read_text(encoding="utf-8"))
        assert name in {getattr(node, "name", None) for node in ast.walk(tree)}, (file, name)

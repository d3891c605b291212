"""What is left behind: tables as text and Markdown, figures as PNG and SVG."""

from ..table import markdown_table, text_table
from . import figures
from .published import implied_cost
from .store import write_whole
from .tables import MONTE_CARLO, cost_table, digits_table, links_table, loss_table, one_start_table

_RESOLUTION, _COLOURS = 110, 128
TABLES_FILE = "tables.md"


def make_tables(experiments, results, costs):
    """All tables.

    Parameters
    ----------
    experiments : dict of str to Experiment
    results : Results
    costs : dict of str to Costs
        By experiment.

    Returns
    -------
    list of Table
    """
    autoencoder, digits = experiments["autoencoder"], experiments["digits"]
    return [
        cost_table(autoencoder, costs["autoencoder"]),
        loss_table(autoencoder, results),
        links_table(experiments, results),
        loss_table(experiments["monte_carlo"], results, MONTE_CARLO),
        one_start_table(experiments["one_start"], results),
        digits_table(digits, results, costs["digits"]),
    ]


def as_text(table):
    """A table for the terminal."""
    return f"{table.title}\n\n{text_table(table.header, table.rows)}\n\n{table.notes}"


def write_tables(tables, folder, preface):
    """Keep the tables as Markdown; returns the file."""
    parts = [preface]
    for table in tables:
        parts.append(f"## {table.title}")
        parts += [markdown_table(table.header, table.rows), table.notes]
    path = folder / TABLES_FILE
    write_whole(path, "\n\n".join(parts) + "\n")
    return path


def make_figures(experiments, results, costs, ones):
    """All figures by name, made one after the other.

    Parameters
    ----------
    experiments, results, costs
        As in `make_tables`.
    ones : dict
        Made by `learn_ones_and_zeros`.
    """
    autoencoder, digits = experiments["autoencoder"], experiments["digits"]
    over_time = figures.Curves(autoencoder, results, implied_cost, figures.EQUAL_TIME)
    yield "ones_and_zeros", figures.ones_and_zeros(ones)
    yield "comparison", figures.comparison(over_time)
    yield "diagonal", figures.diagonal(over_time)
    yield "invariance", figures.invariance(over_time)
    yield "all_methods", figures.all_methods(over_time)
    yield (
        "iterations_and_seconds",
        figures.steps_and_seconds(autoencoder, results, costs["autoencoder"]),
    )
    yield "staying_together", figures.staying_together(experiments["one_start"], results)
    yield "digits", figures.steps_and_seconds(digits, results, costs["digits"], floor=1e-4)


def write_figures(made, folder):
    """Keep figures as PNG and SVG; returns the files.

    Raises
    ------
    ImportError
        If matplotlib is missing.
    """
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, figure in made:
        paths += [folder / f"{name}.png", folder / f"{name}.svg"]
        figure.savefig(paths[-2], dpi=_RESOLUTION)
        _use_a_palette(paths[-2])
        figure.savefig(paths[-1], metadata={"Date": None})
    return paths


def _use_a_palette(path):
    """Write an image with few colours, which takes a third of the space."""
    from PIL import Image  # comes with matplotlib

    with Image.open(path) as image:
        few = image.convert("RGB").quantize(_COLOURS)
    few.save(path, optimize=True)

"""Where the figures of the examples go."""

import argparse
from pathlib import Path


def save_figure(draw, script, about):
    """Write ``draw()`` beside the name of the script, in the folder that --out names.

    Parameters
    ----------
    draw : callable
        Makes a matplotlib Figure; without matplotlib there is none.
    script, about : str
        The ``__file__`` and ``__doc__`` of an example.
    """
    parser = argparse.ArgumentParser(description=about.strip().split("\n")[1])
    parser.add_argument("--out", type=Path, default=Path(), help="folder of the figure")
    folder = parser.parse_args().out
    try:
        figure = draw()
    except ImportError:
        print("No figure: matplotlib is not installed.")
        return
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{Path(script).stem.removeprefix('plot_')}.png"
    figure.savefig(path, dpi=120)
    print(f"Figure: {path}")

"""Races and repeated runs on real data."""

from .race import (
    Competitor,
    Result,
    format_table,
    run_race,
    save_figure,
    standard_competitors,
)
from .table import text_table

__all__ = [
    "Competitor",
    "Result",
    "format_table",
    "run_race",
    "save_figure",
    "standard_competitors",
    "text_table",
]

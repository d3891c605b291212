"""Races and repeated runs on real data."""

from .csv_table import Table, TableError, read_table
from .dataset import Dataset, make_dataset
from .race import Competitor, Result, run_race, standard_competitors
from .repeated import repeated_runs
from .report import format_short_table, format_table, save_figure
from .runs import RepeatedRuns
from .table import text_table
from .table_race import split_and_encode, table_competitors

__all__ = [
    "Competitor",
    "Dataset",
    "RepeatedRuns",
    "Result",
    "Table",
    "TableError",
    "format_short_table",
    "format_table",
    "make_dataset",
    "read_table",
    "repeated_runs",
    "run_race",
    "save_figure",
    "split_and_encode",
    "standard_competitors",
    "table_competitors",
    "text_table",
]

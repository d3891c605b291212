"""The experiments of the paper, reproduced and completed.

Data go one way: `problem` draws data, links and starts, `methods` and `published` say
what is compared and what the paper found, `training` trains one method, `experiment`
lists all trainings, `store` keeps their results, `campaign` carries them out, `tables`
and `figures` show what came of it, `command` ties them together.
"""

from .command import QUICK_RUNS, Order, reproduce
from .published import N_RUNS

__all__ = ["N_RUNS", "QUICK_RUNS", "Order", "reproduce"]

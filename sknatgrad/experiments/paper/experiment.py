"""What is run: experiments, and the single trainings that they are made of."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import partial

from ..._version import __version__
from ..seeds import draw_seeds
from .methods import (
    FIRST_RATE,
    Method,
    methods_from_one_start,
    methods_of_the_paper,
    methods_on_digits,
    methods_that_tell_links_apart,
    monte_carlo_hypotheses,
)
from .problem import ACTIVATIONS, draw_autoencoder, draw_digits
from .training import train_method

QUICK_SHARE = 1 / 20


@dataclass(frozen=True)
class Experiment:
    """Methods compared on the same problems.

    Attributes
    ----------
    name : str
    draw : callable
        From a seed to a `Problem`.
    methods : tuple of Method
    n_runs : int
    links : str
        How links are drawn, "-" where that is fixed.
    """

    name: str
    draw: Callable
    methods: tuple
    n_runs: int
    links: str = "-"

    def shortened(self, share=QUICK_SHARE):
        """The same with fewer steps."""
        shorter = [replace(m, n_steps=max(10, round(share * m.n_steps))) for m in self.methods]
        return replace(self, methods=tuple(shorter))

    def trainings(self, seed):
        """All trainings, run by run, methods in their order."""
        seeds = draw_seeds(seed, (self.n_runs, 2)).tolist()
        return [
            Training(self, method, activation, run, *seeds[run])
            for run in range(self.n_runs)
            for method in self.methods
            for activation in ACTIVATIONS
        ]


@dataclass(frozen=True)
class Training:
    """One method in one implementation on the problem of one run."""

    experiment: Experiment
    method: Method
    activation: str
    run: int
    problem_seed: int
    draw_seed: int

    @property
    def key(self):
        """Where its result is kept."""
        return f"{self.experiment.name}/{self.method.name}/{self.activation}-{self.run:02d}"

    @property
    def settings(self):
        """All that the result depends on, as JSON has it."""
        method = asdict(self.method)
        for words in ("title", "family"):
            del method[words]
        return {
            "version": __version__,
            "links": self.experiment.links,
            "method": method,
            "first_rate": FIRST_RATE,
            "activation": self.activation,
            "problem_seed": self.problem_seed,
            "draw_seed": self.draw_seed,
        }

    def train(self):
        """Do it; returns a `Curve`."""
        problem = self.experiment.draw(self.problem_seed)
        return train_method(problem, self.method, self.activation, self.draw_seed)


def experiments(n_runs):
    """All experiments, by name.

    The paper's; what its links and its Monte-Carlo rows may have been; both
    implementations from one start under two kinds of damping; digits.

    Parameters
    ----------
    n_runs : int
        Of the paper's experiment; the others have fewer.

    Returns
    -------
    dict of str to Experiment
    """
    some, few = min(n_runs, 10), min(n_runs, 5)
    made = (
        _on_strings("autoencoder", methods_of_the_paper(), n_runs),
        _on_strings("merged_links", methods_that_tell_links_apart(), some, "merged"),
        _on_strings("distinct_links", methods_that_tell_links_apart(), some, "distinct"),
        _on_strings("monte_carlo", monte_carlo_hypotheses(), some),
        _on_strings("one_start", methods_from_one_start(1000), few),
        Experiment("digits", draw_digits, methods_on_digits(500, 1500), few),
    )
    return {experiment.name: experiment for experiment in made}


def _on_strings(name, methods, n_runs, links="parallel"):
    return Experiment(name, partial(draw_autoencoder, links=links), methods, n_runs, links)

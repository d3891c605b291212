"""The methods compared, and how long each is trained."""

from dataclasses import dataclass, replace

from ...metrics import Metric, QuasiDiagonal, Unitwise, get_metric
from .drawn_and_true import DrawnAndTrue
from .published import middle

DAMPING = 1e-4
FIRST_RATE = 0.01


@dataclass(frozen=True)
class Method:
    """A metric and its training.

    Attributes
    ----------
    name : str
        In file names and rows of tables.
    title : str
        For readers.
    metric : str
        A name of `sknatgrad.METRICS`, or of `OWN_METRICS`.
    n_steps : int
    family : str
        "not invariant", "invariant" or "beyond the paper".
    n_mc_samples : int
        K, targets drawn a sample by the Monte-Carlo metrics.
    damping : float
    damping_mode : {"absolute", "relative"}
    """

    name: str
    title: str
    metric: str
    n_steps: int
    family: str
    n_mc_samples: int = 1
    damping: float = DAMPING
    damping_mode: str = "absolute"

    def build_metric(self):
        """The `Metric`."""
        if self.metric in OWN_METRICS:
            return Metric(DrawnAndTrue(self.n_mc_samples), OWN_METRICS[self.metric]())
        return get_metric(self.metric, self.n_mc_samples)


# Metrics that only this experiment has a use for.
OWN_METRICS = {"unitwise_mc_and_op": Unitwise, "qd_mc_and_op": QuasiDiagonal}

NOT_INVARIANT, INVARIANT, BEYOND = "not invariant", "invariant", "beyond the paper"
# Of the full natural gradient the paper could run 10; a step of it costs hundreds of
# steps of backpropagation.
FULL_STEPS, FULL_STEPS_OF_PAPER = 200, 10

TITLES = {
    "euclidean": "Backpropagation",
    "diag_bp": "Diagonal Gauss-Newton",
    "adagrad": "AdaGrad",
    "unitwise_fisher": "Unitwise natural gradient",
    "qd_fisher": "Quasi-diagonal natural gradient",
    "bp": "Backpropagated metric",
    "qd_bp": "Quasi-diagonal backpropagated metric",
    "unitwise_mc_fisher": "Monte-Carlo unitwise natural gradient",
    "qd_mc_fisher": "Monte-Carlo quasi-diagonal natural gradient",
    "unitwise_op": "Unitwise OP gradient",
    "fisher": "Natural gradient",
    "qd_op": "Quasi-diagonal OP gradient",
    "kron_bp": "Kronecker backpropagated metric",
    "kron_fisher": "Kronecker natural gradient",
}
_PLAIN_METRICS = ("euclidean", "diag_bp", "adagrad")
_OF_THE_PAPER = (
    "unitwise_fisher",
    "qd_fisher",
    "bp",
    "qd_bp",
    "unitwise_mc_fisher",
    "qd_mc_fisher",
    "unitwise_op",
)
# Ours are given the steps of a method of the paper that costs about as much or more.
_AS_LONG_AS = {"qd_op": "qd_bp", "kron_bp": "bp", "kron_fisher": "unitwise_fisher"}


def _method(metric, n_steps, family):
    return Method(metric, TITLES[metric], metric, n_steps, family)


def methods_of_the_paper():
    """All methods on the auto-encoder, in the order of the paper's Table 2, then ours."""
    plain = [_method(metric, middle(metric), NOT_INVARIANT) for metric in _PLAIN_METRICS]
    invariant = [_method(metric, middle(metric), INVARIANT) for metric in _OF_THE_PAPER]
    full = _method("fisher", FULL_STEPS, INVARIANT)
    ours = [_method(new, middle(old), BEYOND) for new, old in _AS_LONG_AS.items()]
    return (*plain, *invariant, full, *ours)


def methods_on_digits(n_steps, n_cheap_steps):
    """The same methods, full natural gradient left out, for so many steps.

    Parameters
    ----------
    n_steps, n_cheap_steps : int
        Of invariant methods and of the others.
    """
    plain = [_method(metric, n_cheap_steps, NOT_INVARIANT) for metric in _PLAIN_METRICS]
    invariant = [_method(metric, n_steps, INVARIANT) for metric in _OF_THE_PAPER]
    ours = [_method(metric, n_steps, BEYOND) for metric in ("kron_bp", "kron_fisher")]
    return (*plain, *invariant, *ours)


def methods_that_tell_links_apart():
    """Methods that are cheap and that the way of drawing links matters to."""
    return tuple(
        method
        for method in methods_of_the_paper()
        if method.name in ("euclidean", "diag_bp", "qd_fisher", "qd_bp")
    )


def monte_carlo_hypotheses():
    """What may stand behind the paper's Monte-Carlo rows, see doc/paper.md.

    Not K = 1 as its equation has it, but K = 2, or one drawn target and the true one.
    """
    methods = []
    for metric in ("unitwise_mc_fisher", "qd_mc_fisher"):
        one = _method(metric, middle(metric), INVARIANT)
        own = metric.replace("fisher", "and_op")
        two = replace(one, name=f"{metric}_2", title=f"{one.title}, K = 2", n_mc_samples=2)
        methods += [two, replace(one, name=own, title=f"{one.title} + OP", metric=own)]
    return tuple(methods)


def methods_from_one_start(n_steps):
    """Invariant methods under relative and, as a control, under absolute damping."""
    return tuple(
        Method(
            f"{metric}_{mode}",
            f"{TITLES[metric]}, {mode} damping",
            metric,
            n_steps,
            INVARIANT,
            damping_mode=mode,
        )
        for metric in ("bp", "qd_bp")
        for mode in ("relative", "absolute")
    )

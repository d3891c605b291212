"""The numbers of the paper's Tables 1 and 2, copied from the paper.

Keys are names of metrics.
"""

# Table 1: "Number of iterations resulting in approximately equal execution times".
ITERATIONS = {
    "euclidean": (10_000, 10_000),
    "fisher": (9, 10),
    "unitwise_fisher": (2_100, 2_300),
    "qd_fisher": (2_800, 3_100),
    "bp": (4_200, 4_300),
    "qd_bp": (7_400, 7_500),
    "unitwise_mc_fisher": (2_800, 2_900),
    "qd_mc_fisher": (3_900, 4_000),
    "unitwise_op": (4_000, 4_100),
    "diag_bp": (7_700, 7_800),
    "adagrad": (8_000, 8_100),
}

# Table 2: average loss in bits and its standard deviation over 20 runs; logistic, tanh.
# The row of the full natural gradient is missing there.
LOSSES = {
    "euclidean": ((35.9, 2.1), (24.7, 2.2)),
    "diag_bp": ((11.6, 2.5), (3.5, 2.0)),
    "adagrad": ((51.1, 3.3), (25.3, 2.0)),
    "unitwise_fisher": ((0.9, 1.0), (1.4, 1.8)),
    "qd_fisher": ((3.5, 1.2), (3.4, 1.6)),
    "bp": ((0.8, 0.8), (0.3, 0.5)),
    "qd_bp": ((1.9, 1.2), (1.5, 1.3)),
    "unitwise_mc_fisher": ((12.9, 1.5), (14.1, 2.2)),
    "qd_mc_fisher": ((7.9, 2.3), (10.1, 2.5)),
    "unitwise_op": ((24.7, 2.5), (28.5, 3.4)),
}

N_RUNS = 20
BUDGET = 10_000  # steps of backpropagation


def middle(metric):
    """The middle of the range of iterations that Table 1 gives a method."""
    return sum(ITERATIONS[metric]) // 2


def implied_cost(metric):
    """Cost of a step relative to backpropagation, by Table 1; None where it is silent."""
    return 2 * BUDGET / sum(ITERATIONS[metric]) if metric in ITERATIONS else None

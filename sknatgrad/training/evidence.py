"""How strong a penalty the data ask for."""

import numpy as np

from ..metrics import Backpropagated, Kronecker, Metric, QuasiDiagonal
from ..metrics.linalg import centred_variance, safe_divide, without_bias

# Largest fan-in whose second moments are diagonalised. Units that do not share them must
# not cost more all together than that.
LARGEST_SPECTRUM = 1000
# Rows that speak for the others where training works in mini-batches.
LARGEST_SAMPLE = 2000
TEMPERATURE = 0.5
# In units of the noise variance; the strength at the start. Below that, separable classes
# are fitted with weights that grow until the curvature, hence what it asks for, is gone.
LEAST_STRENGTH = 0.1
# Share of the way, in logarithms, from the last strength to the one that is estimated: the
# fit needs some passes to follow, and estimates made before it has overshoot.
PACE = 0.5
# Passes from one estimate to the next; the first one comes after so many steps, if a pass
# has many: while the fit is poor the curvature at hand says nothing of where it will end.
EVERY, FIRST_STEPS = 5, 50
_ROUNDS = 3


class Evidence:
    """The strength of an L2 penalty that maximises the evidence of the data.

    With a Gaussian prior of precision ``a`` on the weights z in standard coordinates,
    and a Gaussian approximation of the likelihood whose curvature is the
    backpropagated metric times the number of samples, the most probable a satisfies
    ``a = T s^2 g / sum z^2`` where ``g = sum_i l_i / (l_i + a)`` counts the directions
    that the data determine, l_i being the eigenvalues of that curvature, and s^2 is the
    noise variance of a square loss, 1 for other outputs (MacKay, *Neural Computation* 4,
    1992). T is a temperature: below 1, data count more than the prior says they should.

    One number for all weights: with one a layer, rescaling layers against each
    other would lower the penalty without end.

    The metric is taken in its Kronecker form, and quasi-diagonal where that costs more
    than a full level of fan-in `LARGEST_SPECTRUM`; in standard coordinates, so that the
    strength is intrinsic. O(n d^2 + d^3) on n samples a full level of fan-in d, or a unit
    of other levels.

    Parameters
    ----------
    temperature : float
    """

    def __init__(self, temperature=TEMPERATURE):
        self.temperature = temperature
        # Eigenvalues that depend on the rows alone, which are always the same.
        self._of_inputs = {}

    def due(self, n_passes, steps_a_pass):
        """Whether to change the strength after that many passes.

        The first pass of mini-batches has no penalty, so that it is what as many calls
        of `partial_fit` are.
        """
        start = 0 if steps_a_pass == 1 else 1
        if n_passes <= start:
            return n_passes == start
        return n_passes % EVERY == 0 or n_passes == _first_estimate(steps_a_pass)

    def strength(self, objective, evaluation, n_passes, steps_a_pass):
        """The strength to go on with, a float.

        Parameters
        ----------
        objective : Objective
            Of all rows, or of a sample of them.
        evaluation : Evaluation
            At the parameters of the moment.
        n_passes, steps_a_pass : int
            Passes so far, and steps of each.
        """
        if n_passes < _first_estimate(steps_a_pass):
            strength = LEAST_STRENGTH * _noise(objective, evaluation.data_loss, 0.0)
        else:
            strength = self._estimate(objective, evaluation)
            if objective.alpha > 0:
                strength = objective.alpha ** (1 - PACE) * strength**PACE
        return strength if np.isfinite(strength) else objective.alpha

    def _estimate(self, objective, evaluation):
        weights = evaluation.parameters[: objective.network.topology.n_parameters]
        size = float(objective.penalty @ weights**2)
        with np.errstate(over="ignore", invalid="ignore"):
            curvature = objective.penalty_weight * self._spectrum(objective, evaluation)
        if not (size > 0 and np.isfinite(size) and np.isfinite(curvature).all()):
            return objective.alpha
        strength = objective.alpha
        for _ in range(_ROUNDS):
            free = float(safe_divide(curvature, curvature + strength).sum())
            noise = _noise(objective, evaluation.data_loss, free)
            strength = noise * max(self.temperature * free / size, LEAST_STRENGTH)
        return strength

    def _spectrum(self, objective, evaluation):
        """Eigenvalues of the metric of the weights in standard coordinates."""
        topology = objective.network.topology
        costs = [len(group.sources) * group.fan_in**3 for group in topology.groups]
        narrow = max(costs) <= LARGEST_SPECTRUM**3
        parts = self._kronecker_spectrum if narrow else _diagonal_spectrum
        return np.concatenate([part.ravel() for part in parts(objective, evaluation)])

    def _kronecker_spectrum(self, objective, evaluation):
        topology = objective.network.topology
        metric = Metric(Backpropagated(), Kronecker())
        _, ((modulus, *grams), _) = objective.differentiate(evaluation, metric)
        for group, gram in zip(topology.groups, grams, strict=True):
            values = self._of_inputs.get(group)
            if values is None:
                values = _eigenvalues(gram, group.take(objective.penalty))
                if (group.sources < topology.n_inputs).all():
                    self._of_inputs[group] = values
            yield modulus[group.units][:, None] * values


def _first_estimate(steps_a_pass):
    return min(EVERY, -(-FIRST_STEPS // steps_a_pass))


def sample(objective):
    """The objective on some of the rows, evenly spread, if there are many."""
    n_samples = objective.n_samples
    if n_samples <= LARGEST_SAMPLE:
        return objective
    chosen = np.linspace(0, n_samples - 1, LARGEST_SAMPLE).round().astype(int)
    part = objective.rows(chosen)
    return part if part.total_weight > 0 else objective


def _noise(objective, loss, free):
    """Variance of what the outputs do not explain, where a loss has a free scale."""
    if not np.all(objective.output.free_scale):
        return 1.0
    observed = objective.penalty_weight * objective.network.topology.n_outputs
    return 2 * loss * objective.penalty_weight / max(observed - free, 0.1 * observed)


def _eigenvalues(gram, penalty):
    """Of the covariances in the metric ``diag(penalty)``, (1 or n, fan_in)."""
    scale = np.sqrt(penalty[: len(gram), 1:])
    _, covariance = without_bias(gram)
    covariance = safe_divide(covariance, scale[:, :, None] * scale[:, None, :])
    return np.maximum(np.linalg.eigvalsh(covariance), 0.0)


def _diagonal_spectrum(objective, evaluation):
    topology = objective.network.topology
    metric = Metric(Backpropagated(), QuasiDiagonal())
    _, ((border, diagonal), _) = objective.differentiate(evaluation, metric)
    corner = border[topology.bias][topology.owner]
    variance = centred_variance(corner, border, diagonal)[topology.is_weight]
    yield safe_divide(variance, objective.penalty[topology.is_weight])

"""Carry out trainings, several at once, and go on where an interrupted call ended."""

from collections import Counter

import numpy as np

from ...numerics.parallel import parallel_results


def carry_out(trainings, store, n_jobs, progress):
    """Train what is not in the store yet.

    Parameters
    ----------
    trainings : list of Training
    store : Store
    n_jobs : int or None
    progress : object
        ``begin(missing, number known, reasons)`` is called first, then ``end(training,
        curve)`` after each one.

    Returns
    -------
    Results
    """
    curves, missing, reasons = {}, [], Counter()
    for training in trainings:
        curve, reason = store.read(training)
        if curve is None:
            missing.append(training)
            reasons.update([reason] if reason else [])
        else:
            curves[training.key] = curve
    progress.begin(missing, len(curves), reasons)
    calls = [(training, store) for training in missing]
    for training, curve in parallel_results(n_jobs, _train, calls):
        curves[training.key] = curve
        progress.end(training, curve)
    return Results(curves, trainings)


def _train(training, store):
    curve = training.train()
    store.write(training, curve)
    return training, curve


class Results:
    """Curves of all trainings.

    Parameters
    ----------
    curves : dict of str to Curve
        By the key of the training.
    trainings : list of Training
    """

    def __init__(self, curves, trainings):
        self._runs = {}
        for training in trainings:
            place = training.experiment.name, training.method.name, training.activation
            self._runs.setdefault(place, []).append(curves[training.key])

    def curves(self, experiment, method, activation):
        """Steps, and bits a sample of every run.

        Parameters
        ----------
        experiment, method, activation : str

        Returns
        -------
        steps : ndarray of shape (n_recorded,)
        bits : ndarray of shape (n_runs, n_recorded)
        """
        runs = self._runs[experiment, method, activation]
        return np.array(runs[0].steps), np.array([run.bits for run in runs])

    def losses(self, experiment, method, activation, step=None):
        """Bits a sample of every run after a step that was recorded; the last by default."""
        steps, bits = self.curves(experiment, method, activation)
        return bits[:, -1 if step is None else int(np.flatnonzero(steps == step)[0])]

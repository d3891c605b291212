"""How the map from gradients to directions follows the running metric."""

# Updates between two factorisations, in units of the averaging window: until then the
# damping has faded by as much.
_REFRESH_SHARE = 0.1
# Rank-one updates pay while a batch has at most this share of a fan-in.
_LARGEST_BATCH_SHARE = 1 / 8
# An update that makes up more of the average than what was known is no update.
_LARGEST_UPDATE = 0.5


class Refactored:
    """Factor the metric anew at each update.

    Parameters
    ----------
    descent : Descent
    key : object
        Equal for equal metrics and damping.
    """

    def __init__(self, descent, key=None):
        self._descent, self.key = descent, key

    def take_over(self, previous):
        """Go on from what a solver of an earlier call knows, or None."""

    def forget(self):
        """The penalty has changed: what is known of the inverse holds no more."""

    def can_wait(self, point):
        """Whether `update` can do without the running average after this batch."""
        return False

    def update(self, part, point, running):
        """The map ``G -> A^-1 G`` after an update.

        Parameters
        ----------
        part : Objective
            The batch.
        point : LossPoint or None
            Its forward pass, where there is one.
        running : RunningMetric
            Averages, this batch included.
        """
        return self._descent.factorize(part, running.statistics)


class Recursive(Refactored):
    """Update inverses by rank one a sample, and factor the metric anew now and then.

    Parameters
    ----------
    descent : Descent
    refresh : int
        Updates from one factorisation to the next: it bounds the drift of rounding
        errors and the fading of the damping.
    key : object
    """

    def __init__(self, descent, refresh, key=None):
        super().__init__(descent, key)
        self._refresh, self._age, self._inverse = refresh, 0, None

    def take_over(self, previous):
        if isinstance(previous, Recursive) and previous.key == self.key:
            self._inverse, self._age = previous._inverse, previous._age

    def forget(self):
        self._inverse = None

    def can_wait(self, point):
        return point is not None

    def update(self, part, point, running):
        stale = (
            self._inverse is None
            or self._age >= self._refresh
            or running.last_share > _LARGEST_UPDATE
        )
        if stale or point is None:
            self._inverse, self._age = self._descent.recursive(part, running.statistics), 0
        else:
            values = point.values(self._descent.metric.modulus)
            self._inverse.update(point.lin, values, running.last_share)
            self._age += 1
        return self._inverse.solve


def make_solver(descent, topology, batch_size, window, own_parameters, key):
    """The cheaper solver for batches of that size."""
    small = batch_size <= _LARGEST_BATCH_SHARE * topology.largest_fan_in
    if not (descent.metric.reduction.recursive and small) or own_parameters:
        return Refactored(descent, key)
    return Recursive(descent, max(1, int(_REFRESH_SHARE * window / batch_size)), key)

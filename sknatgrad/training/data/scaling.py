"""Where the data have their origin, scale and orientation."""

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from ...numerics.arithmetic import safe_divide
from ...numerics.walk import blocks

# A standard deviation below this share of the mean is rounding error.
_CONSTANT = 1e-13
# Weights of inputs that vary less than this would overflow.
_SMALLEST = 1e-304
# Inputs that many scales away are of another size.
_FAR = 10.0
# As of one row in 4 * 10^8: only weights that differ by more make an input rarer.
_RAREST = 1e4
# Numbers of size 1 that are added to this lose all digits beyond 2^-28.
_COARSE = 1.5 * 2.0 ** (52 - 28)


def rounded_to_grid(values):
    """Numbers of size 1 to the nearest multiple of 2^-28, in place.

    What is computed from data in other units differs in its last digits, after this hardly
    ever: training sees the same bits, and no rounding error grows with its steps.
    """
    values += _COARSE
    values -= _COARSE
    return values


@dataclass(frozen=True, eq=False)
class InputScale:
    """Affine coordinates of the inputs: ``(x - centre) / scale - rest``.

    Attributes
    ----------
    centre, scale : ndarray of shape (n_inputs,)
        Scales may be negative; 0 marks an input that is constant, or varies so little
        that it is taken for constant.
    rest : float or ndarray
        What the rounding error of a centre far from 0 leaves of the mean.
    rarity : ndarray of shape (n_inputs,), or None
        Standard over mean absolute deviation, 1 to 10^4; the fewer rows a variance comes
        from, the larger. None where it is not of data.
    guessed : ndarray of bool, shape (n_inputs,), or None
        Inputs that were constant at their centre so far.
    symmetric : bool or ndarray of bool, shape (n_inputs,)
        Inputs without skewness, whose scale is positive unless they are `turned`.
    """

    centre: np.ndarray
    scale: np.ndarray
    rest: np.ndarray | float = 0.0
    rarity: np.ndarray | None = None
    guessed: np.ndarray | None = None
    symmetric: np.ndarray | bool = False

    @classmethod
    def of_moments(cls, moments, dtype=np.float64):
        """Mean, and standard deviation with the sign of the skewness; `dtype` that of the data.

        The sign makes the coordinates the same for x and -x (1 - x, for a binary input).
        """
        size, least = moments.deviation, np.maximum(_CONSTANT * np.abs(moments.mean), _SMALLEST)
        size = np.where(size > least, size, 0.0)
        rarity = rounded_to_grid(np.clip(safe_divide(size, moments.absolute), 1.0, _RAREST))
        precision = np.finfo(np.float32 if dtype == np.float32 else np.float64).eps
        signs = moments.signs(precision)
        scale = size * np.where(signs < 0, -1.0, 1.0)
        symmetric = (signs == 0) & (size > 0)
        rest = safe_divide(moments.rest, scale)
        return cls(moments.mean, scale, rest, rarity, symmetric=symmetric)

    @property
    def varies(self):
        """Which inputs are no constants, (n_inputs,)."""
        return self.scale != 0

    @property
    def prior_precision(self):
        """Of a prior on the weights in these coordinates, relative to its mean variance.

        The square of the rarity. Of an input that takes two values, the difference between
        them then has the same size a priori, whatever the share of rows with either;
        with the same for all, the difference would be the larger the rarer one is. (n_inputs,)
        """
        varies = self.varies
        precision = np.where(varies, self.rarity, 1.0) ** 2
        return precision * np.mean(1 / precision[varies]) if varies.any() else precision

    @property
    def is_near_origin(self):
        """Whether the centres of all inputs that vary are within a few scales of 0."""
        near = np.abs(self.centre) <= _FAR * np.abs(self.scale)
        return bool(np.all(near, where=self.varies))

    def without_centre(self):
        """The scale alone, which keeps sparse inputs sparse.

        Constant inputs, which are not taken off, get the size 1: far from 0 they would be
        all that rounding errors leave of a unit's metric.
        """
        guessed = None if self.guessed is None else self.guessed & (self.centre == 0)
        scale = self._scale_or_size()
        return InputScale(np.zeros_like(self.centre), scale, guessed=guessed)

    def relative_to(self, other, rounded=False):
        """The same place and scale in the coordinates `other`, on the grid if `rounded`."""
        scale = self.scale / other.divisor
        centre = (self.centre - other.centre) / other.divisor + self.rest * scale - other.rest
        return InputScale(rounded_to_grid(centre) if rounded else centre, scale)

    def turned(self, signs):
        """The same with some signs changed, (n_inputs,) of -1 and 1."""
        return replace(self, scale=self.scale * signs, rest=self.rest * signs)

    def with_fallback(self):
        """Inputs that were constant so far get the scale of their value, or 1."""
        return replace(self, scale=self._scale_or_size(), guessed=~self.varies)

    def _scale_or_size(self):
        """Scales; of constant inputs the size of their value, or 1."""
        size = np.abs(self.centre)
        return np.where(self.varies, self.scale, np.where(size > _SMALLEST, size, 1.0))

    def learned(self, data):
        """The same, with larger scales where inputs that were constant so far ask for them.

        Those whose root mean square distance from the centre is of another size: hidden
        units would be saturated. Rows so far were at the centre, so that a network in
        these coordinates says of them what it said before. `data` is `TrainingData`.
        """
        if self.guessed is None or not self.guessed.any():
            return self
        moments = data.moments
        distance = np.hypot(moments.deviation, moments.mean - self.centre)
        far = self.guessed & (distance > _FAR * self.scale)
        known = distance > _CONSTANT * np.abs(self.centre)
        scale = np.where(far, distance, self.scale)
        return replace(self, scale=scale, guessed=self.guessed & ~known)

    @property
    def origin(self):
        """What has the coordinates 0, rounded as biases for the data as given are anyway."""
        return self.centre + self.rest * self.divisor

    @property
    def divisor(self):
        """Scales, with 1 for constant inputs."""
        return np.where(self.scale == 0, 1.0, self.scale)

    def apply(self, X, rounded=False):
        """The rows of X in these coordinates, a new array; sparse if centre is 0.

        They are `rounded_to_grid` if `rounded`.
        """
        if sparse.issparse(X):
            if self.centre.any():
                return self.apply(X.toarray(), rounded)
            X = sparse.csr_array(X)
            scaled = X.data * (1 / self.divisor)[X.indices]
            if rounded:
                rounded_to_grid(scaled)
            return sparse.csr_array((scaled, X.indices, X.indptr), X.shape)
        scaled = np.empty(X.shape, X.dtype if X.dtype == np.float32 else np.float64)
        divisor = self.divisor
        for place, rows in blocks(X):
            standard = (rows - self.centre) / divisor
            standard -= self.rest
            scaled[place] = rounded_to_grid(standard) if rounded else standard
        return scaled


@dataclass(frozen=True, eq=False)
class OutputScale:
    """Affine coordinates of the output pre-activations: ``(v - centre) / scale``.

    Attributes
    ----------
    centre, scale : ndarray of shape (n_outputs,)
        Scales may be negative, as those of an `InputScale`.
    """

    centre: np.ndarray
    scale: np.ndarray

    def apply(self, target, rounded=False):
        """Targets (n_outputs, n_samples) in these coordinates, `rounded_to_grid` if `rounded`."""
        scaled = (target - self.centre[:, None]) / self.scale[:, None]
        return rounded_to_grid(scaled) if rounded else scaled

    def turned(self, signs):
        """The same with some signs changed, (n_outputs,) of -1 and 1."""
        return replace(self, scale=self.scale * signs)

    @property
    def loss_unit(self):
        """What a unit of square loss in these coordinates is worth."""
        return float(np.mean(self.scale**2))

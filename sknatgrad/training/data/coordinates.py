"""The coordinates of inputs and targets in which a network is trained."""

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse
from sklearn import get_config

from ...network.reparametrization import rescale_inputs
from .scaling import InputScale, OutputScale

# Share of scikit-learn's `working_memory` that a scaled copy of the inputs may take.
LARGEST_COPY = 0.25


@dataclass(frozen=True, eq=False)
class Coordinates:
    """How parameters change between the data as given and as trained on.

    Parameters of users speak of inputs and targets as they are given. Where the
    metric is invariant, training works with centred and scaled ones, which changes
    nothing but rounding errors.

    Parameters
    ----------
    network : Network
    inputs : InputScale or None
    outputs : OutputScale or None
        None: as they are.
    rounded : bool
        Whether data are rounded in these coordinates (`rounded_to_grid`), so that not even rounding
        errors differ where units do.
    """

    network: object
    inputs: InputScale | None = None
    outputs: OutputScale | None = None
    rounded: bool = False

    def learned(self, data):
        """The same with the scales of inputs that were constant so far; see `InputScale`."""
        if self.inputs is None:
            return self
        return replace(self, inputs=self.inputs.learned(data))

    def at_hand(self, X):
        """X in these coordinates once and for all, if that takes little memory.

        Returns
        -------
        X : ndarray, sparse matrix or SlicedRows
        coordinates : Coordinates
            Those in which it remains to be expressed.
        """
        if self.inputs is None or (sparse.issparse(X) and self.inputs.centre.any()):
            return X, self
        size = X.data.nbytes if sparse.issparse(X) else X.nbytes
        if size > LARGEST_COPY * get_config()["working_memory"] * 2**20:
            return X, self
        return self.inputs_of(X), replace(self, inputs=None)

    def inputs_of(self, X):
        """The rows of X in these coordinates."""
        return X if self.inputs is None else self.inputs.apply(X, self.rounded)

    def targets_of(self, target):
        """Targets in these coordinates."""
        return target if self.outputs is None else self.outputs.apply(target, self.rounded)

    def inward(self, parameters):
        """Parameters for the data as trained on."""
        parameters = parameters.copy()
        if self.outputs is not None:
            rows, output = self._output_rows()
            parameters[self._output_biases()] -= self.outputs.centre
            parameters[rows] /= self.outputs.scale[output]
        if self.inputs is not None:
            divisor = self.inputs.divisor
            self._rewrite_inputs(parameters, 1 / divisor, -self.inputs.origin / divisor)
        return parameters

    def outward(self, parameters):
        """Parameters for the data as given."""
        parameters = parameters.copy()
        if self.inputs is not None:
            self._rewrite_inputs(parameters, self.inputs.divisor, self.inputs.origin)
        if self.outputs is not None:
            rows, output = self._output_rows()
            parameters[rows] *= self.outputs.scale[output]
            parameters[self._output_biases()] += self.outputs.centre
        return parameters

    def _rewrite_inputs(self, parameters, scale, shift):
        theta = parameters[: self.network.topology.n_parameters]
        theta[:] = rescale_inputs(self.network, theta, scale, shift)

    def _output_biases(self):
        topology = self.network.topology
        return topology.bias[topology.outputs]

    def _output_rows(self):
        """The parameters of the output units, and the number of the output of each."""
        topology = self.network.topology
        number = topology.output_number[topology.owner]
        rows = np.flatnonzero(number >= 0)
        return rows, number[rows]

"""What all layouts of links have in common."""

import numpy as np
from scipy import sparse


def select(signals, rows):
    """The chosen rows; the array itself if that is all of them."""
    if isinstance(rows, slice) and rows.stop - rows.start == signals.shape[0]:
        return signals
    return signals[rows]


def cross_sums(values, signals):
    """``values @ signals.T`` as an ndarray, `signals` dense or sparse."""
    if isinstance(signals, np.ndarray):
        return values @ signals.T
    return (signals @ values.T).T


def _put(product, out, fresh):
    if sparse.issparse(product):
        product = product.toarray()
    if fresh:
        out[...] = product
    else:
        out += product


class Links:
    """Base class: products with a matrix of weights, dense or sparse.

    Attributes
    ----------
    rows : slice or ndarray of int
        The source rows, in the order of the columns of W.
    from_inputs : bool
        Whether these are inputs of the network, not computed units.
    overwrites : bool
        Whether `backward` is the first to reach them, and need not add.
    """

    from_inputs = overwrites = False

    def for_kernels(self, name):
        """The layout to use with kernels of that name."""
        return self

    def weights(self, theta):
        """The matrix W, (n_targets, n_source_rows)."""
        raise NotImplementedError

    def dense(self, weights):
        """W as an ndarray."""
        return weights.toarray()

    def forward(self, weights, signals, out, fresh):
        """``out = W signals[rows]`` if fresh, else ``out += ...``."""
        _put(weights @ select(signals, self.rows), out, fresh)

    def backward(self, weights, values, out, squared):
        """``out[rows] = W^T values`` if it `overwrites`, else ``out[rows] += ...``."""
        product = (weights.power(2) if squared else weights).T @ values
        if self.overwrites:
            out[self.rows] = product
        else:
            out[self.rows] += product

    def edge_sums(self, values, signals, out):
        """Sums over samples of source times target value, into `out`."""
        raise NotImplementedError

    def edge_moments(self, values, signals, squares, first, second):
        """`edge_sums` of the signals and of their squares."""
        self.edge_sums(values, signals, first)
        self.edge_sums(values, squares, second)


class DenseLinks(Links):
    """Base class: the weights are an ndarray."""

    def dense(self, weights):
        return weights

    def forward(self, weights, signals, out, fresh):
        if fresh and isinstance(signals, np.ndarray):
            np.matmul(weights, select(signals, self.rows), out=out)
        else:
            super().forward(weights, signals, out, fresh)

    def backward(self, weights, values, out, squared):
        back = (weights * weights if squared else weights).T
        if self.overwrites and isinstance(self.rows, slice):
            np.matmul(back, values, out=out[self.rows])
        elif self.overwrites:
            out[self.rows] = back @ values
        else:
            out[self.rows] += back @ values

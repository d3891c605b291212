"""One run's data, links and start, and the two ways of writing its network."""

from dataclasses import dataclass

import numpy as np
from sklearn.datasets import load_digits

from ...network import Network, Topology, initialize
from ...network.reparametrization import convert_sigmoids, rescale_inputs
from ...outputs import get_output
from ...training.data.dataset import Data
from ...training.state import Model

ACTIVATIONS = ("logistic", "tanh")

# The paper's network: each input unit draws the units that it feeds, and so does each
# unit of the first hidden layer; from the middle on, units draw those they listen to.
AUTOENCODER_SIZES = (100, 30, 10, 30, 100)
AUTOENCODER_SIDES = ("source", "source", "target", "target")
N_LINKS, N_STRINGS = 5, 16
# How `Topology.random_links` draws, by the name of the option.
LINKS = {
    "parallel": {"replace": True, "merge": False},
    "merged": {"replace": True, "merge": True},
    "distinct": {"replace": False},
}

DIGITS_SIZES = (64, 40, 20, 10)
DIGITS_LINKS = 10

STRING_LENGTH, SHARE_OF_ONES = 50, 0.75


@dataclass(frozen=True, eq=False)
class Problem:
    """What all methods and both implementations of a run have in common.

    Attributes
    ----------
    inputs : ndarray of shape (n_samples, n_inputs)
        In [0, 1], as the logistic implementation reads them.
    target : ndarray
        Encoded, sample axis last.
    output : str
        Interpretation of the output layer.
    network : Network
        The tanh implementation.
    theta : ndarray of shape (n_parameters,)
        Its start: weights of standard deviation 1 / sqrt(fan-in), no biases, for inputs
        in [-1, 1] (paper, section "A first experimental comparison", "Initialization").
    """

    inputs: np.ndarray
    target: np.ndarray
    output: str
    network: Network
    theta: np.ndarray

    @classmethod
    def draw(cls, inputs, target, output, topology, rng):
        """A problem with random initial weights."""
        network = Network.build(topology, "tanh", _output(output, "tanh").activation)
        return cls(inputs, target, output, network, initialize(network, rng))

    def implement(self, activation):
        """The problem with all sigmoid units written in one way.

        Parameters
        ----------
        activation : {"logistic", "tanh"}
            tanh units read inputs ``2 x - 1``. Parameters correspond by the paper's
            equations, so that both networks compute the same function.

        Returns
        -------
        model : Model
        data : Data
        theta : ndarray of shape (n_parameters,)
        """
        model, inputs, theta = self.network, 2 * self.inputs - 1, self.theta
        if activation != "tanh":
            inputs, theta = self.inputs, rescale_inputs(model, theta, 0.5, 0.5)
            model, theta = convert_sigmoids(model, theta, activation)
        output = _output(self.output, activation)
        return Model(model, output), Data(inputs, self.target, None), theta


def _output(name, activation):
    return get_output(name, activation if name == "bernoulli" else "auto")


def draw_autoencoder(seed, links="parallel"):
    """Random binary strings, to be reproduced by a sparse network with a bottleneck.

    Paper, section "A first experimental comparison".

    Parameters
    ----------
    seed : int
    links : {"parallel", "merged", "distinct"}
        Units draw links with replacement and keep repeated ones as parallel links, or
        merge them; or they draw without replacement. doc/paper.md says what speaks for
        the first.
    """
    rng = np.random.RandomState(seed)
    strings = rng.randint(2, size=(N_STRINGS, AUTOENCODER_SIZES[0])).astype(float)
    topology = Topology.random_links(
        AUTOENCODER_SIZES, N_LINKS, AUTOENCODER_SIDES, random_state=rng, **LINKS[links]
    )
    return Problem.draw(strings, strings.T.copy(), "bernoulli", topology, rng)


def draw_digits(seed):
    """scikit-learn's digits, to be classified by a sparse network: a small output layer."""
    rng = np.random.RandomState(seed)
    X, y = load_digits(return_X_y=True)
    topology = Topology.random_links(DIGITS_SIZES, DIGITS_LINKS, random_state=rng)
    return Problem.draw(X / 16, y, "softmax", topology, rng)


def strings_and_complements(seed):
    """A random binary string and its complement (paper, Figure "learns faster with 1's").

    Returns
    -------
    tuple of (Model, Data, ndarray)
        To be reproduced by one full layer of logistic units, and the start: all weights are 0.
    """
    rng = np.random.RandomState(seed)
    string = (rng.uniform(size=(1, STRING_LENGTH)) < SHARE_OF_ONES).astype(float)
    topology = Topology.layered((STRING_LENGTH, STRING_LENGTH))
    network = Network.build(topology, "logistic", "logistic")
    start = np.zeros(topology.n_parameters)
    return [
        (Model(network, _output("bernoulli", "logistic")), Data(x, x.T.copy(), None), start)
        for x in (string, 1 - string)
    ]

"""The auto-encoder."""

import numbers
from typing import ClassVar

from sklearn.utils._param_validation import Interval

from ._base import BaseRiemannianMLP
from ._callbacks import with_callbacks
from ._inspection import InspectionMixin
from ._reconstruction import ReconstructionMixin
from ._row_training import RowTrainingMixin


class RiemannianAutoEncoder(
    ReconstructionMixin, InspectionMixin, RowTrainingMixin, BaseRiemannianMLP
):
    """Auto-encoder trained by invariant gradients.

    A network whose targets are its inputs. Its narrowest hidden layer is a code of the
    data: `transform` computes it, `inverse_transform` decodes it, `score_samples` says
    how well a row is explained. Trained as `RiemannianMLPRegressor` is.

    Parameters
    ----------
    hidden_layer_sizes : int or array-like of int, default=(30, 10, 30)
        Units of each hidden layer.
    activation : str, Activation or list of them, default="tanh"
        "tanh", "logistic", "scaled_tanh" (1.7159 tanh(2x/3)), "relu", "log_relu"
        (ln(1 + max(0, x))) or "identity"; one for all hidden layers or one for each.
    metric : str or Metric, default="auto"
        "bp" if no unit has more than 32 incoming links, "kron_bp" in full layers up to
        256 of them, else "qd_bp"; or a modulus and reduction, e.g. "unitwise_fisher",
        "fisher", "euclidean"; `sknatgrad.METRICS` lists all.
    output : str, Output or list of them, default="auto"
        Reading of the output units: "bernoulli" (features in [0, 1]), "square", "poisson",
        or a list with one a feature. "auto" is Bernoulli if all features lie in [0, 1],
        but for rounding errors, else square.
    output_activation : str or Activation, default="auto"
        Activation of the output units where the output allows several.
    connectivity : None, int, float, "paper", list of matrices or Topology, default=None
        Full, random links into each unit (all where there are no more), density, masks
        (n_in, n_out) one a pair of layers, or any graph; "paper" draws five links out of
        each unit in the first half of the layers, and five into each in the second.
    damping : float, default=0.01
        See `damping_mode`.
    damping_mode : {"relative", "absolute"}, default="relative"
        Relative damping adds to each weight's entry its own centred variance times
        `damping`, and keeps the invariances; unless it is 0, training also changes the
        metric by intrinsic safeguards (doc/training.md). Absolute damping is ``A +
        damping * Id``, as in the paper's experiment, and breaks them.
    learning_rate : str, default="auto"
        "line_search" (the default on whole batches), "adaptive" (the paper's: halve on a
        worse loss, else times 1.1), "trust_region" (the default on mini-batches: caps the
        predicted change of the output distribution), "constant".
    learning_rate_init : float or "auto", default="auto"
        First rate: 0.01 for "adaptive", 0.1 for "constant"; 1 for the line search;
        for the trust region the largest rate, 1.
    batch_size : int or "auto", default="auto"
        Rows a step, at most: those of a pass are split evenly. "auto" takes all rows up
        to 1000 (or where `learning_rate` compares whole losses), else a tenth of them, or
        about 500 if these are fewer. 1 is online training.
    metric_decay : float or "auto", default="auto"
        The discount of the running metric ``(1 - g) A + g A(x)``. "auto" is 1 on
        whole batches; else it averages over 20 batches or more.
    n_init_samples : int or "auto", default="auto"
        Rows that make the first metric in mini-batch training.
    n_mc_samples : int, default=1
        Targets drawn a sample by the Monte-Carlo metrics.
    n_init : int, default=1
        Independent starts; the one with the best validation score is kept, without held-out
        rows the one with the lowest penalised loss, under ``alpha="auto"`` with the lowest
        loss to be expected, or where that can't be told with the highest evidence.
    n_jobs : int or None, default=None
        Starts that run at once, through joblib; with one start, threads that share the rows
        of a large batch. Does not change results.
    alpha : float or "auto", default=0.0
        L2 penalty ``alpha / (2 W) sum z^2`` on the weights z in standard coordinates
        (inputs of unit variance, sources by the typical size of their activities: 1 for
        tanh, sqrt(1/2) for log_relu), W the sum of the sample weights (in
        `partial_fit`, of all rows of the stream, or of the fit before it if that is
        more). "auto" finds the strength during `fit`, from the evidence of the data,
        and where rows are few from what several fits lead to expect of new ones
        (doc/training.md); `partial_fit` keeps it.
    max_iter : int, default=200
        Largest number of passes over the data. 0 gives an untrained network.
    shuffle : bool, default=True
        Whether mini-batches are drawn anew at each pass.
    random_state : int, RandomState instance or None, default=None
        Initial weights, random links, batches, validation split, Monte-Carlo draws.
    tol : float, default=1e-4
        Passes that gain less than this count as no change: nats a row; square losses
        are in units of the mean variance of the features.
    verbose : bool or int, default=False
        Print the loss of each pass.
    warm_start : bool, default=False
        Start from the fitted parameters.
    early_stopping : bool, default=False
        Hold out a share of the rows and stop when the score on it stops
        improving; the best parameters are kept.
    validation_fraction : float, default=0.1
        Share of the rows held out.
    n_iter_no_change : int or inf, default=10
        Stop after so many passes in a row without gain.
    code_layer : int or None, default=None
        The hidden layer that `transform` returns, 0 for the first one. None takes the
        narrowest.

    Attributes
    ----------
    coefs_, intercepts_ : list of array
        Weights (n_in, n_out) and biases (n_out,) of each layer: copies, `set_coefs` changes
        them.
    alpha_ : float
        Strength of the penalty at the end.
    feature_alpha_ : ndarray of shape (n_features_in_,)
        That of the weights of each feature. Under ``alpha="auto"`` it is the larger, the
        less the feature is needed; of constant ones it says nothing.
    loss_, best_loss_ : float
        Last and lowest training loss since `fit` began, without the penalty. Each square feature's
        squared error counts in units of its own variance, times their mean variance, so `loss(X)`
        differs where they do not all vary alike; where only some outputs are square, it is added
        to the nats of the others as it is.
        In mini-batches that is the mean of the losses of a pass's batches, each before its
        step: `loss(X)` is that of the network.
    loss_curve_, learning_rate_curve_, time_curve_ : list of float
        Loss, rate and seconds since the start, one entry a pass.
    validation_scores_, validation_loss_curve_ : list of float or None
        On the held-out rows, of the same passes: NaN in those of earlier fits without. None
        where the last call held none out. Losses count square features as `loss_` does, so
        that stopping does not depend on their units, and scores are minus these; where such
        features do not all vary alike, `loss` and `score` of these rows differ from them.
    best_validation_score_ : float or None
        The highest of `validation_scores_` since `fit` began.
    n_iter_ : int
        Passes of the last fit.
    t_ : int
        Samples seen.
    n_rejected_steps_ : int
        Steps that were cancelled.
    n_layers_ : int
        Levels of the network, that of the inputs counted.
    n_outputs_ : int
        Output units.
    out_activation_ : str
        What scikit-learn calls the map from output pre-activations to predictions.
    output_coefs_ : ndarray of shape (n_output_parameters,)
        Parameters of an output of one's own; else empty.
    topology_ : Topology
        Which unit listens to which.
    metric_ : Metric
        The one used, also where ``metric="auto"`` chose it.
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    References
    ----------
    Y. Ollivier, Riemannian metrics for neural networks I: feedforward networks,
    Information and Inference 4(2), 2015, arXiv:1303.0818.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sknatgrad import RiemannianAutoEncoder
    >>> X = load_digits().data
    >>> encoder = RiemannianAutoEncoder((20, 5, 20), random_state=0, max_iter=5).fit(X)
    >>> encoder.transform(X).shape
    (1797, 5)
    """

    _parameter_constraints: ClassVar[dict] = {
        **BaseRiemannianMLP._parameter_constraints,
        "code_layer": [Interval(numbers.Integral, 0, None, closed="left"), None],
    }

    def __init__(
        self,
        hidden_layer_sizes=(30, 10, 30),
        activation="tanh",
        *,
        metric="auto",
        output="auto",
        output_activation="auto",
        connectivity=None,
        damping=0.01,
        damping_mode="relative",
        learning_rate="auto",
        learning_rate_init="auto",
        batch_size="auto",
        metric_decay="auto",
        n_init_samples="auto",
        n_mc_samples=1,
        n_init=1,
        n_jobs=None,
        alpha=0.0,
        max_iter=200,
        shuffle=True,
        random_state=None,
        tol=1e-4,
        verbose=False,
        warm_start=False,
        early_stopping=False,
        validation_fraction=0.1,
        n_iter_no_change=10,
        code_layer=None,
    ):
        self.hidden_layer_sizes = hidden_layer_sizes
        self.activation = activation
        self.metric = metric
        self.output = output
        self.output_activation = output_activation
        self.connectivity = connectivity
        self.damping = damping
        self.damping_mode = damping_mode
        self.learning_rate = learning_rate
        self.learning_rate_init = learning_rate_init
        self.batch_size = batch_size
        self.metric_decay = metric_decay
        self.n_init_samples = n_init_samples
        self.n_mc_samples = n_mc_samples
        self.n_init = n_init
        self.n_jobs = n_jobs
        self.alpha = alpha
        self.max_iter = max_iter
        self.shuffle = shuffle
        self.random_state = random_state
        self.tol = tol
        self.verbose = verbose
        self.warm_start = warm_start
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.code_layer = code_layer

    # ---------------------------------------------------------------- fitting
    @with_callbacks
    def fit(self, X, y=None, sample_weight=None, X_val=None, sample_weight_val=None):
        """Train the network to reproduce X.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Arrays on disk (`numpy.memmap`, HDF5, Zarr) are read some rows at a time,
            Dask arrays stay on their workers; see doc/scaling.md.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            Not negative. Weight k counts as k copies of the row, exactly so
            in whole batches.
        X_val, sample_weight_val : array-like, optional
            Held-out data for early stopping, instead of a share of X.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            On bad input, or if training overflows; parameters before that are kept.
        """
        return self._fit(X, None, sample_weight, (X_val, X_val, sample_weight_val))

    def partial_fit(self, X, y=None, sample_weight=None):
        """Go on training with one pass over some rows.

        Metric, step control and random state are kept between calls; the curves speak of
        the last 1000 calls. Up to twenty rows, a call begins anew with all rows so far.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            On bad input, if training overflows, or with ``early_stopping=True``: no rows
            of a stream are held out.
        """
        return self._partial_fit(X, None, sample_weight)

    def _check_network(self, topology):
        self._code_level(topology)

    def loss(self, X, sample_weight=None):
        """Mean ``-ln omega(X)`` in nats, without penalty: minus `score`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        float
        """
        return self._loss(X, None, sample_weight)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

"""A parameter and a method of one name."""


class LossName(str):
    """The parameter `loss`, callable as the method of the same name."""

    def __new__(cls, name, method):
        self = super().__new__(cls, name)
        self._method = method
        return self

    def __reduce__(self):
        return str, (str(self),)

    def __call__(self, X, y, sample_weight=None):
        return self._method(X, y, sample_weight)


class LossParameter:
    """scikit-learn calls a parameter `loss`, all our estimators have a method `loss`."""

    def __get__(self, estimator, owner=None):
        if estimator is None:
            return self
        value = vars(estimator)["loss"]
        return LossName(value, estimator._loss) if isinstance(value, str) else value

    def __set__(self, estimator, value):
        # One that was read from another estimator is a name like any other.
        plain = str.__str__(value) if isinstance(value, LossName) else value
        vars(estimator)["loss"] = plain


class LossParameterMixin:
    """For estimators whose constructor takes `loss`, and their subclasses, which may settle it."""

    loss = LossParameter()

    def get_params(self, deep=True):
        """Parameters of this estimator; see scikit-learn."""
        parameters = super().get_params(deep)
        return parameters | {"loss": vars(self)["loss"]} if "loss" in parameters else parameters

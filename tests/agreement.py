"""Whether two statistics are the same, and an estimator what scikit-learn asks of it."""

from dataclasses import fields

import numpy as np
from sklearn.utils import get_tags


def agree(found, expected, but=(), rounded=("scatter",)):
    """Whether all fields are equal, but for some, of which some are to rounding."""
    assert type(found) is type(expected)
    for name in {each.name for each in fields(found)} - set(but):
        one, two = (getattr(each, name) for each in (found, expected))
        one, two = (each.toarray() if hasattr(each, "toarray") else each for each in (one, two))
        if name in rounded and one is not None:
            np.testing.assert_allclose(one, two, rtol=1e-8, atol=1e-7, err_msg=name)
        else:
            np.testing.assert_array_equal(one, two, err_msg=name)


def not_for_counts(estimator):
    """Checks of scikit-learn that models of counts cannot pass."""
    if not get_tags(estimator).input_tags.positive_only:
        return {}
    failing = {"check_class_weight_classifiers"} if hasattr(estimator, "class_weight") else set()
    if hasattr(estimator, "predict_proba") and hasattr(estimator, "decision_function"):
        failing.add("check_decision_proba_consistency")
    return dict.fromkeys(failing, "its rows hold values below 0")

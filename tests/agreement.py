"""Whether two statistics are the same, and an estimator what scikit-learn asks of it."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass

import numpy as np
from sklearn.utils import get_tags


def agree(found, expected, but=(), rounded=("scatter",)):
    """Whether all fields are equal, but for some, of which some are to rounding."""
    assert type(found) is type(expected)
    for name in {each.name for each in fields(found)} - set(but):
        one, two = (getattr(each, name) for each in (found, expected))
        if isinstance(one, Mapping):  # statistics of columns of each kind
            assert one.keys() == two.keys()
            for kind in one:
                agree(one[kind], two[kind], but, rounded)
            continue
        if is_dataclass(one) and not hasattr(one, "toarray"):
            agree(one, two, but, rounded)
            continue
        one, two = (each.toarray() if hasattr(each, "toarray") else each for each in (one, two))
        if name in rounded and one is not None:
            np.testing.assert_allclose(one, two, rtol=1e-8, atol=1e-7, err_msg=name)
        else:
            np.testing.assert_array_equal(one, two, err_msg=name)


def arrays_of(statistics):
    """Arrays of numbers of statistics by name, those of all kinds of columns among them."""
    if hasattr(statistics, "parts"):
        every = {**statistics.parts, "rows": statistics.rows}.items()
        return {f"{kind} {n}": a for kind, part in every for n, a in arrays_of(part).items()}
    return {
        name: array.values if hasattr(array, "toarray") else array
        for name, array in statistics._arrays().items()
    }


def not_for_counts(estimator):
    """Checks of scikit-learn that models of counts cannot pass."""
    if not get_tags(estimator).input_tags.positive_only:
        return {}
    failing = {"check_class_weight_classifiers"} if hasattr(estimator, "class_weight") else set()
    if hasattr(estimator, "predict_proba") and hasattr(estimator, "decision_function"):
        failing.add("check_decision_proba_consistency")
    return dict.fromkeys(failing, "its rows hold values below 0")

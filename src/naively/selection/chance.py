"""What chance alone would give: p-values of gains, and how many features stand out of it."""

from __future__ import annotations

from numbers import Real

import numpy as np

from naively._types import FloatArray, IntArray
from naively._warn import warn
from naively.models.alike import p_values
from naively.models.model import Model, S

RATE = 0.1  # false discovery rate, where none is given


def discoveries(
    model: Model[S], statistics: S, q: float = RATE, *, squares: FloatArray | None = None,
    class_weights: bool = False,
) -> IntArray:  # fmt: skip
    """Choose the features that Benjamini and Hochberg (1995) call significant: columns, ascending.

    Of the features chosen, a share of q at most is alike in all classes, in expectation: if rows
    are independent, and features depend on each other in the positive or not. The p-values are
    those of the gains, if these hold where the model does not, and else those of a test of rows.

    Parameters
    ----------
    q : float
        False discovery rate in (0, 1).
    squares : (m,)
        Sum of the squares of the entries of each feature, of counts whose statistics have none.
    class_weights : bool
        Whether the rows of some classes were made to weigh more.

    Raises
    ------
    ValueError
        If `q` is out of range, or there are no p-values that hold.

    Warns
    -----
    UserWarning
        If there are none.
    """
    if not isinstance(q, Real) or not 0 < float(q) < 1:
        raise ValueError(f"`q` must be a false discovery rate in (0, 1); got {q!r}.")
    hindrances = {
        f"the {model.name} model, whose gain is no likelihood ratio": model.family.freedom is None,
        "`class_weight`, after which twice a gain is not chi-squared": class_weights,
        f"`exposure` and the {model.name} model, whose test is of rows": (
            model.exposure is not None and model.family.test is not None
        ),
        "`objective`='pairs', which is another choice": model.objective is not None,
        "`redundancy`, which is another choice": model.redundancy is not None,
        "constraints on the features, which are another choice": model.constraints is not None,
    }
    for name, hinders in hindrances.items():
        if hinders:
            raise ValueError(
                f"`k`='fdr' needs p-values that hold, and chooses by them alone: not with {name}. "
                "Leave it out, or give `k` a number."
            )
    test = model.family.test
    p = p_values(model.family, statistics) if test is None else test(statistics, squares)
    n = significant(p, q)
    if n == 0:
        warn(
            f"No feature is significant at a false discovery rate of {q:g}: none was chosen, and "
            "the prior alone decides.",
        )
        return np.empty(0, dtype=np.int64)
    return np.flatnonzero(p <= np.partition(p, n - 1)[n - 1])


def significant(p: FloatArray, q: float) -> int:
    """Count the features that Benjamini and Hochberg (1995) call significant.

    Parameters
    ----------
    p : (m,)
        p-values.
    q : float
        False discovery rate in (0, 1): the expected share of them that are false, at most.
    """
    ranked = np.sort(p)
    below = np.flatnonzero(ranked <= q * np.arange(1, len(p) + 1) / max(len(p), 1))
    return int(below[-1]) + 1 if len(below) else 0

"""The declared minima are those that `make test-oldest` installs; and what broke at them."""

import numpy as np
import pytest
from tests.oldest import CONSTRAINTS, constraints

from naively import SparseMultinomialNB


def test_the_constraints_are_the_declared_minima():
    assert CONSTRAINTS.read_text("utf-8") == constraints()  # python -m tests.oldest renews them
    names = [line.split("==")[0] for line in constraints().splitlines()]
    assert len(set(names)) == len(names), "a package is declared with two different minima"


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int64, np.uint8, np.uint64])
def test_labels_at_both_ends_of_their_type(dtype):
    ends = np.iinfo(dtype)
    y = np.array([ends.min, ends.max, ends.min, ends.max], dtype)
    X = np.array([[1, 0], [0, 1], [2, 0], [0, 3]])
    model = SparseMultinomialNB(k=2).fit(X, y)
    assert model.classes_.tolist() == [ends.min, ends.max]
    assert model.predict(X).tolist() == y.tolist()

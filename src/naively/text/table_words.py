"""Words of the texts of a table as variables beside its other columns: present in a row, or not.

The variables of a table with texts are its other columns, in their order, and then the words of
each text, ascending. A word has the kind "bernoulli" and the name ``column__word``. A text that is
missing holds no word, as an empty one does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self, final

import numpy as np
import scipy.sparse as sp

from naively._types import IntArray
from naively.statistics.matrix import Matrix, is_sparse
from naively.statistics.mixed_columns import MixedColumns
from naively.text.counter import TermReader, count_rows
from naively.text.features import TextFeatures
from naively.text.vocabulary import Vocabulary

PRESENCE = TextFeatures(weights="presence")


@final
@dataclass(frozen=True, slots=True)
class TableWords:
    """The words of some texts of a table.

    Attributes
    ----------
    columns : tuple of str
        Names of the texts.
    features : TextFeatures
        What a word is; its weights are "presence".
    words : tuple of Vocabulary
        Those of each text that are variables.
    """

    columns: tuple[str, ...] = ()
    features: TextFeatures = PRESENCE
    words: tuple[Vocabulary, ...] = field(default=(), repr=False)

    @classmethod
    def of(
        cls, columns: Sequence[str], texts: Sequence[Any], min_documents: int = 1,
        features: TextFeatures = PRESENCE,
    ) -> Self:  # fmt: skip
        """Find the words that so many rows hold at least, in the texts (n,) of each column."""
        found = []
        for rows in texts:
            words, X = count_rows(rows, features)
            held = np.bincount(X.indices, minlength=len(words))
            found.append(words.take(np.flatnonzero(held >= min_documents)))
        return cls(tuple(columns), features, tuple(found))

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the variables, column after column."""
        both = zip(self.columns, self.words, strict=True)
        return tuple(f"{column}__{word}" for column, words in both for word in words)

    def check_names(self, columns: MixedColumns) -> None:
        """Raise ValueError if a word is called like a column, or like the word of another text."""
        known = set(columns.names or ())
        for name in self.names:
            if name in known:
                raise ValueError(
                    f"Names of variables must differ, and two are called {name!r}: words of texts "
                    "are called column__word. Rename a column."
                )
            known.add(name)

    def variables(self, columns: MixedColumns) -> MixedColumns:
        """Return all variables of a table with these other columns."""
        names = self.names
        return MixedColumns(
            columns.kinds + ("bernoulli",) * len(names),
            columns.labels + ((),) * len(names),
            None if columns.names is None else columns.names + names,
        )

    def beside(self, X: Matrix, texts: Sequence[Any]) -> Matrix:
        """Return rows of the other columns and of the words, (n, m), CSR where there are texts."""
        if not self.columns:
            return X
        held = [
            TermReader(self.features, words).rows(rows)
            for words, rows in zip(self.words, texts, strict=True)
        ]
        known = X if is_sparse(X) else sp.csr_array(X)
        return sp.hstack([known, *held], format="csr", dtype=np.float64)

    def take(self, chosen: IntArray) -> Self:
        """Return some of the words (positions among all, ascending), and the texts with any."""
        ends = np.cumsum([0, *map(len, self.words)])
        parts = [
            (name, words.take(chosen[(chosen >= start) & (chosen < start + len(words))] - start))
            for name, words, start in zip(self.columns, self.words, ends.tolist(), strict=False)
        ]
        parts = [(name, words) for name, words in parts if len(words)]
        columns, kept = (tuple(each) for each in zip(*parts, strict=True)) if parts else ((), ())
        return replace(self, columns=columns, words=kept)

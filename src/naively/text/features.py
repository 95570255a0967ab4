"""What the columns of statistics mean, and a fingerprint by which files are matched."""

from __future__ import annotations

import hashlib
import json
import math
import re
import reprlib
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, final

FORMAT = 3  # raise when the same definition would give other columns
TOKEN_PATTERN = r"(?u)\b\w\w+\b"  # scikit-learn's: words of two or more letters or digits
ONE_CHARACTER = r"(?u)\b\w+\b"
_LEAST_CHARACTERS = {TOKEN_PATTERN: 2, ONE_CHARACTER: 1}  # patterns that need no re
LARGEST_NGRAM = 1000  # words or characters in a run; longer ones are slips of the finger


@final
@dataclass(frozen=True, slots=True)
class TextFeatures:
    r"""Words, word n-grams or character n-grams of a text, as scikit-learn's vectorizers see them.

    Parameters
    ----------
    analyzer : {"word", "char", "char_wb", "tokens"}, default="word"
        Words; characters; characters inside words padded by blanks; or the strings of rows that
        are lists of strings, as they stand (then `lowercase` and `token_pattern` do not apply).
    ngram_range : tuple of (int, int), default=(1, 1)
        Smallest and largest n.
    lowercase : bool, default=True
        Fold the case first, by the Unicode rule of `str.lower`.
    token_pattern : str, default=r"(?u)\b\w\w+\b"
        What a word is, as in scikit-learn: a regular expression of at most one group.
    stop_words : tuple of str, default=()
        Words dropped before n-grams are formed.
    statistic : {"counts", "presence"}, default="counts"
        Add up the occurrences of a term, or count the rows that hold it.
    """

    analyzer: Literal["word", "char", "char_wb", "tokens"] = "word"
    ngram_range: tuple[int, int] = (1, 1)
    lowercase: bool = True
    token_pattern: str = TOKEN_PATTERN
    stop_words: tuple[str, ...] = ()
    statistic: Literal["counts", "presence"] = "counts"
    kind: Literal["text"] = field(default="text", init=False)

    def __post_init__(self) -> None:
        if self.analyzer not in ("word", "char", "char_wb", "tokens"):
            raise ValueError(
                f"`analyzer` must be 'word', 'char', 'char_wb' or 'tokens'; got {self.analyzer!r}."
            )
        low, high = self.ngram_range
        if not 1 <= low <= high:
            raise ValueError(
                f"`ngram_range` must be (low, high) with 1 <= low <= high; got {self.ngram_range}."
            )
        _check_pattern(self.token_pattern)
        if self.statistic not in ("counts", "presence"):
            raise ValueError(
                f"`statistic` of texts must be 'counts' or 'presence'; got {self.statistic!r}."
            )
        if self.analyzer == "tokens":  # equal definitions must have equal fingerprints
            object.__setattr__(self, "lowercase", False)
        if self.analyzer != "word":
            object.__setattr__(self, "token_pattern", TOKEN_PATTERN)
        object.__setattr__(self, "stop_words", tuple(sorted(self.stop_words)))
        object.__setattr__(self, "ngram_range", (int(low), int(high)))

    @property
    def min_characters(self) -> int | None:
        """Length of the shortest word, where a word is any run of letters; else None."""
        return _LEAST_CHARACTERS.get(self.token_pattern)

    @property
    def presence(self) -> bool:
        """Whether rows that hold a term are counted."""
        return self.statistic == "presence"


def _check_pattern(pattern: str) -> None:
    try:
        groups = re.compile(pattern).groups
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(
            f"`token_pattern` must be a regular expression that Python can use: {error}; got "
            f"{reprlib.repr(pattern)}."
        ) from error
    if groups > 1:
        raise ValueError(
            f"`token_pattern` must have at most one group, {groups} given; write the others as "
            "(?:...)."
        )


@final
@dataclass(frozen=True, slots=True)
class ColumnFeatures:
    """Columns of a matrix, and the statistic that is taken of them.

    Parameters
    ----------
    n_columns : int
        Number of columns m.
    names : str, default=None
        Fingerprint of the column names, if they have names.
    statistic : {"counts", "presence", "moments", "categories"}, default="counts"
        Add up values >= 0 (multinomial and Poisson models), count the entries above `threshold`
        (Bernoulli), take means and squared deviations (Gaussian, negative binomial, l2
        centers), or count the categories 0, 1, ... of each column, of which any number may turn
        up (categorical).
    threshold : float, default=0.0
        Only with "presence".
    resolution : float, default=None
        Only with "counts": values are rounded to multiples of this before they are added; None
        adds them as they are.
    first_column : {0, 1}, default=0
        Number of the first column, where columns are known by numbers: in svmlight and Matrix
        Market files, and in the names of columns that have no others.
    layer : str, default=None
        Of AnnData: "raw" or the layer whose values these are; None for X, or another format.
    """

    n_columns: int
    names: str | None = None
    statistic: Literal["counts", "presence", "moments", "categories"] = "counts"
    threshold: float = 0.0
    resolution: float | None = None
    first_column: int = 0
    layer: str | None = None
    kind: Literal["columns"] = field(default="columns", init=False)

    def __post_init__(self) -> None:
        if self.n_columns < 0:
            raise ValueError(f"`n_columns` must be at least 0; got {self.n_columns}.")
        if self.statistic not in ("counts", "presence", "moments", "categories"):
            raise ValueError(
                "`statistic` must be 'counts', 'presence', 'moments' or 'categories'; got "
                f"{self.statistic!r}."
            )
        if self.first_column not in (0, 1):
            raise ValueError(f"`first_column` must be 0 or 1; got {self.first_column!r}.")
        if not math.isfinite(self.threshold):
            raise ValueError(f"`threshold` must be a finite number; got {self.threshold}.")
        if self.resolution is not None and not 0 < self.resolution < math.inf:
            raise ValueError(f"`resolution` must be a positive number; got {self.resolution}.")
        if self.resolution is not None and self.statistic in ("moments", "categories"):
            raise ValueError(
                f"`resolution` is of sums of values; leave it out with '{self.statistic}'."
            )

    @property
    def presence(self) -> bool:
        """Whether entries above `threshold` are counted."""
        return self.statistic == "presence"


FeatureDefinition = TextFeatures | ColumnFeatures


def fingerprint(features: FeatureDefinition) -> str:
    """Return the SHA-256 of a definition: equal if and only if the columns mean the same."""
    return hashlib.sha256(to_json(features).encode()).hexdigest()


def to_json(features: FeatureDefinition) -> str:
    """Return a definition as canonical JSON."""
    return json.dumps({"format": FORMAT, **asdict(features)}, sort_keys=True)


def from_json(text: str) -> FeatureDefinition:
    """Return the definition that `to_json` wrote."""
    fields: dict[str, Any] = json.loads(text)
    kind, version = fields.pop("kind"), fields.pop("format")
    if version != FORMAT:
        raise ValueError(
            f"These statistics define their features in format {version}; this version reads "
            f"format {FORMAT}. Count the data again, or use the version that wrote them."
        )
    if kind == "columns":
        return ColumnFeatures(**fields)
    fields["ngram_range"] = tuple(fields["ngram_range"])
    fields["stop_words"] = tuple(fields["stop_words"])
    return TextFeatures(**fields)


def difference(first: FeatureDefinition, second: FeatureDefinition) -> str:
    """Say in which settings two definitions differ: "lowercase=True and lowercase=False"."""
    ours, theirs = asdict(first), asdict(second)
    names = [name for name in {**ours, **theirs} if ours.get(name) != theirs.get(name)]

    def settings(values: dict[str, Any]) -> str:
        return ", ".join(f"{name}={values[name]!r}" for name in names if name in values)

    return f"{settings(ours)} and {settings(theirs)}"

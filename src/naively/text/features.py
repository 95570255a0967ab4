"""What the columns of statistics mean, and a fingerprint by which files are matched."""

from __future__ import annotations

import hashlib
import json
import math
import re
import reprlib
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, final

from naively._versions import FEATURES

if TYPE_CHECKING:
    from naively.statistics.mixed_columns import MixedColumns

Weights: TypeAlias = Literal["counts", "presence", "log", "tfidf"]
Norm: TypeAlias = Literal["l2"]

TOKEN_PATTERN = r"(?u)\b\w\w+\b"  # scikit-learn's: words of two or more letters or digits
ONE_CHARACTER = r"(?u)\b\w+\b"
EMOJI = "[\u231a-\u23ff\u2600-\u27bf\u2b05-\u2b55\U0001f300-\U0001faff]"
TWEET_PATTERN = (  # #hashtags and @names; emoji with skin, sex and joined ones; flags; words
    rf"(?<!\w)[#@]\w+|[\U0001f1e6-\U0001f1ff]{{2}}|"
    rf"{EMOJI}(?:\ufe0f|[\U0001f3fb-\U0001f3ff]|\u200d{EMOJI})*|\b\w\w+\b"
)
PRESETS: dict[str, dict[str, Any]] = {  # of texts of a kind: what of their features is settled
    "tweets": {"analyzer": "word", "token_pattern": TWEET_PATTERN},
    "cjk": {"analyzer": "char", "ngram_range": (1, 2)},  # words are not parted by blanks
}
_LEAST_CHARACTERS = {TOKEN_PATTERN: 2, ONE_CHARACTER: 1}  # patterns that need no re
WEIGHTS: tuple[Weights, ...] = ("counts", "presence", "log", "tfidf")
UNIT = 2.0**-26  # of weights that are no whole numbers; a table holds 1.3e11 of them in all
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
    weights : {"counts", "presence", "log", "tfidf"}, default="counts"
        What a term that occurs c times in a row adds: c; 1; 1 + ln c; or c times its smooth idf,
        which is that of the training rows (:mod:`naively.text.weighting`).
    norm : {"l2"}, default=None
        Divide a row by the root of the sum of its squares, over all its terms. With "tfidf" that
        needs the idf first: rows are gone through twice, in memory, and `TextCounter` refuses it.
    documents : bool, default=False
        Also count the rows that hold a term, and the squares of its counts. Always so with "tfidf";
        never with "presence", which counts these rows anyway.
    exposure : {"total"}, default=None
        Rows are told with the number of all their terms, known to a model or not; only with
        weights "counts" and no norm.
    row_weight : str, default=None
        Column of the weights of the rows, if they weigh differently: sums are then sums of
        weights, and those of documents still count rows.
    """

    analyzer: Literal["word", "char", "char_wb", "tokens"] = "word"
    ngram_range: tuple[int, int] = (1, 1)
    lowercase: bool = True
    token_pattern: str = TOKEN_PATTERN
    stop_words: tuple[str, ...] = ()
    weights: Weights = "counts"
    norm: Norm | None = None
    documents: bool = False
    exposure: Literal["total"] | None = None
    row_weight: str | None = None
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
        _check_weights(self.weights)
        if self.norm not in (None, "l2"):
            raise ValueError(f"`norm` must be 'l2' or None; got {self.norm!r}.")
        if self.exposure not in (None, "total"):
            raise ValueError(f"`exposure` of texts must be 'total' or None; got {self.exposure!r}.")
        _check_exposure(self, self.norm is None)
        _set_documents(self)
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
        return self.weights == "presence" and self.norm is None

    @property
    def two_passes(self) -> bool:
        """Whether a row can be weighted only when the idf of all its terms is known."""
        return self.weights == "tfidf" and self.norm is not None

    @property
    def statistic(self) -> Literal["counts", "presence"]:
        """What is taken of the rows: sums of weights, or the rows that hold a term."""
        return "presence" if self.presence else "counts"

    @property
    def resolution(self) -> float | None:
        """Unit of the sums of weights that are no whole numbers; else None."""
        whole = self.weights != "log" and self.norm is None
        return None if whole or self.row_weight is not None else UNIT


def _check_weights(weights: str) -> None:
    if weights not in WEIGHTS:
        raise ValueError(
            f"`weights` must be 'counts', 'presence', 'log' or 'tfidf'; got {weights!r}."
        )


def _check_statistic(features: ColumnFeatures) -> None:
    if features.statistic not in ("counts", "presence", "moments", "categories", "mixed"):
        raise ValueError(
            "`statistic` must be 'counts', 'presence', 'moments', 'categories' or 'mixed'; got "
            f"{features.statistic!r}."
        )
    if (features.variables is None) == (features.statistic == "mixed"):
        raise ValueError(
            f"`variables` belong to the statistic 'mixed'; got {features.statistic!r}."
        )


def _check_resolution(features: ColumnFeatures) -> None:
    if features.resolution is not None and not 0 < features.resolution < math.inf:
        raise ValueError(f"`resolution` must be a positive number; got {features.resolution}.")
    if features.resolution is not None and features.statistic not in ("counts", "presence"):
        raise ValueError(
            f"`resolution` is of sums of values; leave it out with '{features.statistic}'."
        )
    if features.resolution is not None and features.row_weight is not None:
        raise ValueError(
            "`resolution` makes sums whole, which those of weighted rows are not; leave out it or "
            f"`row_weight`; got {features.resolution} and {features.row_weight!r}."
        )


def _check_exposure(features: TextFeatures | ColumnFeatures, fits: bool) -> None:
    if features.exposure is not None and not (fits and features.weights == "counts"):
        raise ValueError(
            "`exposure` is of rows of counts, neither weighted nor normalised; leave it out, or "
            f"`weights`={features.weights!r} and the like."
        )


def _set_documents(features: TextFeatures | ColumnFeatures) -> None:
    """Count documents where weights need them; rows of presence are documents already."""
    if features.weights == "tfidf":
        object.__setattr__(features, "documents", True)
    if features.presence:
        object.__setattr__(features, "documents", False)


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
    statistic : {"counts", "presence", "moments", "categories", "mixed"}, default="counts"
        Add up values >= 0 (multinomial and Poisson models), count the entries above `threshold`
        (Bernoulli), take means and squared deviations (Gaussian, negative binomial, l2
        centers), count the categories 0, 1, ... of each column, of which any number may turn
        up (categorical), or take of each column what its kind says (mixed).
    threshold : float, default=0.0
        Only with "presence".
    resolution : float, default=None
        Only with "counts": values are rounded to multiples of this before they are added; None
        adds them as they are, and logarithms as multiples of 2**-26.
    weights : {"counts", "presence", "log", "tfidf"}, default="counts"
        What a value of "counts" adds, as of :class:`TextFeatures`. "presence" is the statistic of
        that name; of other statistics values have weights "counts" only.
    documents : bool, default=False
        As of :class:`TextFeatures`; only with "counts".
    first_column : {0, 1}, default=0
        Number of the first column, where columns are known by numbers: in svmlight and Matrix
        Market files, and in the names of columns that have no others.
    layer : str, default=None
        Of AnnData: "raw" or the layer whose values these are; None for X, or another format.
    exposure : "total" or int, default=None
        What rows are exposed to: the sum of their values, or the column that holds it; with
        "counts" and "moments" only.
    missing : bool, default=False
        NaN is left out of its own column, instead of refused. Not with "log" weights, a
        resolution or an exposure.
    normalize : float, default=None
        Sum to which each row was scaled when it was read.
    log1p : bool, default=False
        Values are ln(1 + value) of what was read, after that.
    variables : MixedColumns, default=None
        Kinds and categories of the columns; with "mixed", and only then.
    row_weight : str, default=None
        As of :class:`TextFeatures`; not with a resolution.
    """

    n_columns: int
    names: str | None = None
    statistic: Literal["counts", "presence", "moments", "categories", "mixed"] = "counts"
    threshold: float = 0.0
    resolution: float | None = None
    weights: Weights = "counts"
    documents: bool = False
    first_column: int = 0
    layer: str | None = None
    exposure: Literal["total"] | int | None = None
    missing: bool = False
    normalize: float | None = None
    log1p: bool = False
    variables: MixedColumns | None = None
    row_weight: str | None = None
    kind: Literal["columns"] = field(default="columns", init=False)

    def __post_init__(self) -> None:
        _check_weights(self.weights)
        if self.weights == "presence" and self.statistic == "counts":  # two names of one thing
            object.__setattr__(self, "statistic", "presence")
            object.__setattr__(self, "weights", "counts")
        if self.n_columns < 0:
            raise ValueError(f"`n_columns` must be at least 0; got {self.n_columns}.")
        _check_statistic(self)
        if self.first_column not in (0, 1):
            raise ValueError(f"`first_column` must be 0 or 1; got {self.first_column!r}.")
        if not math.isfinite(self.threshold):
            raise ValueError(f"`threshold` must be a finite number; got {self.threshold}.")
        _check_resolution(self)
        _check_exposure(self, self.statistic in ("counts", "moments"))
        if self.weights != "counts" and self.statistic != "counts":
            raise ValueError(
                f"`weights` must be 'counts' with the statistic {self.statistic!r}; got "
                f"{self.weights!r}."
            )
        if self.documents and self.statistic not in ("counts", "presence"):
            raise ValueError(f"`documents` are of 'counts'; leave it out with '{self.statistic}'.")
        if self.weights == "log" and self.resolution is None and self.row_weight is None:
            object.__setattr__(self, "resolution", UNIT)
        _set_documents(self)
        whole = (self.weights, self.resolution, self.exposure)
        if self.missing and whole != ("counts", None, None):
            raise ValueError(
                "`missing` is of entries as they are, of rows that are not whole; leave out it, or "
                "`weights`, `resolution` and `exposure`."
            )

    @property
    def presence(self) -> bool:
        """Whether entries above `threshold` are counted."""
        return self.statistic == "presence"

    @property
    def two_passes(self) -> bool:
        """As of :class:`TextFeatures`: never."""
        return False


FeatureDefinition = TextFeatures | ColumnFeatures


def fingerprint(features: FeatureDefinition) -> str:
    """Return the SHA-256 of a definition: equal if and only if the columns mean the same."""
    return hashlib.sha256(to_json(features).encode()).hexdigest()


def to_json(features: FeatureDefinition) -> str:
    """Return a definition as canonical JSON."""
    fields = asdict(features)
    if features.exposure is None:
        del fields["exposure"]
    for name in ("missing", "normalize", "log1p", "variables", "row_weight"):
        if not fields.get(name):
            fields.pop(name, None)
    return json.dumps({"format": FEATURES.version, **fields}, sort_keys=True)


def from_json(text: str) -> FeatureDefinition:
    """Return the definition that `to_json` wrote."""
    fields: dict[str, Any] = json.loads(text)
    FEATURES.check_version(fields.pop("format", None))
    kind = fields.pop("kind")
    if kind == "columns":
        if fields.get("variables") is not None:
            from naively.statistics.mixed_columns import MixedColumns

            kinds, labels, names = (fields["variables"][of] for of in ("kinds", "labels", "names"))
            fields["variables"] = MixedColumns(
                tuple(kinds), tuple(map(tuple, labels)), tuple(names)
            )
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

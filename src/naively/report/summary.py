"""What came out of a run, as one record; every document is made from it and from nothing else."""

from __future__ import annotations

from dataclasses import dataclass

from naively.selection.certificate import Certificate


@dataclass(frozen=True, slots=True)
class FileRow:
    """A file that was read."""

    name: str
    role: str  # "training", "test", ...
    rows: int
    size: int  # bytes; 0 for a pipe
    sha256: str  # empty for a pipe


@dataclass(frozen=True, slots=True)
class Example:
    """A row in which a feature occurs, cut to the surroundings of the feature."""

    row: int  # 1 is the first row of the file
    label: str
    hit: str  # the words that are the feature, or its value in the row
    before: str = ""  # text on both sides; empty where features are no text
    after: str = ""
    name: str = ""  # of the row, where the file has names of its rows


@dataclass(frozen=True, slots=True)
class FeatureRow:
    """A selected feature."""

    rank: int  # 1 is the largest gain
    name: str
    gain: float  # of the training objective: nats, or distance saved
    speaks_for: str  # the class whose score it raises most; for centers, with the largest center
    # Figures by class (C,); empty where the model has none. Weights are nats added to each class,
    # against the other of two, or the mean of more; infinite (null in JSON) where one occurrence
    # rules a class out (smoothing 0).
    weights: tuple[float, ...] = ()
    counts: tuple[float, ...] = ()  # as counted in training, without smoothing
    centers: tuple[float, ...] = ()  # means, medians for l1 centers
    dispersions: tuple[float, ...] = ()  # standard deviations, mean absolute ones for l1 centers
    documents: tuple[float, ...] = ()  # rows that hold it; empty where counts are these, or unknown
    burst: bool = False  # most of its count is of a handful of rows
    stability: float | None = None  # share of random halves of the rows that select it
    column: int | None = None  # its place among the columns of a matrix, 0 is the first
    example: Example | None = None
    contrast: Example | None = None  # a row of another class in which it occurs too
    also: tuple[str, ...] = ()  # features that are not chosen because this one says the same
    errors: tuple[float, ...] = ()  # standard errors of the weights (C,), as the model has it
    category: str | None = None  # of a column of categories: that whose shares are the centers

    @property
    def called(self) -> str:
        """Name, and the category that the figures are of."""
        return self.name if self.category is None else f"{self.name} = {self.category}"


@dataclass(frozen=True, slots=True)
class MarkerRow:
    """A feature that tells a class from all others; None where a figure is not known."""

    label: str
    rank: int  # in its class
    feature: str
    gain: float  # against the rest
    weight: float | None  # nats that a unit of the feature adds to the class against the rest
    standard_error: float | None  # of the weight
    z: float | None  # of the log-odds ratio, with an informative prior
    log2_fold_change: float | None
    share_in: float | None  # of the rows of the class, with the feature
    share_out: float | None  # of all other rows
    pvalue: float | None
    category: int | None = None  # of categorical models: that which tells the class


@dataclass(frozen=True, slots=True)
class ClassRow:
    """A class and how well it is recognised; None where there is nothing to tell it from."""

    name: str
    train_rows: int
    test_rows: int
    recall: float | None  # share of its test rows that were recognised
    precision: float | None  # share of the test rows called so that were of the class


@dataclass(frozen=True, slots=True)
class Mistake:
    """Test rows of one class taken for another."""

    truth: str
    answer: str
    rows: int


@dataclass(frozen=True, slots=True)
class Confusion:
    """Test rows by their class and by the answer they got."""

    truths: tuple[str, ...]  # (T,) the classes that can be answered, then unseen labels of tests
    answers: tuple[str, ...]  # (C,) classes that can be answered
    rows: tuple[tuple[int, ...], ...]  # (T, C)


@dataclass(frozen=True, slots=True)
class Said:
    """What a feature of a row says."""

    feature: str
    nats: float


@dataclass(frozen=True, slots=True)
class Misled:
    """A row that is surely, and wrongly, answered."""

    key: str  # name of the row, or its place
    truth: str
    answer: str
    margin: float  # log-odds of the answer, nats
    words: tuple[Said, ...]  # features that spoke most against the truth
    text: str = ""  # its beginning, of texts


@dataclass(frozen=True, slots=True)
class CoveragePoint:
    """The surest part of the test rows, and how right the answers are on it."""

    coverage: float  # share of the test rows
    accuracy: float  # on that share
    confidence: float  # least probability of an answer among them, as the model believes


@dataclass(frozen=True, slots=True)
class Evaluation:
    """How well the features predict rows that had no part in choosing them."""

    method: str  # in words: which rows were tested
    train_rows: int  # rows that the tested model was trained on
    test_rows: int
    accuracy: float
    balanced_accuracy: float  # mean recall over the classes that occur in the test rows
    macro_f1: float  # mean over the labels that occur in them or are answered
    usual_class: str  # the class with most training rows
    usual_accuracy: float  # of always answering `usual_class`
    unseen_rows: int  # test rows of classes that training does not have; they count as mistakes
    mistakes: tuple[Mistake, ...]  # the most frequent first
    shared_features: int | None = None  # also in the final model, if that was trained anew
    confusion: Confusion | None = None  # None for very many classes
    coverage: tuple[CoveragePoint, ...] = ()  # by rising coverage
    misled: tuple[Misled, ...] = ()  # the surest mistakes
    predicted_error: float | None = None  # by the model itself, before it sees a test row


@dataclass(frozen=True, slots=True)
class PathPoint:
    """What so many features reach."""

    k: int
    objective: float  # of the features selected
    bound: float  # no other k features do better
    accuracy: float | None = None
    spread: float | None = None  # standard error of the accuracy, where it was cross-validated
    stability: float | None = None  # share of halves that select a feature of these, on average


@dataclass(frozen=True, slots=True)
class PathCurve:
    """The objective, its bound and the accuracy over the number of features."""

    chosen: int  # a point of the path
    baseline: float  # objective without any feature
    accuracy_of: str  # in words: whose accuracy it is; empty if there is none
    points: tuple[PathPoint, ...]  # by rising k


@dataclass(frozen=True, slots=True)
class Threshold:
    """Least log-odds of a class at which it is answered, for a wanted precision or recall."""

    name: str  # of the class
    goal: str  # "precision" or "recall"
    wanted: float
    log_odds: float | None  # nats; None: no threshold reaches it on the folds
    test_rows: int | None = None  # that the figure is a share of; None: there are none
    reached: float | None = None  # on the test rows
    low: float | None = None  # of an interval that holds the true share in about 95 of 100 tests
    high: float | None = None
    other: float | None = None  # recall where precision is wanted, and the other way round


@dataclass(frozen=True, slots=True)
class Settings:
    """What was asked."""

    command: str  # to repeat the run
    version: str  # of naively
    model: str
    k: str
    alpha: float | None  # None: the model has no smoothing
    exact: bool
    features: str  # in words: what the features are
    final_rows: str  # in words: which rows the final model was trained on
    of_text: bool = False  # whether features were found in texts
    halves: bool = True  # whether features can be selected again on halves of the rows


@dataclass(frozen=True, slots=True)
class InputProfile:
    """What the rows of the files are like."""

    rows: int  # that were looked at: all of small files, the first ones of large ones
    whole: bool  # whether these are all
    repeated: int  # with the content of a row before them
    empty: int  # without any text, or any value that is not 0
    variants: tuple[tuple[str, ...], ...]  # labels that differ in case and blanks alone
    missing: int | None = None  # values that are missing, where that is no error


@dataclass(frozen=True, slots=True)
class Summary:
    """The outcome of `naively select`."""

    settings: Settings
    files: tuple[FileRow, ...]
    n_features: int  # to choose from
    n_rows: int  # that the final model was trained on
    certificate: Certificate | None  # None: nothing can be proven of such a choice
    classes: tuple[ClassRow, ...]
    features: tuple[FeatureRow, ...]  # by falling gain
    evaluation: Evaluation | None
    notes: tuple[str, ...] = ()  # what the reader should know of the data
    path: PathCurve | None = None
    thresholds: tuple[Threshold, ...] = ()
    markers: tuple[MarkerRow, ...] = ()  # class by class, if they were asked for
    profile: InputProfile | None = None  # None where rows were not gone through once more

"""What a job is asked, as records."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from naively.jobs.repeat import Settings
from naively.judging.thresholds import Wanted
from naively.models import MODELS
from naively.models.constraints import Quota
from naively.models.kinds import ASKED, Kind
from naively.models.model import (
    NOT_WITH_REDUNDANCY,
    Model,
    Objective,
    Pairs,
    with_objective,
)
from naively.read.errors import InputError
from naively.read.formats import FORMATS, format_by_name, format_of
from naively.read.layout import Layout, of_format
from naively.selection.train import is_fdr
from naively.statistics.exposure import Exposure
from naively.text.features import Norm, TextFeatures, Weights

DEFAULT_HOLDOUT = 0.2
DEFAULT_K = 100


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """Which model to train, and how. A parameter that is None has the default of the model."""

    kind: str = "multinomial"
    k: int | float | str | None = None  # None: DEFAULT_K, or all where there are fewer
    q: float | None = None  # false discovery rate, of k "fdr"
    alpha: float | None = None
    exact: bool = False
    time_limit: float | None = None  # seconds
    min_count: int = 1  # features counted less often in training are left out
    min_documents: int = 1  # and those that fewer rows of training hold
    weights: Weights | None = None  # what a count is worth; None: the default of model and rows
    norm: Norm | None = None  # what the length of a row is divided by
    scale: str | None = None  # of l2 centers: what the features are divided by
    require: tuple[str, ...] = ()  # names and patterns of features that are chosen in any case
    exclude: tuple[str, ...] = ()  # and of those that never are
    feature_groups: str | None = None  # file: feature or pattern, group
    costs: str | None = None  # file: feature or pattern, cost
    budget: float | None = None  # of the costs
    quota: Quota | None = None  # features that speak for each class, at least
    class_weight: str | None = None  # "balanced": all classes weigh the same
    objective: str = "likelihood"  # or "pairs": what the features are chosen for
    exponent: float | None = None  # of pairs
    redundancy: str | None = None  # "conditional": features that do not say the same
    candidates: int | None = None  # for that
    refit: str | None = None  # "logistic": the rule is fitted to the rows
    exposure: str | None = None  # of rows: a column, or "total"
    row_weight: str | None = None  # column of the weights of rows
    calibration: str | None = None  # "cross-fitted": probabilities are those of rows not seen
    missing: str | None = None  # "ignore": a value that is missing is left out; None: an error
    correction: str | None = None  # "bic": of gains, for the parameters that a feature has
    variance: str | None = None  # "shared": classes have one variance; "class"
    prior: str | None = None  # "uniform": classes are equally likely; "empirical"
    penalty: float | str | None = None  # of the weights of the regions; "auto"
    normalized: bool | None = None  # whether evidence of a region is a mean over its words
    fit_intercept: bool | None = None  # beside the weights of the regions
    leave_one_out: bool | None = None  # whether evidence is of the other rows

    @property
    def is_constrained(self) -> bool:
        """Whether not any k features may be chosen."""
        asked = (self.feature_groups, self.costs, self.budget, self.quota)
        return bool(self.require or self.exclude) or any(each is not None for each in asked)

    @property
    def counted(self) -> str:
        """What `k` counts."""
        what = "features" if self.feature_groups is None else "groups of features"
        return f"{what} that may be chosen" if self.exclude else what

    def weighting(self, *, of_text: bool) -> tuple[Weights, Norm | None]:
        """Return what rows weigh: what was asked, or the default.

        Raises
        ------
        InputError
            If the model, or rows of numbers, cannot be weighted so.
        """
        kind = MODELS[self.kind]
        of_words = of_text and self.kind in ("multinomial", "hybrid")
        default: Weights = "presence" if of_words else "counts"
        weights = default if self.weights is None else self.weights
        for reason in self._hindrances(kind, weights, of_text=of_text):
            raise InputError(reason)
        return weights, self.norm

    def _hindrances(self, kind: Kind, weights: Weights, *, of_text: bool) -> Iterator[str]:
        given = "weights" if self.weights is not None else "norm"
        if self.weights is None and self.norm is None:
            return
        if kind.takes == "presence":
            yield (
                f"`--words {given}` has no effect on --model {self.kind}, which asks only whether "
                "a feature is there; leave it out."
            )
        if not of_text and self.norm is not None:
            yield (
                "`--words norm` is of texts, whose rows are read whole; normalise rows of numbers "
                "before they are written."
            )
        if not of_text and not (kind.takes == "counts" and kind.statistic in ("counts", None)):
            yield (
                "`--words weights` of columns of numbers are of counts that are added up; leave "
                f"them out with --model {self.kind}."
            )
        of_counts = "exposure" if self.exposure is not None else "missing"
        if getattr(self, of_counts) is not None and (weights != "counts" or self.norm is not None):
            yield (
                f"`{spelled(of_counts)}` is of rows of counts, neither weighted nor normalised; "
                f"leave out {spelled(of_counts)}, or --words {given}."
            )
        if weights == "presence" and self.norm is None and self.kind == "poisson":
            yield (
                "`--words weights=presence` leaves a poisson model no counts; use --model "
                "bernoulli, or multinomial."
            )
        if kind.takes == "categories" and (weights in ("log", "tfidf") or self.norm is not None):
            yield f"`--words {given}` makes real numbers, and --model {self.kind} takes categories."
        needing = [name for name in ASKED if getattr(self, name) is not None]
        if weights == "tfidf" and self.norm is not None and needing:
            yield (
                f"`{spelled(needing[0])}` needs rows over the chosen features alone, whose length "
                "with --words weights=tfidf and --words norm is that of all; leave one of them out."
            )
        if kind.regions and weights == "tfidf":
            yield (
                f"`--words weights` must be counts, presence or log with --model {self.kind}, "
                "whose columns of text have frequencies of their own; got tfidf."
            )

    def model(
        self, n_regions: int = 1, *, of_text: bool = False, exposure: Exposure = "total"
    ) -> Model[Any]:
        """Return the model with its parameters, of so many columns of text where it parts them.

        If rows have an exposure, `exposure` says where it stands.

        Raises
        ------
        InputError
            If a parameter is out of range, or has no effect on the model.
        """
        kind = MODELS[self.kind]
        asked: dict[str, Any] = {
            "alpha": self.alpha,
            "exact": self.exact or None,
        }
        if self.kind == "multinomial":
            asked["binary"] = self.weighting(of_text=of_text) == ("presence", None) or None
        asked |= {"time_limit": self.time_limit, "scale": self.scale}
        asked |= {name: getattr(self, name) for name in ASKED}
        asked["exposure"] = None if self.exposure is None else exposure
        asked |= {"missing": self.missing, "correction": self.correction}
        asked |= {"variance": self.variance, **self._prior(kind)}
        asked |= {"penalty": self.penalty, "normalize": self.normalized}
        asked |= {"fit_intercept": self.fit_intercept, "leave_one_out": self.leave_one_out}
        if self.objective == "pairs":  # whose search it is
            asked |= {"exact": None, "time_limit": None}
        if "var_smoothing" in kind.parameters and "alpha" not in kind.parameters:
            asked["var_smoothing"] = asked.pop("alpha")
        given = {name: value for name, value in asked.items() if value is not None}
        self._check_effects(kind, given)
        if kind.regions:
            given["regions"] = n_regions
        try:
            with in_options():
                return with_objective(kind.build(**given), self._objective())
        except ValueError as error:
            raise InputError(str(error)) from error

    def _prior(self, kind: Kind) -> dict[str, Any]:
        """Say which classes are likely, as the model calls it."""
        if self.prior is None:
            return {}
        if kind.of_distances:
            return {"priors": self.prior}
        if "fit_prior" in kind.parameters:
            return {"fit_prior": self.prior == "empirical"}
        others = [each.name for each in MODELS.values() if "fit_prior" in each.parameters]
        others += [each.name for each in MODELS.values() if each.of_distances]
        raise InputError(
            f"`--train prior` has no effect on --model {self.kind}, "
            + ("which has intercepts instead" if kind.regions else "which takes it from the rows")
            + f"; leave it out (it is for {', '.join(others)})."
        )

    @property
    def of_words(self) -> ModelSettings:
        """Settings without those of the weights of regions."""
        return replace(self, penalty=None, normalized=None, fit_intercept=None, leave_one_out=None)

    def _check_effects(self, kind: Kind, given: Collection[str]) -> None:
        """Raise an InputError if something that was asked has no effect on the model."""
        for name in given:
            self.check_effect(name)
        self._check_ways()
        self._check_least()
        self._check_discoveries(kind)
        if self.class_weight is not None and kind.of_distances:
            raise InputError(
                f"`--choose class-weight` has no effect on --model {self.kind}, for which all "
                "classes weigh the same; leave it out."
            )
        if self.quota is not None and kind.takes == "table":
            raise InputError(
                "`--choose quota` asks which class a feature speaks for, and the categories of a "
                f"column of --model {self.kind} speak for several; leave it out."
            )
        if self.time_limit is not None and not self.exact:
            raise InputError("`--choose time-limit` has no effect without --choose exact; add it.")
        for one, other in (("costs", "budget"), ("budget", "costs")):
            if getattr(self, one) is not None and getattr(self, other) is None:
                raise InputError(
                    f"`{spelled(one)}` has no effect without {spelled(other)}; give both."
                )

    @property
    def is_shaped(self) -> bool:
        """Whether features are chosen within a budget or a quota."""
        return self.budget is not None or self.quota is not None

    def check_effect(self, name: str) -> None:
        """Raise an InputError if the model has no such parameter."""
        # What is asked as alpha is the smoothing of variances where there is no other.
        called = {name, "var_smoothing"} if name == "alpha" else {name}
        if not called & {*MODELS[self.kind].parameters}:
            others = ", ".join(each.name for each in MODELS.values() if called & {*each.parameters})
            raise InputError(
                f"`{spelled(name)}` has no effect on --model {self.kind}; leave it "
                f"out (it is for {others})."
            )

    def _check_least(self) -> None:
        """Raise an InputError if rows and occurrences are to be counted where weights are."""
        for name in ("min_count", "min_documents") * (self.row_weight is not None):
            if getattr(self, name) > 1:
                raise InputError(
                    f"`--words {name.replace('_', '-')}` is of rows that weigh the same, not with "
                    "--read weight; leave it out (--choose exclude leaves out features by name)."
                )

    def _check_ways(self) -> None:
        """Raise an InputError if two ways to choose the features exclude each other."""
        asked = {
            "redundancy": self.redundancy, "groups": self.feature_groups, "costs": self.costs,
            "budget": self.budget,
        }  # fmt: skip
        for way, holds, others in (
            ("--choose objective=pairs", self.objective == "pairs", ("redundancy",)),
            ("--choose redundancy", self.redundancy is not None, NOT_WITH_REDUNDANCY),
        ):
            for name in others:
                if holds and asked[name] is not None:
                    raise InputError(
                        f"`{way}` and `{spelled(name)}` are ways to choose the features, of which "
                        "one can be asked for; leave the other out."
                    )

    def _check_discoveries(self, kind: Kind) -> None:
        """Raise an InputError if features are to be chosen by p-values that do not hold."""
        if not is_fdr(self.k):
            if self.q is not None:
                raise InputError("`--choose q` has no effect without -k fdr; add it.")
            return
        norm = self.norm is not None or self.weights in ("log", "tfidf")
        hindrances = {
            f"--model {self.kind}, which has none": kind.of_distances or kind.regions,
            "--choose class-weight, after which gains follow no known law": self.class_weight
            is not None,
            "weights that are no counts (--words weights=log or tfidf, --words norm)": norm,
            "--read exposure and --model poisson, whose test is of rows": (
                self.exposure is not None and self.kind == "poisson"
            ),
            "--choose objective=pairs, which is another choice": self.objective != "likelihood",
            "--choose redundancy, which is another choice": self.redundancy is not None,
            "constraints on the features, which are another choice": self.is_constrained,
            "--train calibration, whose folds choose the k best": self.calibration is not None,
            "--read weight, for which rows are no repetitions": self.row_weight is not None,
        }
        for name, hinders in hindrances.items():
            if hinders:
                raise InputError(
                    f"`-k fdr` chooses by p-values that hold, not with {name}; leave it out, or "
                    "give -k a number."
                )

    def _objective(self) -> Objective:
        if self.objective == "pairs":
            exponent = 1.0 if self.exponent is None else self.exponent
            return Pairs(exponent=exponent, exact=self.exact, time_limit=self.time_limit)
        if self.exponent is not None:
            raise InputError(
                "`--choose exponent` has no effect without --choose objective=pairs; add it."
            )
        return "likelihood"


_TABLES = {  # of the settings of the command, and what stands in each
    "read": "exposure missing",
    "words": "weights norm",
    "choose": "require exclude groups costs budget quota class_weight objective exponent exact "
    "time_limit redundancy candidates q",
    "train": "alpha scale refit calibration correction variance prior penalty normalize "
    "fit_intercept leave_one_out",
}
_TABLE = {name: table for table, names in _TABLES.items() for name in names.split()}
_KEYS = {"required": "require", "excluded": "exclude", "var_smoothing": "alpha"}
_PARAMETER = re.compile(rf"`({'|'.join((*_KEYS, *_TABLE, 'k'))})`(?:='(\w+)'|=(True))?")


def spelled(parameter: str, value: str | None = None) -> str:
    """Return the option of the command that sets a parameter: "--choose costs", or "-k"."""
    name = _KEYS.get(parameter, parameter)
    key = name.replace("_", "-")
    if name not in _TABLE:
        return f"--{key}" if len(key) > 1 else f"-{key}"
    return f"--{_TABLE[name]} {key}{'' if value is None else f'={value}'}"


@contextmanager
def in_options() -> Iterator[None]:
    """Let errors name the options of the command instead of parameters."""

    def option(found: re.Match[str]) -> str:
        return f"`{spelled(found[1], found[2])}`"

    try:
        yield
    except ValueError as error:
        raise ValueError(_PARAMETER.sub(option, str(error))) from error


def asked_k(settings: ModelSettings, there_are: int, *, clip: bool) -> int | float | str:
    """Return the `k` to train with: the default, or with `clip` any, is at most all there are."""
    if settings.k is None and settings.budget is not None:
        return there_are
    k = DEFAULT_K if settings.k is None else settings.k
    if not isinstance(k, int) or k <= there_are:
        return k
    if settings.k is not None and not clip:
        raise InputError(
            f"`-k` must be at most the number of {settings.counted}, {there_are:,}; got {k:,} "
            "(-k all takes all of them)."
        )
    return there_are


@dataclass(frozen=True, slots=True)
class TestSettings:
    """Which rows to test on. The first that is given holds: file, column, share."""

    file: str | None = None
    labels_file: str | None = None
    split_column: str | None = None
    holdout: float = DEFAULT_HOLDOUT
    seed: int = 0
    groups: str | None = None  # column of groups of rows that are kept together
    time: str | None = None  # column of times: earlier rows are trained on, later ones judged

    @property
    def is_given(self) -> bool:
        """Whether the rows were chosen by whoever asks, and not at random."""
        return self.file is not None or self.split_column is not None

    @property
    def method(self) -> str:
        """Which rows are tested on, in words."""
        if self.file is not None:
            return f"the rows of {self.file}"
        if self.split_column is not None:
            return f"the rows with test in column {self.split_column}"
        if self.holdout == 0:
            return "no row"
        share = f"{100 * self.holdout:g} % of"
        if self.time is not None:
            return f"the last {share} the rows by {self.time}"
        if self.groups is not None:
            return f"{share} the rows, by {self.groups}, held out at random with seed {self.seed}"
        return f"{share} each class, held out at random with seed {self.seed}"


@dataclass(frozen=True, slots=True)
class Engine:
    """Where the work is done."""

    name: str = "local"  # "local", "dask" or "spark"
    address: str | None = None  # of a scheduler; None: workers on this machine
    jobs: int | None = None  # workers; None: one, or two on an engine
    checkpoint: str | None = None  # folder of work done

    def __str__(self) -> str:
        """As `--on` has it: 4, dask, dask:4, tcp://HOST:PORT."""
        if self.address is not None:
            return self.address
        named = [] if self.name == "local" else [self.name]
        return ":".join([*named, *([] if self.jobs is None else [str(self.jobs)])])


@dataclass(frozen=True, slots=True)
class Recipe:
    """All that the learner is asked."""

    files: tuple[str, ...]  # names and patterns
    layout: Layout
    features: TextFeatures | None = None  # None: the columns are numbers
    model: ModelSettings = ModelSettings()
    test: TestSettings = field(default_factory=TestSettings)
    engine: Engine = Engine()
    given: Settings = field(default_factory=dict)  # to repeat the run
    wanted: tuple[Wanted, ...] = ()  # precisions or recalls, for which thresholds are chosen
    scoring: str | None = None  # by what k is chosen, see `judging.scoring`; None: accuracy
    repeats: int | None = None  # how often rows are divided into folds; None: few rows more often
    stability: bool = False  # tell how often each feature is selected on halves of the rows
    stable: float | None = None  # keep the features that so large a share of the halves selects
    markers: int | None = None  # features to tell of each class against all others
    quick: bool = False  # no other k, no rows to quote, no charts

    def model_of(self) -> Model[Any]:
        """Return the model with its parameters."""
        return self.model.model(max(len(self.layout.text), 1), of_text=self.features is not None)

    @property
    def name(self) -> str:
        """Of the files, for messages."""
        return ", ".join(self.files)

    def test_layout(self, layout: Layout) -> Layout:
        """Where things stand in the file to test on, given where they do in the others."""
        # A format that was given is that of the training files; another name may say otherwise.
        name = self.test.file or ""
        format = format_of(name, format_by_name(name) or layout.format)
        if layout.text and FORMATS[format].holds == "matrix":
            raise InputError(f"{name}: must hold the same as {self.name}, text or a matrix.")
        own = replace(
            layout,
            split=None,
            group=None,
            weight=None,
            labels_file=self.test.labels_file,
            format=format,
        )
        return of_format(own, format)

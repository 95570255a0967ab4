"""From the options of a command to what its job is asked."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

import click

from naively.cli.keys import given, settings_given
from naively.cli.options import models_with
from naively.models.kinds import ASKED, MODELS
from naively.read.formats import FORMATS, format_of
from naively.text.features import PRESETS, TOKEN_PATTERN

Options = Mapping[str, Any]

_OF_MODEL = (
    *("k", "q", "alpha", "min_count", "min_documents", "weights", "norm", "scale"),
    *("objective", "exponent", "exact", "time_limit"),
    *("require", "exclude", "feature_groups", "costs", "budget", "quota", "class_weight"),
    *(*ASKED, "exposure", "row_weight", "correction"),
    *("variance", "prior", "penalty", "normalized", "fit_intercept", "leave_one_out"),
)
_OF_TERMS = ("text_like", "analyzer", "ngrams", "stop_words", "token_pattern")
_OF_TEXTS = ("text", *_OF_TERMS)
_OF_RECORDS = {  # what may be asked where only statistics are left of the rows
    *("file", "text", "model", "k", "q", "alpha", "scale", "objective", "exponent", "exact"),
    *("time_limit", "require", "exclude", "feature_groups", "costs", "budget", "quota"),
    *("class_weight", "markers", "out", "force", "as_json", "quiet", "config", "class_rows"),
    *("correction", "variance", "prior"),
}


def recipe_of(options: Options) -> Any:
    """Return what the learner is asked; options that a command does not have are at defaults."""
    from naively.jobs.settings import Engine, Recipe

    layout = layout_of(options["file"], options)
    return Recipe(
        files=(options["file"],),
        layout=layout,
        features=features_of(options) if layout.text else None,
        model=model_settings(options),
        test=_test_settings(options),
        engine=_engine_of(options) or Engine(),
        quick=options.get("quick", False),
        stability=options.get("stability", False),
        scoring=options.get("scoring"),
        repeats=options.get("repeats"),
        wanted=(*options.get("precision", ()), *options.get("recall", ())),
        stable=options.get("stable"),
        markers=options.get("markers"),
        given=settings_given(),
    )


def model_settings(options: Options) -> Any:
    """Return which model is trained, and how."""
    from naively.jobs.settings import ModelSettings

    asked = {name: options[name] for name in _OF_MODEL if name in options}
    return ModelSettings(kind=options["model"], missing=_ignored(options), **asked)


def check_records(source: str) -> None:
    """Refuse options that ask for the rows, of which records have none.

    Raises
    ------
    click.UsageError
        Naming the first.
    """
    asked = given()
    if "class_rows" in asked and "text" in asked:
        raise click.UsageError("--text has no effect on a table of counts; leave it out.")
    piped = {"format"} if source in ("-", "/dev/stdin") else set()
    for name, spelled in asked.items():
        if name not in _OF_RECORDS | piped:
            raise click.UsageError(
                f"{spelled} has no effect on {source}, which holds statistics and no rows; leave "
                "it out, or give the files that were counted."
            )


def layout_of(file: str, options: Options) -> Any:
    """Where things stand in the files: texts, unless they hold numbers."""
    from naively.read.layout import Layout
    from naively.read.parts import find_files

    (first, *_) = find_files(file)
    format = format_of(first, options["format"])
    text, variables = options["text"] or ("text",), _variables_of(options)
    matrix = FORMATS[format].holds == "matrix"
    numbers = options["numbers"] or options["transpose"] or matrix
    if (
        variables is not None
        or numbers
        or (MODELS[options["model"]].takes == "values" and not options["text"])
    ):
        text = ()
    if variables is None:
        _check_numbers(options, of_text=bool(text), matrix=matrix)
    if format == "svmlight" and options["label"]:
        raise click.UsageError(
            "--label has no effect on svmlight, where a line begins with its label; leave it out."
        )
    return Layout(
        text=text,
        label=options["label"],
        tokens=bool(text) and options["analyzer"] == "tokens",
        split=options.get("split_column"),
        group=options.get("groups") or options.get("time"),
        key=options.get("key"),
        weight=options["row_weight"],
        beside=options["exposure"] if format == "h5ad" and options["exposure"] != "total" else None,
        normalize=options["normalize"],
        log1p=options["log1p"],
        variables=variables,
        ignore=options["ignore"],
        missing=_ignored(options) is not None,
        text_way="; --model mixed takes columns of categories as they are"
        * (MODELS[options["model"]].takes == "categories" and not options["text"]),
        missing_way="add --read missing=ignore" * (options["model"] in models_with("missing")),
        **_written(options),
    )


def rows_layout(options: Options) -> Any:
    """Where things stand in a file for a model."""
    from naively.read.layout import Layout

    asked = {name: options[name] for name in ("label", "key") if name in options}
    split = options.get("split_column")
    return Layout(text=options["text"], split=split, **asked, **_written(options))


def _written(options: Options) -> dict[str, Any]:
    """How a file is written."""
    return {
        "format": options["format"],
        "delimiter": options["delimiter"],
        "quotes": options["quotes"],
        "header": options["header"],
        "encoding": options["encoding"],
        "sheet": options["sheet"],
        "labels_file": options.get("labels"),
        "names_file": options["names"],
        "layer": options["layer"],
        "transpose": options["transpose"],
    }


def _variables_of(options: Options) -> Any:
    """Say what is told of the columns of a table of several kinds; None if the model takes none."""
    from naively.read.variables import Variables
    from naively.text.table_words import TableWords

    model, asked, kinds = options["model"], given(), options.get("kinds", ())
    if MODELS[model].takes != "table":
        if kinds:
            raise click.UsageError(
                f"--read kind has no effect on --model {model}, whose columns are of one kind; "
                "leave it out, or add --model mixed."
            )
        return None
    for name in ("numbers", "transpose"):
        if options[name]:
            raise click.UsageError(
                f"{asked.get(name, name)} has no effect on --model {model}, which reads a table "
                "with a row a sample as it is; leave it out."
            )
    if options["text"]:
        features = replace(features_of(options), weights="presence")
        return Variables(kinds, TableWords(tuple(options["text"]), features))
    for name in _OF_TERMS:
        if name in asked:
            raise click.UsageError(
                f"{asked[name]} is of texts, and has no effect on --model {model} without --text; "
                "add it."
            )
    return Variables(kinds)


def _preset(options: Options) -> Options:
    """Return the options with those that text-like settles."""
    like, asked = options["text_like"], given()
    if like is None:
        return options
    called = {"ngram_range": "ngrams"}
    settled = {called.get(name, name): value for name, value in PRESETS[like].items()}
    for name in settled:
        if name in asked:
            raise click.UsageError(
                f"--words text-like={like} settles {asked[name]}; leave one of them out."
            )
    return {**options, **settled}


def _check_numbers(options: Options, *, of_text: bool, matrix: bool) -> None:
    """Refuse what is asked of texts where there are numbers, and the other way round."""
    asked = given()
    if matrix and "numbers" in asked:
        raise click.UsageError(f"{asked['numbers']} has no effect on a matrix; leave it out.")
    for name in () if of_text else _OF_TEXTS:
        if name in asked:
            raise click.UsageError(f"{asked[name]} has no effect on numbers; leave it out.")


def _ignored(options: Options) -> str | None:
    """Whether missing values are left out: "ignore", or None."""
    return "ignore" if options["missing"] == "ignore" else None


def features_of(options: Options) -> Any:
    """Define what is counted in texts."""
    from naively.jobs.words import text_features

    options = _preset(options)
    idle = {"token_pattern": ("char", "char_wb", "tokens"), "stop_words": ("char", "char_wb")}
    for name, analyzers in idle.items():
        if options[name] is not None and options["analyzer"] in analyzers:
            raise click.UsageError(
                f"{given()[name]} has no effect on --words analyzer={options['analyzer']}; leave "
                "it out."
            )
    return text_features(
        analyzer=options["analyzer"],
        ngram_range=options["ngrams"],
        stop_words=options["stop_words"],
        token_pattern=options["token_pattern"] or TOKEN_PATTERN,
    )


def _test_settings(options: Options) -> Any:
    from naively.jobs.settings import DEFAULT_HOLDOUT, TestSettings

    if "test" not in options:
        groups, time = options.get("groups"), options.get("time")
        return TestSettings(holdout=0.0, groups=groups, time=time)
    test, split = options["test"], options["split_column"]
    share = _share(test)
    held = share if share is not None else 0.0 if test is not None or split else DEFAULT_HOLDOUT
    if test is not None and split is not None:
        raise click.UsageError("--test and --read split exclude each other; give one of them.")
    for name, other, idle in (
        ("test_labels", "--test FILE", test is None or share is not None),
        ("seed", "rows that are held out at random", held == 0),
    ):
        if options[name] is not None and idle:
            raise click.UsageError(f"{given()[name]} has no effect without {other}; leave it out.")
    return TestSettings(
        file=test if share is None else None,
        labels_file=options["test_labels"],
        split_column=split,
        holdout=held,
        seed=options["seed"] or 0,
        groups=options["groups"],
        time=options["time"],
    )


def _share(test: str | None) -> float | None:
    """Share of the rows that is to be held out; None where that is not what was given."""
    if test is not None and test.rstrip().endswith("%") and not os.path.exists(test):
        raise click.BadParameter(
            f"{test!r} is not a share of the rows in [0, 1), such as 0.2, nor the name of a file.",
            param_hint="'--test'",
        )
    with suppress(ValueError, TypeError):
        share = float(test)  # type: ignore[arg-type]
        if not 0 <= share < 1 or math.isnan(share):
            raise click.BadParameter(
                f"{test!r} is not a share of the rows in [0, 1), nor the name of a file.",
                param_hint="'--test'",
            )
        return share
    return None


def _engine_of(options: Options) -> Any:
    engine, checkpoint = options.get("on"), options.get("checkpoint")
    if checkpoint is None:
        return engine
    if engine is not None and engine.name != "local":
        raise click.UsageError(
            f"--checkpoint is of this machine only; leave out it or --on {engine.name}, or write "
            "records with naively count."
        )
    from naively.jobs.settings import Engine

    return replace(engine or Engine(), checkpoint=checkpoint)


def jobs_of(options: Options) -> int | None:
    """Threads of a command that runs on this machine."""
    engine = options["on"]
    if engine is None:
        return None
    if engine.name != "local":
        raise click.UsageError(
            f"--on must be a number of workers here; got {engine.name}. Count other files in "
            "other processes, and give all records to `naively select`."
        )
    jobs: int | None = engine.jobs
    return jobs

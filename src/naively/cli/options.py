"""The options of the commands, and the keys of their tables."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import click

from naively.cli.keys import Command, Key, config_option, keyed
from naively.cli.values import (
    Amount,
    Bound,
    ColumnKind,
    Finite,
    Folds,
    Grid,
    Penalty,
    QuotaType,
    Share,
    Sizes,
    Smoothings,
    Sum,
    Where,
)
from naively.judging.names import SCORINGS
from naively.models.kinds import MODELS
from naively.read.formats import FORMATS
from naively.statistics.column_kinds import KINDS
from naively.text.features import PRESETS, WEIGHTS


def _option(*names: str, **settings: Any) -> click.Parameter:
    return click.Option(names, **settings)


def _argument(name: str, **settings: Any) -> click.Parameter:
    return click.Argument([name], **settings)


FILE = click.Path()  # so that shells complete it; whether it is there is said by who opens it
Some = dict[str, list[click.Parameter]]  # options by the heading they stand under


def models_that(take: str, known: Collection[str] = tuple(MODELS)) -> str:
    """Name the models whose entries are counts, presence, values or categories."""
    return ", ".join(name for name in known if MODELS[name].takes == take)


def models_with(parameter: str) -> list[str]:
    """Names of the models that have a parameter."""
    return [name for name, kind in MODELS.items() if parameter in kind.parameters]


# fmt: off
# Tables -----------------------------------------------------------------------------------------

_WRITTEN = (
    Key("format", click.Choice(list(FORMATS)), "Format, if the name does not tell it."),
    Key("delimiter", click.STRING, "What separates the columns of CSV; else a comma, or ; tab or | "
        "where only that fits.", metavar="CHAR"),
    Key("quotes", click.BOOL, "Of CSV: quotation marks are part of the text.", default=True),
    Key("header", click.BOOL, "Of CSV and Excel: whether the first row names the columns, which "
        "else are called 1, 2, ...; else true, and a row of numbers alone is refused."),
    Key("sheet", click.STRING, "Of an .xlsx file; else the only one with cells.", metavar="NAME"),
    Key("encoding", click.STRING, "Of text files; else utf-8, utf-16 by its mark, or Windows-1252 "
        "where it is no utf-8.", metavar="NAME"),
)
_TURNED = Key("transpose", click.BOOL, "Rows of the table of numbers are features, not samples.",
    False)
_LABELS = Key("labels", FILE, "Labels of a matrix, one a line, or by the names of rows, in a .csv.",
    metavar="FILE")
_NAMES = Key("names", FILE, "Column names of a matrix, one a line.", metavar="FILE")
_LAYER = Key("layer", click.STRING, "Of .h5ad: the name of a layer, or raw; else X.",
    metavar="NAME")
_TRAINED_LAYER = Key("layer", click.STRING, "Of .h5ad: the name of a layer, raw, or X; else as in "
    "training.", metavar="NAME")
_NUMBERS = (
    Key("numbers", click.BOOL,
        f"A table holds numbers, not text (as it does for {models_that('values')} unless --text "
        "is given).", False),
    _TURNED,
    Key("ignore", click.STRING, "Leave out columns of numbers.", many=True, metavar="NAME|GLOB"),
    Key("missing", click.Choice(["error", "ignore"]),
        "What a number that is missing does (an empty cell, NA, NaN, null); ignore leaves it out "
        f"of its own column: {', '.join(models_with('missing'))}.", "error"),
    Key("exposure", click.STRING,
        "Column that says how much was counted to make a row, or total, the sum of the row: "
        f"counts are expected in proportion: {', '.join(models_with('exposure'))}.",
        metavar="NAME|total"),
    Key("weight", click.STRING,
        "Column of weights of the rows, >= 0: in training a row of weight 2 counts twice, one of "
        "weight 0 is left out. Where a model is judged, each row counts once.", dest="row_weight",
        metavar="NAME"),
    Key("normalize", Sum(), "Scale the rows of a matrix of counts, such as cells, to this sum, or "
        "to their median; the model keeps it.", metavar="median|SUM"),
    Key("log1p", click.BOOL, "Take ln(1 + value) of a matrix, after that.", False),
)
_KIND = Key("kind", ColumnKind(), "Of --model mixed: the kind of a column, "
    f"{', '.join(KINDS[:-1])} or {KINDS[-1]}; else numbers are gaussian, truth values bernoulli, "
    "all else categorical.", many=True, dest="kinds", metavar="NAME=KIND")
_TIME = Key("time", click.STRING, "Column of numbers or dates: the last rows are held out, and "
    "folds follow each other, each judged by what was trained on the rows before it.",
    metavar="NAME")
_GROUPS = Key("groups", click.STRING, "Column of an author, a donor, a plate: its rows are held "
    "out, or in a fold, together.", metavar="NAME")
_READ = (*_WRITTEN, _LAYER, _NAMES, _LABELS, *_NUMBERS)

READ = {
    "select": (
        *_READ,
        _KIND,
        _GROUPS,
        _TIME,
        Key("split", click.STRING, "Column that says train or test; rows of dev or validation are "
            "left out.", dest="split_column", metavar="NAME"),
        Key("test-labels", FILE, "Labels of the file of --test, if beside it.", metavar="FILE"),
        Key("class-rows", FILE, "Rows of each class (columns label and rows): FILE is then a table "
            "of counts, with columns feature, label and count, such as GROUP BY label, feature "
            "gives.", metavar="FILE"),
    ),
    "cv": (*_READ, _KIND, _GROUPS, _TIME),
    "count": (
        *_READ,
        Key("resolution", click.FloatRange(0, min_open=True), "Round real numbers to multiples of "
            "this; sums are then exact in any order.", metavar="STEP"),
    ),
    "predict": (
        *_WRITTEN,
        _TRAINED_LAYER,
        _NAMES,
        _LABELS,
        _TURNED,
        Key("split", click.STRING, "Column that says train or test: only rows of test are "
            "answered.", dest="split_column", metavar="NAME"),
    ),
    "explain": (*_WRITTEN, _TRAINED_LAYER, _NAMES, _TURNED),
}

_TERMS = (
    Key("text-like", click.Choice(list(PRESETS)), "Count what such texts hold: tweets, #hashtags, "
        "@names and emoji as well; cjk, characters and pairs of them, where no blanks part the "
        "words."),
    Key("analyzer", click.Choice(["word", "char", "char_wb", "tokens"]), "Count words, or "
        "characters (char_wb: within words), or the strings of a column of lists (tokens; Parquet "
        "and JSON Lines).", "word"),
    Key("ngrams", Sizes(), "Count runs of so many words or characters: 2, or from 1,2.", (1, 1)),
    Key("stop-words", click.STRING, "Leave out the words of a language, such as english, or of a "
        "file (one a line).", metavar="LANGUAGE|FILE"),
    Key("token-pattern", click.STRING, "What a word is.", metavar="REGEX"),
)
_WORTH = (
    Key("weights", click.Choice(WEIGHTS), "What a feature that stands c times in a row is worth "
        "there: c, 1, 1 + ln c, or c times its idf; else presence for words in a multinomial or "
        "hybrid model, and counts."),
    Key("norm", click.Choice(["l2"]), "Divide a row of text by the root of the sum of its "
        "squares."),
)
_LEAST = (
    Key("min-count", click.IntRange(min=0), "Leave out features counted less often in training "
        "(numbers, too).", 1, metavar="N"),
    Key("min-documents", click.IntRange(min=0), "Leave out features that fewer training rows hold "
        "(numbers, too).", 1, metavar="N"),
)
WORDS = {"select": (*_TERMS, *_LEAST, *_WORTH), "count": (*_TERMS, *_WORTH)}
WORDS["cv"] = WORDS["select"]

_CHOICE = (
    Key("objective", click.Choice(["likelihood", "pairs"]), "Choose the features of the likeliest "
        "model, or those that tell every pair of classes apart.", "likelihood"),
    Key("exponent", Finite(min=0, min_open=True), "Of objective=pairs; below 1 it hedges against "
        "dependence.", metavar="NUMBER"),
    Key("redundancy", click.Choice(["conditional"]), "Choose each feature for what it adds to "
        "those before it: no copies, no certificate."),
    Key("candidates", click.IntRange(min=1), "Of redundancy: among so many features of the largest "
        "gains; else 4000.", metavar="N"),
    Key("require", click.STRING, "Choose these features in any case.", many=True,
        metavar="NAME|GLOB"),
    Key("exclude", click.STRING, "Never choose these features, such as 'MT-*'; they are counted "
        "all the same.", many=True, metavar="NAME|GLOB"),
    Key("groups", FILE, "Choose groups of features as a whole (a line: NAME|GLOB,GROUP); k counts "
        "groups.", dest="feature_groups", metavar="FILE"),
    Key("costs", FILE, "Cost of each feature (a line: NAME|GLOB,COST), with budget.",
        metavar="FILE"),
    Key("budget", Finite(min=0), "Most that the features may cost together; k is then the most "
        "features.", metavar="NUMBER"),
    Key("quota", QuotaType(), "Choose N features or more that speak for each class; even: as many "
        "as k has for each.", metavar="N|even"),
    Key("class-weight", click.Choice(["balanced"]), "Let all classes weigh the same."),
)
CHOOSE = {
    "cv": _CHOICE,
    "select": (
        *_CHOICE,
        Key("exact", click.BOOL, "Search on until the choice is proven optimal (multinomial, and "
            "objective=pairs).", False),
        Key("time-limit", Finite(min=0), "Of exact.", metavar="SECONDS"),
        Key("q", Finite(0, 1, min_open=True, max_open=True), "Of -k fdr: expected share of the "
            "features that are there by chance, at most; else 0.1.", metavar="SHARE"),
        Key("stable", Finite(0.5, 1, min_open=True), "Keep the features that so large a share of "
            "100 random halves of the rows selects, such as 0.9.", metavar="SHARE"),
    ),
}

_CORRECTION = Key("correction", click.Choice(["bic"]), "Take from each gain what its parameters "
    "gain by chance (bic), so that columns of many categories do not win by it: "
    f"{', '.join(models_with('correction'))}.")
_SCALE = Key("scale", click.Choice(["std", "variance"]), "Divide numbers by their spread within "
    "the classes (l2-centers).")
_VARIANCE = Key("variance", click.Choice(["class", "shared"]), "Let all classes have one variance "
    f"in each column, or each its own; else class: {', '.join(models_with('variance'))}.")
_PRIOR = Key("prior", click.Choice(["empirical", "uniform"]), "How likely classes are before a row "
    "is seen: as in training, or equally; else empirical, but uniform for centers.")
_OF_HYBRID = (
    Key("penalty", Penalty(), "Of hybrid: half of it times the square of the weight of each --text "
        "is subtracted; auto chooses by leaving out one row; else auto.",
        metavar="auto|NUMBER"),
    Key("normalize", click.BOOL, "Of hybrid: evidence of a --text is a mean over its words, not "
        "their sum; else true.", dest="normalized"),
    Key("fit-intercept", click.BOOL, "Of hybrid: learn an intercept of each class; else true."),
    Key("leave-one-out", click.BOOL, "Of hybrid: learn weights from evidence of the other rows; "
        "else true."),
)
TRAIN = {
    "select": (
        Key("alpha", Finite(min=0), "Smoothing, added to every count; else 1.", metavar="NUMBER"),
        _SCALE,
        _VARIANCE,
        _PRIOR,
        *_OF_HYBRID,
        _CORRECTION,
        Key("refit", click.Choice(["logistic"]), "Decide by a logistic regression on the chosen "
            "features, its penalty cross-validated."),
        Key("calibration", click.Choice(["cross-fitted"]), "Make probabilities credible: fitted to "
            "the rows of five folds, their answers the same."),
    ),
    "cv": (
        Key("alpha", Smoothings(), "Smoothing, added to every count; else 1. More than one: all "
            "are tried.", metavar="NUMBER,..."),
        _SCALE,
        _VARIANCE,
        _PRIOR,
        _CORRECTION,
    ),
}

_SCORING = Key("scoring", click.Choice(SCORINGS), "By what k is chosen; balanced, or macro F1: all "
    "classes count the same; else accuracy.")
_REPEATS = Key("repeats", click.IntRange(min=1), "Divide the rows into folds so often, and "
    "average; else 500 / rows, from 1 to 5.", metavar="N")
JUDGE = {
    "cv": (_SCORING, _REPEATS),
    "select": (
        _SCORING,
        _REPEATS,
        Key("seed", click.IntRange(min=0), "Of the choice of the rows that are held out; else 0.",
            metavar="N"),
        Key("precision", Share("precision"), "Choose a threshold by cross-validation, with which "
            "answers CLASS are so often right.", many=True),
        Key("recall", Share("recall"), "Or with which so many rows of CLASS are found.", many=True),
        Key("stability", click.BOOL, "Tell how many of 100 random halves of the rows select each "
            "feature.", False),
    ),
}


def _read(command: str) -> click.Parameter:
    return keyed("read", READ[command], "How files are written, and what else stands in them")


def _words(command: str) -> click.Parameter:
    return keyed("words", WORDS[command], "What is counted in texts, and what a count is worth")


def _choose(command: str) -> click.Parameter:
    return keyed("choose", CHOOSE[command], "Which features")


def _train(command: str) -> click.Parameter:
    return keyed("train", TRAIN[command], "How the model is trained")


def _judge(command: str) -> click.Parameter:
    return keyed("judge", JUDGE[command], "How it is judged")


# Plain options ----------------------------------------------------------------------------------

_TEXT = _option("--text", multiple=True, metavar="NAME", help="Column of text; may be repeated.  "
    "[text]")
_LABEL = _option("--label", metavar="NAME", help="Column (in .npz: array) of labels.  [label, y]")
_ID = _option("--id", "key", metavar="NAME", help="Column of names of the rows.")
_AS_TRAINED = _option("--text", multiple=True, metavar="NAME", help="Column of text.  [as in "
    "training]")
_JSON = _option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
_QUIET = _option("-q", "--quiet", is_flag=True, help="Show no progress.")
_FORCE = _option("--force", is_flag=True, help="Write into a folder with other files in it.")


def _model(known: Collection[str], **settings: Any) -> click.Parameter:
    """Return the option that chooses among some models."""
    of_text = ", which learns a weight for each --text" * ("hybrid" in known)
    medians = ": of medians" * ("l1-centers" in known)
    values, tables = f"numbers of any kind ({models_that('values', known)}{medians})", ""
    if table := models_that("table", known):
        values, tables = f"{values},", f", or tables of all these kinds ({table})"
    else:
        values = f"{values} or"
    return _option(
        "--model",
        type=click.Choice(list(known)),
        metavar="NAME",
        help=f"Of counts ({models_that('counts', known)}{of_text}), presence alone "
        f"({models_that('presence', known)}), {values} numbers of categories "
        f"({models_that('categories', known)}){tables}.{settings.pop('more', '')}  [multinomial]",
        **settings,
    )


def _out(what: str, metavar: str, **settings: Any) -> click.Parameter:
    return _option("-o", "--out", metavar=metavar, type=FILE, help=what, **settings)


def _on(what: str) -> click.Parameter:
    return _option("--on", "on", type=Where(), metavar=Where.name, help=what)


_ENGINE = _on("So many workers here (4), or an engine (dask, spark, dask:4), or the address of one "
    "(tcp://HOST:PORT, spark://..., sc://...).  [1]")
# Whose statistics add up wherever they are counted; kinds of columns are known after a look at all.
ADDED = [name for name, kind in MODELS.items() if kind.statistic and kind.takes != "table"]
ALONE = [name for name, kind in MODELS.items() if not kind.regions]  # with a path of their own

_ONE_FILE = _argument("file", metavar="FILE", type=FILE)

SELECT: Some = {
    "": [_ONE_FILE],
    "Input": [_TEXT, _LABEL, _ID, _read("select"), _words("select")],
    "Model": [
        _model(MODELS, default="multinomial"),
        _option("-k", type=Amount(), metavar=Amount.name, help="How many features: 100, or a share "
            "such as 0.01, or all, fdr (all that are significant), or cross-validated: auto "
            "(fewest that do about as well as the best), simplest (within a standard error) or "
            "best.  [100, or all if there are fewer]"),
        _train("select"),
        _choose("select"),
    ],
    "Test": [
        _option("--test", metavar="SHARE|FILE", type=FILE, help="Test on so much of each class, "
            "chosen at random, then train on all rows (0: no test), or on the rows of a file.  "
            "[0.2 unless --read split is given]"),
        _judge("select"),
    ],
    "Result": [
        _option("--markers", type=click.IntRange(min=1), metavar="N", help="Tell, for each class, "
            "N of the features that set it apart from all others (markers.csv)."),
        _option("--quick", is_flag=True, help="Only the features, the model and its test: a plain "
            "report."),
        _out("Where to write.  [result]", "FOLDER", default="result"),
        _FORCE,
        _JSON,
        _QUIET,
    ],
    "Run": [
        config_option(),
        _ENGINE,
        _option("--checkpoint", metavar="FOLDER", type=FILE, help="Keep work done there; a run "
            "killed goes on from it."),
    ],
}

PREDICT: Some = {
    "": [
        _argument("model", metavar="MODEL", type=FILE),
        _argument("file", metavar="FILE", type=FILE),
    ],
    "Input": [
        _AS_TRAINED,
        _option("--truth", "--label", "label", metavar="NAME", help="Column of labels to compare "
            "with."),
        _read("predict"),
    ],
    "Answers": [
        _option("--probabilities", is_flag=True, help="Add the probability of each class."),
        _option("--margin", is_flag=True, help="Add the log-odds of the answer in nats: the rows "
            "with the least are for a person."),
        _option("--threshold", type=Bound(), help="Answer CLASS only where its log-odds are so "
            "many or more, and else the next best; none: answer the likeliest.  [that of --judge "
            "precision or recall in training]"),
        _option("--id", "key", metavar="NAME", help="Column to copy instead of row numbers."),
        _out("Where to write.  [the terminal]", "FILE"),
        _QUIET,
    ],
}

EXPLAIN: Some = {
    "": [
        _argument("model", metavar="RESULT", type=FILE),
        _argument("texts", metavar="[TEXT]...", nargs=-1),
    ],
    "A row of a file": [
        _option("--file", "file", metavar="FILE", type=FILE, help="Explain a row of it."),
        _option("--row", type=click.IntRange(min=1), help="Which row; 1 is the first."),
        _AS_TRAINED,
        _read("explain"),
    ],
    "Answer": [
        _option("-n", "shown", type=click.IntRange(min=1), help="Show so many features.  [20]"),
        _JSON,
    ],
    "The whole result": [
        _option("--report", type=click.Choice(["html", "md", "json"]), help="Render RESULT anew, "
            "from its summary.json: a page, Markdown or JSON."),
        _out("Where to write it.  [RESULT/report.html; md and json: the terminal]", "FILE"),
    ],
}

CV: Some = {
    "": [_ONE_FILE],
    "Input": [_TEXT, _LABEL, _read("cv"), _words("cv")],
    "Models": [
        _model(ALONE, multiple=True, more=" May be repeated: all on the same folds."),
        _option("--ks", type=Grid(), help="Which k.  [about 100, from 1 to all]"),
        _option("--against", type=click.Choice(["logistic"]), help="Judge scikit-learn's logistic "
            "regression, too: all words by tf-idf, or all columns."),
        _train("cv"),
        _choose("cv"),
    ],
    "Folds": [
        _option("--folds", type=Folds(), default=5, help="Parts of the rows; loo leaves out each "
            "row, or each of --read groups, alone.  [5]"),
        _judge("cv"),
    ],
    "Result": [_out("Write all k as CSV.", "FILE"), _JSON, _QUIET],
    "Run": [config_option(), _ENGINE],
}

COUNT: Some = {
    "": [_argument("sources", nargs=-1, required=True, metavar="FILE|RECORD|FOLDER...")],
    "Input": [_TEXT, _LABEL, _ID, _read("count"), _words("count")],
    "Statistics": [_model(ADDED, default="multinomial", more=" What it is trained on is counted.")],
    "Result": [
        _out("A folder, for a record of each FILE; or a name in .npz or .stats, for one record of "
            "all.", "OUT", required=True),
        _QUIET,
    ],
    "Run": [config_option(), _on("So many workers here.  [1]")],
}

DEMO: Some = {"Result": [_out("Where to write.  [naively-demo]", "FOLDER", default="naively-demo"),
                         _FORCE, _QUIET]}  # fmt: skip

_SAID = {  # what a command does, and an example
    "select": ("Select features, train, test, report.",
        "naively select reviews.csv -k 100 --words stop-words=english --test 0.3"),
    "predict": ("Apply a model to more rows.",
        "naively predict result more.csv --out labels.csv --probabilities"),
    "explain": ("Which words moved a decision; a result in another form.",
        'naively explain result "a dull, lovely film"'),
    "cv": ("What every number of features reaches, and how well it predicts.",
        "naively cv reviews.csv --model multinomial --model bernoulli --ks 10,100,1000"),
    "count": ("Count files of any size by class; add records.",
        "naively count 'data/*.parquet' --out records && naively select records -k 100"),
    "demo": ("Do the whole job on data that is already here.", "naively demo --out naively-demo"),
}
# fmt: on


def command(
    group: click.Group, name: str, options: Some
) -> Callable[[Callable[..., Any]], click.Command]:
    """Return what makes a function a command with these options, and an example below its help."""
    groups = {heading: tuple(str(each.name) for each in some) for heading, some in options.items()}
    params = [each for some in options.values() for each in some]
    said, example = _SAID[name]
    return group.command(
        name, cls=Command, params=params, short_help=said, example=example, groups=groups
    )

"""The job of `naively select` on data in memory.

Data in memory are written down and read as a file is: one reader, one learner, the same result.
"""

from __future__ import annotations

import csv
import io
import os
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from html import escape
from importlib import import_module
from pathlib import Path
from typing import Any, final

import numpy as np

from naively._nearest import short
from naively.bridge.cells import is_anndata, written_anndata
from naively.bridge.files import estimator_of
from naively.jobs.learn import learn
from naively.jobs.model_file import LabelType, ModelFile
from naively.jobs.repeat import Settings
from naively.jobs.reporting import rendered
from naively.jobs.results import ALSO, RESULT_FILES, write_result
from naively.jobs.settings import Recipe
from naively.read.errors import InputError, OutputError
from naively.read.frame import check_named, column_names, is_frame, labels_in
from naively.report.documents import features_csv
from naively.report.summary import Summary
from naively.statistics.labels import as_given, is_missing
from naively.statistics.matrix import is_sparse
from naively.text.labels import label_text
from naively.work.writing import atomic_directory

_OUTPUT = ("out", "force", "as_json", "json", "quiet", "help", "config")  # of the command
_TABLES = "read|words|choose|train|judge"
_BESIDE = ("split", "groups", "time", "weight")  # settings of `read` that name a column
_TEXTS = ("feature", "class", "also says", "burst")  # columns of features.csv that are no numbers


@final
@dataclass(frozen=True, slots=True)
class Selected:
    """What :func:`naively.select` found; in a notebook it shows the report.

    Attributes
    ----------
    summary : Summary
        The record of the run, from which the report is made: settings, classes, features,
        certificate, evaluation, notes.
    file : ModelFile
        The model as it is written.
    features : data frame, or list of dict
        The selected features with their figures, as in `features.csv`, best first: a frame of the
        kind that was given (pandas, polars, Arrow), otherwise a record for each.
    model : classifier
        The fitted estimator, as :func:`naively.load` gives it.
    frames : str
        Module of the frames of `features`; empty for records.
    given : mapping or None
        What repeats the run (`run.toml`); None for data in memory.

    See Also
    --------
    select : What makes it.
    """

    summary: Summary
    file: ModelFile
    frames: str = ""
    given: Settings | None = None

    @property
    def features(self) -> Any:
        """The selected features with their figures, best first."""
        records = list(csv.DictReader(io.StringIO(features_csv(self.summary))))
        rows = [{name: _figure(name, cell) for name, cell in row.items()} for row in records]
        if not self.frames:
            return rows
        module = import_module(self.frames)
        columns = {name: [row[name] for row in rows] for name in (records[0] if records else ())}
        return module.table(columns) if self.frames == "pyarrow" else module.DataFrame(columns)

    @property
    def model(self) -> Any:
        """The fitted estimator."""
        return estimator_of(self.file)

    def save(self, folder: str | os.PathLike[str], *, force: bool = False) -> None:
        """Write the files that `naively select` writes: features, model, report, summary.

        Parameters
        ----------
        folder : str or path-like
            Where to write; it appears when all is done. An earlier result there is replaced.
        force : bool, default=False
            Whether to write into a folder with other files in it.

        Raises
        ------
        OSError
            If the result cannot be written; the folder is then as it was before.
        """
        try:
            with atomic_directory(folder, RESULT_FILES, sometimes=ALSO, force=force) as place:
                write_result(place, self.summary, self.file, self.given)
        except OutputError as error:
            raise OutputError(_in_python(str(error)).replace("`out`", "`folder`")) from error

    def _repr_html_(self) -> str:
        page = escape(rendered(self.summary, "html"))
        style = "width:100%;height:48em;border:1px solid #8888"
        return f'<iframe title="naively" srcdoc="{page}" style="{style}"></iframe>'

    def __repr__(self) -> str:
        n = len(self.summary.features)
        said = "".join(f"\n{note}" for note in self.summary.notes)
        return f"<Selected: {n:,} of {self.summary.n_features:,} features, {self.file.kind}>{said}"


def _figure(name: str, cell: str) -> Any:
    if name in _TEXTS:
        return cell
    try:
        return int(cell)
    except ValueError:
        return float(cell) if cell else None


def select(
    table: Any,
    *,
    label: Any = None,
    text: str | Sequence[str] | None = None,
    model: str = "multinomial",
    k: int | float | str | None = None,
    **options: Any,
) -> Selected:
    """Select features, train a classifier on them and test it, as `naively select` does.

    Parameters
    ----------
    table : data frame, AnnData, path, list of str, or matrix
        A frame of pandas, polars or Arrow; AnnData, of which `X`, or the layer that `read={"layer":
        ...}` names, is taken; a file that the command reads, or a pattern of files; texts; or a
        matrix of numbers, dense or sparse, of shape (n_samples, n_features).
    label : str or array-like of shape (n_samples,), default=None
        Column of labels (of AnnData, in `obs`), by default `label`; or the labels themselves,
        which texts and matrices need.
    text : str or list of str, default=None
        Columns of text. By default `text`, if a frame has such a column, and otherwise all other
        columns are features, and hold numbers. Of a file, as in the command.
    model : str, default="multinomial"
        Which model: a name that the command knows.
    k : int, float or str, default=None
        Number of features, a share of them, "all", "auto", "simplest", "best" or "fdr"; by
        default 100, or all if there are fewer.
    **options : dict
        Further options of `naively select` by their names: `test=0.3` (or a file, or a frame),
        `markers=5`, `quick=True`; and its tables, as mappings: `words={"ngrams": (1, 2),
        "stop_words": "english"}` (or a list of words), `choose={"require": ["a", "b"]}`,
        `judge={"recall": {"spam": 0.95}}`, `read`, `train`.

    Returns
    -------
    selected : Selected
        With `features`, `summary`, `model` and `save`; the report in a notebook.

    Raises
    ------
    ValueError
        If the data or an option cannot be used.

    See Also
    --------
    load : The model of a result that was saved.

    Examples
    --------
    >>> import naively
    >>> texts = ["big sale", "sale now", "team notes", "notes of a meeting"] * 5
    >>> found = naively.select(texts, label=["spam", "spam", "ham", "ham"] * 5, k=2)
    >>> [row["feature"] for row in found.features]
    ['notes', 'sale']
    >>> found.model.predict(["the sale"])
    array(['spam'], dtype='<U4')
    """
    _commands()
    asked: dict[str, Any] = {"model": model, "k": k, **options}
    for name in _BESIDE:
        given = (options.get("read") or {}).get(name)
        if not isinstance(given, str | None):
            raise ValueError(
                f"`read` {name} must be the name of a column; got {short(repr(given))}: give a "
                "frame that has it as a column."
            )
    label_type: LabelType = "text"
    with tempfile.TemporaryDirectory(prefix="naively-") as folder, _said_in_python(folder):
        place = Path(folder)
        of_file = isinstance(table, str | os.PathLike)
        if of_file:
            source, kind = os.fspath(table), ""
            asked |= {"label": label, "text": text}
        else:
            source, kind, found = _written(place / "table", table, label, text, asked)
            numbers = {"numbers": True} if found.pop("numbers", False) else {}
            asked |= {**found, "read": {**(options.get("read") or {}), **numbers}}
            label_type = _label_type(labels := _labels(table, label))
            _refuse_one_category(table, label, labels)
        test = asked.get("test")
        if test is not None and not isinstance(test, str | os.PathLike | float | int):
            same = is_anndata(test) if is_anndata(table) else is_frame(test)
            if not isinstance(label, str | None) or not same:
                raise ValueError(
                    "`test` must be a share, a file, or a frame with the column of labels."
                )
            of_file = False
            asked["test"] = _written(place / "test", test, label, text, asked)[0]
        words = dict(options.get("words") or {})
        for name in ("stop_words", "stop-words"):
            if not isinstance(words.get(name), str | os.PathLike | None):
                path = place / "stop_words.txt"
                path.write_text("\n".join(words[name]), "utf-8")
                of_file = False
                asked["words"] = {**words, name: path}
        recipe = _recipe(source, asked)
        summary, file = learn(recipe)
    if not of_file:  # but for data in memory, a run is repeated by its settings
        told = {"label": label, "text": text, "model": model, "k": k, **options}
        summary = _named_in_python(summary, _call(table, told), folder)
    given = recipe.given if of_file else None
    return Selected(summary, replace(file, label_type=label_type), kind, given)


def _commands() -> Any:
    try:
        return import_module("naively.cli.commands")
    except ModuleNotFoundError as error:
        raise ImportError(
            f"`select` has the options and the report of the command, and needs {error.name}; "
            "install them with: pip install 'naively[cli]'"
        ) from error


# Data ------------------------------------------------------------------------------------------


def _written(
    path: Path, table: Any, label: Any, text: str | Sequence[str] | None, options: Mapping[str, Any]
) -> tuple[str, str, dict[str, Any]]:
    """Write data to a file; return its name, the module of its frames, and what it holds."""
    if is_anndata(table):
        return _written_cells(path, table, label, text, options)
    if is_frame(table):
        return _written_frame(path, table, label, text, options)
    if label is None or isinstance(label, str):
        raise ValueError("`label` must be the labels of the rows, where `table` has no columns.")
    if text is not None:
        raise ValueError("`text` names columns of a table, and `table` has none; leave it out.")
    if is_sparse(table) or getattr(table, "ndim", 1) == 2:
        labels = np.array(given := _labels(table, label))
        if labels.dtype.kind == "O":  # of text, nothing stands for a missing label
            labels = np.array([label_text(each) or "" for each in given])
        path = path.with_suffix(".npz")
        if is_sparse(table):
            rows = table.tocsr()
            arrays = {name: getattr(rows, name) for name in ("data", "indices", "indptr")}
            np.savez(path, format=b"csr", shape=rows.shape, y=labels, **arrays)
        else:
            np.savez(path, X=np.asarray(table), y=labels)
        return str(path), "", {"label": "y"}
    pa = _arrow()
    texts = table.to_list() if hasattr(table, "to_list") else list(table)
    columns = {"text": pa.array(texts, pa.large_string()), "label": _labels(table, label)}
    return _parquet(path, pa.table(columns)), "", {"text": ("text",), "label": "label"}


def _written_cells(
    path: Path, adata: Any, label: Any, text: Any, options: Mapping[str, Any]
) -> tuple[str, str, dict[str, Any]]:
    if text is not None:
        raise ValueError("`text` names columns of text, and AnnData has none; leave it out.")
    columns, labels = _beside(options), None
    if isinstance(label, str | None):
        columns = [label or "label", *columns]
    else:
        values, label = _labels(adata, label), _free_name(columns)
        labels = {label: values}
    read = options.get("read") or {}
    file = written_anndata(path, adata, list(dict.fromkeys(columns)), read, labels)
    return file, "pandas", {"text": (), "label": label}


def _free_name(names: Sequence[str]) -> str:
    """Name of a column of labels that none has."""
    return next(name for name in ("label", *map("label {}".format, names)) if name not in names)


def _written_frame(
    path: Path, table: Any, label: Any, text: str | Sequence[str] | None, options: Mapping[str, Any]
) -> tuple[str, str, dict[str, Any]]:
    pa, names = _arrow(), column_names(table)
    strangers = [name for name in names if not isinstance(name, str)]
    if strangers:
        raise ValueError(f"The columns of `table` must have names; one is called {strangers[0]!r}.")
    if options["model"] == "mixed":  # a table as it is; texts are the columns that are named
        numbers, texts = False, (text,) if isinstance(text, str) else tuple(text or ())
    else:
        numbers = bool((options.get("read") or {}).get("numbers")) or (
            text is None and "text" not in names
        )
        texts = () if numbers else (text,) if isinstance(text, str) else tuple(text or ("text",))
    own = label if isinstance(label, str) else None
    if label is not None and own is None:
        own = _free_name(names)
    beside = _beside(options)
    if texts and options["model"] != "mixed":
        wanted = [*texts, *beside, *([own or "label"] if isinstance(label, str | None) else [])]
        check_named(table, wanted)
        table = _columns(table, list(dict.fromkeys(wanted)))
    if not isinstance(label, str | None):
        labels = pa.array(_labels(table, label))
    rows = _as_arrow(table)
    if not isinstance(label, str | None):
        rows = rows.append_column(own, labels)
    if numbers and (own or "label") in rows.column_names:  # the first may be one of names of rows
        others = [name for name in rows.column_names if name != (own or "label")]
        rows = rows.select([own or "label", *others])
    kind = type(table).__module__.partition(".")[0]
    found: dict[str, Any] = {"text": texts, "label": own}
    return _parquet(path, rows), kind, found | ({"numbers": True} if numbers else {})


def _beside(options: Mapping[str, Any]) -> list[str]:
    """Columns that options name beside labels and texts."""
    read = options.get("read") or {}
    found = [read[name] for name in _BESIDE if read.get(name) is not None]
    return found + ([options["id"]] if options.get("id") is not None else [])


def _columns(table: Any, names: list[str]) -> Any:
    return table.loc[:, names] if hasattr(table, "iloc") else table.select(names)


def _as_arrow(table: Any) -> Any:
    pa = _arrow()
    try:
        if hasattr(table, "iloc"):
            return pa.Table.from_pandas(table, preserve_index=False)
        return _storable(pa.table(table))
    except (pa.ArrowException, TypeError) as error:
        raise ValueError(
            f"`table` has a column that is of no type of Arrow ({type(error).__name__}); make its "
            "values strings or numbers, or leave it out."
        ) from None


def _storable(rows: Any) -> Any:
    """Columns of categories as Parquet can hold them: those of polars have views of strings."""
    pa = _arrow()
    for i, field in enumerate(rows.schema):
        if pa.types.is_dictionary(field.type):
            parts = [
                pa.DictionaryArray.from_arrays(part.indices, part.dictionary.cast("large_string"))
                for part in rows.column(i).chunks
            ]
            kind = pa.dictionary(field.type.index_type, pa.large_string())
            rows = rows.set_column(i, field.name, pa.chunked_array(parts, kind))
    return rows


def _arrow() -> Any:
    try:
        return import_module("pyarrow")
    except ModuleNotFoundError as error:
        raise ImportError(
            "`select` on data in memory needs pyarrow; install it with: pip install "
            "'naively[arrow]', or pass the name of a file."
        ) from error


def _parquet(path: Path, rows: Any) -> str:
    path = path.with_suffix(".parquet")
    import_module("pyarrow.parquet").write_table(rows, path)
    return str(path)


def _labels(table: Any, label: Any) -> list[Any]:
    """Labels of the rows, as Python has them: of one kind, None where one is missing."""
    if isinstance(label, str | None):
        return labels_in(table.obs if is_anndata(table) else table, label or "label")
    found = as_given(label)
    n = table.shape[0] if hasattr(table, "shape") else len(table)
    if found.ndim != 1 or len(found) != n:
        raise ValueError(
            f"`label` must have one label for each of the {n:,} rows; got shape {found.shape}."
        )
    plain = (each.item() if isinstance(each, np.generic) else each for each in found.tolist())
    labels = [None if is_missing(each) else each for each in plain]
    several = len({type(each) for each in labels if each is not None}) > 1
    return [None if each is None else label_text(each) for each in labels] if several else labels


def _refuse_one_category(table: Any, label: Any, labels: list[Any]) -> None:
    """Refuse a categorical column of which one category alone has rows: others were filtered."""
    if isinstance(label, str | None):
        rows = table.obs if is_anndata(table) else table
        label = rows[label or "label"]
    known = getattr(getattr(label, "cat", label), "categories", None)  # of pandas
    if known is None:
        return
    empty = [each for each in known if each not in set(labels)]
    if empty and len(known) - len(empty) < 2:
        only = "".join(f" ({short(each)})" for each in known if each not in empty)
        others = ", ".join(map(short, empty[:5])) + ", ..." * (len(empty) > 5)
        raise ValueError(
            f"`label` has rows of one category only{only}, and none of {others}; two or more are "
            "needed to tell apart: give rows of the others too."
        )


def _label_type(labels: list[Any]) -> LabelType:
    """Of labels that their spelling gives back."""
    kinds = {type(label) for label in labels if label is not None}
    if kinds in ({int}, {float}):
        return "int" if int in kinds else "float"
    return "bool" if kinds == {bool} and label_text(True) == "True" else "text"


# Options ---------------------------------------------------------------------------------------


def _recipe(source: str, asked: Mapping[str, Any]) -> Recipe:
    """Return what the learner is asked, from options that the command checks."""
    import click

    commands, recipes = _commands(), import_module("naively.cli.recipes")
    arguments = [f"--out={os.devnull}"]
    for name, value in asked.items():
        if name in _OUTPUT:
            raise ValueError(f"`{name}` is of the command; write the result with `save`.")
        arguments += _arguments("-k" if name == "k" else f"--{name.replace('_', '-')}", value)
    try:
        context = commands.select.make_context("select", [*arguments, "--", source])
        with context:
            recipe: Recipe = recipes.recipe_of(context.params)
    except click.UsageError as error:
        raise ValueError(error.format_message()) from None
    except click.exceptions.Exit:
        raise ValueError("help is of the command; in Python see `naively.select`.") from None
    return replace(recipe, given={n: v for n, v in recipe.given.items() if n != "out"})


def _arguments(option: str, value: Any) -> list[str]:
    if value is None or value is False:
        return []
    if value is True:
        return [option]
    if isinstance(value, Mapping):  # a table
        settings = (
            f"{name.replace('_', '-')}={_text(name, each)}"
            for name, said in value.items()
            for each in _all(name, said)
        )
        return [part for setting in settings for part in (option, setting)]
    joint = "" if option == "-k" else "="
    return [f"{option}{joint}{_text(option, each)}" for each in _all(option, value)]


def _all(name: str, value: Any) -> list[Any]:
    """Values of a setting, one by one: lists and mappings are of settings that may be repeated."""
    if value is None:
        return []
    if isinstance(value, Mapping):
        return [f"{key}={each}" for key, each in value.items()]
    return list(value) if isinstance(value, list | tuple) and name != "ngrams" else [value]


def _text(name: str, value: Any) -> str:
    if isinstance(value, tuple | list):  # sizes of n-grams
        return ",".join(map(str, value))
    if isinstance(value, bool | np.bool_):
        return str(value).lower()
    return str(os.fspath(value) if isinstance(value, os.PathLike) else value)


def _call(table: Any, told: Mapping[str, Any]) -> str:
    """Spell the call on data in memory, for the report."""
    first = repr(os.fspath(table)) if isinstance(table, str | os.PathLike) else "table"
    plain = (str, int, float, bool, list, tuple, dict)
    asked = [
        f"{name}={value!r}"
        if isinstance(value, plain) and len(repr(value)) <= 100
        else f"{name}=..."
        for name, value in told.items()
        if value is not None
    ]
    return f"naively.select({', '.join([first, *asked])})"


@contextmanager
def _said_in_python(folder: str) -> Iterator[None]:
    """Let errors name parameters instead of options, and data in memory instead of their file."""
    try:
        yield
    except ValueError as error:
        said = re.sub(r"^X(?= has )", "`table`", _in_python(str(error), folder))
        raise InputError(said) from None


def _in_python(said: str, folder: str = "") -> str:
    """Name parameters instead of options, and data in memory instead of a file in a folder."""
    said = _without_files(said, folder)
    said = re.sub(rf"`?--({_TABLES}) ([a-z-]+(?:=[^\s`;,]+)?)`?", r"`\1` \2", said)
    said = re.sub(r"`?--([a-z][a-z-]*)`?", lambda m: f"`{m[1].replace('-', '_')}`", said)
    return re.sub(r"(?<!\w)`?-k\b`?", "`k`", said)


def _without_files(said: str, folder: str) -> str:
    """Name data in memory as the call does, instead of the file that they were written to."""
    place = f"(?:{re.escape(folder)}{re.escape(os.sep)})?"
    return re.sub(rf"{place}\b(table|test|stop_words)\.(?:parquet|npz|h5ad|txt)\b", r"`\1`", said)


def _named_in_python(summary: Summary, call: str, folder: str) -> Summary:
    """Return a summary that names data in memory as the call does."""
    tested, path = summary.evaluation, summary.path
    if tested is not None:
        tested = replace(tested, method=_without_files(tested.method, folder))
    if path is not None and path.accuracy_of is not None:
        path = replace(path, accuracy_of=_without_files(path.accuracy_of, folder))
    files = (replace(each, name=_without_files(each.name, folder)) for each in summary.files)
    return replace(
        summary, evaluation=tested, path=path,
        files=tuple(replace(each, name=each.name.strip("`")) for each in files),
        notes=tuple(_in_python(each, folder) for each in summary.notes),
        settings=replace(summary.settings, command=call),
    )  # fmt: skip

"""What a model makes of a text, or of a row of a file: its decision, taken apart."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TextIO

from naively.jobs.model_file import load_model
from naively.jobs.predict import eye_of, model_file, rows_of
from naively.jobs.reasons import Explanation, explain_row
from naively.judging.rows import dense_row
from naively.read.batch import batch_of_texts
from naively.read.errors import InputError
from naively.read.layout import Layout


def explain_text(model_path: str, texts: Sequence[str]) -> Explanation:
    """Explain what a model of texts makes of one.

    Parameters
    ----------
    model_path
        A model file, or the result folder with one.
    texts
        One for each column of text of the training; a single one will do for a model that reads
        them together.

    Raises
    ------
    InputError
        If the model cannot be read, or takes something else.
    """
    model = load_model(model_file(model_path))
    if model.features is None:
        what = "a table of numbers, not on text"
        if model.variables is not None:
            what = "a table with columns of several kinds, not on text alone"
        raise InputError(
            f"{model_path}: was trained on {what}; give the row to explain with --file FILE --row "
            "N."
        )
    wanted = model.text_columns
    if len(texts) != len(wanted) and (len(texts) != 1 or model.n_regions > 1):
        each = "one TEXT" if len(wanted) == 1 else "one TEXT for each, in this order"
        raise InputError(
            f"{model_path}: takes {len(wanted)} text{'s' * (len(wanted) > 1)} "
            f"({', '.join(wanted)}), {len(texts)} given; give {each}."
        )
    # A text on the command line is a list of what blanks separate, where rows are lists.
    listed = model.features.analyzer == "tokens"
    cells = [text.split() for text in texts] if listed else list(texts)
    return explain_row(model, dense_row(eye_of(model)(batch_of_texts(cells)), 0))


def explain_file(model_path: str, source: str, row: int, layout: Layout) -> Explanation:
    """Explain what a model makes of one row of a file, 1 is the first.

    Raises
    ------
    InputError
        If the model or the file cannot be read, or there is no such row.
    """
    model, before = load_model(model_file(model_path)), 0
    for batch, X in rows_of(model, source, layout):
        if row <= before + len(batch):
            return explain_row(model, dense_row(X, row - 1 - before))
        before += len(batch)
    if not before:
        raise InputError(f"{source}: there are no rows to explain; give a file with data in it.")
    raise InputError(
        f"{source}: `--row` must be in 1 to {before:,}, the number of its rows; got {row:,}."
    )


def text_of(argument: str, stdin: TextIO) -> str:
    """Return the text of an argument: itself, or all of the input for `-`."""
    return str(stdin.read()) if argument == "-" and not os.path.exists("-") else argument

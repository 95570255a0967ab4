"""Which way a job goes: in streams where they give the same, else with all rows in memory."""

from __future__ import annotations

import os
from importlib.util import find_spec

from naively.estimators.parameters import is_auto
from naively.io.formats import format_by_name
from naively.io.samples import is_text
from naively.jobs.engines import Engine
from naively.jobs.records import Counting
from naively.jobs.settings import SelectJob
from naively.jobs.streamed import StreamedJob
from naively.jobs.totals import TRAINED_BY_TOTALS
from naively.scale.parts import Layout
from naively.scale.sources import holds_strings


def streamed_job(job: SelectJob) -> StreamedJob | None:
    """Return a job as one for streams on this machine; None where rows must be in memory.

    Streams take files of one column of text, words that they find, count and presence models, and a
    number of features that is given. They need the extra `arrow`.

    Raises
    ------
    InputError
        If the name of the file does not tell what it is.
    """
    beside = (job.layout.labels_file, job.layout.names_file, job.test.labels_file, job.model.image)
    trained = job.model.kind in TRAINED_BY_TOTALS and not is_auto(job.model.k)
    if any(beside) or not trained or find_spec("pyarrow") is None:
        return None
    if not is_text(job.input, job.layout) or len(job.text.columns) != 1:
        return None
    streamed = in_streams(job, Engine())
    layout, column = streamed.counting.layout, job.text.columns[0]
    files = [(job.input, layout.format)]
    if job.test.file is not None:
        files.append((job.test.file, streamed.test_layout.format))
    readable = all(
        os.path.isfile(name)
        and (format != "parquet" or holds_strings(name, column, lists=job.layout.tokens))
        for name, format in files
    )
    return streamed if readable else None


def is_matrix(input: str, format: str | None = None) -> bool:
    """Whether a file holds a matrix, by its format or its name."""
    if format is None and input.lower().endswith(".csr"):  # a folder of mapped arrays
        return True
    return (format or format_by_name(input)) in ("svmlight", "npz", "h5ad")


def in_streams(job: SelectJob, engine: Engine, checkpoint: str | None = None) -> StreamedJob:
    """Return a job as one for streams, on any engine."""
    numbers = job.layout.numbers or is_matrix(job.input, job.layout.format)
    column = None if numbers else job.text.columns[0]
    given, tested = job.layout.format, job.test.file
    layout = source_layout(job, given or format_by_name(job.input), column, job.test.split_column)
    # A format that was given is that of the training file; another name may say otherwise.
    test_format = (format_by_name(tested) if tested else None) or given
    return StreamedJob(
        counting=Counting(
            files=(job.input,),
            layout=layout,
            text=None if numbers else job.text,
            presence=job.model.binary or job.model.kind == "bernoulli",
        ),
        test_layout=source_layout(job, test_format, column, None),
        model=job.model,
        test=job.test,
        engine=engine,
        out=job.out,
        force=job.force,
        command=job.command,
        quick=job.quick,
        checkpoint=checkpoint,
    )


def source_layout(
    job: SelectJob, format: str | None, column: str | None, split: str | None
) -> Layout:
    """Say to streams where things stand."""
    style = job.layout.style
    return Layout(
        label=job.layout.label or "label",
        text=column,
        format=format,
        delimiter=style.delimiter,
        split=split,
        quotes=style.quotes,
        header=style.header,
        encoding=style.encoding,
    )

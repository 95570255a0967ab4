"""Render a result anew, in any form, from its summary."""

from __future__ import annotations

from pathlib import Path

from naively._versions import VersionError
from naively.read.bytes import opened
from naively.read.errors import InputError
from naively.report.charts import charts_of
from naively.report.documents import summary_json
from naively.report.markdown import summary_markdown
from naively.report.page import summary_html
from naively.report.reading import summary_of_json
from naively.report.summary import Summary

SUMMARY = "summary.json"


def read_summary(result: str) -> Summary:
    """Read the summary of a result folder, or a summary file itself.

    Raises
    ------
    InputError
        If there is none, or the file is something else.
    """
    path = Path(result)
    if path.is_dir():
        if not (path / SUMMARY).exists():
            raise InputError(
                f"{result}: holds no {SUMMARY}; name the folder that `naively select` wrote."
            )
        path = path / SUMMARY
    with opened(str(path)) as file:
        data = file.read()
    try:
        return summary_of_json(data.decode("utf-8"))
    except VersionError as error:
        raise InputError(f"{path}: {error}") from error
    except ValueError as error:
        raise InputError(
            f"{path}: {error}; give the folder that `naively select` wrote."
        ) from error


def rendered(summary: Summary, form: str) -> str:
    """Render a summary as "html", "md" or "json"."""
    if form == "html":
        return summary_html(summary, charts_of(summary))
    return summary_markdown(summary) if form == "md" else summary_json(summary)

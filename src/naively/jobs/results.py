"""The files of a result."""

from __future__ import annotations

from pathlib import Path

from naively.jobs.model_file import ModelFile, save_model
from naively.jobs.repeat import Settings, toml_of
from naively.report.charts import charts_of
from naively.report.documents import features_csv, markers_csv, summary_json
from naively.report.page import summary_html
from naively.report.summary import Summary

RESULT_FILES = ("features.csv", "model.npz", "report.html", "summary.json")
ALSO = ("markers.csv", "run.toml")  # with --markers; of files


def write_result(folder: Path, summary: Summary, model: ModelFile, given: Settings | None) -> None:
    """Write the files of a result into a folder; `given`, if there is any, repeats the run."""
    for name, document in (
        ("features.csv", features_csv(summary)),
        *([("markers.csv", markers_csv(summary))] if summary.markers else []),
        ("summary.json", summary_json(summary)),
        *([] if given is None else [("run.toml", toml_of(given))]),
        ("report.html", summary_html(summary, charts_of(summary))),
    ):
        # Names of files may hold bytes that are no text; they are spelled out.
        (folder / name).write_text(document, "utf-8", "backslashreplace", newline="")
    with (folder / "model.npz").open("wb") as file:
        save_model(model, file)

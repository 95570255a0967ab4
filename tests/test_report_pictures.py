"""Pictures of the features, rows that contrast, and what was read."""

import csv
import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from naively.cli.commands import naively
from naively.report import pictures
from naively.report.page import summary_html
from naively.report.summary import ClassRow
from test_report import summary_of

FIGURES = {  # weight of the second class against the first, and rows
    "free": (3.0, 1000), "win": (5.0, 10), "you": (-0.5, 900), "lor": (-4.0, 20), "i": (-1.0, 100),
}  # fmt: skip


def words_of():
    summary = summary_of(list(FIGURES))
    rows = tuple(
        replace(row, weights=(-weight, weight), counts=(0.0, float(n)))
        for row, (weight, n) in zip(summary.features, FIGURES.values(), strict=True)
    )
    return replace(summary, features=rows, settings=replace(summary.settings, of_text=True))


def test_points_stand_where_their_logarithm_and_weight_are():
    for drawn in pictures.scatters(words_of()):
        weights, counts = zip(*FIGURES.values(), strict=True)
        for places, values in ((drawn.x, np.log10(counts)), (drawn.y, weights)):
            slope, start = np.polyfit(values, places, 1)
            np.testing.assert_allclose(np.polyval([slope, start], values), places, atol=0.06)
        assert drawn.left <= min(drawn.x) <= max(drawn.x) <= drawn.right
        assert drawn.top <= min(drawn.y) <= max(drawn.y) <= drawn.bottom
        ticks = {float(t.text.replace(",", "")): t.x for t in drawn.ticks_x}
        assert ticks[10] == drawn.x[1]
        assert ticks[1000] == drawn.x[0]
        heights = {float(t.text.replace("\N{MINUS SIGN}", "-")): t.y - 4 for t in drawn.ticks_y}
        assert heights[0] == drawn.zero
        assert heights[-4] == drawn.y[3]
        assert {label.text for label in drawn.names} == set(FIGURES)


def test_no_name_stands_on_another_or_on_a_point():
    rng = np.random.default_rng(0)
    summary = summary_of([f"word{i}" for i in range(300)])
    rows = tuple(
        replace(row, weights=(-w, w), counts=(0.0, n))
        for row, w, n in zip(
            summary.features, rng.normal(size=300), rng.integers(1, 9999, 300), strict=True
        )
    )
    for drawn in pictures.scatters(replace(summary, features=rows)):
        boxes = []
        for label in drawn.names:
            size = 6.0 * len(label.text)
            left = label.x - size * (label.anchor == "end")
            boxes.append((left, left + size, label.y - 9, label.y + 1))
        assert 5 < len(boxes) <= 40
        for i, (a, b, c, d) in enumerate(boxes):
            assert 0 <= a < b <= drawn.width
            for e, f, g, h in boxes[:i]:
                assert b <= e or f <= a or d <= g or h <= c
            for x, y in zip(drawn.x, drawn.y, strict=True):
                assert not (a < x < b and c < y < d)


@pytest.mark.parametrize("change", [{"weights": (-math.inf, math.inf)}, {"counts": (0.0, 0.0)}])
def test_what_has_no_place_on_the_axes_leaves_the_picture_out(change):
    summary = words_of()
    rows = (replace(summary.features[0], **change), *summary.features[1:])
    assert pictures.scatters(replace(summary, features=rows)) is None
    assert "Frequency against weight" not in summary_html(replace(summary, features=rows))


def test_panel_scales_each_feature_and_shares_are_of_the_rows_of_the_class():
    summary = summary_of(["g1"], ("a", "b", "c"))
    classes = tuple(ClassRow(n, rows, 0, None, None) for n, rows in (("a", 4), ("b", 5), ("c", 10)))
    row = replace(summary.features[0], counts=(8.0, 20.0, 10.0), documents=(1.0, 5.0, 0.0))
    panel = pictures.panel(replace(summary, features=(row,), classes=classes))
    ((_, cells),) = panel.rows
    assert [cell.value for cell in cells] == [2.0, 4.0, 1.0]
    np.testing.assert_allclose([cell.shade for cell in cells], [1 / 3, 1, 0])
    assert [cell.share for cell in cells] == [0.25, 1.0, 0.0]
    area = [cell.radius**2 for cell in cells]
    np.testing.assert_allclose(area, np.array([0.25, 1, 0]) * area[1])
    centered = replace(row, centers=(-1.0, 1.0, 0.0), counts=(), documents=())
    panel = pictures.panel(replace(summary, features=(centered,), classes=classes))
    assert [cell.shade for cell in panel.rows[0][1]] == [0, 1, 0.5]
    assert not panel.has_shares
    page = summary_html(replace(summary, features=(row,), classes=classes))
    table = page.split('<table class="panel">')[1].split("</table>")[0]
    assert table.count("<circle") == 3
    for name in "abc":  # above the values, and above the dots
        assert table.count(f"<bdi>{name}</bdi>") == 2


# From files --------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def selected(rows, *options):
    with open("a.csv", "w", newline="") as file:
        csv.writer(file).writerows(rows)
    result = CliRunner().invoke(naively, ["select", "a.csv", *map(str, options)])
    assert result.exit_code == 0, (result.output, result.exception)
    return json.loads(Path("result/summary.json").read_text("utf-8"))


def test_each_feature_has_a_row_of_its_class_and_one_that_contrasts(folder):
    texts = [("good film", "pos"), ("good fun", "pos"), ("not good at all", "neg"), ("bad", "neg")]
    summary = selected([("text", "label"), *texts * 4], "-k", 2, "--test", 0)
    assert summary["settings"]["of_text"]
    rows = {row["name"]: row for row in summary["features"]}
    for name, row in rows.items():
        holding = [(i, label) for i, (text, label) in enumerate(texts, 1) if name in text.split()]
        own = [i for i, label in holding if label == row["speaks_for"]]
        other = [i for i, label in holding if label != row["speaks_for"]]
        assert row["example"]["row"] == own[0]
        assert row["example"]["label"] == row["speaks_for"]
        assert row.get("contrast", {"row": None})["row"] == (other[0] if other else None)


def test_what_was_read_is_told(folder):
    texts = [
        ("good film", "pos"),
        ("a fine one", "POS"),
        ("bad", "neg"),
        ("", "neg"),
        ("dull", "Pos "),
    ]
    summary = selected([("text", "label"), *texts * 4], "-k", 2, "--test", 0)
    profile = summary["profile"]
    assert (profile["rows"], profile["whole"]) == (20, True)
    assert profile["repeated"] == 15  # of five contents
    assert profile["empty"] == 4
    assert [set(each) for each in profile["variants"]] == [{"pos", "POS", "Pos"}]
    page = Path("result/report.html").read_text("utf-8")
    assert "What was read" in page
    assert "<bdi>POS</bdi> / <bdi>Pos</bdi> / <bdi>pos</bdi>" in page


def test_what_was_read_of_numbers(folder):
    rng = np.random.default_rng(0)
    X = rng.poisson(3, size=(30, 4)) + 1
    X[4], X[9] = 0, X[2]
    rows = [[*map(str, x), "ab"[i < 15]] for i, x in enumerate(X.tolist())]
    summary = selected([["u", "v", "w", "x", "label"], *rows], "--read", "numbers", "-k", 2)
    profile = summary["profile"]
    assert (profile["repeated"], profile["empty"]) == (30 - len(np.unique(X, axis=0)), 1)
    assert profile["variants"] == []
    assert "of_text" not in summary["settings"]
    assert "a file that lacks a value is refused" in Path("result/report.html").read_text("utf-8")

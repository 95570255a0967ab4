"""Documents made from the summary: complete, the same every time, and safe with hostile names."""

import base64
import csv
import hashlib
import io
import json
import math
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from naively.report.documents import features_csv, summary_html, summary_json, title, weight_of
from naively.report.names import printable, visible
from naively.report.summary import (
    ClassRow,
    Evaluation,
    FeatureRow,
    FileRow,
    Mistake,
    Settings,
    Summary,
)
from naively.selection.certificate import Certificate

HOSTILE = [
    "</script><script>alert(1)</script>",
    "</style><style>*{display:none}</style>",
    "<img src=x onerror=alert(1)>",
    '"><svg onload=alert(1)>',
    "{{ 7 * 7 }}{% raw %}",
    "[bold red]x[/]",
    "\x1b[31mred\x1b[0m",
    "\x00\x07\r\n\t",
    "\u202egnp.exe",
    "",
    " ",
    "x" * 5000,
    "مرحبا",
    "=HYPERLINK(1)",
    "a,b\nc\"d'e&f",
]


def summary_of(names=("good", "bad"), classes=("neg", "pos"), evaluation=True):
    spread = tuple(float(i) for i in range(len(classes)))
    features = tuple(
        FeatureRow(i + 1, name, 10.0 / (i + 1), classes[-1], spread, tuple(spread))
        for i, name in enumerate(names)
    )
    tested = Evaluation(
        "the rows of test.csv", 8, 4, 0.75, 0.7, classes[0], 0.5, 1, (Mistake(*classes[:2], 1),)
    )
    return Summary(
        settings=Settings(
            "naively select x.csv", "0.1.0", "multinomial", "2", 1.0, False, "n", "t"
        ),
        files=(FileRow("x.csv", "training", 8, 100, "ab" * 32),),
        n_features=1000,
        n_rows=8,
        certificate=Certificate(2, -5.0, -4.5, -20.0, -math.inf, False),
        classes=tuple(ClassRow(name, 4, 2, 0.5, None) for name in classes),
        features=features,
        evaluation=tested if evaluation else None,
        notes=(f"a note with {names[0]}",),
    )


class Page(HTMLParser):
    """Elements with their attributes, and all text, of a page."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.text, self.policy = [], [], ""
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        attributes = dict(attrs)
        assert not any(name.startswith("on") or name == "style" for name in attributes)
        if attributes.get("http-equiv") == "Content-Security-Policy":
            self.policy = attributes["content"]
        assert not attributes.get("src")
        assert not attributes.get("href")

    def handle_data(self, data):
        self.text.append(data)


def test_page_allows_nothing_but_its_own_style():
    page = summary_html(summary_of())
    parsed = Page(page)
    style = page.split("<style>")[1].split("</style>")[0]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert parsed.policy == (
        f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    )
    assert parsed.tags.count("style") == 1
    assert not {"script", "link", "img", "iframe", "object", "form"} & set(parsed.tags)
    assert "http://" not in page
    assert "https://" not in page
    assert "prefers-color-scheme: dark" in style
    assert 'name="viewport"' in page


def test_hostile_names_change_no_element_of_the_page():
    plain = summary_of([f"word{i}" for i in range(len(HOSTILE))], ("c0", "c1"))
    hostile = summary_of(HOSTILE, (HOSTILE[0], HOSTILE[2]))
    parsed = Page(summary_html(hostile))
    assert parsed.tags == Page(summary_html(plain)).tags
    text = "".join(parsed.text)
    for name in HOSTILE:
        assert visible(name) in text
    assert not any(ord(c) < 32 and c != "\n" for c in text)
    assert "\u202e" not in text


def test_hostile_names_survive_csv_and_json_unchanged():
    summary = summary_of(HOSTILE)
    rows = list(csv.reader(io.StringIO(features_csv(summary), newline="")))
    assert [row[1] for row in rows[1:]] == HOSTILE
    record = json.loads(summary_json(summary))
    assert [row["name"] for row in record["features"]] == HOSTILE


def test_csv_columns_and_figures():
    rows = list(csv.reader(io.StringIO(features_csv(summary_of()))))
    assert rows[0] == [
        *("rank", "feature", "gain", "class"),
        *("weight:neg", "weight:pos", "count:neg", "count:pos"),
    ]
    assert rows[1] == ["1", "good", "10.0", "pos", "0.0", "1.0", "0", "1"]


def test_json_is_the_whole_record_and_strict():
    def refuse(constant):
        raise AssertionError(constant)

    text = summary_json(summary_of())
    record = json.loads(text, parse_constant=refuse)
    assert record["format"] == "naively summary"
    assert record["certificate"]["a_priori"] is None  # minus infinity is not JSON
    assert record["certificate"]["gap"] == 0.5
    assert record["certificate"]["sentence"].startswith("These 2 features reach at least")
    assert record["evaluation"]["mistakes"] == [{"truth": "neg", "answer": "pos", "rows": 1}]
    assert text == summary_json(summary_of())


def test_page_shows_at_most_a_thousand_features_and_says_so():
    page = summary_html(summary_of([f"word{i}" for i in range(1200)]))
    assert "word999<" in page
    assert "word1000<" not in page
    assert "200 more in features.csv" in page
    assert len(page) < 1_000_000


@pytest.mark.parametrize("classes", [2, 3, 6, 7, 150])
@pytest.mark.parametrize("evaluation", [True, False])
def test_page_for_any_number_of_classes(classes, evaluation):
    names = tuple(f"class{i}" for i in range(classes))
    page = summary_html(summary_of(classes=names, evaluation=evaluation))
    assert ("How good" in page) == evaluation
    for table in page.split("<table>")[1:]:
        widths = {row.count("</th>") + row.count("</td>") for row in table.split("</tr>")[:-1]}
        assert len(widths) == 1


def test_page_without_any_feature():
    page = summary_html(replace(summary_of(), features=()))
    assert "0 of 1,000 features" in page


def test_titles():
    assert title(summary_of()) == "2 of 1,000 features tell neg from pos"
    assert title(summary_of(classes=tuple("abc"))) == "2 of 1,000 features tell 3 classes apart"


def test_weight_in_one_figure():
    row = FeatureRow(1, "x", 1.0, "b", (-0.5, 0.5, 2.0), (0, 0, 0))
    assert weight_of(replace(row, weights=(-0.5, 0.5)), 2) == 1.0
    assert weight_of(row, 3) == 2.0


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("word", "word"),
        ("two words", "two words"),
        (" th", "␣th"),
        ("e  ", "e␣␣"),
        ("  ", "␣␣"),
        ("", "(empty)"),
        ("a\tb", r"a\x09b"),
        ("\x1b[0m", r"\x1b[0m"),
        ("\u202e", r"\u202e"),
        ("\U000e0001", r"\U000e0001"),
        ("a\u00a0b", "a␣b"),
        ("कर्\u200dम", "कर्\u200dम"),
    ],
)
def test_visible_names(name, shown):
    assert visible(name) == shown
    assert printable(shown) == shown

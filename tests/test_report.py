"""Documents made from the summary: complete, the same every time, and safe with hostile names."""

import base64
import csv
import hashlib
import io
import json
import math
import re
import sys
from dataclasses import replace
from html.parser import HTMLParser

import jinja2
import pytest

from naively.report.charts import charts_of
from naively.report.documents import features_csv, summary_json
from naively.report.markdown import escaped, summary_markdown
from naively.report.names import printable, shortened, visible
from naively.report.page import summary_html
from naively.report.reading import summary_of_json
from naively.report.summary import (
    ClassRow,
    Confusion,
    CoveragePoint,
    Evaluation,
    Example,
    FeatureRow,
    FileRow,
    MarkerRow,
    Mistake,
    PathCurve,
    PathPoint,
    Settings,
    Summary,
)
from naively.report.words import accuracy_interval, certificate_in_words, title, weight_of
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
        FeatureRow(
            *(i + 1, name, 10.0 / (i + 1), classes[-1], spread, tuple(spread)),
            column=i,
            example=Example(i + 1, classes[-1], name, "a text with ", " in it"),
        )
        for i, name in enumerate(names)
    )
    tested = Evaluation(
        *(
            "the rows of test.csv",
            8,
            4,
            0.75,
            0.7,
            0.65,
            classes[0],
            0.5,
            1,
            (Mistake(*classes[:2], 1),),
        ),
        confusion=Confusion(classes[:2], classes, ((1,) * len(classes), (2,) * len(classes))),
        coverage=tuple(CoveragePoint(i / 4, 1 - i / 16, 1 - i / 8) for i in range(1, 5)),
        predicted_error=0.125,
    )
    path = PathCurve(
        2, -20.0, "the test rows", tuple(PathPoint(k, k - 20.0, k - 19.5, 0.5) for k in (1, 2, 30))
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
        path=path,
    )


class Page(HTMLParser):
    """Elements with their attributes, and all text, of a page."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.text, self.policy, self.targets, self.places = [], [], "", [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        attributes = dict(attrs)
        assert not any(name.startswith("on") or name == "style" for name in attributes)
        if attributes.get("http-equiv") == "Content-Security-Policy":
            self.policy = attributes["content"]
        assert not {"src", "xlink:href", "srcdoc", "action"} & set(attributes)
        if "href" in attributes:  # links stay on the page
            self.targets.append(attributes["href"].removeprefix("#"))
            assert attributes["href"].startswith("#")
        if "id" in attributes:
            self.places.append(attributes["id"])

    def handle_data(self, data):
        self.text.append(data)


def digest_of(page, tag):
    content = page.split(f"<{tag}>")[1].split(f"</{tag}>")[0]
    return f"'sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}'"


def test_page_allows_nothing_but_its_own_style_and_script():
    summary = summary_of()
    page = summary_html(summary, charts_of(summary))
    parsed = Page(page)
    assert parsed.policy == (
        f"default-src 'none'; style-src {digest_of(page, 'style')}; "
        f"script-src {digest_of(page, 'script')}; base-uri 'none'; form-action 'none'"
    )
    assert parsed.tags.count("style") == parsed.tags.count("script") == 1
    assert not {"link", "img", "image", "use", "iframe", "object", "form"} & set(parsed.tags)
    assert "http://" not in page.replace("http://www.w3.org/2000/svg", "")  # a name, never opened
    assert "https://" not in page
    assert "url(" not in page
    assert "prefers-color-scheme: dark" in page
    assert "@media print" in page
    assert 'name="viewport"' in page


def test_charts_are_drawn_in_two_sizes_with_the_place_of_each_point():
    summary = summary_of()
    charts = charts_of(summary)
    for drawing in (charts.path.wide, charts.path.narrow):
        left, middle, right = drawing.x
        # k = 1, 2 and 30 on a logarithmic axis
        assert (middle - left) / (right - left) == pytest.approx(math.log(2, 30), abs=0.01)
        assert 0 < drawing.top < drawing.bottom
    assert charts.path.wide.x[-1] > 600 > 400 > charts.path.narrow.x[-1]
    assert charts_of(summary) == charts  # the same bytes for the same record
    assert charts_of(replace(summary, path=None, evaluation=None)).path is None


def test_hostile_names_change_no_element_of_the_page():
    short = [
        f"word{i}" if len(visible(name)) < 100 else "w" * 200 for i, name in enumerate(HOSTILE)
    ]
    plain = summary_of(short, ("c0", "c1"))
    hostile = summary_of(HOSTILE, (HOSTILE[0], HOSTILE[2]))
    parsed = Page(summary_html(hostile, charts_of(hostile)))
    assert parsed.tags == Page(summary_html(plain, charts_of(plain))).tags
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
    assert summary_json(summary_of_json(summary_json(summary))) == summary_json(summary)


def test_json_back_to_the_record_with_figures_that_are_not_finite():
    row = replace(summary_of().features[0], gain=math.inf, weights=(-math.inf, math.inf))
    summary = replace(summary_of(), features=(row,))
    assert summary_json(summary_of_json(summary_json(summary))) == summary_json(summary)


def broken(change):
    record = json.loads(summary_json(summary_of()))
    change(record)
    return json.dumps(record)


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("{", "is not JSON"),
        ("[" * 100_000, "nested|not JSON"),
        ("[]", "not a summary of naively"),
        (broken(lambda r: r.update(format="other")), "not a summary of naively, but 'other'"),
        (broken(lambda r: r.update(version=99)), "version 99"),
        (broken(lambda r: r.update(more=1)), "fields"),
        (broken(lambda r: r.update(n_rows="8")), "summary.n_rows"),
        (broken(lambda r: r.update(n_rows=True)), "summary.n_rows"),
        (broken(lambda r: r["features"][1].pop("gain")), r"summary.features\[1\]"),
        (broken(lambda r: r["features"][0].update(gain=10**400)), "too large"),
    ],
)
def test_json_that_is_no_summary_is_refused_with_its_fault(text, match):
    with pytest.raises(ValueError, match=match):
        summary_of_json(text)


@pytest.mark.parametrize(
    ("place", "value", "fault"),
    [
        (("certificate", "baseline"), math.nan, "NaN is no number"),
        (("certificate", "objective"), "-inf", "leaves more open"),
        (("certificate", "bound"), -30.0, "above its bound"),
        (("classes",), [], "less than two classes"),
        (("features", 0, "weights"), [1.0], "figures for each class"),
        (("features", 1, "counts"), [], "feature 2 has other figures than the first"),
        (("features", 1, "speaks_for"), "nobody", "feature 2 speaks for a class that is none"),
        (("path", "points", 0, "k"), -1, "a number of features is negative"),
        (("evaluation", "test_rows"), 0, "a test must have rows"),
        (("evaluation", "accuracy"), 1.5, "must lie in 0 to 1"),
        (("evaluation", "confusion", "rows"), [], "a row for each class tested"),
        (("evaluation", "confusion", "rows", 0, 0), -1, "counts rows"),
    ],
)
def test_json_that_contradicts_itself_is_refused_with_its_fault(place, value, fault):
    record = json.loads(summary_json(summary_of()))
    inner = record
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    with pytest.raises(ValueError, match=fault):
        summary_of_json(json.dumps(record))


def test_long_names_are_cut_on_the_page_and_whole_in_the_files():
    names, classes = [f"{i}{'y' * 3000}" for i in range(1000)], ("c" * 3000, "d" * 3000)
    summary = summary_of(names, classes)
    rows = tuple(replace(row, example=None) for row in summary.features)  # they are cut already
    summary = replace(summary, features=rows)
    page = summary_html(summary)
    assert len(page.encode()) < 1e6
    assert shortened(names[7]) in page
    assert len(shortened(names[7])) == 120
    assert len(title(summary)) < 200
    assert names[7] in features_csv(summary)
    assert summary_of_json(summary_json(summary)).classes == summary.classes


def test_markdown_holds_the_same_figures_and_shows_names_as_they_are():
    text = summary_markdown(summary_of(HOSTILE, (HOSTILE[0], "b")))
    assert text.startswith("# 15 of 1,000 features tell ")
    assert "**75.0 %** of 4 test rows" in text
    assert "<" not in text.replace("\\<", "")
    for line in text.splitlines():
        if line.startswith("|"):  # no name ends its cell or its line
            assert line.replace("\\|", "").count("|") in (5, 6)
    assert escaped("a|b*c") == "a\\|b\\*c"
    assert "`" * 4 in summary_markdown(
        replace(summary_of(), settings=replace(summary_of().settings, command="naively '```'"))
    )


def test_markdown_has_rows_halves_and_markers_where_the_run_has_them():
    plain = summary_markdown(summary_of())
    assert "| feature | speaks for | gain | weight | count |\n" in plain
    assert "Each class" not in plain
    row = replace(summary_of().features[0], documents=(2.0, 5.0), stability=0.875)
    marker = MarkerRow("po|s", 1, "good", 9.5, 1.25, 0.5, 2.5, 1.75, 0.5, None, 1e-9)
    summary = replace(summary_of(), features=(row,), markers=(marker,))
    text = summary_markdown(summary)
    assert "| feature | speaks for | gain | weight | count | rows | halves |\n" in text
    assert "| good | pos | 10 | +1.00 | 1 | 7 | 87.5 % |\n" in text
    assert "| po\\|s | 1 | good | 9.5 | +1.25 | 2.5 | 50.0 % |  | 1e-09 |\n" in text


def test_a_probability_below_all_floats_is_not_called_0():
    marker = MarkerRow("pos", 1, "good", 950.0, 1.25, 0.5, 2.5, 1.75, 0.5, None, 0.0)
    summary = replace(summary_of(), markers=(marker, replace(marker, pvalue=3e-300)))
    assert "|  | < 1e-300 |\n" in summary_markdown(summary)
    page = summary_html(summary)
    assert re.findall(r">([^>]*e-300)</td>", page) == ["&lt;\xa01e-300", "3e-300"]


def test_sentences_and_numbers_stay_apart_and_together():
    page = summary_html(summary_of())
    assert "halves of the rows.</span> " in page.replace("\n", " ")
    assert not re.search(r"\d %", page.split("<main>")[1].split('<section id="repeat">')[0])


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


def test_thousand_features_of_twenty_classes_stay_under_a_megabyte():
    names = [f"a word of some length {i}" for i in range(1000)]
    summary = summary_of(names, tuple(f"class {i}" for i in range(20)))
    long = Example(12345, "class 19", "a word", "x" * 41, "y" * 41)
    rows = tuple(
        replace(row, weights=(-1.234567,) * 20, counts=(1234.0,) * 20, example=long)
        for row in summary.features
    )
    page = summary_html(replace(summary, features=rows), charts_of(summary))
    assert 300_000 < len(page.encode()) < 1_000_000


@pytest.mark.parametrize("classes", [2, 3, 6, 7, 150])
@pytest.mark.parametrize("evaluation", [True, False])
def test_page_for_any_number_of_classes(classes, evaluation):
    names = tuple(f"class{i}" for i in range(classes))
    page = summary_html(summary_of(classes=names, evaluation=evaluation))
    assert (">test rows</a> recognised" in page) == evaluation
    for table in page.split("<table")[1:]:
        rows = table.split("</table>")[0].split("</tr>")[:-1]
        widths = {row.count("</th>") + row.count("</td>") for row in rows}
        assert len(widths) == 1


@pytest.mark.parametrize("evaluation", [True, False])
def test_links_lead_to_a_place_of_the_page_each(evaluation):
    summary = summary_of([f"word{i}" for i in range(40)], evaluation=evaluation)
    parsed = Page(summary_html(summary))
    assert len(set(parsed.places)) == len(parsed.places)
    assert set(parsed.targets) <= set(parsed.places)
    assert {"features", "proof", "f1", "f12"} <= set(parsed.targets)
    assert ("test" in parsed.targets) == evaluation
    sections = [place for place in parsed.places if place in parsed.targets and place[1:] not in
                {str(i) for i in range(41)}]  # fmt: skip
    order = ["test", "classes", "features", "panel", "coverage", "path", "proof", "repeat"]
    assert sections == [each for each in order if evaluation or each not in ("test", "coverage")]


def test_three_answers_come_first_and_the_certificate_is_a_line():
    page = summary_html(summary_of())
    answers = ["What was found", "How well it decides", "How sure each feature is"]
    places = [page.index(each) for each in [*answers, "How near the optimum", "<nav"]]
    assert places == sorted(places)
    large = re.findall(r"<strong>(.*?)</strong>", page)
    assert large == ["75.0\xa0%"]  # what was not asked is no answer
    assert "<code>--judge stability</code> tells" in page
    shares = [1.0, 0.9, 0.89]
    rows = summary_of("abc").features
    firm = tuple(replace(row, stability=s) for row, s in zip(rows, shares, strict=True))
    page = summary_html(replace(summary_of(), features=firm))
    assert re.findall(r"<strong>(.*?)</strong>", page) == ["75.0\xa0%", "2 of 3"]
    assert "90 of 100 random halves" in page
    assert "(least: 89)" in page


def test_mistakes_have_their_share_of_the_class():
    summary = summary_of(classes=("a", "b", "c"))
    page = summary_html(summary)
    row = re.search(
        r'<table class="sortable" id="mistake-table".*?<tbody>\s*(<tr>.*?</tr>)', page, re.S
    )
    assert re.findall(r">([^<]+)</(?:bdi|td)>", row[1]) == ["a", "b", "1", "50.0\xa0%"]


def test_page_does_without_what_a_run_did_not_measure():
    summary = replace(summary_of(), path=None, evaluation=None, notes=())
    rows = tuple(replace(row, example=None, counts=()) for row in summary.features)
    page = summary_html(replace(summary, features=rows))
    assert "not tested" in page
    assert "Every k" not in page


def test_interval_of_the_accuracy_is_wilsons():
    low, high = accuracy_interval(replace(summary_of().evaluation, accuracy=0.75, test_rows=20))
    z2 = 1.959963984540054**2
    for end in (low, high):  # both ends solve (p - end)^2 = z^2 end (1 - end) / n
        assert (0.75 - end) ** 2 == pytest.approx(z2 * end * (1 - end) / 20)
    assert low < 0.75 < high


def test_certificate_in_plain_words_has_the_figures():
    open_, proven = (
        Certificate(2, -5.0, bound, -20.0, -math.inf, bound == -5.0) for bound in (-4.5, -5.0)
    )
    words = " ".join(certificate_in_words(open_))
    assert "15 nats better than with no feature" in words
    assert "can gain more than 15.5 nats" in words
    assert "at least 96.7741 %" in words  # 15 / 15.5, rounded down
    assert (
        certificate_in_words(proven)[-1] == "The features reach it, so no other choice is better."
    )


def test_page_without_any_feature():
    page = summary_html(replace(summary_of(), features=()))
    assert "0 of 1,000 features" in page


def test_titles():
    assert title(summary_of()) == "2 of 1,000 features tell neg from pos"
    assert title(summary_of(classes=tuple("abc"))) == "2 of 1,000 features tell 3 classes apart"


def test_weight_in_one_figure():
    row = FeatureRow(1, "x", 1.0, "b", (-0.5, 0.5, 2.0), (0, 0, 0))
    assert weight_of(replace(row, weights=(-0.5, 0.5)), 2) == 0.5  # as features.csv has it
    assert weight_of(replace(row, weights=(0.5, -0.5)), 2) == -0.5
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


def test_the_template_is_compiled_once_and_again_where_that_cannot_be_kept(tmp_path, monkeypatch):
    compiled = []

    def noting(self, source, *more, **options):
        compiled.append(1)
        return compile_template(self, source, *more, **options)

    compile_template = jinja2.Environment.compile
    monkeypatch.setattr(jinja2.Environment, "compile", noting)
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.setattr(sys, "pycache_prefix", str(tmp_path / "kept"))
    summary = summary_of()
    page = summary_html(summary)
    assert [summary_html(summary), len(compiled)] == [page, 1]
    (file,) = (each for each in (tmp_path / "kept").rglob("*") if each.is_file())
    whole = file.read_bytes()
    for damaged in (b"", whole[:-100], whole[:5000] + b"x" + whole[5001:], b"x" + whole[1:]):
        file.write_bytes(damaged)
        compiled.clear()
        assert [summary_html(summary), len(compiled)] == [page, 1]
    assert file.read_bytes() == whole
    (tmp_path / "file").touch()
    for prefix, dont_write in (("file", False), ("none", True)):
        monkeypatch.setattr(sys, "pycache_prefix", str(tmp_path / prefix))
        monkeypatch.setattr(sys, "dont_write_bytecode", dont_write)
        compiled.clear()
        assert [summary_html(summary), len(compiled)] == [page, 1]
    assert not (tmp_path / "none").exists()

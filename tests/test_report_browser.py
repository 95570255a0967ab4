"""The report in a real browser: opens offline, sorts, finds, reads off values, fits, prints."""

import re
from dataclasses import replace

import pytest

from browser import Browser, executable
from naively.report import pictures
from naively.report.charts import charts_of
from naively.report.names import shortened
from naively.report.page import summary_html
from test_report import HOSTILE, summary_of
from test_report_pictures import words_of

pytestmark = pytest.mark.skipif(
    executable() is None,
    reason="no Chromium on this machine (Debian: apt-get install chromium)",
)

WORDS = ["beta", "Alpha", "gamma", "delta"]


@pytest.fixture(scope="module")
def shared():
    with Browser() as browser:
        yield browser


@pytest.fixture
def browser(shared):
    """Give the browser, and check that nothing it did was complained of or left the page."""
    shared.complaints.clear()
    shared.requests.clear()
    shared.resize(1280, 800)
    shared.scheme("light")
    yield shared
    assert shared.complaints == []
    assert all(url.startswith("file://") for url in shared.requests)
    assert len(shared.requests) <= 1


def show(browser, tmp_path, summary):
    page = tmp_path / "report.html"
    page.write_text(summary_html(summary, charts_of(summary)), "utf-8")
    browser.open(page)


def column(browser, number):
    return browser.value(
        "[...document.querySelectorAll('#feature-table tbody tr:not(.figures):not([hidden])')]"
        f".map(row => row.cells[{number}].firstElementChild?.textContent"
        f" ?? row.cells[{number}].textContent)"
    )


def test_sorting_by_pointer_and_by_keyboard(browser, tmp_path):
    show(browser, tmp_path, summary_of(WORDS))
    assert column(browser, 1) == WORDS
    browser.click("#feature-table thead th:nth-child(2) button")
    assert column(browser, 1) == ["Alpha", "beta", "delta", "gamma"]
    sorted_by = "document.querySelector('#feature-table th[aria-sort]')"
    assert browser.value(f"{sorted_by}.cellIndex") == 1
    browser.key("Enter", "\r")  # the button has the focus
    assert column(browser, 1) == ["gamma", "delta", "beta", "Alpha"]
    assert browser.value(f"{sorted_by}.getAttribute('aria-sort')") == "descending"
    browser.click("#feature-table thead th:nth-child(6) button")  # gain: largest first
    assert column(browser, 1) == WORDS


def test_figures_are_sorted_as_numbers_with_infinity_and_nothing_at_the_ends(browser, tmp_path):
    gains = [9.0, float("inf"), 10.0, 2.0]
    summary = summary_of(WORDS)
    rows = [replace(row, gain=g) for row, g in zip(summary.features, gains, strict=True)]
    show(browser, tmp_path, replace(summary, features=tuple(rows)))
    browser.click("#feature-table thead th:nth-child(6) button")
    assert column(browser, 5) == ["inf", "10", "9", "2"]


def test_finding_by_name_and_class(browser, tmp_path):
    summary = summary_of(WORDS)
    rows = (replace(summary.features[0], speaks_for="neg"), *summary.features[1:])
    show(browser, tmp_path, replace(summary, features=rows))
    browser.click(".tools input")
    browser.type("ALPH")
    assert column(browser, 1) == ["Alpha"]
    assert browser.value("document.querySelector('.tools output').textContent") == "1 of 4"
    browser.value(
        "(() => { const i = document.querySelector('.tools input'); i.value = ''; "
        "const s = document.querySelector('select'); s.selectedIndex = 1;"
        "s.dispatchEvent(new Event('input')); })()"
    )
    assert column(browser, 1) == ["beta"]


def shown(browser):
    return len(column(browser, 1))


def test_twenty_rows_and_more_on_request_or_by_link(browser, tmp_path):
    words = [f"word{i}" for i in range(50)]
    show(browser, tmp_path, summary_of(words))
    assert column(browser, 1) == words[:20]
    more = ".more button[data-of=feature-table]"
    assert browser.value(f"document.querySelector('{more}').textContent") == "Show all 50"
    browser.click("#feature-table thead th:nth-child(1) button")  # the last of them first
    assert column(browser, 1) == words[:29:-1]
    browser.click(".tools input")
    browser.type("word4")
    assert column(browser, 1) == [*words[49:39:-1], "word4"]  # all that fit, if few
    assert not browser.value(f"document.querySelector('{more}').getClientRects().length")
    browser.value("location.hash = '#f31'; new Promise(r => setTimeout(r, 100))")
    assert browser.value("!document.getElementById('f31').hidden")
    assert shown(browser) == 50


def test_the_button_shows_all_rows(browser, tmp_path):
    words = [f"word{i}" for i in range(50)]
    show(browser, tmp_path, summary_of(words))
    more = ".more button[data-of=feature-table]"
    browser.click(more)
    assert column(browser, 1) == words
    assert not browser.value(f"document.querySelector('{more}').getClientRects().length")


def test_names_of_genes_stand_in_one_line(browser, tmp_path):
    genes = ["ENSG00000117318", "HLA-DRB1 /// HLA-DRB4", "1552302_at"]
    show(browser, tmp_path, summary_of(genes, ("EWS", "BL", "NB", "RMS")))
    heights = browser.value(
        "[...document.querySelectorAll('td.name > bdi, td.who > bdi')].map(e =>"
        " e.getBoundingClientRect().height / parseFloat(getComputedStyle(e).lineHeight))"
    )
    assert max(heights) < 1.5
    assert browser.value("document.documentElement.scrollWidth") <= 1280


CLOUD = "document.querySelector('#scatter .reading')"


def test_points_of_the_scatter_are_read_off_and_found(browser, tmp_path):
    show(browser, tmp_path, words_of())
    drawn = pictures.scatters(words_of())[0]
    at = (drawn.x[0] + 2) / drawn.width, (drawn.y[0] - 2) / drawn.height
    browser.hover("#scatter .wide svg", *at)
    assert browser.value(f"{CLOUD}.textContent").split("\n") == [
        "free", "speaks for: pos", "weight: +3.00", "gain: 10",
    ]  # fmt: skip
    found = "document.querySelector('#scatter .wide .found').getAttribute('d')"
    assert browser.value(found) == f"M{drawn.x[0]:g} {drawn.y[0]:g}h0"
    browser.hover("h1")
    assert browser.value(f"getComputedStyle({CLOUD}).visibility") == "hidden"
    browser.click("#scatter .tools input")
    browser.type("I")  # of "win" and "i"
    assert browser.value("document.querySelector('#scatter output').textContent") == "2 found"
    assert browser.value(found).count("M") == 2
    browser.value("document.querySelector('#scatter .cloud').focus()")
    browser.key("ArrowRight")
    browser.key("ArrowRight")
    assert browser.value(f"{CLOUD}.textContent").startswith("win\n")
    browser.resize(400, 800)
    assert browser.value("document.documentElement.scrollWidth") <= 400


def test_panel_names_its_classes_and_features(browser, tmp_path):
    summary = summary_of(["g1", "g2"], ("EWS", "BL", "NB", "RMS"))
    show(browser, tmp_path, summary)
    heads = browser.value("[...document.querySelectorAll('.panel thead th')].map(e => e.innerText)")
    assert heads == ["EWS", "BL", "NB", "RMS"]
    rows = browser.value("[...document.querySelectorAll('.panel tbody th')].map(e => e.innerText)")
    assert rows == ["g1", "g2"]
    # Means of 0, 1, 2 and 3 occurrences in four rows each: the shade grows with them.
    alpha = (
        "[...document.querySelectorAll('.panel tbody tr:first-child td')].map(e =>"
        " parseFloat(getComputedStyle(e).backgroundColor.split(',')[3] ?? '0)'))"
    )
    shades = browser.value(alpha)
    assert shades == sorted(shades)
    assert len(set(shades)) == 4


def test_a_row_opens_to_the_figures_of_every_class(browser, tmp_path):
    show(browser, tmp_path, summary_of(WORDS, tuple("abcdef")))
    browser.click("#feature-table tbody tr:nth-child(2) td:nth-child(2)")
    opened = browser.value("document.querySelector('tr.figures').innerText")
    assert re.findall(r"[a-f]\s+(\d)\s+(\d)", opened) == [(str(i), str(i)) for i in range(6)]
    browser.click("#feature-table tbody tr:nth-child(2) td:nth-child(2)")
    assert browser.value("document.querySelector('tr.figures')") is None


READING = "document.querySelector('#path .reading')"


def test_the_path_is_read_off_by_pointer_and_arrow_keys(browser, tmp_path):
    show(browser, tmp_path, summary_of(WORDS))
    assert browser.value(f"getComputedStyle({READING}).visibility") == "hidden"
    browser.hover("#path .drawing.wide svg", 0.97)
    assert browser.value(f"getComputedStyle({READING}).visibility") == "visible"
    text = browser.value(f"{READING}.textContent")
    assert text.splitlines() == ["k: 30", "gain: 30", "at most: 30.5", "accuracy: 50.0\xa0%"]
    browser.value("document.querySelector('#path .chart').focus()")
    browser.key("Home")
    browser.key("ArrowRight")
    assert "k: 2\n" in browser.value(f"{READING}.textContent")
    assert browser.value(f"{READING}.textContent").endswith("chosen")
    crossed = browser.value("document.querySelector('#path .wide .cross').getAttribute('x1')")
    places = browser.value("document.querySelector('#path .wide').dataset.x").split()
    assert float(crossed) == float(places[1])


@pytest.mark.parametrize("classes", [2, 3, 20])
def test_four_hundred_pixels_are_enough(browser, tmp_path, classes):
    names = tuple(f"comp.sys.class{i}" for i in range(classes))
    show(browser, tmp_path, summary_of([*WORDS, "x" * 5000], names))
    browser.resize(400, 800)
    assert browser.value("document.documentElement.scrollWidth") <= 400
    smallest = browser.value(
        "Math.min(...[...document.querySelectorAll('td, th, p, dd, .narrow text')]"
        ".filter(e => e.getClientRects().length)"
        ".map(e => parseFloat(getComputedStyle(e).fontSize)))"
    )
    assert smallest >= 11.5
    # The three answers stand above the fold.
    for answer in ("What was found", "How well it decides", "How sure each feature is"):
        found = f"[...document.querySelectorAll('h2')].find(e => e.textContent === '{answer}')"
        assert browser.value(f"{found}.parentElement.querySelector('strong, dd, p').getBoundingClientRect().bottom") < 800  # fmt: skip  # noqa: E501
    assert browser.value("getComputedStyle(document.querySelector('.wide')).display") == "none"


def luminance(color):
    linear = []
    for value in map(float, re.findall(r"[\d.]+", color)[:3]):
        share = value / 255
        linear.append(share / 12.92 if share <= 0.03928 else ((share + 0.055) / 1.055) ** 2.4)
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_in_light_and_dark(browser, tmp_path, scheme):
    show(browser, tmp_path, summary_of(WORDS))
    browser.scheme(scheme)

    def style(selector, name):
        element = f"document.querySelector('{selector}')"
        return browser.value(f"getComputedStyle({element}).{name}")

    paper = luminance(style("body", "backgroundColor"))
    assert (paper < 0.1) == (scheme == "dark")
    for selector, name in (
        *(("body", "color"), ("header .soft", "color"), ("mark", "color"), ("th button", "color")),
        ("#path .wide text", "fill"),
    ):
        light, dark = sorted((luminance(style(selector, name)), paper), reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= 4.5, selector  # WCAG 2, level AA


def test_long_names_make_no_page_wide(browser, tmp_path):
    show(browser, tmp_path, summary_of(["w" * 5000, "v"], ("c" * 5000, "d" * 5000)))
    for width in (1280, 400):
        browser.resize(width, 800)
        assert browser.value("document.documentElement.scrollWidth") <= width


def test_hostile_names_run_nothing(browser, tmp_path):
    show(browser, tmp_path, summary_of(HOSTILE, (HOSTILE[0], HOSTILE[2])))
    assert browser.value("document.scripts.length") == 1
    assert browser.value("document.querySelectorAll('img, svg[onload]').length") == 0
    assert column(browser, 1) == [shortened(name) for name in HOSTILE]
    browser.click("#feature-table tbody tr:nth-child(1) td:nth-child(3)")
    assert shortened(HOSTILE[0]) in browser.value("document.querySelector('tr.figures').innerText")
    browser.resize(400, 800)
    assert browser.value("document.documentElement.scrollWidth") <= 400


def test_prints_light_and_without_tools(browser, tmp_path):
    show(browser, tmp_path, summary_of([f"word{i}" for i in range(200)]))
    browser.click(".more button[data-of=feature-table]")
    browser.scheme("dark", media="print")
    assert browser.value("getComputedStyle(document.querySelector('.tools')).display") == "none"
    assert browser.value("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    printed = browser.printed()
    assert printed.startswith(b"%PDF")
    assert len(re.findall(rb"/Type\s*/Page\b", printed)) > 3


def test_the_names_of_many_classes_are_whole_and_the_page_is_filled(browser, tmp_path):
    classes = tuple(f"comp.sys.of.class{i}.hardware" for i in range(20))
    show(browser, tmp_path, summary_of([f"word{i}" for i in range(40)], classes))
    for width in (1600, 1280, 420):
        browser.resize(width, 900)
        cut = "[...document.querySelectorAll('.top dt')].filter(e => e.scrollWidth > e.clientWidth)"
        assert browser.value(f"{cut}.length") == 0
        assert browser.value("document.documentElement.scrollWidth") <= width
    browser.resize(1600, 900)
    right = "document.querySelector('{}').getBoundingClientRect().right"
    edge = browser.value(right.format("main"))
    assert browser.value(right.format(".confusion")) == pytest.approx(edge, abs=1)
    assert browser.value(right.format(".compare")) == pytest.approx(edge, abs=1)

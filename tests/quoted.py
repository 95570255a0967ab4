"""Figures that pages quote come from where they are kept; `python -m tests.quoted` renews them.

A mark in a page says what a figure is: `4.9<!--= bench("Cross-validation", ...) -->`, before it the
figure. A mark on a line of its own, before a table, gives the last cells of each row. Marks are
expressions of the functions below, which read `experiments/results` and the tables of
`benchmarks/README.md`.
"""

import csv
import itertools
import json
import math
import re
from functools import cache
from pathlib import Path

from experiments.datasets import KINDS

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "experiments" / "results"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
PAGES += sorted((ROOT / "docs").glob("*/*.md"))
FIGURE = re.compile(r"([^\s|(]+)<!--= (.+?) -->", re.DOTALL)
TABLE = re.compile(r"^<!--= (.+?) -->\n\|.*\n\|.*\n((?:\|.*\n)+)", re.MULTILINE)


def renewed(text):
    """The page with its figures as they are kept."""
    text = TABLE.sub(_table, text)
    return FIGURE.sub(lambda mark: mark[0].replace(mark[1], _value(mark[2]), 1), text)


def _table(mark):
    rows = mark[2].splitlines()
    values = _value(mark[1])
    if len(rows) != len(values):
        raise ValueError(f"{mark[1]} gives {len(values)} rows; the table has {len(rows)}.")
    made = [_row(row, cells) for row, cells in zip(rows, values, strict=True)]
    return mark[0].replace(mark[2], "\n".join(made) + "\n")


def _row(row, cells):
    said = [cell.strip() for cell in row.strip("|").split("|")]
    return ("| " + " | ".join([*said[: -len(cells)], *cells]) + " |").replace("|  |", "| |")


def _value(expression):
    return eval(" ".join(expression.split()), globals())  # written by us, like any test


# -- what is kept ---------------------------------------------------------------------------------


def bench(section, row, column, nth=0):
    """A cell of benchmarks/README.md: in a section, the nth row of tables that begins so."""
    page = (ROOT / "benchmarks" / "README.md").read_text("utf8")
    [part] = [part for part in page.split("\n## ") if part.startswith(section)]
    head, found = [], []
    for line in part.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if not line.startswith("|"):
            head = []
        elif not head:
            head = cells
        elif column in head and " | ".join(cells).startswith(row):
            found.append(cells[head.index(column)])
    return found[nth]


def said(pattern):
    """What the groups of a pattern find in benchmarks/README.md."""
    return re.search(pattern, (ROOT / "benchmarks" / "README.md").read_text("utf8")).groups()


def costs():
    """Rows of what the same job costs in others, in times of ours."""
    fit = "A whole fit"
    authors = said(r"about (\d+) times faster on A and (\d+ to \d+) on B")
    [grid] = said(r"The whole grid would take some\s+([\d,]+) s")
    ours = float(bench("Cross-validation", "`SparsityCV(SparseMultinomialNB())`", "seconds"))
    times = int(grid.replace(",", "")) / (2 * ours) // 1000 * 1000  # on two processors
    return [
        [bench(fit, "A | 120,000", "chi2 / fit")],
        [bench(fit, "A | 120,000", "MultinomialNB / fit")],
        [f"{bench(fit, 'A | 120,000', 'published / fit')} ({authors[0]})"],
        [bench(fit, "B | 90,000", "chi2 / fit")],
        [f"{bench(fit, 'B | 90,000', 'published / fit')} ({authors[1]})"],
        [f"over {times:,.0f}"],
    ]


def large():
    """Rows of what the command costs on large tables."""
    columns = ("rows per CPU s", "times less", "peak")

    def of(*rows):
        rates, times, peaks = (
            [bench("Text, wide tables", *row[:1], column, *row[1:]) for row in rows]
            for column in columns
        )
        rates.sort(key=lambda rate: int(rate.replace(",", "")))
        return [" to ".join(rates), ", ".join(times), _gib(peaks[0])]

    two, twenty = "1.6 million messages | 2 |", "1.6 million messages | 20 |"
    later = "1.6 million messages, an hour later"
    rate, peak = said(r"([\d,]+) rows per CPU s, peak ([\d,]+ MiB)")
    return [
        of((two,)),
        of((twenty,)),
        of(("50,000 reviews",)),
        of((two, 1), (later,)),
        of((twenty, 1), ("the same | 20",)),
        [rate, "", _gib(peak)],
    ]


def merging():
    """What the cost model said of merging, and what was measured."""
    section = "A hundred million messages"
    rows = ("sums of one", "sums of all", "a record of all", "moved", "merging")
    return [[bench(section, row, column) for column in ("model", "measured")] for row in rows]


def _gib(mib):
    return f"{int(mib.split()[0].replace(',', '')) / 1024:.1f} GiB"


def measured(name, title, column):
    """A column of a table of experiments/results/NAME.json."""
    table = _table_of(name, title)
    return [row[table["columns"].index(column)] for row in table["rows"]]


def kept(name, title, row, column, digits=1):
    """A figure of a table of experiments/results/NAME.json: of the row that begins so."""
    table = _table_of(name, title)
    [found] = (each for each in table["rows"] if each[0] == row)
    return f"{found[table['columns'].index(column)]:.{digits}f}"


def hybrid(quantity, method, rows, digits):
    """Mean of the hybrid's pairs of newsgroups."""
    title = f"{quantity} by training rows, mean of the pairs"
    return kept("hybrid_newsgroups", title, method, str(rows), digits)


def error(method, rows):
    """Test error in per cent."""
    return hybrid("Test error (%)", method, rows, 1)


def log_loss(method, rows):
    """The same in nats."""
    return hybrid("Log loss (nats)", method, rows, 2)


def _table_of(name, title):
    return json.loads((RESULTS / f"{name}.json").read_text("utf8"))["tables"][title]


@cache
def _records(name):
    with (RESULTS / f"{name}.csv").open(encoding="utf8", newline="") as file:
        return list(csv.DictReader(file))


# -- which default, and all selectors on the same rows --------------------------------------------

ALL = " ".join(name for names in KINDS.values() for name in names)
KS = (5, 10, 20, 50, 100, 300, 1000)
RULES = ("own", "refit", "logistic")
OTHERS = (
    "chi2", "f_classif", "mutual information", "t in turn", "Wilcoxon in turn", "l1 logistic",
    "mRMR", "abess",
)  # fmt: skip


def named(kind, k, way="of single estimators"):
    """The option that the folds of the training rows named."""
    size = "up to 20" if k <= 20 else "more"
    table = _table_of("default_choice", "Named by the rule, with the mean accuracy (%)")
    [cell] = (row[table["columns"].index(way)] for row in table["rows"] if row[:2] == [kind, size])
    return cell.rpartition(", ")[0]


@cache
def _folds():
    return {
        (row["set"], row["rule"], int(row["k"]), row["method"]): float(row["accuracy"])
        for row in _records("default_choice")
    }


def folds(kind, title, k, rule="own"):
    """Mean accuracy over the sets of a kind, in folds of the training rows; titles are options."""
    known, same = _folds(), title.replace(", t = 0.3", "")  # with two classes there is one pair
    each = [known.get((name, rule, k, title)) or known[name, rule, k, same] for name in KINDS[kind]]
    return sum(each) / len(each)


def mean(kind, title, *ks, rules=("own", "logistic")):
    """The same, over k and rules."""
    each = [folds(kind, title, k, rule) for k in ks for rule in rules]
    return short(sum(each) / len(each))


def short(share):
    """0.8764 as .876."""
    return f"{share:.3f}".lstrip("0")


def defaults():
    """Rows of the table of defaults: accuracy by k, then the means of both rules."""
    ks, rows = (5, 20, 100, 1000), []
    for kind in KINDS:
        text = "text" in kind or kind == "topics"
        plain = "presence, gains" if text else "l2 by deviation, gains"
        ours, theirs = (
            " / ".join(
                short(sum(folds(kind, title(k), k, rule) for k in ks) / len(ks))
                for rule in ("own", "logistic")
            )
            for title in (lambda k, kind=kind: named(kind, k), lambda k, plain=plain: plain)
        )
        figures = [f"{folds(kind, named(kind, k), k):.3f}" for k in ks]
        rows.append([*figures, f"{ours}; {'multinomial ' * text}{theirs}"])
    return rows


@cache
def _tested():
    """Set, rule and k -> accuracy by method, and rows."""
    found = {}
    for row in _records("competitors"):
        cell = found.setdefault((row["set"], row["rule"], int(row["k"])), ({}, []))
        cell[0][row["method"]] = float(row["accuracy"])
        few = row["set"] not in {n for kind in KINDS if "text" in kind for n in KINDS[kind]}
        thrice = few and row["set"] != "newsgroups20" and row["rule"] != "refit"
        cell[1].append(int(row["rows"]) // (3 if thrice else 1))
    return found


def gaps(kinds, rule, way, against=OTHERS):
    """Accuracy of the default less that of the best other, and the error of two shares."""
    for name in (name for kind in kinds for name in KINDS[kind]):
        for k in KS:
            value, rows = _tested()[name, rule, k]
            others = [value[each] for each in against if each in value]
            p = reached(name, k, rule, way)
            if others and p is not None:
                q = max(others)
                error = math.sqrt((p * (1 - p) + q * (1 - q)) / rows[0])
                yield round(p - q, 4), error


def reached(name, k, rule="own", way="of single estimators"):
    """Accuracy of the default on the test rows."""
    [kind] = (kind for kind, names in KINDS.items() if name in names)
    return _tested()[name, rule, k][0].get(named(kind, k, way))


def lags(names, ks, rules=RULES, way="of single estimators", against=OTHERS):
    """Points behind the best of the others, the least and the most."""
    found = []
    for name, k, rule in itertools.product(names.split(), ks, rules):
        value = _tested()[name, rule, k][0]
        best = max(value[each] for each in against if each in value)
        found.append(100 * (best - reached(name, k, rule, way)))
    return [f"{point + 1e-9:.1f}" for point in (min(found), max(found))]


def leads(*args, **kwargs):
    """Points ahead of the best of the others, the least and the most."""
    most, least = lags(*args, **kwargs)
    return [f"{-float(each):.1f}" for each in (least, most)]


def level(kinds, way):
    """Cells half a point behind at most, and behind by a standard error at most; by rule."""
    rows = []
    for rule in RULES:
        found = list(gaps(kinds, rule, way))
        near = sum(gap >= -0.005 for gap, _ in found)
        within = sum(gap >= -error - 1e-9 for gap, error in found)
        rows.append(f"{near}, {within} of {len(found)}")
    return rows


def points(way, against=OTHERS, rule="own"):
    """Points ahead (below 0: behind) on average."""
    found = [gap for gap, _ in gaps(KINDS, rule, way, against)]
    return 100 * sum(found) / len(found)


def compared():
    """Rows of the table of cells level with the best of the others."""
    rows = [level([kind], "of single estimators") for kind in KINDS]
    rows += [level(KINDS, "of single estimators"), level(["genes, two classes"], "of all")]
    rows += [level(["topics"], "of all"), level(KINDS, "of all")]
    return [*rows, [f"{-points('of single estimators', rule=rule):.1f}" for rule in RULES]]


def extremes(rule):
    """Points ahead of each of the others, the least and the most."""
    each = [points("of all", (other,), rule) for other in OTHERS]
    return f"{min(each) + 1e-9:.1f}", f"{max(each):.1f}"


# -- whole classifiers ----------------------------------------------------------------------------

USUAL = ("logistic, tf-idf", "ComplementNB", "ComplementNB, tf-idf", "NB-SVM", "NB-SVM, beta = 1")


def behind(name, ours):
    """Points by which the best usual classifier of all words is ahead of 1,000 words of ours."""
    return f"{_lead(name, ours) + 1e-9:.1f}"


def ahead(name, ours):
    """Points by which ours is ahead."""
    return f"{1e-9 - _lead(name, ours):.1f}"


def _lead(name, ours):
    found = {
        row["classifier"]: float(row["accuracy"])
        for row in _records("whole_classifier")
        if (row["phase"], row["set"]) == ("test", name)
        and (row["classifier"] in USUAL or int(row["words"]) == 1000)
    }
    return 100 * (max(found[each] for each in USUAL if each in found) - found[ours])


def main():
    for page in PAGES:
        text = page.read_text("utf8")
        page.write_text(renewed(text), encoding="utf8")


if __name__ == "__main__":
    main()

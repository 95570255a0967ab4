"""Figures that pages quote come from where they are kept; `python -m tests.quoted` renews them.

A mark in a page says what a figure is: `4.9<!--= bench("cross_validation", ...) -->`, before it the
figure. A mark on a line of its own, before a table, gives the last cells of each row, or the whole
of it. Marks are expressions of the functions below, which read `experiments/results` and
`benchmarks/results`.
"""

import csv
import itertools
import math
import re
from functools import cache
from pathlib import Path

from experiments.datasets import KINDS
from experiments.frame import RESULTS, Table, cell, kept_table

ROOT = Path(__file__).parents[1]
BENCHMARKS = ROOT / "benchmarks" / "results"
PAGES = [ROOT / "README.md", ROOT / "benchmarks" / "README.md"]
PAGES += sorted((ROOT / "docs").glob("*.md"))
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
    if isinstance(values, Table):
        return "\n".join([f"<!--= {mark[1]} -->", *values.markdown()]) + "\n"
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


def benchmark(name, title):
    """A table of benchmarks/results/NAME.json."""
    return kept_table(name, title, BENCHMARKS)


def bench(name, title, column, *row):
    """A cell of such a table, in the row that begins so."""
    return cell(_cell(benchmark(name, title), column, *row))


def _cell(table, column, *row):
    [found] = (each for each in table.rows if each[: len(row)] == list(row))
    return found[table.columns.index(column)]


def costs():
    """Rows of what the same job costs in others, in times of ours."""
    sizes = ("A", 120_000), ("B", 90_000)
    ways = ("chi2 / fit", "MultinomialNB / fit", "published / fit")
    [grid] = benchmark("grid_search", "Grid search over SelectKBest(chi2) and MultinomialNB").rows
    search = ("IMDB", "SparsityCV(SparseMultinomialNB())")
    ours = _cell(benchmark("cross_validation", "Cross-validation"), "CPU s", *search)
    times = grid[0] / ours // 100 * 100
    return [
        *([bench("fit", "A whole fit", way, *size)] for size in sizes for way in ways),
        [f"over {times:,.0f}"],
    ]


def waits():
    """Rows of where a person waits, as it is now."""
    text = ("texts", "Text", "times less than by hand")
    crossed, minute = ("cross_validation", "Cross-validation", "times, clock"), "The first minute"
    multinomial, presence = ("SparsityCV(SparseMultinomialNB())", "SparsityCV(SparseBernoulliNB())")
    hybrid_of = ("hybrid", "The hybrid", "ratio, clock", "C", 2)
    found = [
        ("first_minute", minute, "CPU s", "`naively select`", "warm"),
        ("first_minute", minute, "CPU s", "`naively select`", "cold"),
        ("first_minute", minute, "CPU s", "`fit`", "cold"),
        (*text, "1.6 million messages", 2, "--quick"),
        (*text, "1.6 million messages", 20, "--quick"),
        (*text, "50,000 reviews", 2, "--quick"),
        (*crossed, "IMDB", multinomial),
        (*crossed, "IMDB", presence),
        (*crossed, "short reviews", multinomial),
        (*crossed, "short reviews", presence),
        ("cross_validation", "Paths of 100 on C", "path / fit, clock", "SparseMultinomialNB"),
        ("centers", "l1 centers", "NearestCentroid(manhattan)", "dense 104 x 22,283, float64"),
        ("centers", "l1 centers", "NearestCentroid(manhattan)", "dense 104 x 22,283, float32"),
        ("error", "Forward search", "ns per candidate", 2, 20_000),
        ("error", "Leave-one-out path", "counting passes", "leave-one-out path"),
        (*hybrid_of, 2),
        (*hybrid_of, 4),
        ("fit", "The dual on real counts", "dual / counting", "B", 90_000),
        ("engines", "Dask", "ratio"),
    ]
    return [[bench(*each)] for each in found]


def large():
    """Rows of what the command costs on large tables."""
    texts, million = benchmark("texts", "Text"), benchmark("large", "Ten million messages")
    columns = ("rows per CPU s", "times less than by hand", "peak, MiB")

    def of(table, *row):
        rate, times, high = (
            _cell(table, column, *row) if column in table.columns else None for column in columns
        )
        return [cell(rate), cell(times), f"{high / 1024:.1f} GiB"]

    data = ("1.6 million messages", 2), ("1.6 million messages", 20), ("50,000 reviews", 2)
    return [
        *(of(texts, *each, way) for way in ("with all of the report", "--quick") for each in data),
        of(million, "`naively select --checkpoint`"),
    ]


def measured(name, title, column):
    """A column of a table of experiments/results/NAME.json."""
    table = kept_table(name, title)
    return [row[table.columns.index(column)] for row in table.rows]


def kept(name, title, row, column, digits=1):
    """A figure of a table of experiments/results/NAME.json: of the row that begins so."""
    return f"{_cell(kept_table(name, title), column, row):.{digits}f}"


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
    table = kept_table("default_choice", "Named by the rule, with the mean accuracy (%)")
    return _cell(table, way, kind, size).rpartition(", ")[0]


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

"""What sparse centers cost: columns, k, batches, every k at once (CEN, remarks 2 to 5).

Normal rows, of which every tenth column differs between two classes. "statistics" is the pass over
the rows (means, or medians with their dispersions), "selection" what comes after: gains, the k
largest and the rule. Processor seconds, medians of five. The exponent is the slope of log time
against log columns from 10,000 columns on (below, the fixed cost of a call counts). Online:
`partial_fit` in batches of twenty rows. The trade-off curve is that of five folds with the
selection inside (`SparsityCV`).
"""

import time
from itertools import pairwise

import numpy as np
from matplotlib.figure import Figure

from experiments.centers_text import counted
from experiments.frame import Result, Table, report
from naively import SparseL1Centers, SparseL2Centers, SparsityCV, sparsity_path

MODELS = {"l1 centers": SparseL1Centers, "l2 centers": SparseL2Centers}
ROWS, BATCH = 100, 20
KS = (1, 10, 100, 1000)


def rows(n, m, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    return rng.normal(size=(n, m)) + np.outer(y, np.arange(m) % 10 == 0), y


def seconds(work, times=5):
    spent = []
    for _ in range(times):
        start = time.process_time()
        found = work()
        spent.append(time.process_time() - start)
    return float(np.median(spent)), found


def against_columns(widths):
    table = Table(["model", "columns", "k", "statistics", "selection"],
                  times=("statistics", "selection"))  # fmt: skip
    for name, kind in MODELS.items():
        kind(k=1).fit(*rows(ROWS, 50))  # compiles
        for m in widths:
            X, y = rows(ROWS, m)
            counting, statistics = seconds(lambda X=X, y=y, kind=kind: kind().gather(X, y))
            for k in KS if m == max(widths) else KS[1:2]:
                chosen = seconds(lambda k=k, s=statistics, kind=kind: kind.from_statistics(s, k=k))
                table.rows.append([name, m, k, counting, chosen[0]])
    return table


def exponent(table, name):
    whole = [(m, a + b) for model, m, k, a, b in table.rows if model == name and k == KS[1]]
    (m, low), (wide, high) = whole[min(1, len(whole) - 2)], whole[-1]
    return float(np.log(high / low) / np.log(wide / m))


def online(m, n_batches):
    X, y = rows(n_batches * BATCH, m)
    table = Table(["batch", "rows so far", "CPU seconds"], times=("CPU seconds",))
    model = SparseL2Centers(k=m // 10)
    for i in range(n_batches):
        part = slice(i * BATCH, (i + 1) * BATCH)
        spent, _ = seconds(lambda p=part: model.partial_fit(X[p], y[p], classes=[0, 1]), times=1)
        table.rows.append([i + 1, (i + 1) * BATCH, spent])
    whole = SparseL2Centers(k=m // 10).fit(X, y)
    same = (model.support_ == whole.support_).all() and np.allclose(model.centers_, whole.centers_)
    return table, bool(same)


def every_k(X, y):
    """Whether one path has the support of a fit for every k, and the seconds of either."""
    found = {}
    for name, kind in MODELS.items():
        ks = np.unique(np.geomspace(1, X.shape[1], 40).astype(int))
        one, path = seconds(lambda kind=kind: sparsity_path(kind(), X, y), times=1)
        many, fits = seconds(lambda kind=kind, ks=ks: [kind(k=k).fit(X, y) for k in ks], times=1)
        same = all(
            (np.flatnonzero(fit.support_) == np.sort(path.support(k))).all()
            for k, fit in zip(ks, fits, strict=True)
        )
        found[name] = same, many / one, len(ks)
    return found


def trade_off(sets):
    table = Table(["set", "model", "k", "accuracy of 5 folds", "standard error"])
    figure = Figure(figsize=(5.5, 3.2), layout="constrained")
    axes = figure.subplots()
    best = []
    for title, model, X, y in sets:
        ks = np.unique(np.geomspace(1, min(X.shape[1], 5000), 13).astype(int))
        search = SparsityCV(model, ks=ks, refit=False).fit(X, y)
        scores = search.cv_results_["mean_test_score"]
        error = search.cv_results_["std_test_score"] / np.sqrt(search.n_splits_)
        name = type(model).__name__
        table.rows += [[title, name, *row] for row in zip(ks, scores, error, strict=True)]
        axes.errorbar(ks, scores, error, label=f"{title}, {name}", marker="o", markersize=3)
        best.append((title, search.best_k_, search.simplest_k_, X.shape[1]))
    axes.set(xscale="log", xlabel="features k", ylabel="accuracy of 5 folds")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize="small")
    return table, figure, best


def run(data, quick):
    result = Result()
    widths = (1000, 4000) if quick else (1000, 10_000, 100_000, 300_000)
    costs = against_columns(widths)
    result.tables["Seconds against columns and k"] = costs
    report("  columns")
    for name, item in (("l2 centers", "cen-remark-2"), ("l1 centers", "cen-remark-5")):
        power = exponent(costs, name)
        widest = [row for row in costs.rows if row[0] == name and row[1] == max(widths)]
        added = max(row[4] for row in widest) / widest[0][3]
        spread = max(row[4] for row in widest) / min(row[4] for row in widest)
        result.claim(
            item,
            f"time grows with the power {power:.2f} of the columns; selecting takes up to "
            f"{added:.1f} times the pass over {ROWS} rows, and from k = 1 to 1,000 changes "
            f"{spread:.1f} times",
            bool(power < 1.2),
        )
    table, same = online(2000 if quick else 50_000, 5 if quick else 20)
    result.tables["Online training"] = table
    result.expect("batches train what all rows do", same)
    spent = [row[2] for row in table.rows[1:]]
    early, late = np.median(spent[: len(spent) // 2]), np.median(spent[len(spent) // 2 :])
    result.claim(
        "cen-remark-3",
        f"the model of all rows; an update of {BATCH} rows takes {late:.3f} s late, {early:.3f} s "
        "early",
        same and bool(late < 2 * early),
        "it sorts nothing but the gains, anew at each batch",
    )
    found = every_k(*rows(ROWS, 500 if quick else 20_000))
    for name, (right, _, _) in found.items():
        result.expect(f"one path of {name} has the support of every fit", right)
    X, y = counted(data, "mpqa")
    genes, types, _ = data.genes("chowdary")
    curve, figure, best = trade_off([
        ("mpqa", SparseL2Centers(scale="std"), X, y),
        ("chowdary", SparseL1Centers(), genes, types),
    ])  # fmt: skip
    result.tables["Trade-off of sparsity and accuracy"] = curve
    result.figures["trade-off"] = figure
    report("  trade-off")
    factors = ", ".join(f"{name} {factor:.0f}" for name, (_, factor, _) in found.items())
    n_fits = next(iter(found.values()))[2]
    result.claim(
        "cen-remark-4",
        f"supports of all k as in {n_fits} fits, which take this many times as long: {factors}; "
        "within a standard error of the best: "
        + ", ".join(f"{least:,} of {m:,} ({title})" for title, _, least, m in best),
        all(right for right, _, _ in found.values()),
    )
    for title in dict.fromkeys(row[0] for row in curve.rows):
        scores = [row[3] for row in curve.rows if row[0] == title]
        better = sum(b >= a - 0.02 for a, b in pairwise(scores))
        result.expect(f"more features of {title} help at first", scores[0] < max(scores))
        result.expect(f"the curve of {title} rises more than it falls", better > len(scores) // 2)
    return result

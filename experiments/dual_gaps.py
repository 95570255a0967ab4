"""Gaps on the real sets.

For three shares of the columns: "dual gap" is the upper bound against the best fractional
selection, relative (how well the dual is solved), "selections" how often columns were selected for
it, "selection" the certificate's relative gap (how far the k whole columns are from the bound).
"""

from sklearn.feature_extraction.text import CountVectorizer

from experiments.datasets import GENES, NEGATIVE, TEXTS
from experiments.frame import Result, Table, report
from naively import ClassCounts, SparseMultinomialNB
from naively.models.family import Coupled
from naively.selection.coupled import coupled_columns
from naively.selection.dual import solve_dual

SHARES = (0.001, 0.01, 0.1)


def statistics(data, name):
    if name == "udhr":
        vectorizer = CountVectorizer(analyzer="char", ngram_range=(1, 3))
        records = data.records(name)
        X = vectorizer.fit_transform([record["text"] for record in records])
        return ClassCounts.from_matrix(X, [record["label"] for record in records])
    if name in GENES:
        X, y, _ = data.genes(name)
        return ClassCounts.from_matrix(X, y)
    X, _, y, _, _ = data.counts(name)
    return ClassCounts.from_matrix(X, y)


def run(data, quick):
    result = Result()
    table = Table(["set", "features", "classes", "k", "dual gap", "selections", "selection"])
    for name in [*TEXTS, "udhr", *(gene for gene in GENES if gene not in NEGATIVE)]:
        counts = statistics(data, name)
        coupled = coupled_columns(Coupled(counts.table, 1.0), screen=False)
        for share in SHARES:
            k = max(round(share * counts.n_features), 2)
            dual = solve_dual(coupled.problem, k)
            certificate = SparseMultinomialNB.from_statistics(counts, k=k).certificate_
            gap = (dual.bound - dual.value) / dual.bound
            table.rows.append([
                name, counts.n_features, len(counts.classes), k, gap, dual.evaluations,
                certificate.relative_gap,
            ])  # fmt: skip
        report(f"  {name}")
    result.tables["Gaps"] = table
    solved = max(row[4] for row in table.rows)
    result.expect("the dual is solved to 1e-6", solved < 1e-6)
    text = f"the dual is solved to {solved:.0e} on {len(table.rows)} problems of real sets"
    for item in ("short-theorem-2", "long-theorem-3-2"):
        result.claim(f"nfs-{item}", text, solved < 1e-6, "tests/test_dual.py: by brute force")
    return result

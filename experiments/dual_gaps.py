"""Gap of the dual and of the selection on the real sets, for three shares of the columns.

    python experiments/dual_gaps.py DATA > table.md

"dual gap": upper bound against the best fractional selection, relative: how well it is solved.
"selection": the certificate's gap, relative: how far the k whole columns are from the bound.
"""

import numpy as np
from datasets import arguments, rows, text_split
from sklearn.feature_extraction.text import CountVectorizer

from naively import ClassCounts, SparseMultinomialNB
from naively.models.family import Coupled
from naively.selection.coupled import coupled_columns
from naively.selection.dual import solve_dual

TEXT = ["mpqa", "sst2", "imdb", "twitter", "rt_polarity", "subj", "sms_spam", "newsgroups20"]


def statistics(folder, name):
    if name == "udhr":
        records = rows(folder, "udhr/udhr.jsonl.gz")
        vectorizer = CountVectorizer(analyzer="char", ngram_range=(1, 3))
        X = vectorizer.fit_transform([record["text"] for record in records])
        return ClassCounts.from_matrix(X, [record["label"] for record in records])
    if name in ("chowdary", "alon", "sc_celseq2"):  # the sets without negative values
        with np.load(folder / name / f"{name}.npz") as arrays:
            return ClassCounts.from_matrix(arrays["X"], arrays["y"])
    text, _, y, _ = text_split(folder, name)
    return ClassCounts.from_matrix(CountVectorizer().fit_transform(text), y)


def main():
    options = arguments(__doc__).parse_args()
    print("| set | features | classes | k | dual gap | selections | selection |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for name in options.only or [*TEXT, "udhr", "chowdary", "alon", "sc_celseq2"]:
        counts = statistics(options.data, name)
        coupled = coupled_columns(Coupled(counts.table, 1.0), screen=False)
        for share in (0.001, 0.01, 0.1):
            k = max(round(share * counts.n_features), 2)
            dual = solve_dual(coupled.problem, k)
            certificate = SparseMultinomialNB.from_statistics(counts, k=k).certificate_
            print(
                f"| {name} | {counts.n_features:,} | {len(counts.classes)} | {k:,} "
                f"| {(dual.bound - dual.value) / dual.bound:.0e} | {dual.evaluations} "
                f"| {certificate.relative_gap:.0e} |",
                flush=True,
            )


if __name__ == "__main__":
    main()

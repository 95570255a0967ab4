"""Frequencies of selection: by buckets against row by row, and false choices against their bound.

    python experiments/stability.py DATA [--only SET...]

Prints the two tables of experiments/README.md as Markdown.
"""

import numpy as np
from datasets import arguments, counts_split

from naively import (
    SelectionStability,
    SparseBernoulliNB,
    SparseMultinomialNB,
    SparseNegativeBinomialNB,
    selection_stability,
)

K = 50
PLANTED, FEATURES, ROWS, REPEATS = 20, 1000, 400, 100


def data_set(folder, name):
    """Rows of a set with the model that takes them."""
    if name == "sc_celseq2":
        stored = np.load(folder / name / f"{name}.npz")
        return SparseNegativeBinomialNB(), stored["X"].astype(np.int64), stored["y"]
    X, _, y, _, _ = counts_split(folder, name, binary=True)
    multinomial = name in ("mpqa", "newsgroups20")
    return SparseMultinomialNB() if multinomial else SparseBernoulliNB(), X, y


SETS = ("mpqa", "rt_polarity", "subj", "sms_spam", "newsgroups20", "sc_celseq2")


def compared(first, second):
    """Mean and largest difference over features that either ever selects; firm in both, in one."""
    a, b = first.frequency(K), second.frequency(K)
    some = (a > 0) | (b > 0)
    firm = [set(each.stable(K).tolist()) for each in (first, second)]
    return (
        np.abs(a - b)[some].mean(), np.abs(a - b).max(), len(firm[0] & firm[1]),
        len(firm[0] ^ firm[1]),
    )  # fmt: skip


def by_buckets(folder, names):
    print(
        "| set | model | rows | buckets against rows: mean, largest | firm in both, in one | "
        "rows against other rows: mean, largest | firm in both, in one |\n"
        "| --- | --- | ---: | ---: | ---: | ---: | ---: |"
    )
    for name in names:
        model, X, y = data_set(folder, name)
        rows, other = (
            selection_stability(model, X, y, [K], n_buckets=None, random_state=seed)
            for seed in (0, 1)
        )
        buckets = selection_stability(model, X, y, [K])
        cells = []
        for pair in ((buckets, rows), (rows, other)):
            mean, largest, both, one = compared(*pair)
            cells += [f"{mean:.3f}, {largest:.2f}", f"{both}, {one}"]
        kind = type(model).__name__
        print(f"| {name} | {kind} | {X.shape[0]:,} | {' | '.join(cells)} |", flush=True)


def planted(rng, strength):
    """Rows with a few features that tell the classes, and noise of all frequencies."""
    y = np.arange(ROWS) % 2
    rate = np.tile(rng.uniform(0.05, 0.5, FEATURES), (2, 1))
    rate[1, :PLANTED] += strength
    return rng.random((ROWS, FEATURES)) < rate[y], y


def false_choices():
    ks, thresholds = [10, 20, 40], (0.6, 0.75, 0.9)
    print(
        "| planted strength | k | threshold | stable | of these false | bound | unimodal bound |\n"
        "| ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
    )
    for strength in (0.0, 0.15, 0.25):
        found: list[SelectionStability] = []
        rng = np.random.default_rng(0)
        for seed in range(REPEATS):
            X, y = planted(rng, strength)
            found.append(selection_stability(SparseBernoulliNB(), X, y, ks, random_state=seed))
        first = PLANTED if strength else 0  # without strength all are false
        for k in ks:
            for threshold in thresholds:
                stable = [each.stable(k, threshold) for each in found]
                false = np.mean([(each >= first).sum() for each in stable])
                bounds = [
                    found[0].false_choices(k, threshold, unimodal=unimodal)
                    for unimodal in (False, True)
                ]
                print(
                    f"| {strength:g} | {k} | {threshold:g} | {np.mean(list(map(len, stable))):.1f} "
                    f"| {false:.2f} | {bounds[0]:.2f} | {bounds[1]:.2f} |",
                    flush=True,
                )


if __name__ == "__main__":
    given = arguments(__doc__).parse_args()
    by_buckets(given.data, [name for name in SETS if given.only is None or name in given.only])
    print()
    false_choices()

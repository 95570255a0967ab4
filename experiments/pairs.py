"""Panels for every pair of classes against the largest gains, judged by the rule of the same model.

    python experiments/pairs.py DATA [--only SET ...] > table.md

Three folds, five times over (newsgroups20, whose rows are many: once), features chosen from the
training rows alone; accuracy, and the recall of the class that is recognised least, over all rows
judged. "proven": least share of the largest possible separation, over the folds, at exponent 1.
"standardised": columns by the training rows. Then processor seconds of a fit, counting included.

    python experiments/pairs.py --cost
"""

import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
from datasets import arguments, rows
from sklearn.datasets import load_digits
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import RepeatedStratifiedKFold
from sklearn.preprocessing import StandardScaler

from naively import (
    Pairs,
    SparseBernoulliNB,
    SparseGaussianNB,
    SparseL1Centers,
    SparseL2Centers,
    SparseMultinomialNB,
    SparseNegativeBinomialNB,
    SparsePoissonNB,
)

KS = (5, 10, 20, 50)
OBJECTIVES = {
    "gains": "likelihood",
    "pairs, t = 1": Pairs(),
    "pairs, t = 0.3": Pairs(exponent=0.3),
}
SHARED = partial(SparseGaussianNB, variance="shared")
VALUES = {
    "Gaussian, shared variance": SHARED,
    "Gaussian": SparseGaussianNB,
    "l2 by deviation": partial(SparseL2Centers, scale="std"),
    "l2, standardised": SparseL2Centers,
    "l1, standardised": SparseL1Centers,
}
COUNTS = {
    "Bernoulli": SparseBernoulliNB,
    "multinomial": SparseMultinomialNB,
    "Poisson": SparsePoissonNB,
    "negative binomial": SparseNegativeBinomialNB,
}
SETS = {
    "su": VALUES,
    "khan": VALUES,
    "golub": VALUES,
    "singh": VALUES,
    "digits": {"Gaussian, shared variance": SHARED, "Gaussian": SparseGaussianNB, **COUNTS},
    "sc_celseq2": {"l2, standardised": SparseL2Centers, **COUNTS},
    "newsgroups20": COUNTS,
    "sst_fine": COUNTS,
}


def data(folder, name):
    if name == "digits":
        return load_digits(return_X_y=True)
    if name == "newsgroups20":
        records = rows(folder, "newsgroups20/newsgroups20.jsonl.gz")
        texts = [record["subject"] + "\n" + record["body"] for record in records]
    elif name == "sst_fine":
        records = rows(folder, "sst2/sst_fine_sentences.jsonl.gz")
        texts = [record["text"] for record in records]
    else:
        with np.load(folder / name / f"{name}.npz") as arrays:
            return arrays["X"].astype(np.float64), arrays["y"]
    return CountVectorizer(min_df=2).fit_transform(texts), np.array([r["label"] for r in records])


def judged(make, X, y, name):
    """Rows decided rightly, for each objective and k, by class; and what was proven."""
    classes = np.unique(y)
    right = np.zeros((len(OBJECTIVES), len(KS), len(classes)))
    proven = np.ones(len(KS))
    times = 1 if name == "newsgroups20" else 5
    splits = RepeatedStratifiedKFold(n_splits=3, n_repeats=times, random_state=0)
    for train, test in splits.split(np.zeros(len(y)), y):
        Z, Z_test = X[train], X[test]
        if "standardised" in make[0]:
            scaler = StandardScaler().fit(Z)
            Z, Z_test = scaler.transform(Z), scaler.transform(Z_test)
        statistics = make[1]().gather(Z, y[train])
        for o, objective in enumerate(OBJECTIVES.values()):
            for i, k in enumerate(KS):
                parameters = {**make[1]().get_params(), "objective": objective}
                del parameters["k"]
                fitted = type(make[1]()).from_statistics(statistics, k, **parameters)
                hits = fitted.predict(Z_test) == y[test]
                right[o, i] += [np.sum(hits & (y[test] == c)) for c in classes]
                if o == 1:
                    proven[i] = min(proven[i], 1 - fitted.certificate_.relative_gap)
    per_class = right / times / np.array([np.sum(y == c) for c in classes])
    return right.sum(axis=2) / times / len(y), per_class.min(axis=2), proven


def accuracies(options):
    heads = " | ".join(f"k = {k}" for k in KS)
    print(f"| set | model | chosen by | {heads} |")
    print("| --- | --- | --- |" + " ---: |" * len(KS))
    for name in options.only or SETS:
        X, y = data(options.data, name)
        for model in SETS[name].items():
            if options.models and model[0] not in options.models:
                continue
            accuracy, worst, proven = judged(model, X, y, name)
            for o, objective in enumerate(OBJECTIVES):
                cells = (f"{a:.3f} ({w:.2f})" for a, w in zip(accuracy[o], worst[o], strict=True))
                print(f"| {name} | {model[0]} | {objective} | {' | '.join(cells)} |")
            shares = " | ".join(f"{share:.4f}" for share in proven)
            print(f"| {name} | {model[0]} | *proven* | {shares} |", flush=True)


def cost():
    sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
    from shapes import load

    X, y = load("C", n_classes=20)
    print("| model | k | plain fit | t = 1 | t = 0.3 |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for name, estimator in COUNTS.items():
        for k in (10, 100, 1000):
            seconds = {o: [] for o in OBJECTIVES}
            for turn in range(6):
                for o, objective in OBJECTIVES.items():
                    start = time.process_time()
                    estimator(k=k, objective=objective).fit(X, y)
                    if turn:  # the first compiles
                        seconds[o].append(time.process_time() - start)
            plain, *others = (np.array(each) for each in seconds.values())
            ratios = " | ".join(f"{np.median(each / plain):.2f}" for each in others)
            print(f"| {name} | {k} | {np.median(plain):.3f} s | {ratios} |", flush=True)


if __name__ == "__main__":
    if sys.argv[1:] == ["--cost"]:
        cost()
    else:
        options = arguments(__doc__)
        options.add_argument("--models", nargs="*", help="some models, as the table names them")
        accuracies(options.parse_args())

"""Objective against the number of genes (NFS-long, experiment 5, figure 3).

The sparse multinomial model on expression sets without values below zero, without smoothing: what
share of the gain that all genes reach do k of them? The papers' RNA sequences could not be had (801
x 20,531, one tumour against the rest). Of like width stand chowdary (22,283 probes) and sc_celseq2
(28,204 genes, counts; one cell line against the rest); alon has 2,000.
"""

import numpy as np
from matplotlib.figure import Figure

from experiments.datasets import GENES, NEGATIVE
from experiments.frame import Result, Table
from naively import SparseMultinomialNB, sparsity_path

SHARES = (0.001, 0.01, 0.1, 0.5)


def run(data, quick):
    result = Result()
    heads = [f"{100 * share:g} %" for share in SHARES]
    table = Table(["set", "genes", *heads, "k for 99.9 %", "lacking at 10 %"])
    figure = Figure(figsize=(6, 3.2), layout="constrained")
    axes = figure.subplots()
    tenth, beyond = {}, {}
    for name in [gene for gene in GENES if gene not in NEGATIVE]:
        X, y, _ = data.genes(name)
        m = X.shape[1]
        asked = [max(round(share * m), 2) for share in SHARES]
        grid = np.unique([*np.geomspace(2, m, 60).astype(int), *asked, min(10_000, m), m])
        path = sparsity_path(SparseMultinomialNB(alpha=0.0), X, y == np.unique(y)[0], ks=grid)
        share = (path.objective - path.baseline) / (path.objective[-1] - path.baseline)
        at = dict(zip(grid.tolist(), share.tolist(), strict=True))
        last, lacking = path.objective[-1], path.objective[-1] - path.objective
        short = float((lacking / abs(last))[grid == asked[2]][0])
        most = int(grid[np.argmax(share >= 0.999)])
        table.rows.append([name, m, *(at[k] for k in asked), most, short])
        tenth[name] = at[asked[2]]
        if m > 10_000:
            beyond[name] = 1 - at[10_000]
        axes.plot(grid / m, share, marker=".", ms=3, label=f"{name} ({m:,} genes)")
        result.expect(f"{name}: more genes gain more", bool((np.diff(share) > -1e-9).all()))
        drop = np.diff(share) / np.diff(grid)
        result.expect(f"{name}: steep at first", bool(drop[0] > 20 * max(drop[-1], 0)))
    axes.set(xlabel="share of the genes", ylabel="share of the gain of all genes")
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    table.note = "Lacking: of the objective itself, most of which is there without any gene."
    result.tables["Share of the gain that k genes reach"] = table
    result.figures["objective"] = figure
    if not quick:
        _claims(result, table, tenth, beyond)
    return result


def _claims(result, table, tenth, beyond):
    short = max(row[-1] for row in table.rows)
    text = ", ".join(f"{name} {100 * share:.0f} %" for name, share in tenth.items())
    text = f"10 % of the genes: {text} of the gain; the objective lacks {100 * short:.2g} %"
    verdict = "held" if min(tenth.values()) > 0.9 else "partly"
    result.claim("nfs-long-tenth-of-genes", text, verdict, "at most, of three sets")
    result.claim("nfs-long-figure-3", f"steep, then slow; {text}", verdict,
                 "other sets: that of the paper could not be had")  # fmt: skip
    text = ", ".join(f"{name} {100 * left:.2g} %" for name, left in beyond.items())
    result.claim("nfs-long-ten-thousand-genes", f"gain that is left beyond 10,000: {text}",
                 "held" if max(beyond.values()) < 0.01 else "partly")  # fmt: skip

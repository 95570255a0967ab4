"""For scanpy: the genes that tell each group of cells, where its plots and tables look for them.

    import naively.scanpy
    naively.scanpy.rank_genes(adata, "cell_type", layer="counts")
    sc.pl.rank_genes_groups_dotplot(adata)

Neither scanpy nor AnnData is imported here.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import false_discovery_control

from naively._nearest import nearest
from naively._types import Array, FloatArray, IntArray, K
from naively.estimators.base import AbstractSparseClassifier
from naively.estimators.likelihood import (
    SparseGaussianNB,
    SparseNegativeBinomialNB,
    SparsePoissonNB,
)
from naively.estimators.naive_bayes import SparseBernoulliNB, SparseMultinomialNB
from naively.models.kinds import MODELS
from naively.selection.markers import Compared, against_others
from naively.statistics.matrix import is_sparse

__all__ = ["rank_genes"]

_MODELS: dict[str, tuple[type[AbstractSparseClassifier[Any]], dict[str, str]]] = {
    "poisson": (SparsePoissonNB, {"exposure": "total"}),
    "negative-binomial": (SparseNegativeBinomialNB, {"exposure": "total"}),
    "multinomial": (SparseMultinomialNB, {}),
    "bernoulli": (SparseBernoulliNB, {}),
    "gaussian": (SparseGaussianNB, {}),
}
_LARGEST = 30.0  # binary logarithm of a fold change that is infinite


def rank_genes(
    adata: Any,
    groupby: str,
    *,
    layer: str | None = None,
    use_raw: bool = False,
    model: str | AbstractSparseClassifier[Any] = "poisson",
    k: K | None = None,
    n_genes: int | None = None,
    key_added: str = "rank_genes_groups",
    **parameters: Any,
) -> AbstractSparseClassifier[Any]:
    """Choose a panel of k genes for all groups, and rank all genes for each group.

    The ranking has the place and structure of `scanpy.tl.rank_genes_groups`, so that its plots and
    `scanpy.get.rank_genes_groups_df` work on it: each group against all other cells, its own genes
    first, by falling gain of the model. `scores` are the signed roots of the likelihood-ratio
    statistic, (2 gain)^(1/2), negative where the group has less of the gene.

    Parameters
    ----------
    adata : AnnData
        Cells and genes. Gets `uns[key_added]`, and in `var` (of `raw`, if that is used) the columns
        `naively_selected` (bool), `naively_gain` (nats of the objective, as in features.csv of
        `naively select`; with `objective="pairs"` or `redundancy` missing for genes that are not
        in the panel) and `naively_rank` (from 1 by falling gain; missing for these genes).
    groupby : str
        Column of `obs` with the groups. Texts become categories, as scanpy makes them.
    layer : str, default=None
        Layer to use instead of `X`, such as that of the counts.
    use_raw : bool, default=False
        Use `adata.raw` instead of `X`.
    model : {"poisson", "negative-binomial", "multinomial", "bernoulli", "gaussian"} or estimator
        What entries are, by default "poisson": counts, in proportion to the total of the cell
        (`exposure="total"`, also of "negative-binomial"). All but "gaussian" and "bernoulli" take
        counts, not their logarithms. An estimator is fitted as it is, `k` its own.
    k : int, float, "all", "auto", "simplest", "best" or "fdr", default=None
        Size of the panel, as in the estimators; by default 50.
    n_genes : int, default=None
        Genes that are ranked for each group; by default all.
    key_added : str, default="rank_genes_groups"
        Key in `uns`.
    **parameters
        Other parameters of the model's estimator, such as `quota=2` or `objective="pairs"`.

    Returns
    -------
    estimator : fitted classifier
        With the panel, its certificate, and `predict`, which knows the genes by
        name: `predict(other.to_df(layer)[estimator.feature_names_in_])`.

    Raises
    ------
    ValueError
        If a name or number is none that there is, groups are missing, or a model of counts is given
        other values.
    TypeError
        If `adata` is no AnnData in memory.
    """
    matrix, var = _matrix(adata, layer, use_raw)
    groups = _groups(adata, groupby)
    estimator = _estimator(model, k, parameters)
    _check_values(estimator._model().name, matrix)
    names = np.asarray(var.index, dtype=object)
    repeated = var.index[var.index.duplicated()]
    if len(repeated):
        raise ValueError(
            f"genes must have names of their own; {repeated[0]!r} is given twice: call "
            "adata.var_names_make_unique() first."
        )
    n = len(names) if n_genes is None else n_genes
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or not 1 <= n <= len(names):
        raise ValueError(
            f"`n_genes` must be an int in [1, {len(names)}], or None; got {n_genes!r}."
        )
    fitted = estimator.fit(matrix, np.asarray(groups).astype(str))
    fitted.feature_names_in_ = names
    adata.uns[key_added] = {
        "params": {
            "groupby": groupby,
            "reference": "rest",
            "method": f"naively-{fitted.model_.name}",
            "use_raw": use_raw,
            "layer": layer,
            "corr_method": "benjamini-hochberg",
        },
        **_ranking(fitted, names, int(n), [str(each) for each in groups.cat.categories]),
    }
    _mark(var, fitted)
    if not hasattr(adata.obs[groupby], "cat"):
        adata.obs[groupby] = groups
    return fitted


# What is given ---------------------------------------------------------------------------------


def _matrix(adata: Any, layer: str | None, use_raw: bool) -> tuple[Any, Any]:
    """Return the matrix of cells and genes, and the table of its genes."""
    if not all(hasattr(adata, name) for name in ("obs", "var", "layers", "uns")):
        raise TypeError(f"`adata` must be an AnnData object; got {type(adata).__name__}.")
    if getattr(adata, "isbacked", False):
        raise TypeError("`adata` must be in memory; pass adata.to_memory().")
    if use_raw and layer is not None:
        raise ValueError(f"`layer` and `use_raw` exclude each other; got {layer!r} and True.")
    if use_raw:
        if adata.raw is None:
            raise ValueError("`use_raw` must be False: this AnnData has no `raw`.")
        return adata.raw.X, adata.raw.var
    if layer is None:
        if adata.X is None:
            raise ValueError("`layer` must be given: this AnnData has no X.")
        return adata.X, adata.var
    if layer not in adata.layers:
        known = list(adata.layers.keys())
        raise ValueError(
            f"`layer` must be one of the layers; got {layer!r}: {nearest(layer, known, 'layer')}"
        )
    return adata.layers[layer], adata.var


def _groups(adata: Any, groupby: str) -> Any:
    """Return the column of groups as categories, those without cells left out."""
    if groupby not in adata.obs:
        raise ValueError(
            f"`groupby` must be a column of `obs`; got {groupby!r}: "
            f"{nearest(str(groupby), map(str, adata.obs.columns))}"
        )
    if adata.obs[groupby].isna().any():
        n = int(adata.obs[groupby].isna().sum())
        raise ValueError(
            f"`groupby`={groupby!r} must name the group of every cell; {n:,} have none: take "
            f"adata[adata.obs[{groupby!r}].notna()].copy()."
        )
    column = adata.obs[groupby]
    if not hasattr(column, "cat"):
        column = column.astype(str).astype("category")
    column = column.cat.remove_unused_categories()
    if len(column.cat.categories) < 2:
        raise ValueError(
            f"`groupby`={groupby!r} must name two or more groups; all cells are of one."
        )
    return column


def _estimator(
    model: str | AbstractSparseClassifier[Any], k: K | None, parameters: dict[str, Any]
) -> AbstractSparseClassifier[Any]:
    if isinstance(model, AbstractSparseClassifier):
        given = parameters if k is None else {"k": k, **parameters}
        if given:
            name, value = next(iter(given.items()))
            raise ValueError(
                f"`{name}`={value!r} is that of `model` where an estimator is given: "
                f"{type(model).__name__}({name}={value!r}, ...)."
            )
        name = model._model().name
        if name not in _MODELS:
            raise ValueError(f"`model` must be one of {', '.join(_MODELS)}; got that of {name}.")
        return model
    if model not in _MODELS:
        raise ValueError(
            f"`model` must be one of {', '.join(_MODELS)}, or an estimator of them; got {model!r}."
        )
    kind, usual = _MODELS[model]
    unknown = [name for name in parameters if name not in kind().get_params()]
    if unknown:
        raise TypeError(
            f"`{unknown[0]}` is no parameter of {kind.__name__}: "
            f"{nearest(unknown[0], kind().get_params())}"
        )
    return kind(k=50 if k is None else k, **{**usual, **parameters})


def _check_values(name: str, matrix: Any) -> None:
    """Refuse logarithms where counts are wanted: ranking them as counts would go unnoticed."""
    values = matrix.data if is_sparse(matrix) else np.asarray(matrix)
    if MODELS[name].takes != "counts" or values.dtype.kind in "biu":
        return
    odd = values[values != np.rint(values)]
    if odd.size:
        raise ValueError(
            f"`model`={name!r} takes counts, and {odd.size:,} values are no whole numbers, such as "
            f"{odd.flat[0]:g}. Name the layer of the counts (layer='counts'), or round them. Where "
            "there are only logarithms, take SparseL2Centers(scale='std') itself; model='gaussian' "
            "is for values that are seldom 0."
        )


# What is written -------------------------------------------------------------------------------


def _ranking(
    fitted: AbstractSparseClassifier[Any], names: Array, n: int, groups: list[str]
) -> dict[str, Array]:
    everything = np.arange(len(names))
    compared = against_others(fitted.model_, fitted._counted, everything)
    of_group = dict(
        zip(
            map(str, fitted.classes_.tolist()),
            (_of_group(each, names, n) for each in compared),
            strict=True,
        )
    )
    types = {"names": "O", "scores": "f4", "logfoldchanges": "f4", "pvals": "f8", "pvals_adj": "f8"}
    return {
        what: np.rec.fromarrays(
            [of_group[group][what].astype(kind) for group in groups],
            dtype=[(group, kind) for group in groups],
        )
        for what, kind in types.items()
    }


def _of_group(compared: Compared, names: Array, n: int) -> dict[str, Array]:
    contrast, gain = compared.contrast, compared.gain
    scores: FloatArray = np.sign(contrast.effect) * np.sqrt(2 * np.maximum(gain, 0.0))
    first: IntArray = np.argsort(-scores, kind="stable")[:n]
    figures = {
        "names": names,
        "scores": scores,
        "logfoldchanges": np.clip(contrast.log2_fold_change, -_LARGEST, _LARGEST),
        "pvals": compared.pvalue,
        "pvals_adj": false_discovery_control(compared.pvalue),
    }
    return {name: values[first] for name, values in figures.items()}


def _mark(var: Any, fitted: AbstractSparseClassifier[Any]) -> None:
    import pandas as pd  # which AnnData needs

    support, own = fitted.selection_.support, fitted.selection_.gain
    # Of genes that are not chosen, the separation of pairs or what they would add is not known.
    alone = fitted.model_.objective is None and getattr(fitted, "redundancy", None) is None
    gain = fitted.scores_.copy() if alone else np.full(len(fitted.support_), np.nan)
    gain[support] = own
    rank = np.zeros(len(gain), dtype=np.int64)
    rank[support[np.argsort(-own, kind="stable")]] = np.arange(1, len(support) + 1)
    var["naively_selected"] = fitted.support_
    var["naively_gain"] = gain
    var["naively_rank"] = pd.array(rank, dtype="Int64")
    var.loc[~fitted.support_, "naively_rank"] = pd.NA

"""AnnData in memory, written down as the reader of files wants it: what is read of it, no more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import scipy.sparse as sp

from naively._nearest import nearest
from naively.read.frame import check_named


def is_anndata(table: Any) -> bool:
    """Whether it is AnnData, by what it has; the package is not imported."""
    return all(hasattr(table, name) for name in ("X", "obs", "var", "layers", "uns"))


def written_anndata(
    path: Path,
    adata: Any,
    columns: Sequence[str],
    read: Mapping[str, Any],
    labels: Mapping[str, Any] | None = None,
) -> str:
    """Write the matrix that is to be read and some columns of `obs`; return the name of the file.

    `labels`, by the name of their column, stand beside them.

    Raises
    ------
    ValueError
        If the matrix, the layer or a column is not there, or the cells are not in memory.
    """
    if getattr(adata, "isbacked", False):
        raise ValueError("`table` must be in memory; pass the name of its file instead.")
    check_named(adata.obs, columns, "column of `obs`")
    layer = read.get("layer")
    raw = layer == "raw" and adata.raw is not None
    if not raw and layer not in (None, "X", *adata.layers):
        known = [*adata.layers, *["raw"] * (adata.raw is not None)]
        raise ValueError(
            f"`read` layer={layer!r} is no layer: {nearest(str(layer), known, 'layer')}"
        )
    own, var = layer in (None, "X"), adata.raw.var if raw else adata.var
    if own and adata.X is None:
        raise ValueError("`read` must name a layer, as {'layer': 'counts'}: there is no X.")
    some = import_module("anndata").AnnData(
        X=adata.X if own else sp.csr_matrix((adata.n_obs, len(var))),
        obs=adata.obs[list(columns)].assign(**(labels or {})),
        var=var[[]],
        layers={} if own or raw else {layer: adata.layers[layer]},
    )
    if raw:
        some.X = adata.raw.X
        some.raw = some
    file = path.with_suffix(".h5ad")
    some.write_h5ad(file)
    return str(file)

"""Genes of each group, where scanpy looks for them."""

import sys

import anndata
import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from scipy import sparse
from scipy.stats import chi2

import naively.scanpy
from naively import SparseGaussianNB, SparseL2Centers, SparsePoissonNB, markers
from naively.cli.commands import naively as command

GROUPS = ["B cell", "NK", "T cell"]


def some_cells(seed=0, n=90, m=60):
    rng = np.random.default_rng(seed)
    codes = rng.permutation(np.repeat([0, 1, 2], n // 3))
    rate = np.full((3, m), 0.5)
    for c in range(3):
        rate[c, 2 * c : 2 * c + 2] = 6
    counts = rng.poisson(rate[codes] * rng.uniform(0.5, 2, (n, 1)))
    cells = anndata.AnnData(
        X=np.log1p(counts).astype(np.float32),
        obs=pd.DataFrame({"type": np.array(GROUPS)[codes]}, index=[f"c{i}" for i in range(n)]),
        var=pd.DataFrame(index=[f"gene{j}" for j in range(m)]),
        layers={"counts": sparse.csr_matrix(counts)},
    )
    return cells, counts


def test_the_structure_is_that_of_scanpy():
    sc = pytest.importorskip("scanpy")
    cells, _ = some_cells()
    cells.obs["type"] = cells.obs["type"].astype("category")
    sc.tl.rank_genes_groups(cells, "type", use_raw=False, key_added="theirs")
    naively.scanpy.rank_genes(cells, "type", layer="counts")
    ours, theirs = cells.uns["rank_genes_groups"], cells.uns["theirs"]
    assert ours.keys() == theirs.keys()
    assert ours["params"].keys() == theirs["params"].keys()
    for name in theirs.keys() - {"params"}:
        assert type(ours[name]) is type(theirs[name])
        assert ours[name].dtype == theirs[name].dtype
        assert ours[name].shape == theirs[name].shape
    for group in GROUPS:  # the genes that were made to differ come first in both
        assert set(ours["names"][group][:2]) == set(theirs["names"][group][:2])


def test_tables_and_plots_of_scanpy_work_on_it(tmp_path):
    sc = pytest.importorskip("scanpy")
    plt = pytest.importorskip("matplotlib.pyplot")
    cells, _ = some_cells()
    naively.scanpy.rank_genes(cells, "type", layer="counts")
    frame = sc.get.rank_genes_groups_df(cells, "NK")
    assert frame.columns.tolist() == ["names", "scores", "logfoldchanges", "pvals", "pvals_adj"]
    assert len(frame) == 60
    assert set(frame["names"][:2]) == {"gene2", "gene3"}
    sc.pl.rank_genes_groups(cells, show=False)
    sc.pl.rank_genes_groups_dotplot(cells, n_genes=2, dendrogram=False, show=False)
    sc.pl.rank_genes_groups_matrixplot(
        cells, n_genes=2, dendrogram=False, values_to_plot="logfoldchanges", show=False
    )
    plt.close("all")
    cells.write_h5ad(tmp_path / "cells.h5ad")
    again = anndata.read_h5ad(tmp_path / "cells.h5ad")
    assert again.uns["rank_genes_groups"]["names"]["NK"][0] == frame["names"][0]
    assert again.var["naively_selected"].tolist() == cells.var["naively_selected"].tolist()


def test_figures_are_those_of_the_markers():
    cells, counts = some_cells()
    model = naively.scanpy.rank_genes(cells, "type", layer="counts", k=6)
    found = cells.uns["rank_genes_groups"]
    known = markers(SparsePoissonNB(k="all", exposure="total").fit(counts, cells.obs["type"]), None)
    for group in GROUPS:
        own = known.label == group
        n = own.sum()
        assert found["names"][group][:n].tolist() == [f"gene{j}" for j in known.column[own]]
        np.testing.assert_allclose(found["scores"][group][:n] ** 2, 2 * known.gain[own], rtol=1e-5)
        assert np.array_equal(found["pvals"][group][:n], known.pvalue[own])
        folds = np.minimum(known.log2_fold_change[own], 30)
        np.testing.assert_allclose(found["logfoldchanges"][group][:n], folds, rtol=1e-5)
        assert (np.diff(found["scores"][group]) <= 0).all()
        p = found["pvals"][group]  # of a likelihood ratio of one degree of freedom
        np.testing.assert_allclose(p, chi2.sf(found["scores"][group] ** 2.0, 1), rtol=1e-3)
        order = np.argsort(p)  # Benjamini and Hochberg (1995), in plain steps
        least = 1.0
        for rank in range(len(p), 0, -1):
            i = order[rank - 1]
            least = min(least, p[i] * len(p) / rank)
            assert found["pvals_adj"][group][i] == pytest.approx(least, rel=1e-12)
    assert model.predict(cells.to_df("counts")).tolist()  # what is returned decides


def test_the_panel_is_marked_in_var():
    cells, counts = some_cells()
    naively.scanpy.rank_genes(cells, "type", layer="counts", k=6)
    fitted = SparsePoissonNB(k=6, exposure="total").fit(counts, cells.obs["type"].astype(str))
    var = cells.var
    assert var["naively_selected"].tolist() == fitted.support_.tolist()
    assert np.array_equal(var["naively_gain"], fitted.scores_)
    ranked = var[var["naively_selected"]].sort_values("naively_rank")
    assert ranked["naively_rank"].tolist() == [1, 2, 3, 4, 5, 6]
    assert (np.diff(ranked["naively_gain"]) <= 0).all()
    assert var.loc[~var["naively_selected"], "naively_rank"].isna().all()


def test_raw_and_models_and_estimators():
    cells, _ = some_cells()
    cells.raw = cells
    few = cells[:, :30].copy()
    for model in ("gaussian", "bernoulli", SparseGaussianNB(k=5, variance="shared")):
        k = 5 if isinstance(model, str) else None
        naively.scanpy.rank_genes(few, "type", use_raw=True, model=model, k=k)
        assert len(few.uns["rank_genes_groups"]["names"]) == 60
        assert few.raw.var["naively_selected"].sum() == 5
        assert few.uns["rank_genes_groups"]["params"]["use_raw"] is True
    for model in ("multinomial", "negative-binomial"):
        naively.scanpy.rank_genes(few, "type", layer="counts", model=model, k=5, key_added="mine")
        assert set(few.uns["mine"]["names"]["B cell"][:2]) == {"gene0", "gene1"}
        assert few.uns["mine"]["params"]["method"] == f"naively-{model}"


@pytest.mark.parametrize("options", [{}, {"objective": "pairs"}, {"quota": "even"}])
def test_genes_are_matched_by_name(options):
    cells, _ = some_cells()
    model = naively.scanpy.rank_genes(
        cells, "type", layer="counts", model=SparsePoissonNB(k=6, exposure="total", **options)
    )
    table = cells.to_df("counts")
    answers = model.predict(table).tolist()
    assert np.mean(np.array(answers) == cells.obs["type"].astype(str)) > 0.9
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(table[table.columns[::-1]])
    assert set(model.get_feature_names_out()) == set(cells.var_names[cells.var["naively_selected"]])


def test_parameters_are_those_of_the_estimator():
    cells, _ = some_cells()
    options = {"objective": "pairs", "quota": 1}
    one = naively.scanpy.rank_genes(cells, "type", layer="counts", k=6, **options)
    other = SparsePoissonNB(k=6, exposure="total", **options)
    other.fit(cells.to_df("counts"), cells.obs["type"].astype(str))
    assert one.support_.tolist() == other.support_.tolist()
    with pytest.raises(TypeError, match="`quotas` is no parameter of SparsePoissonNB.*`quota`"):
        naively.scanpy.rank_genes(cells, "type", layer="counts", quotas=1)
    for given in ({"k": 6}, {"quota": 1}):
        with pytest.raises(ValueError, match=rf"`{next(iter(given))}`=. is that of `model`"):
            naively.scanpy.rank_genes(cells, "type", layer="counts", model=other, **given)


@pytest.mark.parametrize("asked", ["objective=pairs", "redundancy=conditional", None])
def test_the_panel_is_in_the_order_and_unit_of_the_command(asked, tmp_path):
    cells, _ = some_cells()
    cells.write_h5ad(tmp_path / "cells.h5ad")
    options = {} if asked is None else dict([asked.split("=")])
    model = SparsePoissonNB(k=6, **options)
    naively.scanpy.rank_genes(cells, "type", layer="counts", model=model)
    arguments = [
        *("select", tmp_path / "cells.h5ad", "--label", "type", "--read", "layer=counts"),
        *("--model", "poisson", "-k", 6, "--test", 0, "-q", "-o", tmp_path / "out"),
        *(() if asked is None else ("--choose", asked)),
    ]
    result = CliRunner().invoke(command, [str(each) for each in arguments])
    assert result.exit_code == 0, result.output
    told = pd.read_csv(tmp_path / "out" / "features.csv")
    panel = cells.var[cells.var["naively_selected"]].sort_values("naively_rank")
    assert panel.index.tolist() == told["feature"].tolist()
    np.testing.assert_allclose(panel["naively_gain"], told["gain"], atol=1e-4)  # as written
    others = cells.var.loc[~cells.var["naively_selected"], "naively_gain"]
    assert others.isna().all() == (asked is not None)


def test_the_model_is_saved_with_the_names_of_genes(tmp_path):
    cells, _ = some_cells()
    model = naively.scanpy.rank_genes(cells, "type", layer="counts", k=6)
    naively.save(model, tmp_path / "m.npz")
    other = cells[:, ::-1].copy()
    expected = model.predict(cells.to_df("counts")).tolist()
    loaded = naively.load(tmp_path / "m.npz")
    assert loaded.predict(other.to_df("counts")).tolist() == expected


def test_genes_of_one_name_are_refused():
    cells, _ = some_cells()
    cells.var_names = ["a", "a", *cells.var_names[2:]]
    with pytest.raises(ValueError, match="'a' is given twice.*var_names_make_unique"):
        naively.scanpy.rank_genes(cells, "type", layer="counts")


def test_groups_come_in_the_order_of_their_categories():
    cells, _ = some_cells()
    order = ["T cell", "nobody", "B cell", "NK"]
    cells.obs["type"] = pd.Categorical(cells.obs["type"], categories=order)
    naively.scanpy.rank_genes(cells, "type", layer="counts")
    assert cells.uns["rank_genes_groups"]["names"].dtype.names == ("T cell", "B cell", "NK")
    cells.obs["cluster"] = np.arange(90) % 3  # numbers, as of a clustering
    naively.scanpy.rank_genes(cells, "cluster", layer="counts", k=3)
    assert cells.uns["rank_genes_groups"]["names"].dtype.names == ("0", "1", "2")


REFUSED = {
    "logarithms": ({}, ValueError, "takes counts, and .* no whole numbers.*layer='counts'"),
    "layer": ({"layer": "count"}, ValueError, "`layer` must be one.*did you mean `counts`"),
    "raw": ({"use_raw": True}, ValueError, "has no `raw`"),
    "both": ({"use_raw": True, "layer": "counts"}, ValueError, "exclude each other"),
    "model": ({"model": "t-test"}, ValueError, "`model` must be one of poisson"),
    "centers": ({"model": SparseL2Centers()}, ValueError, "got that of l2-centers"),
    "n_genes": ({"layer": "counts", "n_genes": 61}, ValueError, r"`n_genes` must be .* \[1, 60\]"),
    "groupby": ({"groupby": "typ"}, ValueError, "did you mean `type`"),
    "missing": ({"groupby": "gap"}, ValueError, "1 have none: take adata"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_ranked_is_refused_and_nothing_is_written(case):
    cells, _ = some_cells()
    cells.obs["gap"] = cells.obs["type"].where(np.arange(90) > 0)
    options, kind, message = REFUSED[case]
    with pytest.raises(kind, match=message):
        naively.scanpy.rank_genes(cells, **({"groupby": "type"} | options))
    assert not cells.uns
    assert not hasattr(cells.obs["type"], "cat")
    assert cells.var.empty


def test_without_a_matrix_a_layer_is_wanted():
    cells, counts = some_cells()
    bare = anndata.AnnData(X=None, obs=cells.obs, var=cells.var, layers={"counts": counts})
    with pytest.raises(ValueError, match="`layer` must be given"):
        naively.scanpy.rank_genes(bare, "type")
    naively.scanpy.rank_genes(bare, "type", layer="counts")
    assert bare.obs["type"].cat.categories.tolist() == GROUPS


def test_other_objects_are_refused():
    with pytest.raises(TypeError, match="`adata` must be an AnnData object; got DataFrame"):
        naively.scanpy.rank_genes(pd.DataFrame({"a": [1]}), "a")


@pytest.mark.parametrize("estimator", [SparsePoissonNB(), naively.SparseMixedNB()])
def test_estimators_say_what_to_do_with_anndata(estimator):
    cells, counts = some_cells()
    with pytest.raises(TypeError, match=r"got AnnData. Pass adata.X.*naively.scanpy.rank_genes"):
        estimator.fit(cells, cells.obs["type"])
    with pytest.raises(TypeError, match="got AnnData"):
        SparsePoissonNB(k=3).fit(counts, cells.obs["type"]).predict(cells)


def test_scanpy_is_not_imported_by_it():
    import subprocess

    code = "import sys, naively.scanpy; print({'scanpy', 'anndata'} & set(sys.modules))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "set()"

"""What docs/for/peers.md says of scikit-learn and scanpy, and of us beside them."""

import anndata
import numpy as np
import pandas as pd
import pytest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.feature_selection import SelectFdr, SelectKBest, chi2
from sklearn.naive_bayes import MultinomialNB

from naively import SparseBernoulliNB, SparseMultinomialNB, WordCounts
from naively.scanpy import rank_genes

sc = pytest.importorskip("scanpy")

TEXTS = ["A dull, dull plot.", "Süß and SÜSS", "x y ok", "a joy, a lovely plot"]
COUNTS = np.array([[1, 1, 0, 2], [1, 1, 0, 2], [0, 0, 1, 2], [0, 0, 1, 2]])
LABELS = [0, 0, 1, 1]
TYPES = np.repeat(["B", "NK", "T"], 50)


def test_words_are_those_of_count_vectorizer():
    theirs, ours = CountVectorizer(), WordCounts()
    assert (theirs.fit_transform(TEXTS) != ours.fit_transform(TEXTS)).nnz == 0
    assert theirs.get_feature_names_out().tolist() == ours.get_feature_names_out().tolist()
    with pytest.raises(TypeError, match="max_features"):
        WordCounts(max_features=10)


def test_ties_go_to_the_last_columns_there_and_to_the_first_here():
    assert SelectKBest(chi2, k=1).fit(COUNTS, LABELS).get_support(indices=True) == [2]
    assert SparseBernoulliNB(k=1).fit(COUNTS, LABELS).get_support(indices=True) == [0]


def test_a_multinomial_mixes_the_kinds_that_tie():
    chosen = SparseMultinomialNB(k=2).fit(COUNTS, LABELS).get_support(indices=True)
    assert chosen.tolist() == [0, 2]  # one for each class
    assert SelectKBest(chi2, k=2).fit(COUNTS, LABELS).get_support(indices=True).tolist() == [1, 2]


def test_one_column_of_shares_decides_nothing():
    alone = SparseMultinomialNB(k=1).fit(COUNTS, LABELS)
    assert alone.certificate_.gain == pytest.approx(0, abs=1e-9)
    np.testing.assert_allclose(alone.predict_proba(COUNTS), 0.5)


def test_too_large_a_k_warns_on_both_sides():
    for model in (SelectKBest(chi2, k=9), SparseBernoulliNB(k=9)):
        with pytest.warns(UserWarning, match="greater than n_features=4"):
            assert model.fit(COUNTS, LABELS).get_support().all()


def test_a_burst_is_chosen_by_chi2_and_not_by_presence():
    X, y = np.array([[1, 50], [1, 0], [1, 0], [0, 0], [0, 0], [0, 0]]), [0, 0, 0, 1, 1, 1]
    assert SelectKBest(chi2, k=1).fit(X, y).get_support(indices=True) == [1]
    assert SparseBernoulliNB(k=1).fit(X, y).get_support(indices=True) == [0]


def test_counts_that_vary_are_discoveries_of_chi2_alone():
    X, y = np.random.default_rng(0).negative_binomial(0.5, 0.1, (400, 500)), np.arange(400) % 2
    assert SelectFdr(chi2, alpha=0.1).fit(X, y).get_support().sum() > 200
    with pytest.warns(UserWarning, match="No feature is significant"):
        assert SparseMultinomialNB(k="fdr").fit(X, y).get_support().sum() == 0


def test_all_features_are_multinomial_nb():
    theirs = MultinomialNB().fit(COUNTS, LABELS).predict_proba(COUNTS)
    ours = SparseMultinomialNB(k="all").fit(COUNTS, LABELS).predict_proba(COUNTS)
    np.testing.assert_allclose(ours, theirs, rtol=1e-12)


def cells(values, types=TYPES, **layers):
    obs = pd.DataFrame({"type": types}, index=[f"c{i}" for i in range(len(types))])
    var = pd.DataFrame(index=[f"g{j}" for j in range(values.shape[1])])
    return anndata.AnnData(values.astype(float), obs=obs, var=var, layers=layers)


@pytest.fixture(scope="module")
def counts():
    rate = np.full((3, 300), 0.5)
    rate[0, 0] = rate[1, 1] = rate[2, 2] = 5
    return np.random.default_rng(0).poisson(rate[np.repeat([0, 1, 2], 50)])


def test_both_rank_by_falling_score_in_one_layout(counts):
    data = cells(np.log1p(counts), counts=counts)
    sc.tl.rank_genes_groups(data, "type")
    rank_genes(data, "type", layer="counts", k=3, key_added="ours")
    theirs, ours = data.uns["rank_genes_groups"], data.uns["ours"]
    assert set(ours) == set(theirs)
    assert theirs["params"]["method"] == "t-test"
    assert ours["params"]["method"] == "naively-poisson"
    for found in (theirs, ours):
        assert list(found["names"][0]) == ["g0", "g1", "g2"]
        assert (np.diff(found["scores"]["B"]) <= 0).all()
        assert found["logfoldchanges"]["B"][0] > 0 > found["scores"]["B"][-1]
    assert data.var.index[data.var["naively_selected"]].tolist() == ["g0", "g1", "g2"]


def test_logarithms_there_and_counts_here(counts):
    with pytest.raises(ValueError, match="takes counts"):
        rank_genes(cells(np.log1p(counts)), "type", k=3)


def test_raw_is_used_there_without_being_asked(counts):
    data = cells(np.log1p(counts), counts=counts)
    data.raw = data
    few = data[:, 10:].copy()
    sc.tl.rank_genes_groups(few, "type")
    assert few.uns["rank_genes_groups"]["names"]["B"][0] == "g0"
    rank_genes(few, "type", layer="counts", k=3)
    assert "g0" not in few.uns["rank_genes_groups"]["names"]["B"]


def test_cells_without_a_group(counts):
    types = pd.Categorical(np.where(np.arange(150) < 3, None, TYPES))
    data = cells(np.log1p(counts), types, counts=counts)
    sc.tl.rank_genes_groups(data, "type")  # as if they were not there
    with pytest.raises(ValueError, match="3 have none"):
        rank_genes(data, "type", layer="counts", k=3)


def test_a_group_of_one_cell(counts):
    data = cells(np.log1p(counts), np.r_[["X"], TYPES[1:]], counts=counts)
    with pytest.raises(ValueError, match="only contain one sample"):
        sc.tl.rank_genes_groups(data, "type")
    rank_genes(data, "type", layer="counts", k=3)


def test_depth_alone_is_significant_there_until_it_is_normalised(counts):
    deep = np.arange(150) % 2
    thin = np.random.default_rng(1).binomial(counts, np.where(deep[:, None], 1, 0.5))
    data = cells(np.log1p(thin), np.where(deep, "deep", "thin"), counts=thin)
    sc.tl.rank_genes_groups(data, "type")
    assert (data.uns["rank_genes_groups"]["pvals_adj"]["deep"] < 0.05).mean() > 0.5
    rank_genes(data, "type", layer="counts", k=3)
    assert (data.uns["rank_genes_groups"]["pvals_adj"]["deep"] < 0.05).mean() < 0.02

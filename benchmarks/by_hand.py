"""The job of `naively select` in scikit-learn: `python -m benchmarks.by_hand 'FILES'`."""

import glob
import sys

import numpy as np
import pyarrow.parquet as pq
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.feature_selection import SelectKBest, chi2
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline

if __name__ == "__main__":
    tables = [pq.read_table(path) for path in sorted(glob.glob(sys.argv[1]))]
    texts = [text for table in tables for text in table["text"].to_pylist()]
    y = np.array([label for table in tables for label in table["label"].to_pylist()])
    X = CountVectorizer().fit_transform(texts)
    train, test = train_test_split(np.arange(len(y)), test_size=0.2, stratify=y, random_state=0)
    model = make_pipeline(SelectKBest(chi2, k=1000), MultinomialNB())
    print("accuracy", model.fit(X[train], y[train]).score(X[test], y[test]))
    model.fit(X, y)

"""A grid search over `SelectKBest(chi2)` and `MultinomialNB` on the reviews of `cross_validation`.

Every tenth of the hundred values of k, in five folds, once; the whole grid takes ten times that.
"""

from experiments.frame import Table
from sklearn.feature_selection import SelectKBest, chi2
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline

from benchmarks.cross_validation import grid_of, reviews
from benchmarks.turns import once


def run(asked):
    X, y, X_test, y_test = reviews(asked.data)
    pipeline = make_pipeline(SelectKBest(chi2), MultinomialNB())
    grid = GridSearchCV(pipeline, {"selectkbest__k": grid_of(X)[5::10]}, cv=5, refit=False)
    _, seconds = once(lambda: grid.fit(X, y))
    [k] = grid.best_params_.values()
    score = pipeline.set_params(**grid.best_params_).fit(X, y).score(X_test, y_test)
    table = Table(["the whole grid, CPU s", "best k", "its score", "test half"])
    table.rows.append([10 * seconds, int(k), float(grid.best_score_), score])
    return {"Grid search over SelectKBest(chi2) and MultinomialNB": table}

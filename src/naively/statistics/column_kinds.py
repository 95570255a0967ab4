"""The kinds that a column of a table may have. Importing this costs nothing."""

KINDS = ("gaussian", "categorical", "bernoulli", "poisson")

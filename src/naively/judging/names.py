"""Scores by which k is chosen, by scikit-learn's names (:mod:`naively.judging.scoring`)."""

SCORINGS = ("accuracy", "balanced_accuracy", "f1_macro", "neg_log_loss")
SHARES = SCORINGS[:2]  # of the rows that are decided rightly

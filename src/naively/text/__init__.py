"""Texts, and the features that are counted in them."""

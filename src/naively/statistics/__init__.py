"""Mergeable class statistics: all that training needs to know of the data."""

"""The summary of a run and the documents made from it."""

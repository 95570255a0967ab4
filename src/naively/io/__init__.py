"""Files in and out: tables, text, sparse matrices, models."""

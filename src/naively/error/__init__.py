"""Predicted error without held-out data, and feature search by it."""

"""Counting where the data are: part by part, on this machine or on an engine."""

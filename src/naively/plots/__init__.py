"""Displays: numbers first, then a plot of them (needs matplotlib)."""

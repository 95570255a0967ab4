"""Compiled inner loops on flat arrays."""

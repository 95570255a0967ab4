"""The same rows through every command, format, packing, model and way: one answer, or one sentence.

`sources.py` writes a table in every format, `cells.py` says what a cell of the grid runs and what
must come of it, `covering.py` chooses cells in which all pairs occur. `tests/test_grid_commands.py`
runs those; `python -m tests.grid SECONDS` runs random cells until the time is over.
"""

"""Models: one file each, a record of functions of its statistics."""

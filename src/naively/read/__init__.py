"""Files in: every format as batches of rows, packed or not, whole or in parts."""

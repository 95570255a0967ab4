"""How good models are, measured on rows."""

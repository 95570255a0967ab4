"""How good models are expected to be, by their probabilities alone."""

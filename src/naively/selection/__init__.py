"""Which k features: top k of separable gains, the coupled dual, exact search, the path."""

"""Statistics of raw text, of data larger than memory, and of data larger than a machine."""

"""Settings of the whole test run."""

import os

# scikit-learn's check of array API input needs this before SciPy is imported.
os.environ.setdefault("SCIPY_ARRAY_API", "1")

"""Settings of the whole test run."""

import os

from hypothesis import settings

# scikit-learn's check of array API input needs this before SciPy is imported.
os.environ.setdefault("SCIPY_ARRAY_API", "1")

# Kernels compile at their first call, so that no example has a fair deadline.
settings.register_profile("naively", deadline=None, derandomize=True)
settings.load_profile("naively")

"""What sums of the same weights may differ by, and what is therefore nothing."""

from __future__ import annotations

# A sum of n weights, added up in another order or taken away again, differs by n 1e-16 of itself at
# most. A difference up to this share of what it was taken from is rounding, and is exactly 0: what
# was taken away completely must be absent, not present with a weight of 1e-17. That holds for
# thousands of batches; a row whose weight is a smaller share of its class is lost in a subtraction.
RESIDUE = 1e-12

"""Names for the types that cross module borders."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    from scipy.sparse import sparray, spmatrix

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int64]
BoolArray: TypeAlias = NDArray[np.bool_]
Array: TypeAlias = NDArray[Any]


class Frame(Protocol):
    """A table of named columns: of pandas, polars or anything alike."""

    @property
    def columns(self) -> Any:
        """Names of the columns."""
        ...

    def __getitem__(self, name: Any, /) -> Any: ...

    def to_numpy(self) -> Array:
        """Return all values."""
        ...


MatrixLike: TypeAlias = "ArrayLike | spmatrix | sparray | Frame"  # rows as users have them
K: TypeAlias = (
    int | float | str | None
)  # a number of features, a share of them, "all", "fdr" or a choice; None: what a budget pays

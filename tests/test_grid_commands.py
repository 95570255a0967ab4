"""Every pair of command, format, packing, model, way, change of rows and kind of labels.

What must be equal is equal, what cannot be used is refused in one sentence, nothing else happens.
"""

import pytest
from tests.grid.cells import DIMENSIONS, Cell, fault, sensible
from tests.grid.covering import covering

CELLS = [Cell(*row) for row in covering(DIMENSIONS, lambda row: sensible(Cell(*row)))]


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("cell", CELLS, ids=str)
def test_a_cell_gives_what_the_plain_one_gives_or_one_sentence(cell):
    assert fault(cell) == ""

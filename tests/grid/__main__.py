"""Run random cells of the whole product until the time is over, and say what is wrong."""

import sys
import time
import warnings
from random import Random

from tests.grid.cells import DIMENSIONS, Cell, fault, sensible


def main() -> None:
    end, random, tried = time.monotonic() + float(sys.argv[1]), Random(time.time_ns()), 0
    warnings.simplefilter("ignore")
    while time.monotonic() < end:
        cell = Cell(*map(random.choice, DIMENSIONS.values()))
        if sensible(cell):
            tried += 1
            if wrong := fault(cell):
                sys.stdout.write(f"{cell}: {wrong}\n")
    sys.stdout.write(f"{tried:,} cells\n")


main()

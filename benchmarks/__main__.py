"""Run benchmarks, keep their tables in results/NAME.json and renew the page that shows them.

python -m benchmarks fit counting --rounds 5
python -m benchmarks cross_validation words --data DIR
python -m benchmarks first_minute --before OLD/src
"""

import argparse
import sys
from importlib import import_module
from pathlib import Path

from benchmarks.turns import HERE, keep


def main():
    known = sorted(file.stem for file in HERE.glob("*.py") if "\ndef run(asked" in file.read_text())
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="+", choices=known, metavar="NAME", help=", ".join(known))
    parser.add_argument("--rounds", type=int, default=5, help="jobs take turns so many times")
    parser.add_argument("--data", type=Path, help="folder of the data sets (experiments/README.md)")
    parser.add_argument("--before", type=Path, help="the folder `src` of an earlier tree")
    parser.add_argument("--python", default=sys.executable, help="with polars and fasttext")
    parser.add_argument("--dry", action="store_true", help="keep nothing")
    asked = parser.parse_args()
    for name in asked.names:
        tables = import_module(f"benchmarks.{name}").run(asked)
        for title, table in tables.items():
            table.rows = [[_three_digits(cell) for cell in row] for row in table.rows]
            print("\n".join(["", title, "", *table.markdown()]), flush=True)
        if not asked.dry:
            keep(name, tables)


def _three_digits(cell):
    return float(f"{cell:.3g}") if isinstance(cell, float) else cell


if __name__ == "__main__":
    main()

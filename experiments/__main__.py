"""The papers' tables, figures and claims: `python -m experiments NAME ... --data DIR`."""

import argparse
import sys
from pathlib import Path

from experiments import frame
from experiments.datasets import Data


def main() -> int:
    known = frame.names()
    parser = argparse.ArgumentParser(prog="python -m experiments", description=__doc__)
    parser.add_argument(
        "names", nargs="+", metavar="NAME", help=f"all, page, or of {', '.join(known)}"
    )
    parser.add_argument("--data", type=Path, help="folder of the data sets (experiments/README.md)")
    parser.add_argument(
        "--quick", action="store_true", help="generated data, seconds; nothing is kept"
    )
    parser.add_argument(
        "--check", action="store_true", help="compare with the kept results instead of keeping"
    )
    options = parser.parse_args()
    asked = known if options.names == ["all"] else [n for n in options.names if n != "page"]
    if unknown := set(asked) - set(known):
        parser.error(
            f"unknown: {', '.join(sorted(unknown))}; the experiments are {', '.join(known)}"
        )
    if asked and not options.quick and options.data is None:
        parser.error("--data is needed: the folder of the data sets; or --quick for generated data")
    failed = False
    for name in asked:
        data = Data(None if options.quick else options.data)
        result, seconds = frame.run(name, data, options.quick)
        wrong = [f"not so: {sentence}" for sentence in result.failed]
        if options.check:
            wrong += [f"another table: {title}" for title in frame.differences(name, result)]
        elif not options.quick:
            frame.keep(name, result, seconds)
        failed |= bool(wrong)
        frame.report("\n  ".join([f"{name}: {seconds:.0f} s", *wrong]))
    if not (options.quick or options.check):
        frame.PAGE.write_text(frame.page(), encoding="utf8")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())

"""Figures kept one by one in results/NAME.csv, for experiments of hours.

What is there is not computed again; delete a row to have it computed afresh.
"""

import csv

from experiments.frame import RESULTS, report


class Cells:
    """Rows of a file: a key of texts, and figures. A quick run has no file."""

    def __init__(self, name, keys, figures, quick):
        self.path = None if quick else RESULTS / f"{name}.csv"
        self.keys, self.figures = keys, figures
        self.found, self.fresh = {}, 0
        if self.path is not None and self.path.exists():
            with self.path.open(newline="", encoding="utf8") as file:
                for row in csv.DictReader(file):
                    self.found[tuple(row[key] for key in keys)] = self._read(row)

    def _read(self, row):
        return {name: number(row[name]) for name in self.figures}

    def __contains__(self, key):
        return tuple(map(str, key)) in self.found

    def __getitem__(self, key):
        return self.found[tuple(map(str, key))]

    def get(self, key, figure):
        """One figure, None where it was not judged."""
        return self.found.get(tuple(map(str, key)), {}).get(figure)

    def add(self, key, values):
        """Keep figures, numbers to four decimals."""
        key = tuple(map(str, key))
        texts = [f"{value:.4f}" if isinstance(value, float) else str(value) for value in values]
        self.found[key] = self._read(dict(zip(self.figures, texts, strict=True)))
        self.fresh += 1
        if self.path is not None:
            report(f"  {', '.join(key)}")
            new = not self.path.exists()
            with self.path.open("a", newline="", encoding="utf8") as file:
                lines = [[*self.keys, *self.figures]] if new else []
                csv.writer(file, lineterminator="\n").writerows([*lines, [*key, *texts]])

    def computed(self, key, compute):
        """The figures of a key, computed if they are not there."""
        if key not in self:
            self.add(key, compute())
        return self[key]

    def tell(self, table):
        """Note below a table where its figures are from."""
        if self.path is not None:
            of = f"{len(self.found):,} cells of results/{self.path.name}"
            told = f"From {of}, {self.fresh:,} of them computed in this run, the others before."
            table.note = " ".join(filter(None, [table.note, told]))


def number(text):
    """A number where the text is one; None where it is empty or not a number."""
    if text in ("", "nan"):
        return None
    try:
        return int(text) if text.isdigit() else float(text)
    except ValueError:
        return text

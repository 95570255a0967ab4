"""Thresholds for a wanted precision: chosen on five folds of the training rows, told on test rows.

python experiments/thresholds.py DATA > table.md

A split that a set has is kept; of the others a fifth of each class is held out. `within` says
whether the wanted precision lies in the 95 % interval of the test, or below it.
"""

import json
import tempfile
from pathlib import Path

from click.testing import CliRunner
from datasets import arguments

from naively.cli.commands import naively

K = 1000
WANTED = 0.95
SETS = {
    "sms_spam": "spam",
    "subj": "subjective",
    "rt_polarity": "pos",
    "mpqa": "neg",
    "imdb": "pos",
}


def main():
    asked = arguments(__doc__).parse_args()
    heads = ["set", "class", "nats", "test precision", "95 % interval", "rows answered", "recall"]
    print("|", " | ".join([*heads, "within"]), "|")
    print("|", " | ".join(["---"] * 2 + ["---:"] * 5 + ["---"]), "|", flush=True)
    for name in asked.only or SETS:
        with tempfile.TemporaryDirectory() as folder:
            split = ["--read", "split=split"] if name == "imdb" else []
            wanted = ["--judge", f"precision={SETS[name]}={WANTED}"]
            file = str(asked.data / name / f"{name}.jsonl.gz")
            command = ["select", file, "-k", str(K), *wanted, *split, "--out", f"{folder}/r"]
            done = CliRunner().invoke(naively, [*command, "--quick", "-q"], catch_exceptions=False)
            assert done.exit_code == 0, done.output
            (found,) = json.loads(Path(folder, "r", "summary.json").read_text())["thresholds"]
        if found["log_odds"] is None:
            cells = ["none"] + ["-"] * 5
        elif found["reached"] is None:
            cells = [f"{found['log_odds']:.2f}"] + ["-"] * 5
        else:
            cells = [
                f"{found['log_odds']:.2f}",
                f"{found['reached']:.4f}",
                f"{found['low']:.4f} to {found['high']:.4f}",
                f"{found['test_rows']:,}",
                f"{found['other']:.4f}",
                "yes" if found["high"] >= WANTED else "no",
            ]
        print("|", " | ".join([name, SETS[name], *cells]), "|", flush=True)


if __name__ == "__main__":
    main()

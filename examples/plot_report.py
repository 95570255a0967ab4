"""
The report of a run
===================

``naively select`` writes a page that opens offline: what was found, how well it decides, how sure
each feature is. ``naively.select`` does the same from a data frame, and shows the page in a
notebook.
"""

import tempfile
from pathlib import Path

import pandas as pd

import naively
from naively.jobs.demo import gather

# %%
# Docstrings of the libraries that are installed, and the library that each is of.
docstrings = gather()
table = pd.DataFrame(
    {"text": [each.text for each in docstrings], "label": [each.library for each in docstrings]}
)
result = naively.select(table, k=10, words={"stop-words": "english"})
print(result.features[["feature", "class", "gain"]].round(0).to_string(index=False))

# %%
# The folder that the command would have written: the page, the model, the features, the figures.
folder = Path(tempfile.mkdtemp()) / "result"
result.save(folder)
for file in sorted(folder.iterdir()):
    print(f"{file.name:>14} {file.stat().st_size:>9,} bytes")

# %%
# The top of the page, of ``naively demo``:
#
# .. image:: ../report.png
#    :alt: Report: the words that tell libraries apart, their certificate, accuracy and charts
#
# sphinx_gallery_thumbnail_path = '../docs/report.png'

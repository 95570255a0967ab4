"""How the documentation is built: `make docs`. Nothing here asks the network for anything."""

from __future__ import annotations

import inspect
import os
import sys
from pathlib import Path
from typing import Any

os.environ.setdefault("MPLBACKEND", "Agg")
sys.path.insert(0, str(Path(__file__).parent / "_ext"))

from numpydoc.docscrape_sphinx import SphinxDocString  # noqa: E402

import naively  # noqa: E402

project = "naively"
author = "The naively developers"
project_copyright = author
version = release = naively.__version__

extensions = [
    "myst_parser",
    "native_math",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_click",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "auto_examples/*.ipynb"]
templates_path = ["_templates"]
default_role = "literal"
smartquotes = False  # quotation marks are to be copied
nitpicky = True
# Other projects are named, not linked: their inventories are on the network.
nitpick_ignore_regex = [
    ("py:.*", r"(sklearn|numpy|matplotlib|scipy|click)\..*"),
    ("py:.*", r"naively\.(families|selection|error|statistics|kernels|scale|io|jobs)\..*"),
]

# -- Markdown -------------------------------------------------------------------------------------
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
myst_dmath_double_inline = False
suppress_warnings = ["myst.xref_missing_readme"]

# -- mathematics ----------------------------------------------------------------------------------
html_math_renderer = "native"

# -- reference ------------------------------------------------------------------------------------
autosummary_generate = True
autosummary_ignore_module_all = False
autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
toc_object_entries_show_parents = "hide"

# -- examples -------------------------------------------------------------------------------------
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "filename_pattern": r"\.py$",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_signature": False,
    "min_reported_time": 1000,
    "within_subsection_order": "ExampleTitleSortKey",
    "matplotlib_animations": False,
    "remove_config_comments": True,
    "capture_repr": (),
    "write_computation_times": False,  # its table loads scripts from the network
}

# -- pages ----------------------------------------------------------------------------------------
html_theme = "pydata_sphinx_theme"
html_title = "naively"
html_static_path = ["_static"]
html_css_files = ["naively.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "show_prev_next": True,
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_toc_level": 2,
    "pygments_light_style": "tango",
    "pygments_dark_style": "monokai",
}
_ALONE = ["quickstart", "choosing", "command", "changelog", "contributing"]
html_sidebars = {page: [] for page in _ALONE}


def _as_written(self: SphinxDocString, param: str, desc: list[str], _links: bool) -> Any:
    """Show an attribute as its class describes it, and not as its property does."""
    return _process_param(self, param, desc, False)


_process_param = SphinxDocString._process_param
SphinxDocString._process_param = _as_written  # numpydoc has no setting for it

# Described in the base of the classifiers, for those who add a model.
_SKIPPED = {"family"}


def _skip_member(_app: Any, what: str, name: str, obj: Any, skip: bool, _options: Any) -> bool:
    """Leave out what scikit-learn says better, and what the class lists as its attributes."""
    if what != "class" or skip or name in _SKIPPED:
        return skip or name in _SKIPPED
    function = obj.fget if isinstance(obj, property) else getattr(obj, "__func__", obj)
    if not inspect.isfunction(inspect.unwrap(function)) or not function.__module__.startswith(
        "naively"
    ):
        return True
    return isinstance(obj, property)


def _plain_help(_app: Any, _context: Any, lines: list[str]) -> None:
    """Take the help of options as plain text: an asterisk is an asterisk."""
    lines[:] = [line.replace("*", "\\*") for line in lines]


def _keys(_app: Any, context: Any, lines: list[str]) -> None:
    """Write the example of a command and the keys of its tables below its options."""
    from naively.cli.keys import Keyed

    if getattr(context.command, "example", ""):
        lines += ["", "Example::", "", f"    {context.command.example}", ""]
    for kind in (param.type for param in context.command.params if isinstance(param.type, Keyed)):
        lines += ["", f".. rubric:: Keys of --{kind.table}", ""]
        for key in kind.keys.values():
            told = key.help + " May be repeated." * key.many
            lines += [f"``{key.form}``", "    " + told.replace("*", "\\*").replace("|", "\\|"), ""]


def setup(app: Any) -> None:
    """Connect the hooks."""
    app.connect("sphinx-click-process-epilog", _keys)
    app.connect("autodoc-skip-member", _skip_member)
    app.connect("sphinx-click-process-options", _plain_help)

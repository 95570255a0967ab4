"""Every public name says what it takes, what it holds and what it gives back (numpydoc)."""

import dataclasses
import inspect
from functools import partial

import pytest

import naively

pytest.importorskip("numpydoc")
from numpydoc.docscrape import NumpyDocString
from numpydoc.validate import validate

CODES_NOT_ASKED_FOR = {
    "ES01",  # no longer description: one sentence may be enough
    "EX01",  # no example: asked for below, of classes and functions
    "SA01",  # no "see also"
    "RT02",  # what is returned may have a name
}
NAMES = sorted(name for name in naively.__all__ if name != "__version__")
DESCRIBED_IN_THE_BASE = {"family"}


def is_ours(function):
    return inspect.isfunction(function) and function.__module__.startswith("naively")


def methods(cls):
    """Public methods and properties that this package wrote."""
    for name in dir(cls):
        member = inspect.getattr_static(cls, name)
        function = getattr(member, "fget", None) or getattr(member, "__func__", member)
        if not name.startswith("_") and name not in DESCRIBED_IN_THE_BASE and is_ours(function):
            yield name


def complaints(name, *, forgiven=frozenset()):
    errors = validate(f"naively.{name}")["errors"]
    return [error for error in errors if error[0] not in CODES_NOT_ASKED_FOR | forgiven]


def attributes(cls):
    """Names in the section Attributes, where one line may describe several."""
    section = NumpyDocString(inspect.getdoc(cls))["Attributes"]
    return {name.strip() for entry in section for name in entry.name.split(",")}


@pytest.mark.parametrize("name", NAMES)
def test_docstring_has_its_sections(name):
    member = getattr(naively, name)
    # The fields of a record are its attributes: it is made by the package, not by its users.
    forgiven = {"PR01"} if dataclasses.is_dataclass(member) else set()
    assert not complaints(name, forgiven=forgiven)
    if inspect.isclass(member):
        assert not [each for method in methods(member) for each in complaints(f"{name}.{method}")]


@pytest.mark.parametrize("name", NAMES)
def test_classes_and_functions_have_examples(name):
    member = getattr(naively, name)
    doc = NumpyDocString(inspect.getdoc(member))
    made_elsewhere = dataclasses.is_dataclass(member) and doc["See Also"]
    is_warning = inspect.isclass(member) and issubclass(member, Warning)
    assert doc["Examples"] or made_elsewhere or is_warning


@pytest.mark.parametrize("name", NAMES)
def test_what_a_class_holds_is_described(name):
    cls = getattr(naively, name)
    if not inspect.isclass(cls) or issubclass(cls, Warning):
        return
    is_property = partial(is_fitted_property, cls)
    held = {each for each in dir(cls) if is_property(each)}
    if dataclasses.is_dataclass(cls):
        held |= {field.name for field in dataclasses.fields(cls)}
    assert held <= attributes(cls)


def is_fitted_property(cls, name):
    member = inspect.getattr_static(cls, name)
    return isinstance(member, property) and not name.startswith("_") and is_ours(member.fget)

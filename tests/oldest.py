"""Write the lowest versions that pyproject.toml declares, as constraints for pip.

`python -m tests.oldest` renews tests/oldest.txt, which `make test-oldest` installs from.
"""

import re
import tomllib
from pathlib import Path

HERE = Path(__file__).parent
CONSTRAINTS = HERE / "oldest.txt"
_REQUIREMENT = re.compile(r"([\w.-]+)(?:\[[\w.,-]+\])?>=([\w.]+)")


def constraints() -> str:
    """Return one line for each package with a declared minimum, in the order of names."""
    project = tomllib.loads((HERE.parent / "pyproject.toml").read_text("utf-8"))["project"]
    declared = [*project["dependencies"], *sum(project["optional-dependencies"].values(), [])]
    found = {match.groups() for each in declared if (match := _REQUIREMENT.fullmatch(each))}
    return "".join(f"{name}=={version}\n" for name, version in sorted(found))


if __name__ == "__main__":
    CONSTRAINTS.write_text(constraints(), "utf-8")

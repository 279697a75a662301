"""The package imports only what `pyproject.toml` declares: the development environment has more and would hide it."""

import ast
import re
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# Used where they are present: pytest loads its plugin itself, IPython is imported inside notebooks.
NOT_DECLARED = {"pytest", "IPython"}


def imported() -> dict[str, str]:
    """The outermost name of every imported module, with a file that imports it."""
    found: dict[str, str] = {}
    for path in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names = [node.module]
            else:
                continue
            found |= {name.partition(".")[0]: path.name for name in names}
    return found


def test_every_import_is_declared() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lines = project["dependencies"] + [
        line for extra in project["optional-dependencies"].values() for line in extra
    ]
    declared = {re.split(r"[\[<>=! ;]", line, maxsplit=1)[0].lower() for line in lines}
    provided = packages_distributions()
    missing = {
        name: file
        for name, file in imported().items()
        if name not in sys.stdlib_module_names
        and name not in NOT_DECLARED | {"answerkey"}
        and not declared & {each.lower().replace("_", "-") for each in provided.get(name, [name])}
    }
    assert not missing

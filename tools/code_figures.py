"""Figures about the source tree: `python tools/code_figures.py`. They show whether the code stays small and clear."""

from __future__ import annotations

import ast
import re
import sys
from collections import defaultdict
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1] / "src" / "answerkey"


def modules() -> dict[str, Path]:
    """Dotted name → file, for every module of the package."""
    found: dict[str, Path] = {}
    for path in sorted(SOURCE.rglob("*.py")):
        parts = path.relative_to(SOURCE.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports(tree: ast.AST, known: set[str]) -> list[tuple[str, bool]]:
    """First-party modules that a module imports, and whether the import stands inside a function."""
    inside = {
        id(node)
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for node in ast.walk(function)
        if isinstance(node, ast.Import | ast.ImportFrom)
    }
    found: list[tuple[str, bool]] = []
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("answerkey"):
            names = [full if (full := f"{node.module}.{alias.name}") in known else node.module for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names if alias.name in known]
        found += [(name, id(node) in inside) for name in dict.fromkeys(names)]
    return found


def figures() -> dict[str, int]:
    files = modules()
    known = set(files)
    importers: dict[str, set[str]] = defaultdict(set)
    in_functions = any_count = json_count = longest = lines = 0
    for name, path in files.items():
        text = path.read_text(encoding="utf-8")
        tree = ast.parse(text)
        lines += text.count("\n")
        longest = max(longest, text.count("\n"))
        for imported, inside in imports(tree, known):
            if imported != name:
                importers[imported].add(name)
            in_functions += inside
        used = re.sub(r"^(from|import) .*?(\([^)]*\))?$", "", text, flags=re.MULTILINE)
        any_count += len(re.findall(r"\bAny\b", used))
        json_count += len(re.findall(r"\bJson\b", used))
    single = [name for name in files if len(importers[name]) == 1 and files[name].name != "__init__.py"]
    if "--single" in sys.argv:
        print("\n".join(f"{name} <- {next(iter(importers[name]))}" for name in single))
    return {
        "Python lines in src": lines,
        "files": len(files),
        "files under 60 lines": sum(path.read_text(encoding="utf-8").count("\n") < 60 for path in files.values()),
        "modules with a single importer": len(single),
        "first-party imports inside functions": in_functions,
        "uses of Any": any_count,
        "uses of Json": json_count,
        "longest file": longest,
    }


if __name__ == "__main__":
    for label, value in figures().items():
        print(f"{value:>7,}  {label}")

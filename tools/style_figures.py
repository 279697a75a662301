"""How the code reads, in figures: `python tools/style_figures.py [PATH …] [--list] [--check]`.

Without options it prints one line per figure for the package (or for the given files and folders).
`--list` also prints the place of every finding. `--check` fails when a packed assignment or a
conditional expression that is nested or spans lines is found; `make lint` runs it.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "answerkey"

VAGUE_LOCALS = {"found", "given", "known", "asked", "wanted"}
NOT_PARTICIPLES = {"embed", "need", "seed", "feed", "speed", "proceed", "exceed", "red", "bed"}
IRREGULAR_PARTICIPLES = {
    *("shown", "given", "known", "taken", "written", "drawn", "chosen", "found", "made", "kept"),
    *("told", "said", "held", "left", "built", "sent", "bound", "spent", "lost", "met", "seen"),
    *("brought", "thought", "grown", "done", "begun", "hidden"),
}
# Calls that look into a text written for people, such as `run.note.startswith(…)`.
SENTENCE = re.compile(r"note|message|reason|partial|action|sentence")

PACKED = "packed assignments"
CONDITIONAL = "conditional expressions"
TANGLED = "conditional expressions, nested or over several lines"
VAGUE = "functions with a local called found, given, known, asked or wanted"
PARTICIPLE = "functions named by a participle alone"
STEERING = "sentences that steer the program"
FORMAT_SKIP = "# fmt: skip"
TWICE = "public names defined in two modules"

FORBIDDEN = (PACKED, TANGLED)  # by --check
PER_THOUSAND = (PACKED, CONDITIONAL)


@dataclass
class Findings:
    """Findings by kind, each with its place, and the size of the code that was read."""

    places: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    lines: int = 0
    comments: int = 0

    def add(self, kind: str, path: Path, line: int, what: str = "") -> None:
        self.places[kind].append(f"{path}:{line} {what}".rstrip())


def python_files(paths: list[Path]) -> Iterator[Path]:
    for path in paths:
        if path.is_dir():
            yield from sorted(path.rglob("*.py"))
        else:
            yield path


def is_participle(name: str) -> bool:
    word = name.strip("_")
    if "_" in word or word in NOT_PARTICIPLES:
        return False
    return word in IRREGULAR_PARTICIPLES or (word.endswith("ed") and len(word) > 3)


def read_function(
    node: ast.FunctionDef | ast.AsyncFunctionDef, path: Path, findings: Findings
) -> None:
    if is_participle(node.name):
        findings.add(PARTICIPLE, path, node.lineno, node.name)
    assigned = {
        name.id
        for name in ast.walk(node)
        if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)
    }
    if assigned & VAGUE_LOCALS:
        findings.add(VAGUE, path, node.lineno, node.name)


def read_conditional(node: ast.IfExp, path: Path, findings: Findings) -> None:
    findings.add(CONDITIONAL, path, node.lineno)
    has_inner = any(isinstance(inner, ast.IfExp) for inner in ast.walk(node) if inner is not node)
    if has_inner or node.end_lineno != node.lineno:
        findings.add(TANGLED, path, node.lineno)


def is_packed(node: ast.Assign) -> bool:
    return isinstance(node.targets[0], ast.Tuple) and isinstance(node.value, ast.Tuple)


def looks_into_a_sentence(node: ast.Call) -> bool:
    if not isinstance(node.func, ast.Attribute):
        return False
    if node.func.attr not in {"startswith", "endswith"}:
        return False
    return SENTENCE.search(ast.unparse(node.func.value)) is not None


def read_file(path: Path, findings: Findings) -> None:
    text = path.read_text(encoding="utf-8")
    findings.lines += text.count("\n")
    findings.comments += sum(map(is_comment, text.splitlines()))
    for number, line in enumerate(text.splitlines(), 1):
        if "fmt: skip" in line:
            findings.add(FORMAT_SKIP, path, number)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            read_function(node, path, findings)
        elif isinstance(node, ast.IfExp):
            read_conditional(node, path, findings)
        elif isinstance(node, ast.Assign) and is_packed(node):
            findings.add(PACKED, path, node.lineno)
        elif isinstance(node, ast.Call) and looks_into_a_sentence(node):
            findings.add(STEERING, path, node.lineno)


def is_comment(line: str) -> bool:
    return line.lstrip().startswith("#")


def add_names_defined_twice(paths: list[Path], findings: Findings) -> None:
    modules_of: dict[str, set[Path]] = defaultdict(set)  # a set: overloads count once
    for path in python_files(paths):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                modules_of[node.name].add(path)
    for name, modules in modules_of.items():
        if len(modules) > 1 and not name.startswith("_"):
            findings.places[TWICE].append(f"{name}: {', '.join(sorted(map(str, modules)))}")


def collect(paths: list[Path]) -> Findings:
    findings = Findings()
    for path in python_files(paths):
        read_file(path, findings)
    add_names_defined_twice(paths, findings)
    return findings


def print_figures(findings: Findings) -> None:
    print(f"{findings.lines:>9,}  lines")
    print(f"{100 * findings.comments / max(findings.lines, 1):>8.1f}%  lines that are comments")
    for kind in (PACKED, CONDITIONAL, TANGLED, VAGUE, PARTICIPLE, STEERING, FORMAT_SKIP, TWICE):
        count = len(findings.places[kind])
        print(f"{count:>9,}  {kind}")
        if kind in PER_THOUSAND:
            print(f"{1000 * count / max(findings.lines, 1):>9.1f}  … per 1,000 lines")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("paths", nargs="*", type=Path, default=[SOURCE])
    parser.add_argument("--list", action="store_true", help="print the place of every finding")
    parser.add_argument("--check", action="store_true", help="fail on what the style forbids")
    options = parser.parse_args()
    findings = collect(options.paths)
    if options.check:
        forbidden = [f"{place}: {kind}" for kind in FORBIDDEN for place in findings.places[kind]]
        print("\n".join(forbidden))
        return int(bool(forbidden))
    print_figures(findings)
    if options.list:
        for kind, places in findings.places.items():
            print(f"\n{kind}")
            print("\n".join(f"  {place}" for place in places))
    return 0


if __name__ == "__main__":
    sys.exit(main())

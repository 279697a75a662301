"""Everything that users read is plain English: help, messages, docstrings, docs, templates, profiles and prompts.

The words to avoid come from the first version of the project, whose readers had to learn a dialect. Where a word is
right in its place, add the phrase to ALLOWED with a reason.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from answerkey.cli.commands import COMMANDS
from answerkey.cli.main import command_line

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "answerkey"

# word to avoid: what to write instead
AVOID = {
    r"rulers?\b": "profile",
    r"mend(s|ed|ing)?\b": "fix",
    r"(go|goes|going|went|gone) on\b": "continue, resume",
    r"broke\b": "error",
    r"broken\b": "error",
    r"(does|do|did) not apply\b": "not applicable",
    r"pictures?\b": "charts",
    r"told\b": "reported, given, shown",
    r"said\b": "given, reported",
    r"one \w+ an? (case|line|row|second|minute|place|question|query|test|file|page|call|record|run)\b": "one X per Y",
    r"parted by\b": "comma-separated",
    r"with manners\b": "with concurrency, retries and warm-up",
    r"unless (given|told)\b": "default",
    r"what to make of\b": "interpretation",
    r"speaks? of\b": "has, mentions",
    r"rooms?\b": "package",
    r"the nouns\b": "the types",
    r"all well\b": "valid, everything works",
    r"by turns\b": "flaky",
    r"beyond doubt\b": "known",
    r"bear with\b": "retry limits",
    r"list of texts\b": "list of strings",
    r"whole again\b": "complete",
    r"middling\b": "mid-range",
    r"of your own\b": "your own",
    r"at (its|their) door\b": "",
}
ALLOWED = (
    "a second file", "a second run", "a second time",  # the ordinal
    "--no-pictures",  # an option that the changelog mentions
    "broken pipe", "broken JSON", "broken link", "broken lines",  # the usual terms
)  # fmt: skip
PATTERN = re.compile("|".join(rf"(?:\b{word})" for word in AVOID), re.IGNORECASE)

# Word lists and phrases that are data: what bots and people write, not what we write.
DATA = (
    "language/words/", "language/units.toml", "profiles/builtin/words.toml", "demo/world/cases", "demo/world/documents", "demo/world/handbook",
)  # fmt: skip


def prose_of_python(path: Path) -> Iterator[tuple[int, str]]:
    """Every string of a module that has a space in it: messages, help, labels, docstrings."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and " " in node.value.strip()
        ):
            for offset, line in enumerate(node.value.splitlines()):
                yield node.lineno + offset, line


def prose_of_text(path: Path) -> Iterator[tuple[int, str]]:
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".html":  # not the styles and scripts of a template
        text = re.sub(r"<(style|script)\b.*?</\1>|\{[%#].*?[%#]\}", _blank, text, flags=re.DOTALL)
    if path.suffix == ".toml":  # not the word lists: those quote what bots write
        text = re.sub(r"^\w+ = \[.*?^\]|= \[.*?\]$", _blank, text, flags=re.DOTALL | re.MULTILINE)
    yield from enumerate(text.splitlines(), start=1)


def _blank(found: re.Match[str]) -> str:
    return "\n" * found[0].count("\n")


def files() -> list[Path]:
    source = [
        path
        for suffix in ("*.py", "*.html", "*.toml", "*.md", "*.txt", "*.j2")
        for path in sorted(SOURCE.rglob(suffix))
        if "static" not in path.parts and not any(part in path.as_posix() for part in DATA)
    ]
    pages = [
        path
        for folder in ("docs", "examples", "benchmarks", "tools")
        for path in sorted((ROOT / folder).rglob("*.md"))
    ]
    examples = [
        path for suffix in ("*.toml", "*.py") for path in sorted((ROOT / "examples").rglob(suffix))
    ]
    return [*source, *pages, *examples, *sorted(ROOT.glob("*.md"))]


def test_files_are_in_plain_english() -> None:
    lines: list[str] = []
    for path in files():
        name = path.relative_to(ROOT).as_posix()
        prose = prose_of_python(path) if path.suffix == ".py" else prose_of_text(path)
        lines += [f"{name}:{line}: {text.strip()[:120]}" for line, text in prose if avoided(text)]
    assert not lines, "\n".join(["words to avoid (see AVOID in this file)", *lines])


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_is_in_plain_english_with_defaults_and_an_example(name: str) -> None:
    context = click.Context(command_line, info_name="answerkey")
    command = command_line.get_command(context, name)
    assert command is not None
    for part in [command, *(command.commands.values() if isinstance(command, click.Group) else ())]:
        shown = part.get_help(click.Context(part, info_name=name))
        assert not avoided(shown), avoided(shown)
        assert "Example:" in shown
        for option in part.params:
            if isinstance(option, click.Option) and _has_default(option):
                assert "default" in (option.help or ""), (
                    f"{name} {option.opts[0]} does not show its default"
                )


def _has_default(option: click.Option) -> bool:
    return (
        not option.is_flag
        and not option.multiple
        and str(option.to_info_dict()["default"]) not in ("None", "", "()")
    )


def avoided(text: str) -> list[str]:
    for phrase in ALLOWED:
        text = text.replace(phrase, "")
    return [found[0] for found in PATTERN.finditer(text)]

"""Every command in the documentation runs, in a folder with the files that its pages name."""

from __future__ import annotations

import glob
import re
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.support.docs_world import RUNS, make_world

from answerkey.cli.commands import COMMANDS as ALL_COMMANDS

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
# Placeholders of the pages, and what stands for them here.
PLACEHOLDERS = {
    "results/RUN_A": f"results/{RUNS[0]}",
    "results/RUN_B": f"results/{RUNS[1]}",
    "mybot/results/RUN_A": f"results/{RUNS[0]}",
    "mybot/results/RUN_B": f"results/{RUNS[1]}",
    "mybot/results": "results",
    "mybot/suite.toml": "suite.toml",
    "RUN_A": f"results/{RUNS[0]}",
    "RUN_B": f"results/{RUNS[1]}",
    "results/RUN": f"results/{RUNS[0]}",
    "results/NEW": f"results/{RUNS[1]}",
    "results/…": "suite.toml",
    "RUN": f"results/{RUNS[0]}",
    "A B C": f"results/{RUNS[0]} results/{RUNS[1]} results/{RUNS[0]}",
    "A B": f"results/{RUNS[0]} results/{RUNS[1]}",
    "LABELLED": "labelled.jsonl",
    "FILE": "answers.csv",
    "PATH": "answers.csv",
    "--qrels F": "--qrels labels.json",
    "--run F": "--run ranking.json",
    "M,…": "token_f1",
    "--metric M": "--metric token_f1",
    "--profile P": "--profile uniform",
    "--profile …": "--profile uniform",
    "--by COLUMN": "--by type",
    "QUERY": "Q17",
    "show NAME": "show rag",
    "view DIR": "view results",
    "/tmp/demo": "demo",
}
# A command with one of these needs a service that no test has; another test runs the command with
# a server of its own, or with another option.
SERVICES = {
    "--judge openai": "tests/testsets/generate",
    "--judge groq": "tests/llm",
    "--judge ollama": "tests/llm",
    "--judge http": "tests/cli/test_doctor.py",
    "--judge llama-cpp": "tests/cli/test_doctor.py",
    "--collection new": "tests/retrieval",  # needs a vector store
    "--fix q17": "tests/testsets/audit",  # the page accepts this finding first
    "detailed.json": "tests/cli/test_migrate.py",  # results with recorded grades
    "detailed_results.json": "tests/cli/test_migrate.py",
    "--engine ray": "tests/runs",
    "otlp http": "tests/reports/test_otlp.py",
    "models fetch": "tests/cli/test_models.py",
    "models check": "tests/cli/test_models.py",
    "models remove": "tests/cli/test_models.py",
    "answerkey view": "tests/test_docs.py",
    "answerkey prefer": "tests/comparison",
    "answerkey demo": "tests/demo",
    "FIRST:6379": "tests/runs",
    "--write fitted.toml": "tests/calibrate/test_profile_fit.py",  # writes only where the fit is better
    "summary results --table": "tests/comparison/test_many.py",
    "criterion.clear": "tests/metrics/judge/test_own_criteria.py",
    "suite.toml --judge": "tests/cli/test_doctor.py",
}
# The name of a command in a sentence, such as "use `answerkey calibrate`": not meant to be typed.
NEEDS_ARGUMENTS = {
    "watch",
    "run",
    "score",
    "rescore",
    "calibrate",
    "check",
    "audit",
    "generate",
    "view",
    "compare",
}


def _find_commands(text: str) -> list[str]:
    """Commands in blocks and in inline code, one for each part of a pipe or a chain."""
    blocks = re.findall(
        r"^(?: {4,}|\$ |```\w*\n)?((?:echo .*\| ?)?answerkey [a-z].*)$", text, re.MULTILINE
    )
    inline = re.findall(r"`(answerkey [a-z][^`]*)`", text)
    parts = [part for line in (*blocks, *inline) for part in re.split(r"&&|;| #", line)]
    return [part.strip() for part in parts if re.search(r"(?:^|\|) *answerkey", part)]


def _is_prose(command: str) -> bool:
    words = command.split()
    if words[0] == "answerkey" and words[1] not in ALL_COMMANDS:
        return True  # a sentence that begins with the name of the tool
    # `answerkey audit --save` names an option; a command that is meant to be typed has a file, too.
    has_only_an_option = len(words) <= 4 and all(word.startswith("--") for word in words[2:3])
    return words[1] in NEEDS_ARGUMENTS and has_only_an_option


def _commands_of(page: Path) -> list[str]:
    text = page.read_text(encoding="utf-8")
    return [
        command
        for command in dict.fromkeys(_find_commands(text))
        if not _is_prose(command) and not any(mark in command for mark in SERVICES)
    ]


COMMANDS = {page: commands for page in PAGES if (commands := _commands_of(page))}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("docs") / "world"
    folder.mkdir()
    make_world(folder)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("page", COMMANDS, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_commands_of_a_page_run(
    page: Path,
    world: Path,
    tmp_path: Path,
    cli: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder = tmp_path / "world"
    shutil.copytree(world, folder)
    monkeypatch.chdir(folder)
    wrong: list[str] = []
    for command in COMMANDS[page]:
        typed = command
        for placeholder, value in PLACEHOLDERS.items():
            typed = re.sub(rf"(?<![\w/]){re.escape(placeholder)}(?![\w_])", value, typed)
        shown = _type(typed, cli)
        # 0: done; 1: a gate or --stop-on-fail, as the page says; 2 would be a wrong command.
        if shown.code not in (0, 1):
            wrong.append(f"{command}: {shown.last_line}")
    assert not wrong, "\n".join(wrong)


def _type(command: str, cli: Callable[..., Any]) -> Any:
    """The command as a shell runs it: globs, standard input, output into a file."""
    stdin = ""
    if command.startswith("echo"):
        text, _, command = command.partition("|")
        (_, stdin) = shlex.split(text)
    words = shlex.split(command)
    written = [Path(words[words.index("--out") + 1])] if "--out" in words else []
    if "generate" in words:
        written.append(Path("suite.toml"))
    for path in written:
        if path.is_file():
            path.unlink()
    target: Path | None = None
    arguments: list[str] = []
    position = 1
    while position < len(words):
        word = words[position]
        if word == "<":
            stdin = Path(words[position + 1]).read_text(encoding="utf-8")
            position += 1
        elif word in (">", ">>"):
            target = Path(Path(words[position + 1]).name)
            position += 1
        else:
            arguments += sorted(glob.glob(word)) or [word]
        position += 1
    shown = cli(*arguments, stdin=stdin)
    if target is not None:
        target.write_text(shown.out, encoding="utf-8")
    return shown


def test_commands_that_need_a_service_are_tested_elsewhere() -> None:
    for place in SERVICES.values():
        assert (ROOT / place).exists(), place

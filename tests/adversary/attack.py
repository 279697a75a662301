"""The command line as a process of its own, with everything that an attacker may change around it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

COMMAND = [sys.executable, "-m", "answerkey"]
CODES = {0, 1, 2, 3, 130}
PROFILE = """
name = "words"
version = 1
pass = 0.5
bands = [{ name = "good", at = 0.5, status = "PASSED" }, { name = "poor", at = 0.0, status = "FAILED" }]
[[criteria]]
metric = "token_f1"
weight = 1
"""


@dataclass(frozen=True)
class Attacked:
    code: int
    out: bytes
    err: bytes

    @property
    def lines(self) -> list[str]:
        return self.err.decode("utf-8", "replace").strip().splitlines()

    def is_clean(self) -> bool:
        """Whether it ended with a code of ours and without a traceback."""
        return self.code in CODES and b"Traceback" not in self.err + self.out


def attack(
    *arguments: object,
    folder: Path | None = None,
    env: Mapping[str, str] | None = None,
    stdin: bytes = b"",
    seconds: float = 60,
    **more: Any,
) -> Attacked:
    ended = subprocess.run(
        [*COMMAND, *map(str, arguments)],
        cwd=folder,
        env={**os.environ, **(env or {})},
        input=stdin,
        capture_output=True,
        timeout=seconds,
        check=False,
        **more,
    )
    return Attacked(ended.returncode, ended.stdout, ended.stderr)


def write_suite(
    folder: Path,
    bot: str,
    rows: Sequence[Mapping[str, Any]] | int = 2,
    head: str = "",
    more: str = "",
) -> Path:
    """A suite of a Python bot with its cases; `head` goes before the tables, `more` after them."""
    folder.mkdir(parents=True, exist_ok=True)
    if isinstance(rows, int):
        rows = [
            {"id": f"q{n}", "question": f"What is {n}?", "expected": f"It is {n}."}
            for n in range(rows)
        ]
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "cases.jsonl").write_text(lines, encoding="utf-8")
    (folder / "bot.py").write_text(bot, encoding="utf-8")
    (folder / "profile.toml").write_text(PROFILE, encoding="utf-8")
    suite = f'cases = ["cases.jsonl"]\nprofile = "profile.toml"\n{head}\n[target]\ncall = "bot:answer"\n{more}\n'
    (folder / "suite.toml").write_text(suite, encoding="utf-8")
    return folder / "suite.toml"


def run_folder(folder: Path) -> Path:
    """The only run of a suite."""
    (found,) = [path.parent for path in folder.glob("results/*/run.json")]
    return found


def results(folder: Path) -> list[dict[str, Any]]:
    lines = (
        (run_folder(folder) / "results.jsonl")
        .read_bytes()
        .decode("utf-8")
        .removesuffix("\n")
        .split("\n")
    )
    return [json.loads(line, parse_constant=lambda name: 1 / 0) for line in lines]

"""Files as people have them: the types of the fixtures, and the results of a run."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

Cli = Callable[..., Any]


Write = Callable[..., Path]


def results(folder: Path) -> list[dict[str, Any]]:
    (path,) = folder.glob("*/results.jsonl")
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def score(cli: Cli, tmp_path: Path, *arguments: Any) -> list[dict[str, Any]]:
    shown = cli("score", *arguments, "--out", tmp_path / "out", "--no-charts")
    assert shown.code in (0, 3), shown.err
    return results(tmp_path / "out")


def bot(folder: Path, body: str) -> Path:
    (folder / "bot.py").write_text(body)
    (folder / "suite.toml").write_text(
        'cases = ["cases.jsonl"]\nmetrics = ["recall@5", "groundedness"]\n[target]\ncall = "bot:answer"\n'
    )
    return folder / "suite.toml"

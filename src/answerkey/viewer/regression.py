"""Regression cases: a case of a run, perhaps with a corrected expected answer, kept in a file.

The file is an ordinary case file beside the runs, so that a suite can list it under `cases`.
"""

from __future__ import annotations

from pathlib import Path

from answerkey.errors import InputError
from answerkey.files import json_line, read_json, write_file
from answerkey.types import Case
from answerkey.viewer.corrections import read_expected

REGRESSIONS = "regressions.jsonl"


def add_regression_case(root: Path, case: Case, expected: str, source: str) -> Path:
    """Write the case to regressions.jsonl in `root`; a case of the same id is replaced."""
    text = read_expected(expected)
    if not text:
        raise InputError("a regression case needs an expected answer")
    # The whole file is written anew: a case that is kept twice would be asked twice.
    path = root / REGRESSIONS
    lines = [line for line in _read_lines(path) if read_json(line).get("id") != case.id]
    lines.append(json_line(_case_row(case, text, source)))
    write_file(path, b"".join(line + b"\n" for line in lines))
    return path


def regression_answer(root: Path, case_id: str) -> str | None:
    """The expected answer of a case that is in the file already."""
    for line in _read_lines(root / REGRESSIONS):
        row = read_json(line)
        if row.get("id") == case_id:
            return str(row.get("expected", ""))
    return None


def _read_lines(path: Path) -> list[bytes]:
    if not path.is_file():
        return []
    lines = [line for line in path.read_bytes().split(b"\n") if line.strip()]
    for line in lines:
        if not isinstance(read_json(line), dict):
            raise InputError(f"{path.name}: expected one JSON object per line")
    return lines


def _case_row(case: Case, expected: str, source: str) -> dict[str, object]:
    """The columns that a case file has; those without a value are left out."""
    row: dict[str, object] = {
        "id": case.id,
        "question": case.question,
        "expected": expected,
        "type": case.type,
        "expected_route": case.expected_route,
        "acceptable_routes": list(case.acceptable_routes),
        "history": [{"user": turn.user, "answer": turn.answer} for turn in case.history],
        "relevant": dict(case.relevant) if case.relevant else None,
        "tags": [*case.tags, "regression"],
        "note": f"from {source}",
    }
    return {name: value for name, value in row.items() if value}

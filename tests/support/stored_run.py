"""Looks into the database of a run, and damages it; makes runs as earlier versions stored them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

from answerkey.files import json_line, read_json
from answerkey.runs.records import judged_json, to_json
from answerkey.runs.store import open_reader
from answerkey.types import Outcome


def query(folder: Path, statement: str, *values: object) -> list[tuple[Any, ...]]:
    """The rows of a statement; a statement that changes something is committed."""
    with closing(sqlite3.connect(folder / "run.sqlite")) as connection, connection:
        return connection.execute(statement, values).fetchall()


def stored_answers(folder: Path | None) -> list[str]:
    """The ids of all answers that are stored, whether or not the run still writes."""
    if folder is None or not (folder / "run.sqlite").exists():
        return []
    try:
        return [row[0] for row in query(folder, "SELECT id FROM answers ORDER BY place")]
    except sqlite3.OperationalError:  # killed before the tables were created
        return []


def forget_after(folder: Path, count: int) -> None:
    """The run as it was when it had so many answers."""
    for table, column in {"answers": "place", "verdicts": "place", "cases": "n", "texts": "n", "scores": "n"}.items():  # fmt: skip
        query(folder, f"DELETE FROM {table} WHERE {column} >= ?", count)


def stored_scores(folder: Path) -> list[tuple[Any, ...]]:
    return query(folder, "SELECT place, id, scored_json FROM verdicts ORDER BY place")


def to_format1(folder: Path) -> Path:
    """The same run as two journals, as versions before 0.3 stored it."""
    outcomes = list(open_reader(folder).attempts(unscored=True, stopped=True))
    for path in folder.glob("run.sqlite*"):
        path.unlink()
    write_journals(folder, outcomes)
    manifest = read_json((folder / "run.json").read_bytes())
    if manifest.get("records"):
        manifest["records"] = {
            "cases": manifest["records"]["cases"],
            "responses.jsonl": len(outcomes),
            "scores.jsonl": len(outcomes),
        }
    (folder / "run.json").write_bytes(json_line(manifest | {"format": 1}))
    return folder


def write_journals(folder: Path, outcomes: Iterable[tuple[int, Outcome]]) -> None:
    header = {"format": 1, "answerkey": "0.2.0"}
    responses = [json_line(header | {"kind": "responses"})]
    scores = [json_line(header | {"kind": "scores"})]
    for n, outcome in outcomes:
        start = {"n": n, "id": outcome.case.id}
        answer = {"case": to_json(outcome.case), "response": to_json(outcome.response)}
        responses.append(json_line(start | answer))
        scores.append(json_line(start | judged_json(outcome)))
    (folder / "responses.jsonl").write_bytes(b"\n".join(responses) + b"\n")
    (folder / "scores.jsonl").write_bytes(b"\n".join(scores) + b"\n")

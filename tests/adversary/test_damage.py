"""A damaged run folder gives one line that names the file and the record; the viewer still shows the other runs.

Most of these damage the journals of format 1, which a text editor can change; some the database of today.
"""

from __future__ import annotations

import json
import shutil
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.support.stored_run import query, to_format1
from tests.support.viewer_asking import ask
from tests.support.viewer_world import make_run, plain

from answerkey.viewer.app import make_app
from answerkey.viewer.guard import Rules

REPLACED = {
    "responses.jsonl": ("n", "id", "case", "case.id", "case.question", "case.expected", "response", "response.answer",
                        "response.passages", "response.seconds", "response.error"),
    "scores.jsonl": ("n", "id", "scores", "verdict", "verdict.status", "verdict.score", "verdict.parts", "verdict.passed"),
    "run.json": ("name", "profile", "fingerprint", "settings", "gate", "metrics", "count", "partial"),
}  # fmt: skip
ALLOWED = (
    "count -7",
    "response.seconds -7",
    "verdict.score -7",
    "case.expected ['x']",
    "metrics ['x']",
    "gate ['x']",
)
DAMAGES = [
    (file, place, value)
    for file, places in REPLACED.items()
    for place in places
    for value in (-7, ["x"])
    if f"{place} {value}" not in ALLOWED
]
LINES = [
    "[]",
    "null",
    "3",
    '"text"',
    "{}",
    '{"n": 9999999999}',
    '{"n":9999999999,"id":"x"}',
    "{" * 3000,
    '{"n": NaN}',
    "\x00\x00",
    '{"n":1e400}',
]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("damage")
    to_format1(make_run(root / "good", map(plain, range(6)), "good"))
    return root


@pytest.fixture
def damaged(runs: Path, tmp_path: Path) -> Path:
    shutil.copytree(runs / "good", tmp_path / "good")
    shutil.copytree(runs / "good", tmp_path / "bad")
    return tmp_path / "bad"


def replace(record: dict[str, Any], place: str, value: Any) -> str:
    *holders, last = place.split(".")
    holder = record
    for key in holders:
        holder = holder[key]
    holder[last] = value
    return json.dumps(record)


def check(cli: Callable[..., Any], run: Path, file: str) -> None:
    for command in (
        ("summary", run, "--by", "type"),
        ("compare", run.parent / "good", run),
        ("report", run, "--no-charts"),
    ):
        ended = cli(*command)
        assert ended.code in (2, 3), (command, ended.err)
        assert "Traceback" not in ended.err
        assert ended.last_line.startswith(("INVALID: ", "INCOMPLETE: ")), ended.last_line
        assert str(run) in ended.last_line, ended.last_line
        assert file.partition(".")[0] in ended.last_line or file == "run.json", ended.last_line
    assert not [path for path in run.iterdir() if path.name.startswith(".")]


@pytest.mark.parametrize(("file", "place", "value"), DAMAGES)
def test_a_field_of_another_type(
    damaged: Path, cli: Callable[..., Any], file: str, place: str, value: Any
) -> None:
    path = damaged / file
    lines = path.read_text().splitlines()
    if file == "run.json":
        lines = [replace(json.loads(path.read_text()), place, value)]
    else:
        lines[2] = replace(json.loads(lines[2]), place, value)
    path.write_text("\n".join(lines) + "\n")
    check(cli, damaged, file)
    viewer = make_app(damaged.parent, Rules())
    assert [ask(viewer, page).status for page in ("/", "/run/good")] == [200, 200]
    assert ask(viewer, "/run/bad").status in (200, 422)


@pytest.mark.parametrize("line", LINES, ids=lambda line: line[:12].encode().hex())
@pytest.mark.parametrize("file", ["responses.jsonl", "scores.jsonl"])
def test_a_line_that_is_no_record(
    damaged: Path, cli: Callable[..., Any], file: str, line: str
) -> None:
    lines = (damaged / file).read_text().splitlines()
    (damaged / file).write_text("\n".join([*lines[:2], line, *lines[2:]]) + "\n")
    tracemalloc.start()
    check(cli, damaged, file)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 100_000_000
    assert "line 3" in cli("report", damaged).last_line


@pytest.mark.parametrize(
    "content", ["{", "[]", "{}", "null", '{"totals": 3}', '{"totals": NaN}', "[" * 5000, "\x00"]
)
def test_a_summary_that_is_none(damaged: Path, cli: Callable[..., Any], content: str) -> None:
    (damaged / "summary.json").write_text(content)
    ended = cli("summary", damaged)
    assert ended.code == 2
    assert "summary.json: not a summary" in ended.last_line
    assert ask(make_app(damaged.parent, Rules()), "/").status == 200


COLUMNS = {
    "case_json": "answers",
    "response_json": "answers",
    "scored_json": "verdicts",
}


@pytest.mark.parametrize(
    "value", ["", "{", "[]", "null", '{"id": 7, "answer": 7, "scores": 7}', b"\x00\xff", 3]
)
@pytest.mark.parametrize("column", COLUMNS)
def test_a_damaged_cell_of_the_database(
    tmp_path: Path, cli: Callable[..., Any], column: str, value: object
) -> None:
    make_run(tmp_path / "good", map(plain, range(6)), "good")
    bad = make_run(tmp_path / "bad", map(plain, range(6)), "bad")
    query(bad, f"UPDATE {COLUMNS[column]} SET {column} = ? WHERE place = 2", value)
    check(cli, bad, "run.sqlite")
    assert "answer 2" in cli("report", bad).last_line
    viewer = make_app(tmp_path, Rules())
    assert [ask(viewer, page).status for page in ("/", "/run/good")] == [200, 200]
    assert ask(viewer, "/run/bad").status in (200, 422)


def test_a_database_of_a_later_format_is_refused(tmp_path: Path, cli: Callable[..., Any]) -> None:
    run = make_run(tmp_path / "run", map(plain, range(3)), "run")
    query(run, "UPDATE meta SET value = '3' WHERE key = 'format'")
    ended = cli("report", run)
    assert ended.code == 3
    assert "format 3, this version reads 2" in ended.last_line

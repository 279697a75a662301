"""The page of an audit: findings to accept, to fix and to cluster."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.support.viewer_asking import ask

from answerkey.viewer.app import make_app
from answerkey.viewer.guard import Rules

_ORIGIN = "http://127.0.0.1:8765"
ROWS = [
    {"id": "a", "question": "How many days of annual leave do I have?", "expected": "28 days"},
    {"id": "b", "question": "How many annual leave days do I have?", "expected": "28"},
    {"id": "<script>", "question": "How long is it?", "expected": "30 days"},
]


@pytest.fixture
def app(tmp_path: Path, cli: Callable[..., Any]) -> Any:
    folder = tmp_path / "sets" / "faq"
    folder.mkdir(parents=True)
    (folder / "cases.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    shown = cli("audit", folder / "cases.jsonl", "--save", "--model", "none")
    assert "answerkey view" in shown.err
    return make_app(tmp_path, Rules())


def decide(app: Any, number: int, decision: str, **headers: str) -> int:
    address = f"/audit/sets/faq/finding/{number}"
    body = f"decision={decision}".encode()
    return ask(app, address, method="POST", body=body, **({"origin": _ORIGIN} | headers)).status


def open_findings(app: Any) -> list[tuple[str, str]]:
    page = ask(app, "/audit/sets/faq?format=json").json()
    return [(row["id"], row["finding"]) for row in page["rows"]]


def test_the_page_lists_findings_and_the_start_page_links_it(app: Any) -> None:
    assert open_findings(app) == [("<script>", "names nothing"), ("b", "near duplicate")]
    page = ask(app, "/audit/sets/faq")
    assert page.status == 200
    assert "<script>:" not in page.text
    assert "Put into cluster a" in page.text
    assert "/audit/sets/faq" in ask(app, "/").text
    one_kind = ask(app, "/audit/sets/faq?kind=near+duplicate&format=json").json()
    assert len(one_kind["rows"]) == 1
    assert ask(app, "/audit/sets/faq?kind=x").status == 404


def test_decisions_are_kept_beside_the_cases(app: Any, tmp_path: Path) -> None:
    assert decide(app, 1, "cluster") == 303
    assert open_findings(app) == [("<script>", "names nothing")]
    assert decide(app, 0, "fix") == 303
    assert open_findings(app) == [("<script>", "names nothing")]
    page = ask(app, "/audit/sets/faq?format=json").json()
    assert page["rows"][0]["note"].startswith("to fix: ")
    assert page["accepted"][0]["note"] == 'cluster = "a"'
    assert decide(app, 0, "accept") == 303
    assert open_findings(app) == []
    assert decide(app, 1, "reopen") == 303
    assert open_findings(app) == [("b", "near duplicate")]
    lines = (tmp_path / "sets" / "faq" / "audit.jsonl").read_text().splitlines()
    assert len(lines) == 4


def test_wrong_decisions_and_foreign_forms_change_nothing(app: Any, tmp_path: Path) -> None:
    assert decide(app, 0, "accept", origin="http://evil") == 403
    assert decide(app, 9, "accept") == 404
    assert decide(app, 0, "burn") == 404
    assert ask(app, "/audit/../..").status == 404
    assert not (tmp_path / "sets" / "faq" / "audit.jsonl").exists()


def test_a_damaged_file_is_named(app: Any, tmp_path: Path) -> None:
    (tmp_path / "sets" / "faq" / "audit.json").write_text("{")
    reply = ask(app, "/audit/sets/faq")
    assert reply.status == 422
    assert "audit.json: cannot be read" in reply.text

"""Corrected expected answers: kept beside the run, shown on the page, and exported."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from tests.support.viewer_asking import Reply, ask
from tests.support.viewer_world import make_run, outcome

from answerkey.cases import read_cases
from answerkey.types import Case, Response, Score
from answerkey.viewer.app import make_app
from answerkey.viewer.corrections import CORRECTIONS, LONGEST_EXPECTED, read_corrections
from answerkey.viewer.guard import Rules

_ORIGIN = "http://127.0.0.1:8765"
_SCORES = {"keyword_recall": Score(0.2), "groundedness": Score(0.9)}


@pytest.fixture
def app(tmp_path: Path) -> Any:
    outcomes = [
        outcome(Case("leave", "How many days?", ("25 days",)), Response("28 days"), _SCORES),
        outcome(Case("b", "When?", ("at 9",)), Response("at 9"), _SCORES),
    ]
    make_run(tmp_path / "run", outcomes, "run", reports=None)
    return make_app(tmp_path, Rules(), labeller="ana")


def _correct(app: Any, expected: str, origin: str = _ORIGIN) -> Reply:
    body = urlencode({"expected": expected}).encode()
    return ask(app, "/run/run/case/0/expected", method="POST", body=body, origin=origin)


def test_a_correction_is_kept_beside_the_run_and_shown(app: Any, tmp_path: Path) -> None:
    before = (tmp_path / "run" / "run.sqlite").read_bytes()
    assert _correct(app, "27 days\r\nper year").headers["location"] == "/run/run/case/0?#expected"
    (line,) = (tmp_path / "run" / CORRECTIONS).read_text().splitlines()
    row = json.loads(line)
    assert (row["expected"], row["before"], row["by"]) == ("27 days\nper year", ["25 days"], "ana")
    assert (tmp_path / "run" / "run.sqlite").read_bytes() == before
    page = ask(app, "/run/run/case/0").text
    assert "27 days\nper year" in page
    assert "the verdict still uses the answer above" in page
    data = ask(app, "/run/run/case/0?format=json").json()
    assert data["correction"]["expected"] == "27 days\nper year"
    assert data["case"]["expected"] == ["25 days"]
    assert "1 expected answer corrected" in ask(app, "/run/run").text


def test_the_export_has_the_corrected_answers_and_can_be_scored(
    app: Any, cli: Any, tmp_path: Path
) -> None:
    _correct(app, "28 days")
    reply = ask(app, "/run/run/export/corrected")
    assert 'filename="corrected.jsonl"' in reply.headers["content-disposition"]
    path = tmp_path / "corrected.jsonl"
    path.write_bytes(reply.body)
    expected = {case.id: case.expected for case in read_cases([str(path)], tmp_path)}
    assert expected == {"leave": ("28 days",), "b": ("at 9",)}
    scored = cli("score", path, "--metrics", "exact_match", "--out", tmp_path / "again", "--json")
    assert scored.code == 0, scored.err
    assert scored.json["average_scores"]["exact_match"]["mean"] == 1.0


def test_an_empty_text_takes_the_correction_back(app: Any, tmp_path: Path) -> None:
    _correct(app, "27 days")
    _correct(app, "")
    assert read_corrections(tmp_path / "run") == {}
    assert "corrected" not in ask(app, "/run/run").text


def test_foreign_forms_long_texts_and_damaged_lines(app: Any, tmp_path: Path) -> None:
    assert _correct(app, "x", origin="http://evil.invalid").status == 403
    assert _correct(app, "x" * (LONGEST_EXPECTED + 1)).status == 404
    path = tmp_path / "run" / CORRECTIONS
    assert not path.exists()
    path.write_text('{"id": "leave", "expected": "27"}\n[1]\nhalf a li')
    assert read_corrections(tmp_path / "run")["leave"].expected == "27"

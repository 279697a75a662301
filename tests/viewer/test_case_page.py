"""One case: what stands first, Markdown, and regression cases."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from tests.support.viewer_asking import Reply, ask
from tests.support.viewer_world import make_run, outcome

from answerkey.cases import read_cases
from answerkey.types import Case, Response, Score, Turn
from answerkey.viewer.app import make_app
from answerkey.viewer.guard import Rules

_ORIGIN = "http://127.0.0.1:8765"
_SCORES = {"keyword_recall": Score(0.2), "groundedness": Score(0.9)}


@pytest.fixture
def app(tmp_path: Path) -> Any:
    case = Case(
        "leave",
        "How many days of leave?",
        ("25 days",),
        type="hr",
        history=(Turn("Hello", "Hi"),),
        extra={"owner": "HR team"},
    )
    answer = Response("You get **28 days**, see [rules](https://example.org).")
    plain = Response("You get 28 days.")
    outcomes = [outcome(case, answer, _SCORES), outcome(Case("b", "q?"), plain, _SCORES)]
    make_run(tmp_path / "run", outcomes, "run", reports=None)
    return make_app(tmp_path, Rules())


def test_question_expected_answer_and_reason_come_first(app: Any) -> None:
    page = ask(app, "/run/run/case/0").text
    places = [
        page.index(text) for text in ("<h1", "Failed: the score", "<h2>Expected", "<h2>Answer")
    ]
    assert places == sorted(places)
    assert places[-1] < page.index("<h2>Scores")
    assert "Failed: the score 0.48 is below the pass mark 0.6." in page
    assert "→ FAILED" not in page
    assert "HR team" in page


def test_markdown_is_rendered_and_can_be_shown_raw(app: Any) -> None:
    page = ask(app, "/run/run/case/0").text
    assert '<strong><mark class="other">28</mark> days</strong>' in page
    assert "https://example.org" in page
    assert 'href="https://example.org' not in page
    raw = ask(app, "/run/run/case/0?text=raw").text
    assert "**28 days**" in raw.replace('<mark class="other">', "").replace("</mark>", "")
    assert "Show formatted" in raw
    assert "Show the raw text" not in ask(app, "/run/run/case/1").text


def _post(app: Any, expected: str, case: int = 0, origin: str = _ORIGIN) -> Reply:
    body = urlencode({"expected": expected}).encode()
    address = f"/run/run/case/{case}/regression"
    return ask(app, address, method="POST", body=body, origin=origin)


def test_a_case_becomes_a_regression_case_once(app: Any, tmp_path: Path) -> None:
    assert _post(app, "25 days").headers["location"] == "/run/run/case/0?"
    assert _post(app, "25 days\r\nper year").status == 303
    assert _post(app, "yes", case=1).status == 303
    path = tmp_path / "regressions.jsonl"
    first, second = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    assert first["expected"] == "25 days\nper year"
    assert first["note"] == "from run, case leave"
    assert second["id"] == "b"
    cases = {case.id: case for case in read_cases([str(path)], tmp_path)}
    assert cases["leave"].expected == ("25 days\nper year",)
    assert cases["leave"].history == (Turn("Hello", "Hi"),)
    assert cases["leave"].tags == ("regression",)
    assert "In the regression cases" in ask(app, "/run/run/case/0").text


def test_a_regression_case_needs_an_answer_and_our_own_form(app: Any, tmp_path: Path) -> None:
    assert _post(app, "  ").status == 404
    assert _post(app, "x", origin="http://evil.invalid").status == 403
    assert not (tmp_path / "regressions.jsonl").exists()
    (tmp_path / "regressions.jsonl").write_text("[1]\n")
    reply = _post(app, "x")
    assert reply.status == 404
    assert "expected one JSON object per line" in reply.text

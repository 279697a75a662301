"""The page of a case shows tool calls and turns as they happened."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.support.viewer_asking import ask
from tests.support.viewer_world import make_run, outcome

from answerkey.types import Case, ExpectedCall, ExpectedCalls, Response, Score, ToolCall, Turn
from answerkey.viewer.app import make_app
from answerkey.viewer.guard import Rules

_SCORES = {"keyword_recall": Score(0.2), "groundedness": Score(0.9)}


@pytest.fixture
def app(tmp_path: Path) -> Any:
    calls = (
        ToolCall("search", {"city": "<b>Oslo</b>"}, "4 hotels", seconds=0.5),
        ToolCall("agent", calls=(ToolCall("book", {"id": 7}, error="card declined"),)),
    )
    expected = (ExpectedCalls((ExpectedCall("search", {"city": "Oslo"}),)), ExpectedCalls())
    single = outcome(
        Case("single", "Book it.", expected_tools=expected), Response("Done.", tools=calls), _SCORES
    )
    turns = (Turn("Hotels?", "There are 4.", calls[:1]), Turn("Thanks", "Welcome."))
    talk = outcome(Case("talk", "Hotels?"), Response("Welcome.", turns=turns), _SCORES)
    make_run(tmp_path / "run", [single, talk], "run", reports=None)
    return make_app(tmp_path, Rules())


def test_calls_are_listed_in_order_with_result_or_error(app: Any) -> None:
    page = ask(app, "/run/run/case/0").text
    section = page[page.index('id="calls"') :]
    places = [
        section.index(text) for text in ("search", "4 hotels", "agent", "book", "card declined")
    ]
    assert places == sorted(places)
    expected = page[page.index("Expected calls") : page.index('id="calls"')]
    assert "no call" in expected


def test_arguments_of_a_bot_are_inert(app: Any) -> None:
    page = ask(app, "/run/run/case/0").text
    assert "<b>Oslo" not in page
    assert "&lt;b&gt;Oslo" in page


def test_turns_are_shown_with_their_calls(app: Any) -> None:
    page = ask(app, "/run/run/case/1").text
    section = page[page.index('id="turns"') :]
    places = [section.index(text) for text in ("Hotels?", "search", "There are 4.", "Thanks")]
    assert places == sorted(places)

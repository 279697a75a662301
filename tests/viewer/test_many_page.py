"""The page of several runs: the table, the chart of cost, and the answers in columns."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.support.viewer_asking import ask
from tests.support.viewer_world import HOSTILE, make_run, outcome

from answerkey.types import Case, Response, Score
from answerkey.viewer.app import make_app
from answerkey.viewer.guard import Rules


@pytest.fixture
def three_bots(tmp_path: Path) -> Any:
    """The same 25 questions to three bots of one suite: one is good, one cheap and good, one bad."""
    bots = {"large": (24, 0.02), "small": (23, 0.001), "poor": (4, 0.0005)}
    for name, (passes, cost) in bots.items():
        outcomes = [
            outcome(
                Case(f"c{n}", HOSTILE[n % len(HOSTILE)]),
                Response(f"{name} {HOSTILE[n % len(HOSTILE)]}", cost=cost, seconds=0.5),
                {"keyword_recall": Score(float(n < passes)), "groundedness": Score(1.0)},
            )
            for n in range(25)
        ]
        target = {"settings": {"target": {"name": name}}}
        make_run(tmp_path / f"bot_{name}", outcomes, "bot", reports="page", **target)
    return make_app(tmp_path, Rules())


def test_a_row_per_bot_with_best_and_cheapest_marked(three_bots: Any) -> None:
    data = ask(three_bots, "/many?suite=bot&format=json").json()
    rows = {row["run"]: row for row in data["table"]["runs"]}
    assert [row["run"] for row in data["table"]["runs"]] == ["bot_large", "bot_small", "bot_poor"]
    assert rows["bot_large"]["standing"] == "best"
    assert rows["bot_small"]["cheapest_not_worse"]
    assert rows["bot_poor"]["standing"] == "worse than the best"
    assert data["bots"] == {"bot_large": "large", "bot_small": "small", "bot_poor": "poor"}
    assert "cost" in data["charts"]
    page = ask(three_bots, "/many?suite=bot")
    assert page.status == 200
    assert "cheapest, not worse" in page.text
    assert "<script>window.hacked" not in page.text


def test_the_result_names_bots_and_not_folders(three_bots: Any) -> None:
    address = "/many?suite=bot"
    page = ask(three_bots, f"{address}&format=json").json()
    assert page["sentence"].startswith("large has the best pass rate")
    assert page["sentence"].endswith("cheapest of these: small")
    assert page["sentence"] in ask(three_bots, address).text


def test_answers_stand_in_columns_and_disputed_cases_come_first(three_bots: Any) -> None:
    data = ask(three_bots, "/many?run=bot_large&run=bot_poor&format=json").json()
    assert data["pages"] == 2
    first = data["cases"][0]
    assert [answer["status"] for answer in first["answers"]] == ["PERFECT", "FAILED"]
    agreed = ask(three_bots, "/many?run=bot_large&run=bot_poor&page=2&format=json").json()["cases"]
    assert all(len({answer["status"] for answer in case["answers"]}) == 1 for case in agreed)


def test_fewer_than_two_runs_ask_for_a_choice(three_bots: Any) -> None:
    assert "Choose at least two runs" in ask(three_bots, "/many").text
    assert ask(three_bots, "/many?run=nowhere&run=bot_large").status == 404


def test_runs_of_one_bot_have_titles_of_their_own(tmp_path: Path) -> None:
    for name in ("v1", "v2"):
        scores = {"keyword_recall": Score(1.0), "groundedness": Score(1.0)}
        outcomes = [outcome(Case(f"c{n}", "q?"), Response("a"), scores) for n in range(3)]
        target = {"settings": {"target": {"name": "same"}}}
        make_run(tmp_path / name, outcomes, f"suite-{name}", reports=None, **target)
    data = ask(make_app(tmp_path, Rules()), "/many?run=v1&run=v2&format=json").json()
    assert data["bots"] == {"v1": "suite-v1", "v2": "suite-v2"}

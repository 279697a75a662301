"""The list of runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.support.viewer_asking import ask
from tests.support.viewer_world import make_run, plain

from answerkey.viewer.app import make_app
from answerkey.viewer.guard import Rules


def test_a_run_with_a_single_conversation_is_listed(cli: Any, tmp_path: Path) -> None:
    """One cluster gives a pass rate without an interval."""
    turns = [
        {"user": "Who?", "expected": "Jo", "answer": "Jo"},
        {"user": "When?", "expected": "1999", "answer": "1999"},
    ]
    (tmp_path / "c.json").write_text(json.dumps([{"id": "t", "conversation": turns}]))
    scored = cli("score", tmp_path / "c.json", "--profile", "rag", "--out", tmp_path / "runs")
    assert scored.code == 0, scored.err
    app = make_app(tmp_path / "runs", Rules())
    (run,) = ask(app, "/?format=json").json()["runs"]
    assert run["pass_rate"] is not None
    assert run["pass_rate_ci95"] is None
    page = ask(app, "/")
    assert page.status == 200
    assert "100 %" in page.text
    assert ask(app, f"/trend?suite={run['name']}").status == 200


@pytest.mark.parametrize(
    ("selection", "tag"),
    [
        ({"limit": 2}, "limit 2"),
        ({"only": "q*"}, "only q*"),
        ({"file": "a.csv"}, "file a.csv"),
        ({"collection": "hr"}, "collection hr"),
        ({"per_type": 1}, "per type 1"),
    ],
)
def test_a_run_of_some_cases_is_marked_and_not_in_trends(
    selection: dict[str, Any], tag: str, tmp_path: Path
) -> None:
    names = ("1_full", "2_full", "3_some")
    for day, name in enumerate(names, start=1):
        settings = {"selection": selection} if name == "3_some" else {}
        created = f"2026-01-0{day}T00:00:00+00:00"
        outcomes = map(plain, range(4))
        make_run(
            tmp_path / name, outcomes, "bot", reports=False, settings=settings, created=created
        )
    app = make_app(tmp_path, Rules())
    data = ask(app, "/?format=json").json()
    assert [run["selection"] for run in data["runs"]] == [tag, "", ""]
    (suite,) = data["suites"]
    assert suite["newest"] == "2_full"
    assert [len(run["trend"]) for run in data["runs"]] == [0, 2, 1]
    assert f">{tag}</span>" in ask(app, "/").text
    trend = ask(app, "/trend?suite=bot&format=json").json()["charts"]["trend"]
    assert len(trend["data"]["values"]) == 2


def test_runs_of_the_same_second_keep_their_order(tmp_path: Path) -> None:
    for name in ("run_1", "run_2"):
        make_run(tmp_path / name, map(plain, range(2)), "bot", reports=None)
    for newest in ("run_1", "run_2"):
        (tmp_path / newest / "note.json").write_text("{}")  # its folder is now the newest
        runs = ask(make_app(tmp_path, Rules()), "/?format=json").json()["runs"]
        assert [run["run"] for run in runs] == ["run_2", "run_1"]

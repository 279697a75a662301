"""The page of a watch: its series, alarms and looks; hostile text stays text."""

from __future__ import annotations

from pathlib import Path

from tests.support.viewer_asking import ask

from answerkey.viewer.app import make_app
from answerkey.viewer.guard import Rules
from answerkey.watch.anchor import AnchorResult
from answerkey.watch.observe import Alarm, AlarmKind, Look, SeriesPoint
from answerkey.watch.series import SeriesKind
from answerkey.watch.state import open_state
from answerkey.watch.topics import NewQuestion


def make_look(number: int, mean: float, evidence: float) -> Look:
    point = SeriesPoint(
        "passed",
        SeriesKind.VERDICT,
        "answers that pass",
        0.9,
        mean,
        50,
        mean,
        50 * number,
        0.6,
        1.0,
        evidence,
    )
    alarms = [Alarm(AlarmKind.BOT, "passed", "passed <b>dropped</b>")] if evidence >= 10 else []
    new = [NewQuestion("<script>alert(1)</script>?", 0.1)]
    anchor = AnchorResult(40, 3, 1, is_changed=False, agreement=0.9)
    return Look(
        number,
        "2026-01-02T10:00:00+00:00",
        80,
        50,
        evidence,
        [point],
        alarms,
        new,
        anchor,
        "baseline_1",
    )


def test_series_alarms_and_looks_of_a_watch(tmp_path: Path) -> None:
    with open_state(tmp_path / "watch") as state:
        for number, (mean, evidence) in enumerate([(0.9, 0.4), (0.88, 0.6), (0.6, 31.0)], start=1):
            state.add_look(make_look(number, mean, evidence))
    app = make_app(tmp_path, Rules())
    page = ask(app, "/watch")
    assert page.status == 200
    assert "The bot changed" in page.text
    assert "3 of 40 anchor answers" in page.text
    assert "<script>alert(1)" not in page.text
    assert "&lt;script&gt;alert(1)" in page.text
    data = ask(app, "/watch?format=json").json()
    assert [look["number"] for look in data["looks"]] == [3, 2, 1]
    assert data["alarms"][0]["series"] == "passed"
    assert set(data["charts"]) == {"evidence", "main"}
    assert "/watch?state=watch" in ask(app, "/").text


def test_no_watch_an_unknown_one_and_a_damaged_one(tmp_path: Path) -> None:
    app = make_app(tmp_path, Rules())
    assert ask(app, "/watch").status == 404
    with open_state(tmp_path / "watch"):
        pass
    assert "No look yet" in ask(app, "/watch").text
    assert ask(app, "/watch?state=../x").status == 404
    (tmp_path / "watch" / "watch.sqlite").write_bytes(b"damage" * 500)
    assert ask(app, "/watch").status == 422

"""`answerkey watch` from end to end."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import sqlite3
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from answerkey.watch.state import open_state

Write = Callable[[str, object], Path]
Cli = Callable[..., Any]
TOPICS = ["the refund of an order", "the opening hours of the shop", "the warranty of a battery"]


def _rows(first: int, count: int, rate: float, seed: int = 0) -> list[dict[str, object]]:
    random = Random(f"{seed} {first}")
    rows: list[dict[str, object]] = []
    for number in range(first, first + count):
        answer = "Thirty days." if random.random() < rate else "Sixty days."
        rows.append(
            {
                "id": f"q{number}",
                "question": f"Tell me about {TOPICS[number % 3]}, number {number}?",
                "answer": answer,
                "expected": "Thirty days.",
                "timestamp": f"2026-01-02T10:{number // 60:02}:{number % 60:02}Z",
            }
        )
    return rows


@pytest.fixture
def baseline(cli: Cli, write: Write, tmp_path: Path) -> Path:
    cases = write("baseline.jsonl", _rows(5000, 150, 0.9))
    shown = cli(
        "score",
        cases,
        "--metrics",
        "exact_match>=1",
        "--out",
        tmp_path / "runs",
        "--no-charts",
        "--quiet",
    )
    assert shown.code == 0, shown.err
    (run,) = (tmp_path / "runs").glob("score_*")
    return run


def test_a_watch_alarms_after_a_drop_and_counts_each_answer_once(
    cli: Cli, write: Write, tmp_path: Path, baseline: Path
) -> None:
    state = tmp_path / "state"
    good = write("good.jsonl", _rows(0, 100, 0.9))
    first = cli("watch", good, "--baseline", baseline, "--state", state)
    assert first.code == 0, first.err
    assert "100 new answers read, 100 scored" in first.out
    assert first.last_line.startswith("PASS: no change shown; 100 new answers scored")
    copy = write("rotated/good.jsonl", good.read_text())
    again = cli("watch", good, copy, "--baseline", baseline, "--state", state, "--json")
    assert again.code == 0
    assert again.json["read"] == 0
    assert again.json["sampled"] == 0
    bad = write("bad.jsonl", _rows(200, 150, 0.5))
    alarm = cli(
        "watch", good, bad, "--baseline", baseline, "--state", state, "--sample", 120, "--json"
    )
    assert alarm.code == 1
    assert alarm.json["read"] == 150
    assert alarm.json["sampled"] == 120
    assert alarm.json["alarms"][0]["kind"] == "bot"
    assert alarm.json["alarms"][0]["series"] == "passed"
    assert alarm.last_line.startswith("FAIL: passed dropped:")


def test_refusals_errors_and_new_questions_are_series(
    cli: Cli, write: Write, tmp_path: Path, baseline: Path
) -> None:
    rows = _rows(0, 120, 0.9)
    for row in rows[40:]:
        row["question"] = f"Which volcano on Jupiter's moon erupted in year {row['id']}?"
        row["answer"] = "I'm sorry, the documents don't mention that."
    shown = cli(
        "watch",
        write("log.jsonl", rows),
        "--baseline",
        baseline,
        "--state",
        tmp_path / "s",
        "--json",
    )
    assert shown.code == 1
    points = {point["name"]: point for point in shown.json["points"]}
    assert points["answered"]["mean"] < 0.5 < points["answered"]["baseline"]
    assert points["familiar"]["mean"] < 0.5
    assert points["familiar"]["evidence"] == 0.0
    assert len(shown.json["new_questions"]) == 20
    assert all("volcano" in new["question"] for new in shown.json["new_questions"])


def test_a_changed_judge_is_not_a_changed_bot(tmp_path: Path) -> None:
    from answerkey.types import Case, Outcome, Response, Score, Verdict
    from answerkey.watch.observe import AlarmKind, Watcher, look_at

    strict = False

    def score(cases: Any) -> list[Outcome]:
        outcomes = []
        for case in cases:
            passed = "right" in case.recorded.answer and not (
                strict and "brief" in case.recorded.answer
            )
            verdict = Verdict("PASSED" if passed else "FAILED", float(passed), passed=passed)
            outcomes.append(
                Outcome(case, case.recorded, {"exact_match": Score(float(passed))}, verdict)
            )
        return outcomes

    def cases(first: int, count: int, right: float, prefix: str = "q") -> list[Case]:
        random = Random(first)
        made = []
        for number in range(first, first + count):
            word = "right" if random.random() < right else "wrong"
            style = "brief" if number % 3 == 0 else "full"
            answer = Response(f"a {style} answer that is {word}, number {number}")
            made.append(Case(f"{prefix}{number}", f"question {number}", recorded=answer))
        return made

    class Embedder:
        def embed(self, texts: Any) -> Any:
            import numpy as np

            return np.ones((len(texts), 1), np.float32)

    watcher = Watcher(score, Embedder(), "base", lambda: score(cases(0, 200, 0.9)), sample=200)
    anchor = cases(5000, 60, 0.9, "anchor")
    with open_state(tmp_path) as state:
        first = look_at(state, cases(1000, 100, 0.9), anchor, watcher)
    assert first.alarms == []
    strict = True
    with open_state(tmp_path) as state:
        second = look_at(state, cases(2000, 100, 0.9), anchor, watcher)
    assert [alarm.kind for alarm in second.alarms] == [AlarmKind.JUDGE]
    assert second.anchor is not None
    assert second.anchor.stricter > 10
    assert second.anchor.milder == 0
    strict = False
    with open_state(tmp_path) as state:
        third = look_at(state, cases(3000, 150, 0.5), anchor, watcher)
    assert AlarmKind.BOT in {alarm.kind for alarm in third.alarms}
    assert AlarmKind.JUDGE not in {alarm.kind for alarm in third.alarms}


def test_another_baseline_needs_another_state(
    cli: Cli, write: Write, tmp_path: Path, baseline: Path
) -> None:
    log = write("log.jsonl", _rows(0, 30, 0.9))
    assert cli("watch", log, "--baseline", baseline, "--state", tmp_path / "s").code == 0
    other = baseline.with_name("score_other")
    baseline.rename(other)
    shown = cli("watch", log, "--baseline", other, "--state", tmp_path / "s")
    assert shown.code == 2
    assert "give another --state" in shown.last_line
    shown = cli("watch", log, "--baseline", tmp_path, "--state", tmp_path / "s")
    assert shown.code == 2
    assert "not a run folder" in shown.last_line


def _die_inside(folder: Path) -> None:
    with open_state(folder) as state:
        state.write("evidence", {"half": "written"})
        state.add_look({"half": True})
        os.kill(os.getpid(), signal.SIGKILL)


def test_a_killed_watch_leaves_the_state_of_the_look_before(tmp_path: Path) -> None:
    with open_state(tmp_path) as state:
        state.write("evidence", {"before": 1})
        state.add_look({"number": 1})
    process = multiprocessing.get_context("fork").Process(target=_die_inside, args=(tmp_path,))
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    with open_state(tmp_path) as state:
        assert state.read("evidence", dict) == {"before": 1}
        assert state.looks(dict) == [{"number": 1}]
    database = sqlite3.connect(tmp_path / "watch.sqlite")
    assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    database.close()


def test_two_cron_jobs_do_not_write_at_once(
    cli: Cli, write: Write, tmp_path: Path, baseline: Path
) -> None:
    log = write("log.jsonl", _rows(0, 30, 0.9))
    with open_state(tmp_path / "s"):
        shown = cli("watch", log, "--baseline", baseline, "--state", tmp_path / "s")
    assert shown.code == 3
    assert "another watch is running" in shown.last_line
    assert cli("watch", log, "--baseline", baseline, "--state", tmp_path / "s").code == 0


def test_a_state_that_is_no_state(cli: Cli, write: Write, tmp_path: Path, baseline: Path) -> None:
    state = tmp_path / "s"
    state.mkdir()
    (state / "watch.sqlite").write_bytes(b"not a database at all" * 100)
    shown = cli(
        "watch", write("log.jsonl", _rows(0, 30, 0.9)), "--baseline", baseline, "--state", state
    )
    assert shown.code == 3
    assert "not a readable state" in shown.last_line
    assert json.dumps(shown.out)

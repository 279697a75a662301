"""Traces through the commands: score, choose, evaluate, look at them, correct the rate by feedback."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.support.viewer_asking import ask

import answerkey as ak
from answerkey.viewer.app import make_app
from answerkey.viewer.guard import Rules

Write = Callable[[str, object], Path]


def _spans(number: int) -> list[dict[str, object]]:
    """One turn: four turns are a session, every second has feedback, every third is a refusal."""
    feedback = None
    if number % 2:
        feedback = "down" if number % 3 == 0 else "up"
    context = {"trace_id": f"t{number:02}", "span_id": "root"}
    times = {"start_time": "2026-01-02T10:00:00Z", "end_time": "2026-01-02T10:00:02Z"}
    chat = {
        "openinference.span.kind": "CHAIN",
        "input.value": f"How long is the warranty of item {number}?",
        "output.value": "I don't know." if number % 3 == 0 else "Two years.",
        "session.id": f"s{number // 4}",
        "feedback": feedback,
    }
    search = {
        "openinference.span.kind": "RETRIEVER",
        "retrieval.documents.0.document.content": f"Item {number} has a warranty of two years.",
        "retrieval.documents.0.document.id": f"item{number}",
    }
    return [
        {"name": "chat", "context": context, **times, "attributes": chat},
        {
            "name": "search",
            "context": {**context, "span_id": "search"},
            "parent_id": "root",
            **times,
            "attributes": search,
        },
    ]


@pytest.fixture
def traces(write: Write) -> Path:
    return write("traces.jsonl", [span for number in range(80) for span in _spans(number)])


def _score(cli: Any, file: Path, folder: Path) -> Path:
    arguments = ("--metrics", "answer_relevance>=0.01", "--no-charts", "--quiet", "--out", folder)
    shown = cli("score", file, *arguments)
    assert shown.code == 0, shown.err
    (run,) = folder.glob("score_*")
    return run


def test_feedback_gives_labels_and_a_corrected_rate(
    cli: Callable[..., Any], traces: Path, tmp_path: Path
) -> None:
    summary = json.loads((_score(cli, traces, tmp_path / "runs") / "summary.json").read_text())
    assert summary["totals"]["cases"] == 80
    assert summary["clusters"] == 20
    corrected = summary["corrected"]
    assert (corrected["labels"], corrected["rest"]) == (40, 40)
    # 13 of the 40 labelled turns are refusals with a thumb down.
    assert corrected["rate"] == pytest.approx(27 / 40, abs=0.1)
    assert corrected["low"] < 27 / 40 < corrected["high"]


def test_chosen_turns_are_cases_again(
    cli: Callable[..., Any], traces: Path, tmp_path: Path
) -> None:
    out = tmp_path / "regressions.jsonl"
    chosen = ("--where", "feedback=down", "--sample", 5)
    shown = cli("cases", traces, *chosen, "--out", out)
    assert shown.code == 0, shown.err
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert len(rows) == 5
    assert all(row["answer"] == "I don't know." for row in rows)
    assert all(row["label"] == 0 for row in rows)
    assert all(len(row["contexts"]) == 1 for row in rows)
    original = {case.id: case for case in ak.load_cases(traces)}
    for case in ak.load_cases(out):
        assert case.recorded == original[case.id].recorded
        assert case.extra["conversation"] == original[case.id].extra["conversation"]
    run = _score(cli, out, tmp_path / "again")
    assert json.loads((run / "summary.json").read_text())["totals"]["cases"] == 5


def test_evaluate_reads_the_file_itself(traces: Path) -> None:
    run = ak.evaluate(str(traces), metrics=["refusal"])
    results = list(run)
    assert len(results) == 80
    assert {result.case.extra["conversation"] for result in results} == {
        f"s{number}" for number in range(20)
    }


def test_the_viewer_shows_a_turn(cli: Callable[..., Any], traces: Path, tmp_path: Path) -> None:
    run = _score(cli, traces, tmp_path / "runs")
    app = make_app(tmp_path / "runs", Rules())
    page = ask(app, f"/run/{run.name}")
    assert page.status == 200
    assert "t03" in page.text
    case = ask(app, f"/run/{run.name}/case/4")
    assert case.status == 200
    assert "How long is the warranty of item 4?" in case.text
    assert "Item 4 has a warranty of two years." in case.text

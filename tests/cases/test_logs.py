"""Logs of bots: rows with question and answer, and rows with one message each."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from answerkey.cases import read_cases

Write = Callable[[str, object], Path]


def test_a_log_with_latency_session_feedback_and_errors(write: Write) -> None:
    log = write(
        "log.csv",
        "timestamp,session_id,route,latency_ms,model,question,answer,feedback\n"
        "2026-01-02 10:00:00,s1,docs,1500,m,How long?,Two years.,👍\n"
        "2026-01-02 10:00:30,s1,docs,20,m,And the battery?,Error: POST predict: timed out,\n"
        "2026-01-02 10:01:00,s2,kpi,7,N/A,Sales?,RM 5,down\n",
    )
    first, second, third = read_cases([log])
    assert first.recorded is not None
    assert first.recorded.seconds == 1.5
    assert first.recorded.route == "docs"
    assert (first.extra["feedback"], first.extra["label"]) == ("up", 1)
    assert first.extra["conversation"] == "s1"
    assert second.recorded is not None
    assert second.recorded.answer is None
    assert second.recorded.error == "Error: POST predict: timed out"
    assert [(turn.user, turn.answer) for turn in second.history] == [("How long?", "Two years.")]
    assert (third.extra["feedback"], third.extra["label"]) == ("down", 0)
    assert third.history == ()


def test_a_row_per_message_with_interleaved_sessions(write: Write) -> None:
    def row(session: str, role: str, content: str, **more: object) -> dict[str, object]:
        return {
            "created_at": "2026-01-02T10:00:00Z",
            "session_id": session,
            "role": role,
            "content": content,
            **more,
        }

    log = write(
        "messages.jsonl",
        [
            row("a", "user", "How long?"),
            row("b", "user", "Where?"),
            row("b", "assistant", "In Bonn.", rating=5),
            row("a", "assistant", "Two years.", latency_ms=250),
            row("a", "user", "And the battery?"),
        ],
    )
    cases = {case.question: case for case in read_cases([log])}
    assert list(cases) == ["How long?", "Where?", "And the battery?"]
    long = cases["How long?"]
    assert long.recorded is not None
    assert (long.recorded.answer, long.recorded.seconds) == ("Two years.", 0.25)
    assert cases["Where?"].extra["label"] == 1
    battery = cases["And the battery?"]
    assert battery.recorded is not None
    assert battery.recorded.error == "the log has no answer to this question"
    assert [turn.answer for turn in battery.history] == ["Two years."]


def test_cells_that_an_old_header_does_not_name_are_kept(
    write: Write, caplog: pytest.LogCaptureFixture
) -> None:
    log = write("log.csv", "timestamp,question,answer\n1,Q1,A1\n2,Q2,A2,abc,def\n3,Q3,A3\n")
    first, second, _ = read_cases([log])
    assert "column_4" not in first.extra
    assert (second.extra["column_4"], second.extra["column_5"]) == ("abc", "def")
    assert "cells without a name (column_4, column_5)" in caplog.text


def test_answers_of_ordinary_files_stay_as_they_are(write: Write) -> None:
    (case,) = read_cases([write("cases.csv", "question,answer\nWhy?,Error: it broke\n")])
    assert case.recorded is not None
    assert case.recorded.answer == "Error: it broke"


def test_a_real_log_and_stored_chats(shared_data: Path) -> None:
    wild = shared_data / "wild"
    if not (wild / "kpi_chat_logs.csv").is_file():
        pytest.skip("the folder of real files is not beside the repository")
    cases = list(read_cases([wild / "kpi_chat_logs.csv"]))
    assert len(cases) == 79
    first = cases[0].recorded
    assert first is not None
    assert first.error is not None
    assert first.error.startswith("Error: POST predict")
    assert (first.seconds, first.route) == (12.036, "rag_docs")
    assert sum(case.recorded is not None and case.recorded.answer is None for case in cases) == 10
    chat = list(read_cases([wild / "kpi_chat_a.json"]))
    assert chat[-1].recorded is not None
    assert str(chat[-1].recorded.error).startswith("Error: model requires more system memory")
    second_chat = list(read_cases([wild / "kpi_chat_b.json"]))
    assert second_chat[4].recorded is not None
    assert second_chat[4].recorded.error == "Error: LLM did not respond within 90.0s"


def test_usual_names_of_columns_in_logs(write: Write) -> None:
    log = write(
        "log.csv",
        "Date,User Message,Bot Reply,Latency (ms),Rating\n2026-01-02,How long?,Two years.,1500,2\n",
    )
    (case,) = read_cases([log])
    assert case.recorded is not None
    assert (case.question, case.recorded.answer) == ("How long?", "Two years.")
    assert case.recorded.seconds == 1.5
    assert (case.extra["time"], case.extra["label"]) == ("2026-01-02", 0)


def test_a_row_with_messages_belongs_to_its_session(write: Write) -> None:
    messages = [
        {"role": "user", "content": "How long?"},
        {"role": "assistant", "content": "Two years."},
    ]
    rows = [{"conversation_id": "s-9", "messages": messages}] * 2
    cases = list(read_cases([write("chats.jsonl", rows)]))
    assert [case.extra["conversation"] for case in cases] == ["s-9", "s-9"]
    assert len({case.id for case in cases}) == 2

"""A run has a row per conversation beside the rows of its turns, where a metric looks at it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import answerkey as ak
from answerkey.types import Kind, Turn

CALL = {"id": "c1", "function": {"name": "search", "arguments": '{"city": "Oslo"}'}}
MESSAGES = [
    {"role": "user", "content": "Hotels in Oslo?"},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c1", "content": "4 hotels"},
    {"role": "assistant", "content": "There are 4 hotels."},
    {"role": "user", "content": "Thanks!"},
    {"role": "assistant", "content": "You're welcome."},
]
EXPECTED = [{"name": "search", "arguments": {"city": "Oslo"}}]


def test_a_chat_with_expected_tools_has_a_row_of_its_own() -> None:
    row = {"id": "chat-1", "messages": MESSAGES, "expected_tools": EXPECTED}
    run = ak.evaluate([row], metrics=["tool_f1", "tool_arguments"])
    assert [outcome.case.id for outcome in run] == ["chat-1#T1", "chat-1#T2", "chat-1"]
    assert run["chat-1"].scores["tool_arguments"].value == 1.0
    assert run["chat-1#T1"].scores["tool_arguments"].value is None
    assert len(run["chat-1"].response.turns) == 2


def test_a_plain_chat_has_rows_of_its_turns_only() -> None:
    run = ak.evaluate([{"id": "chat-1", "messages": MESSAGES}], metrics=["answer_length"])
    assert [outcome.case.id for outcome in run] == ["chat-1#T1", "chat-1#T2"]


def test_a_metric_of_conversations_adds_the_row() -> None:
    run = ak.evaluate([{"id": "chat-1", "messages": MESSAGES}], metrics=["resolved"])
    assert run["chat-1"].scores["resolved"].value == 1.0
    assert run["chat-1#T1"].scores["resolved"].value is None


def test_a_live_bot_is_not_asked_for_the_row(tmp_path: Path) -> None:
    questions: list[str] = []

    def bot(question: str, history: list[object]) -> dict[str, object]:
        questions.append(question)
        return {"answer": f"About {question}", "tools": [f"tool_{len(questions)}"]}

    path = tmp_path / "talk.json"
    path.write_text(json.dumps({"conversation": [{"user": "May?"}, {"user": "June?"}]}))
    run = ak.evaluate(path, target=bot, metrics=["resolved", "tool_calls"])
    assert questions == ["May?", "June?"]
    response = run["talk"].response
    assert [(turn.user, turn.answer) for turn in response.turns] == [
        ("May?", "About May?"),
        ("June?", "About June?"),
    ]
    assert run["talk"].scores["tool_calls"].value == 2.0


def test_the_conversation_is_kept_in_the_run(tmp_path: Path) -> None:
    run = ak.evaluate([{"id": "chat-1", "messages": MESSAGES}], metrics=["resolved"])
    again = ak.open_run(run.save(tmp_path))["chat-1"]
    assert again.response.turns[1] == Turn("Thanks!", "You're welcome.")
    assert again.response.turns[0].tools[0].name == "search"


@pytest.mark.parametrize("profile", ["agent"])
def test_asking_again_fails_a_turn_and_its_conversation(profile: str) -> None:
    messages = [
        {"role": "user", "content": "My order number is 99123. Where is it?"},
        {"role": "assistant", "content": "Let me see. What is your order number?"},
        {"role": "user", "content": "99123"},
        {"role": "assistant", "content": "It arrives on Tuesday."},
    ]
    row = {"id": "chat-1", "messages": messages, "expected_tools": []}
    run = ak.evaluate([row], profile=profile)
    verdict = run["chat-1"].verdict
    assert verdict.kind == Kind.ASKED_AGAIN
    assert "What is your order number?" in verdict.why
    assert run["chat-1#T2"].verdict.kind == ""


def test_a_last_message_without_a_reply_is_no_error() -> None:
    messages = [*MESSAGES, {"role": "user", "content": "###STOP###"}]
    row = {"id": "chat-1", "messages": messages, "expected_tools": EXPECTED}
    run = ak.evaluate([row], profile="agent", progress=False)
    assert run["chat-1"].verdict.passed
    assert all(outcome.response.error is None for outcome in run)

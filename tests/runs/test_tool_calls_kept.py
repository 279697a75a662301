"""Tool calls of a response and of a case are kept in a run and in its exports."""

from __future__ import annotations

import json
from pathlib import Path

import answerkey as ak
from answerkey.types import ToolCall

ROW = {
    "id": "q1",
    "question": "Hotels in Oslo?",
    "answer": "There are 4.",
    "tools": [{"name": "search", "arguments": {"city": "Oslo"}, "result": "4 hotels"}],
    "expected_tools": [{"name": "search", "arguments": {"city": "Oslo"}}],
}


def test_calls_are_read_back_from_a_run_and_from_its_results(tmp_path: Path) -> None:
    folder = ak.evaluate([ROW], metrics=["latency_ms"]).save(tmp_path)
    outcome = ak.open_run(folder)["q1"]
    assert outcome.response.tools == (ToolCall("search", {"city": "Oslo"}, "4 hotels"),)
    line = json.loads((folder / "results.jsonl").read_text("utf-8"))
    assert line["tools"] == [
        {"name": "search", "arguments": {"city": "Oslo"}, "result": "4 hotels"}
    ]
    again = ak.evaluate(folder / "results.jsonl", metrics=["latency_ms"])["q1"]
    assert again.response.tools == outcome.response.tools
    assert again.case.expected_tools == outcome.case.expected_tools


def test_a_bot_may_answer_with_calls_alone() -> None:
    def bot(question: str) -> object:
        call = {"function": {"name": "search", "arguments": '{"city": "Oslo"}'}}
        return {"choices": [{"message": {"content": None, "tool_calls": [call]}}]}

    run = ak.evaluate([{"id": "q1", "question": "Hotels?"}], target=bot, metrics=["latency_ms"])
    response = run["q1"].response
    assert response.error is None
    assert response.tools == (ToolCall("search", {"city": "Oslo"}),)


def test_another_field_of_this_name_is_no_error() -> None:
    def bot(question: str) -> object:
        return {"answer": "Four.", "tools": {"enabled": True}}

    run = ak.evaluate([{"id": "q1", "question": "Hotels?"}], target=bot, metrics=["latency_ms"])
    assert run["q1"].response.error is None
    assert run["q1"].response.tools is None

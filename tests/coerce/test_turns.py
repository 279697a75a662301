"""Chat messages become turns, with the calls and results of each turn."""

from __future__ import annotations

from answerkey.coerce.turns import as_turns, calls_of_messages
from answerkey.coerce.values import Place
from answerkey.types import ToolCall, Turn

PLACE = Place("cases.jsonl")


def _call(name: str, call_id: str, arguments: str = "{}") -> dict[str, object]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def test_calls_belong_to_the_turn_in_which_they_were_made() -> None:
    messages = [
        {"role": "system", "content": "You are helpful."},
        {"role": "user", "content": "Hotels in Oslo?"},
        {"role": "assistant", "content": None, "tool_calls": [_call("search", "c1")]},
        {"role": "tool", "tool_call_id": "c1", "content": "4 hotels"},
        {"role": "assistant", "content": "There are 4."},
        {"role": "user", "content": "Thanks"},
        {"role": "assistant", "content": "You are welcome."},
    ]
    assert as_turns(messages, "messages", PLACE) == (
        Turn("Hotels in Oslo?", "There are 4.", (ToolCall("search", result="4 hotels"),)),
        Turn("Thanks", "You are welcome."),
    )


def test_results_of_parallel_calls_are_matched_by_id() -> None:
    messages = [
        {"role": "user", "content": "Weather?"},
        {"role": "assistant", "tool_calls": [_call("oslo", "c1"), _call("bergen", "c2")]},
        {"role": "tool", "tool_call_id": "c2", "content": "rain"},
        {"role": "tool", "tool_call_id": "c1", "content": "sun"},
    ]
    calls = as_turns(messages, "messages", PLACE)[0].tools
    assert [(call.name, call.result) for call in calls] == [("oslo", "sun"), ("bergen", "rain")]


def test_an_id_that_is_used_twice_belongs_to_the_call_that_waits() -> None:
    messages = [
        {"role": "user", "content": "Weather?"},
        {"role": "assistant", "tool_calls": [_call("oslo", "c1")]},
        {"role": "tool", "tool_call_id": "c1", "content": "sun"},
        {"role": "assistant", "tool_calls": [_call("bergen", "c1")]},
        {"role": "tool", "tool_call_id": "c1", "content": "rain"},
    ]
    calls = as_turns(messages, "messages", PLACE)[0].tools
    assert [call.result for call in calls] == ["sun", "rain"]


def test_results_of_anthropic_do_not_begin_a_turn() -> None:
    messages = [
        {"role": "user", "content": "Weather?"},
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "I look."},
                {"type": "tool_use", "id": "t1", "name": "weather", "input": {"city": "Oslo"}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "t1", "content": "down", "is_error": True}
            ],
        },
        {"role": "assistant", "content": "I could not find out."},
    ]
    call = ToolCall("weather", {"city": "Oslo"}, "down", "down")
    assert as_turns(messages, "messages", PLACE) == (
        Turn("Weather?", "I could not find out.", (call,)),
    )


def test_items_of_the_responses_interface_are_calls() -> None:
    output = [
        {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "a", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": "done"},
    ]
    assert calls_of_messages(output, PLACE) == (ToolCall("a", result="done"),)


def test_only_calls_of_the_last_turn_are_those_of_a_reply() -> None:
    messages = [
        {"role": "user", "content": "One"},
        {"role": "assistant", "tool_calls": [_call("first", "c1")]},
        {"role": "user", "content": "Two"},
        {"role": "assistant", "tool_calls": [_call("second", "c2")]},
    ]
    calls = calls_of_messages(messages, PLACE)
    assert calls is not None
    assert [call.name for call in calls] == ["second"]


def test_messages_of_the_responses_interface_are_turns() -> None:
    items = [
        {"role": "user", "content": [{"type": "input_text", "text": "Hotels in Oslo?"}]},
        {"type": "reasoning", "id": "rs_1", "summary": []},
        {"type": "function_call", "call_id": "c1", "name": "a", "arguments": '{"city": "Oslo"}'},
        {"type": "function_call_output", "call_id": "c1", "output": "4 hotels"},
        {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "There are 4."}],
        },
    ]
    call = ToolCall("a", {"city": "Oslo"}, "4 hotels")
    assert as_turns(items, "messages", PLACE) == (Turn("Hotels in Oslo?", "There are 4.", (call,)),)


def test_contents_of_gemini_are_turns_and_results_are_matched_by_name() -> None:
    for call_key, result_key in (
        ("functionCall", "functionResponse"),
        ("function_call", "function_response"),
    ):
        contents = [
            {"role": "user", "parts": [{"text": "Oslo?"}]},
            {
                "role": "model",
                "parts": [
                    {call_key: {"name": "hotels", "args": {"city": "Oslo"}}},
                    {call_key: {"name": "weather", "args": {"city": "Oslo"}}},
                ],
            },
            {
                "role": "user",
                "parts": [
                    {result_key: {"name": "weather", "response": {"sky": "sun"}}},
                    {result_key: {"name": "hotels", "response": {"count": 4}}},
                ],
            },
            {"role": "model", "parts": [{"text": "Sun, and 4 hotels."}]},
        ]
        (turn,) = as_turns(contents, "messages", PLACE)
        assert (turn.user, turn.answer) == ("Oslo?", "Sun, and 4 hotels.")
        results = [(call.name, call.result, call.step) for call in turn.tools]
        assert results == [("hotels", {"count": 4}, 1), ("weather", {"sky": "sun"}, 1)]

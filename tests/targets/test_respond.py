"""Laws of every response, whatever a bot returns: usable or an error with a reason, and always strict JSON in UTF-8."""

from __future__ import annotations

import json
from dataclasses import asdict
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from answerkey.targets.reply_fields import parse_reply_json
from answerkey.targets.respond import FailedExchange, as_response
from answerkey.types import Passage, Response, ToolCall

texts = st.text(
    st.characters(), max_size=20
)  # lone surrogates too, as `"\\ud800"` in JSON gives them
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | texts | st.binary(max_size=4) | st.sets(st.integers(), max_size=2),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts | st.integers(), inner, max_size=4),
    max_leaves=8,
)  # fmt: skip
names = st.sampled_from(
    ["answer", "response", "output", "text", "passages", "contexts", "context", "route", "sources", "retrieved", "usage", "tokens",
     "prompt_tokens", "cost", "seconds", "error", "mood", "id", "score", "page", "metadata", "content"]
)  # fmt: skip
replies = st.dictionaries(
    names,
    values
    | st.dictionaries(names, values, max_size=3)
    | st.lists(st.dictionaries(names, values, max_size=3), max_size=3),
    max_size=6,
)


@given(values | replies)
def test_whatever_comes(value: Any) -> None:
    check(as_response(value))


@example(None, "", None, {"\ud800": None})
@given(texts | st.none(), texts, values, st.dictionaries(texts, values, max_size=3))
def test_a_response_of_the_bots_own(
    answer: str | None, text: str, error: Any, extra: dict[str, Any]
) -> None:
    told = str(error) if error else None
    check(
        as_response(
            Response(
                answer,
                (Passage(text, text, float("nan"), text),),
                text,
                (text,),
                (text,),
                error=told,
                extra=extra,
            )
        )
    )


@given(st.text(max_size=50) | replies.map(lambda reply: json.dumps(reply, default=str)))
def test_whatever_a_server_sends(text: str) -> None:
    try:
        check(as_response(parse_reply_json(text)))
    except FailedExchange as failed:
        check(failed.response)


def check(got: Response) -> None:
    json.dumps(asdict(got), allow_nan=False, ensure_ascii=False).encode("utf-8")
    if got.error is None:
        assert (got.answer or "").strip() or got.passages or got.retrieved is not None
    else:
        assert got.error.strip()
        assert got.error_kind in {"content", "infrastructure"}
        assert got.error_name
    for number in (got.seconds, got.cost, got.prompt_tokens, got.completion_tokens):
        assert number is None or number >= 0


TEXT = SimpleNamespace(type="text", text="Ann")


@pytest.mark.parametrize(
    "reply",
    [
        {"choices": [{"message": {"content": "Ann"}}]},
        SimpleNamespace(choices=[SimpleNamespace(message=SimpleNamespace(content="Ann"))]),
        SimpleNamespace(content=[TEXT], usage=SimpleNamespace(input_tokens=3)),
        SimpleNamespace(output_text="Ann", output=[TEXT]),
        {
            "messages": [
                {"role": "user", "content": "Who?"},
                {"role": "assistant", "content": "Ann"},
            ]
        },
        {"messages": [SimpleNamespace(content="Who?"), SimpleNamespace(content=[TEXT])]},
        {"answer": "Ann", "messages": [{"content": "another"}]},
        ("Ann", []),
    ],
)
def test_replies_of_chat_models(reply: object) -> None:
    response = as_response(reply)
    assert (response.answer, response.error) == ("Ann", None)


def test_a_reply_without_an_answer_names_what_it_has() -> None:
    assert as_response({"remark": "Ann"}).error == "the target returned no answer; it has remark"
    assert as_response(("Ann", ["One."])).contexts == ("One.",)


SEARCH = ToolCall("search", {"city": "Oslo"})
CALL_ITEM = {
    "type": "function_call",
    "call_id": "c",
    "name": "search",
    "arguments": '{"city": "Oslo"}',
}
MESSAGE_ITEM = {"type": "message", "content": [{"type": "output_text", "text": "Grand"}]}
GEMINI_CALL = {"functionCall": {"name": "search", "args": {"city": "Oslo"}}}
CLAUDE_CALL = {"type": "tool_use", "id": "t1", "name": "search", "input": {"city": "Oslo"}}


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        ({"output": [CALL_ITEM, MESSAGE_ITEM]}, "Grand"),
        ({"output": [CALL_ITEM]}, None),
        (SimpleNamespace(output=[SimpleNamespace(**CALL_ITEM)], output_text=""), None),
        ({"candidates": [{"content": {"role": "model", "parts": [GEMINI_CALL]}}]}, None),
        (
            {
                "candidates": [
                    {"content": {"role": "model", "parts": [{"text": "Grand"}, GEMINI_CALL]}}
                ]
            },
            "Grand",
        ),
        ({"content": [{"type": "text", "text": "Grand"}, CLAUDE_CALL]}, "Grand"),
        (SimpleNamespace(content=[SimpleNamespace(**CLAUDE_CALL)]), None),
    ],
)
def test_calls_in_the_replies_of_language_models_are_read(reply: Any, answer: str | None) -> None:
    response = as_response(reply)
    assert response.error is None, response.error
    assert response.answer == answer
    assert response.tools == (SEARCH,)


def test_a_list_of_texts_as_output_is_still_refused() -> None:
    assert as_response({"output": ["one", "two"]}).error is not None

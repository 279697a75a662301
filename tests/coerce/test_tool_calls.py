"""Tool calls are read from rows, chat messages and objects of frameworks."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace

import pytest

from answerkey.coerce.expected_tools import as_expected_tools, as_forbidden
from answerkey.coerce.tool_calls import as_tool_calls
from answerkey.coerce.values import Place
from answerkey.errors import InputError
from answerkey.types import ExpectedCall, Passage, ToolCall

PLACE = Place("cases.jsonl", 3)
OSLO = ToolCall("search", {"city": "Oslo"})


@pytest.mark.parametrize(
    "written",
    [
        {"name": "search", "arguments": {"city": "Oslo"}},
        {"name": "search", "arguments": '{"city": "Oslo"}'},
        {"name": "search", "args": {"city": "Oslo"}, "id": "call_1", "type": "tool_call"},
        {"tool": "search", "tool_input": {"city": "Oslo"}},
        {"tool_name": "search", "input_parameters": {"city": "Oslo"}},
        {"type": "function", "function": {"name": "search", "arguments": '{"city": "Oslo"}'}},
        {"type": "tool_use", "id": "t1", "name": "search", "input": {"city": "Oslo"}},
        {"functionCall": {"name": "search", "args": {"city": "Oslo"}}},
        SimpleNamespace(name="search", args={"city": "Oslo"}),
        SimpleNamespace(function=SimpleNamespace(name="search", arguments='{"city": "Oslo"}')),
        OSLO,
    ],
)
def test_every_framework_writes_the_same_call(written: object) -> None:
    assert as_tool_calls([written], "tools", PLACE) == (OSLO,)


def test_result_error_and_time_are_kept() -> None:
    row = {"name": "search", "result": {"hotels": 4}, "error": "", "seconds": 0.5}
    assert as_tool_calls([row], "tools", PLACE) == (
        ToolCall("search", result={"hotels": 4}, seconds=0.5),
    )


def test_a_failed_call_has_an_error() -> None:
    row = {"name": "search", "output": "no such city", "status": "error"}
    assert as_tool_calls([row], "tools", PLACE)[0].error == "no such city"


def test_names_alone_are_calls() -> None:
    expected = (ToolCall("search"), ToolCall("book"))
    assert as_tool_calls("search, book", "tools", PLACE) == expected
    assert as_tool_calls('["search", "book"]', "tools", PLACE) == expected


def test_steps_of_langchain_agents_are_calls() -> None:
    action = SimpleNamespace(tool="search", tool_input="hotels in Oslo", log="…")
    calls = as_tool_calls([(action, "4 hotels")], "intermediate_steps", PLACE)
    assert calls == (ToolCall("search", {"input": "hotels in Oslo"}, "4 hotels"),)


def test_definitions_of_tools_are_no_calls() -> None:
    schema = {"type": "object", "properties": {"city": {"type": "string"}}}
    function = {"name": "search", "description": "Finds hotels.", "parameters": schema}
    assert as_tool_calls([{"type": "function", "function": function}], "tools", PLACE) == ()
    claude = {"name": "search", "description": "Finds hotels.", "input_schema": schema}
    assert as_tool_calls([claude], "tools", PLACE) == ()
    bare = {"type": "function", "function": {"name": "now", "description": "The time."}}
    assert as_tool_calls([bare], "tools", PLACE) == ()


def test_a_call_may_have_a_description() -> None:
    call = SimpleNamespace(name="search", description="Finds hotels.", input_parameters=None)
    assert as_tool_calls([call], "tools_called", PLACE) == (ToolCall("search"),)


def test_calls_of_a_sub_agent_are_inside_the_call() -> None:
    row = {"name": "travel_agent", "calls": [{"name": "search", "args": {"city": "Oslo"}}]}
    assert as_tool_calls([row], "tools", PLACE)[0].calls == (OSLO,)


def test_a_call_without_a_name_is_an_error_that_names_the_row() -> None:
    with pytest.raises(InputError, match=r'cases.jsonl, line 3, column "tools"'):
        as_tool_calls([{"arguments": {}}], "tools", PLACE)


def test_a_list_is_one_right_sequence() -> None:
    plans = as_expected_tools(
        [{"name": "search", "arguments": {}}, "book"], "expected_tools", PLACE
    )
    assert [plan.calls for plan in plans] == [(ExpectedCall("search", {}), ExpectedCall("book"))]


def test_a_list_of_lists_gives_alternatives() -> None:
    plans = as_expected_tools([["search", "book"], ["ask"], []], "expected_tools", PLACE)
    assert [len(plan.calls) for plan in plans] == [2, 1, 0]


def test_a_list_among_calls_gives_alternatives_for_that_call() -> None:
    plans = as_expected_tools(["login", ["search", "browse"]], "expected_tools", PLACE)
    assert [[call.name for call in plan.calls] for plan in plans] == [
        ["login", "search"],
        ["login", "browse"],
    ]


def test_an_empty_list_means_that_no_tool_is_expected() -> None:
    assert [plan.calls for plan in as_expected_tools([], "expected_tools", PLACE)] == [()]


def test_a_star_stands_for_any_arguments() -> None:
    plans = as_expected_tools([{"name": "search", "arguments": "*"}], "expected_tools", PLACE)
    assert plans[0].calls == (ExpectedCall("search", None),)


def test_too_many_alternatives_are_refused() -> None:
    with pytest.raises(InputError, match="fewer than 100 alternatives"):
        as_expected_tools(["start", *[["a", "b"]] * 7], "expected_tools", PLACE)


def test_forbidden_sources_are_names_or_passages() -> None:
    sources = as_forbidden(["pay.pdf", {"id": "p7", "text": "Salaries"}], "forbidden", PLACE)
    assert sources == (Passage(id="pay.pdf"), Passage("Salaries", id="p7"))


@dataclass
class _HostileObject:
    name: str = "search"
    args: dict[str, object] = field(default_factory=lambda: {"x": object()})


def test_arguments_hold_only_json() -> None:
    call = as_tool_calls([_HostileObject()], "tools", PLACE)[0]
    assert isinstance(call.arguments["x"], str)

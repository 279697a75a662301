"""A case as a row of a case file, with its recorded answer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path

from answerkey.cases.hide import hide_in
from answerkey.files import json_line, replace_file
from answerkey.types import (
    AnswerCriteria,
    Case,
    ExpectedCall,
    ExpectedCalls,
    Passage,
    Requirement,
    Response,
    ToolCall,
    Turn,
)

# An empty value of these says something: an empty answer, no call, nothing retrieved or relevant.
_MEANINGFUL_WHEN_EMPTY = frozenset({"answer", "tools", "retrieved", "relevant"})


def row_of_case(case: Case) -> dict[str, object]:
    """The columns of a case, by the names under which they are read; absent ones are left out."""
    row: dict[str, object] = {
        "id": case.id,
        "question": case.question,
        "expected": list(case.expected),
        "type": case.type,
        "expected_route": case.expected_route,
        "acceptable_routes": list(case.acceptable_routes),
        "relevant": None if case.relevant is None else dict(case.relevant),
        "history": [_row_of_turn(turn) for turn in case.history],
        "priority": case.priority,
        "note": case.note,
        "tags": list(case.tags),
        "answer_criteria": _row_of_criteria(case.criteria),
        "criteria": [_row_of_requirement(requirement) for requirement in case.requirements],
        "criteria_threshold": case.criteria_threshold,
        "forbidden_tools": list(case.forbidden_tools),
        "max_calls": case.max_calls,
        "forbidden": [_row_of_passage(passage) for passage in case.forbidden],
    }
    if case.recorded is not None:
        row |= _row_of_response(case.recorded)
    filled = {name: value for name, value in row.items() if not _is_absent(name, value)}
    if case.expected_tools is not None:
        # An empty list means that no tool should be called, so it is written as well.
        filled["expected_tools"] = _rows_of_expected(case.expected_tools)
    # Extra columns first, as they may be called like one of ours that is empty here.
    return {**{name: value for name, value in case.extra.items() if name not in row}, **filled}


def _is_absent(name: str, value: object) -> bool:
    if value is None:
        return True
    return name not in _MEANINGFUL_WHEN_EMPTY and value in ("", [], {})


def _row_of_criteria(criteria: AnswerCriteria) -> dict[str, object]:
    # Compared with the default, as 0 is a value: `expected_value = 0`.
    defaults = asdict(AnswerCriteria())
    return {name: value for name, value in asdict(criteria).items() if value != defaults[name]}


def _row_of_turn(turn: Turn) -> dict[str, object]:
    row: dict[str, object] = {"user": turn.user, "answer": turn.answer}
    if turn.tools:
        row["tools"] = [_row_of_call(call) for call in turn.tools]
    return row


def _row_of_requirement(requirement: Requirement) -> dict[str, object]:
    row: dict[str, object] = {"name": requirement.name, "weight": requirement.weight}
    if requirement.threshold is not None:
        row["threshold"] = requirement.threshold
    if requirement.judged:
        return {**row, "ask": requirement.ask, "kind": requirement.kind}
    if requirement.negated:
        kind = f"not-{requirement.kind}"
    else:
        kind = requirement.kind
    return {**row, "kind": kind, "value": list(requirement.value)}


def _rows_of_expected(plans: Sequence[ExpectedCalls]) -> list[object]:
    """One list of calls, or a list of alternatives."""
    rows: list[object] = [[_row_of_expected(call) for call in plan.calls] for plan in plans]
    if len(plans) == 1 and not plans[0].calls:
        return []
    return rows


def _row_of_expected(call: ExpectedCall) -> dict[str, object]:
    if call.arguments is None:
        return {"name": call.name}
    return {"name": call.name, "arguments": dict(call.arguments)}


def _row_of_response(response: Response) -> dict[str, object]:
    row: dict[str, object] = {
        "answer": response.answer,
        "error": response.error,
        "contexts": [_row_of_passage(passage) for passage in response.passages],
        "route": response.route,
        "sources": list(response.sources),
        "retrieved": None if response.retrieved is None else list(response.retrieved),
        "response_time": response.seconds,
        "prompt_tokens": response.prompt_tokens,
        "completion_tokens": response.completion_tokens,
        "cost": response.cost,
    }
    if response.tools is not None:
        row["tools"] = [_row_of_call(call) for call in response.tools]
    return row


def _row_of_passage(passage: Passage) -> dict[str, object]:
    fields = asdict(passage)
    # The column is read under its short name.
    fields["doc"] = fields.pop("document")
    return {name: value for name, value in fields.items() if value is not None}


def _row_of_call(call: ToolCall) -> dict[str, object]:
    row: dict[str, object] = {
        "name": call.name,
        "arguments": call.arguments,
        "result": call.result,
        "error": call.error,
        "seconds": call.seconds,
        "step": call.step,
    }
    if call.calls:
        row["calls"] = [_row_of_call(inner) for inner in call.calls]
    return {name: value for name, value in row.items() if value is not None}


def write_cases(path: Path, cases: Iterable[Case], hidden: Sequence[str] = ()) -> int:
    """Write the cases as JSON lines, without secrets and these kinds of personal data."""
    count = 0
    with replace_file(path) as file:
        for case in cases:
            file.write(json_line(hide_in(row_of_case(case), hidden)).decode() + "\n")
            count += 1
    return count

"""A case as a row of a case file, with its recorded answer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path

from answerkey.cases.hide import hide_in
from answerkey.files import json_line, replace_file
from answerkey.types import (
    Case,
    ExpectedCall,
    ExpectedCalls,
    Passage,
    Requirement,
    Response,
    ToolCall,
    Turn,
)


def row_of_case(case: Case) -> dict[str, object]:
    """The columns of a case, by the names under which they are read; empty ones are left out."""
    row: dict[str, object] = {
        "id": case.id,
        "question": case.question,
        "expected": list(case.expected),
        "type": case.type,
        "expected_route": case.expected_route,
        "acceptable_routes": list(case.acceptable_routes),
        "relevant": dict(case.relevant) if case.relevant else None,
        "history": [_row_of_turn(turn) for turn in case.history],
        "priority": case.priority,
        "note": case.note,
        "tags": list(case.tags),
        "answer_criteria": {name: value for name, value in asdict(case.criteria).items() if value},
        "criteria": [_row_of_requirement(requirement) for requirement in case.requirements],
        "criteria_threshold": case.criteria_threshold,
        "forbidden_tools": list(case.forbidden_tools),
        "max_calls": case.max_calls,
        "forbidden": [_row_of_passage(passage) for passage in case.forbidden],
    }
    if case.recorded is not None:
        row |= _row_of_response(case.recorded)
    filled = {name: value for name, value in row.items() if value not in (None, "", [], {})}
    if case.expected_tools is not None:
        # An empty list means that no tool should be called, so it is written as well.
        filled["expected_tools"] = _rows_of_expected(case.expected_tools)
    # Extra columns first, as they may be called like one of ours that is empty here.
    return {**{name: value for name, value in case.extra.items() if name not in row}, **filled}


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
        "retrieved": list(response.retrieved or ()),
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

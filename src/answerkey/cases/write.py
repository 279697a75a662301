"""A case as a row of a case file, with its recorded answer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path

from answerkey.cases.hide import hide_in
from answerkey.files import json_line, replace_file
from answerkey.types import Case, Passage, Response, ToolCall


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
        "history": [{"user": turn.user, "answer": turn.answer} for turn in case.history],
        "priority": case.priority,
        "note": case.note,
        "tags": list(case.tags),
        "answer_criteria": {name: value for name, value in asdict(case.criteria).items() if value},
    }
    if case.recorded is not None:
        row |= _row_of_response(case.recorded)
    filled = {name: value for name, value in row.items() if value not in (None, "", [], {})}
    return {**{name: value for name, value in case.extra.items() if name not in row}, **filled}


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
    fields["doc"] = fields.pop("document")
    return {name: value for name, value in fields.items() if value is not None}


def _row_of_call(call: ToolCall) -> dict[str, object]:
    row = {"name": call.name, "arguments": call.arguments, "result": call.result}
    row |= {"error": call.error, "seconds": call.seconds}
    return {name: value for name, value in row.items() if value is not None}


def write_cases(path: Path, cases: Iterable[Case], hidden: Sequence[str] = ()) -> int:
    """Write the cases as JSON lines, without secrets and these kinds of personal data."""
    count = 0
    with replace_file(path) as file:
        for case in cases:
            file.write(json_line(hide_in(row_of_case(case), hidden)).decode() + "\n")
            count += 1
    return count

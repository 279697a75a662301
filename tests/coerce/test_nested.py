"""Files as other tools write them: nested inputs and outputs, chats, tables by column, JSON lines under other names."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import answerkey as ak
from answerkey.types import Turn

CHAT = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Hello"},
    {"role": "assistant", "content": "Hi"},
    {"role": "user", "content": [{"type": "text", "text": "Who wrote it?"}]},
]
READ = {
    "langsmith experiment": {
        "inputs": {"question": "Who wrote it?"},
        "outputs": {"answer": "Anna Lee", "contexts": ["By Anna Lee."]},
        "reference_outputs": {"answer": "Anna"},
    },
    "langsmith with other names": {
        "inputs": {"topic_text": "Who wrote it?"}, "outputs": {"text": "Anna Lee"}, "reference_outputs": {"x": "Anna"},
    },
    "langfuse": {"input": {"query": "Who wrote it?"}, "output": "Anna Lee", "expectedOutput": {"answer": "Anna"}},
    "camel case": {"Question": "Who wrote it?", "actualOutput": "Anna Lee", "expectedOutput": "Anna"},
    "predictions": {"question": "Who wrote it?", "prediction": "Anna Lee", "gold": "Anna"},
    "the answer is the expected one": {"question": "Who wrote it?", "answer": "Anna", "prediction": "Anna Lee"},
    "inspect log": {
        "id": 1, "input": CHAT, "target": "Anna", "messages": [*CHAT, {"role": "assistant", "content": "Anna Lee"}],
        "output": {"choices": [{"message": {"role": "assistant", "content": "Anna Lee"}}]},
    },
    "openai evals": {"input": CHAT, "ideal": "Anna", "output": "Anna Lee"},
    "ragas, several turns": {
        "user_input": [
            {"type": "human", "content": "Who wrote it?"}, {"type": "ai", "content": "Anna Lee"},
        ],
        "reference": "Anna",
    },
    "squad": {"question": "Who wrote it?", "answers": {"text": ["Anna"], "answer_start": [3]}, "prediction": "Anna Lee"},
    "promptfoo results": {"vars": {"question": "Who wrote it?"}, "response": {"output": "Anna Lee"}, "reference": "Anna"},
}  # fmt: skip


@pytest.mark.parametrize("row", READ.values(), ids=READ)
@pytest.mark.parametrize("ending", ["json", "jsonl", "objects"])
def test_rows_of_other_tools(tmp_path: Path, row: dict[str, object], ending: str) -> None:
    path = tmp_path / f"rows.{ending}"
    path.write_text(json.dumps([row] if ending == "json" else row))
    (case,) = ak.load_cases(path) if ending != "objects" else [o.case for o in _evaluated(row)]
    assert (case.question, case.expected) == ("Who wrote it?", ("Anna",))
    assert case.recorded is not None
    assert case.recorded.answer == "Anna Lee"
    assert case.history == ((Turn("Hello", "Hi"),) if CHAT in row.values() else ())


def _evaluated(row: dict[str, object]) -> list[ak.Outcome]:
    return list(ak.evaluate([row], metrics=["exact_match"], progress=False).outcomes)


TABLES: dict[str, tuple[str, Callable[[list[dict[str, str]]], str]]] = {
    "columns of lists": (
        "t.json",
        lambda rows: json.dumps({key: [row[key] for row in rows] for key in rows[0]}),
    ),
    "columns by index": (
        "t.json",
        lambda rows: json.dumps(
            {key: {str(n): row[key] for n, row in enumerate(rows)} for key in rows[0]}
        ),
    ),
    "split": (
        "t.json",
        lambda rows: json.dumps(
            {
                "columns": list(rows[0]),
                "index": [0, 1],
                "data": [list(row.values()) for row in rows],
            }
        ),
    ),
    "lines called .json": ("t.json", lambda rows: "\n".join(map(json.dumps, rows)) + "\n"),
    "a list called .jsonl": ("t.jsonl", lambda rows: json.dumps(rows, indent=1)),
    "testCases": ("t.json", lambda rows: json.dumps({"testCases": rows})),
    "dotted columns": (
        "t.csv",
        lambda rows: (
            "inputs.question,outputs.output,reference_outputs.answer\n"
            + "".join(f"{row['question']},{row['answer']},{row['expected']}\n" for row in rows)
        ),
    ),
    "objects in cells": (
        "t.csv",
        lambda rows: (
            "inputs;outputs;reference_outputs\n"
            + "".join(
                ";".join(
                    json.dumps({"text": row[key]}).replace('"', "'")
                    for key in ("question", "answer", "expected")
                )
                + "\n"
                for row in rows
            )
        ),
    ),
}


@pytest.mark.parametrize(("name", "write"), TABLES.values(), ids=TABLES)
def test_tables_of_other_tools(
    tmp_path: Path, name: str, write: Callable[[list[dict[str, str]]], str]
) -> None:
    rows = [
        {"question": "Who?", "answer": "Ann", "expected": "Anna"},
        {"question": "Where?", "answer": "Here", "expected": "There"},
    ]
    path = tmp_path / name
    path.write_text(write(rows))
    cases = ak.load_cases(path)
    assert [case.type for case in cases] == [None, None]
    found = [
        {
            "question": case.question,
            "answer": case.recorded and case.recorded.answer,
            "expected": case.expected[0],
        }
        for case in cases
    ]
    assert found == rows


def test_outputs_of_a_data_set_are_expected_and_announced(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "examples.jsonl"
    path.write_text(json.dumps({"inputs": {"question": "Who?"}, "outputs": {"answer": "Anna"}}))
    (case,) = ak.load_cases(path)
    assert (case.expected, case.recorded) == (("Anna",), None)
    assert '"outputs" is read as the expected answer' in caplog.text


def test_a_recorded_answer_that_is_json_text_stays_as_it_is() -> None:
    answer = '{"answer": "Ann"}'
    assert (
        ak.evaluate([{"question": "Who?", "answer": answer}], metrics=["answer_length"])
        .outcomes[0]
        .response.answer
        == answer
    )

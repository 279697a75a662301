"""One question, one answer, as each tracer exports them, in files that follow its documentation.

`producers/` has a small file per program. All of them record the same turn; the table says which
other parts each file contains.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from answerkey.cases import read_cases
from answerkey.errors import InputError
from answerkey.types import Case

FOLDER = Path(__file__).with_name("producers")
QUESTION = "How long is the warranty?"
ANSWER = "Two years."
PASSAGE = "The warranty lasts two years."
LOOKUP = ("lookup", {"q": "warranty"})
TABLE: dict[str, dict[str, Any]] = {
    "adk.json": {"tokens": (20, 5), "session": "s-9", "model": "gemini-2.0-flash", "seconds": 1.9},
    "braintrust.jsonl": {"tokens": (20, 5), "session": "s-9", "model": "gpt-4o"},
    "crewai.json": {},
    "haystack.json": {"passages": [PASSAGE], "tokens": (20, 5)},
    "jaeger.json": {"passages": [PASSAGE], "session": "s-9"},
    "langfuse_api.json": {"session": "s-9"},
    "langfuse_observations.csv": {"tokens": (20, 5), "session": "s-9", "model": "gpt-4o"},
    "langfuse_observations.jsonl": {
        "passages": [PASSAGE],
        "tokens": (20, 5),
        "session": "s-9",
        "model": "gpt-4o",
    },
    "langfuse_traces.csv": {"session": "s-9", "label": 0},
    "langgraph.json": {"tools": [("lookup", {"q": "w"})], "session": "s-9"},
    "langsmith_runs.jsonl": {
        "passages": [PASSAGE],
        "tokens": (20, 5),
        "session": "s-9",
        "model": "gpt-4o",
        "label": 0,
    },
    "llamaindex.json": {"passages": [PASSAGE], "tokens": (20, 5), "model": "m"},
    "logfire_agent.jsonl": {"tokens": (20, 5), "model": "gpt-4o"},
    "logfire_openai.jsonl": {"tokens": (20, 5), "model": "gpt-4o"},
    "mlflow_2.json": {"passages": [PASSAGE], "tokens": (11, 3), "session": "s-9", "label": 0},
    "mlflow_3.json": {"tokens": (11, 3), "session": "s-9"},
    "mlflow_rows.jsonl": {"passages": [PASSAGE], "tokens": (11, 3), "session": "s-9"},
    "opik.json": {"tokens": (20, 5), "session": "s-9", "label": 0},
    "otel_details.json": {"tokens": (20, 5), "session": "s-9", "model": "gpt-4o"},
    "phoenix.csv": {"passages": [PASSAGE], "tokens": (20, None), "session": "s-9"},
    "phoenix.jsonl": {"passages": [PASSAGE], "tokens": (20, None), "session": "s-9"},
    "strands.jsonl": {"tools": [LOOKUP], "tokens": (20, 5), "session": "s-9", "model": "m"},
    "vercel_ai_sdk.json": {
        "tools": [LOOKUP],
        "tokens": (20, 5),
        "session": "s-9",
        "model": "gpt-4o",
    },
    "weave.jsonl": {"tokens": (20, 5)},
    "zipkin.json": {"passages": [PASSAGE], "session": "s-9"},
}


def _compare(case: Case, expected: dict[str, Any]) -> None:
    assert case.question == QUESTION
    assert case.history == ()
    response = case.recorded
    assert response is not None
    assert (response.answer, response.error) == (ANSWER, None)
    assert [passage.text for passage in response.passages] == expected.get("passages", [])
    tools = [(call.name, call.arguments) for call in response.tools or ()]
    assert tools == expected.get("tools", [])
    assert response.seconds == pytest.approx(expected.get("seconds", 3.0))
    tokens = (response.prompt_tokens, response.completion_tokens)
    assert tokens == expected.get("tokens", (None, None))
    assert case.extra.get("conversation") == expected.get("session")
    assert case.extra.get("model") == expected.get("model")
    assert case.extra.get("label") == expected.get("label")


def test_every_file_is_in_the_table() -> None:
    assert {path.name for path in FOLDER.iterdir()} == set(TABLE)


@pytest.mark.parametrize("name", TABLE)
def test_the_turn_of_a_producer(name: str) -> None:
    (case,) = read_cases([FOLDER / name])
    _compare(case, TABLE[name])


def test_results_of_tools_in_events_and_messages() -> None:
    for name in ("strands.jsonl", "langgraph.json"):
        (case,) = read_cases([FOLDER / name])
        assert case.recorded is not None
        assert [call.result for call in case.recorded.tools or ()] == [PASSAGE]


def test_spans_of_phoenix_as_parquet(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    rows = [json.loads(line) for line in (FOLDER / "phoenix.jsonl").read_text().splitlines()]
    for row in rows:
        for key in ("start_time", "end_time"):
            row[key] = datetime.fromisoformat(row[key])
    parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "spans.parquet")
    (case,) = read_cases([tmp_path / "spans.parquet"])
    _compare(case, TABLE["phoenix.jsonl"])


def test_a_bulk_export_of_langsmith_as_parquet(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    start = datetime(2026, 1, 2, 10, tzinfo=UTC)
    row = {
        "id": "r1",
        "session_id": "project",
        "name": "chat",
        "run_type": "chain",
        "start_time": start,
        "end_time": start + timedelta(seconds=3),
        "trace_id": "r1",
        "dotted_order": "20260102T100000000000Zr1",
        "parent_run_id": None,
        "inputs": json.dumps({"messages": [{"role": "user", "content": QUESTION}]}),
        "outputs": json.dumps({"messages": [{"type": "ai", "content": ANSWER}]}),
        "extra": json.dumps({"metadata": {"session_id": "s-9"}}),
        "feedback_stats": json.dumps({"thumbs_up": {"n": 1, "avg": 1.0}}),
        "prompt_tokens": 20,
        "completion_tokens": 5,
    }
    parquet.write_table(pyarrow.Table.from_pylist([row]), tmp_path / "runs.parquet")
    (case,) = read_cases([tmp_path / "runs.parquet"])
    _compare(case, {"tokens": (20, 5), "session": "s-9", "label": 1})


def test_two_producers_in_one_file(tmp_path: Path) -> None:
    lines = [json.dumps(json.loads((FOLDER / "jaeger.json").read_text())["data"][0])]
    lines.append(json.dumps(json.loads((FOLDER / "llamaindex.json").read_text())))
    lines.extend((FOLDER / "langsmith_runs.jsonl").read_text().splitlines())
    file = tmp_path / "mixed.jsonl"
    file.write_text("\n".join(lines))
    cases = list(read_cases([file]))
    assert [case.question for case in cases] == [QUESTION] * 3
    assert len({case.id for case in cases}) == 3


def test_a_pipeline_of_haystack_without_content_names_the_setting(tmp_path: Path) -> None:
    trace = json.loads((FOLDER / "haystack.json").read_text())
    for span in trace["resourceSpans"][0]["scopeSpans"][0]["spans"]:
        span["attributes"] = [
            pair
            for pair in span["attributes"]
            if not pair["key"].endswith(("data", ".input", ".output"))
        ]
    file = tmp_path / "haystack.json"
    file.write_text(json.dumps(trace))
    with pytest.raises(InputError, match="HAYSTACK_CONTENT_TRACING_ENABLED=true"):
        list(read_cases([file]))


def test_a_judge_of_mlflow_is_no_feedback_of_a_user(tmp_path: Path) -> None:
    trace = json.loads((FOLDER / "mlflow_2.json").read_text())
    trace["info"]["assessments"][0]["source"]["source_type"] = "LLM_JUDGE"
    file = tmp_path / "trace.json"
    file.write_text(json.dumps(trace))
    (case,) = read_cases([file])
    assert "label" not in case.extra

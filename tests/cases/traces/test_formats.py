"""Each documented format, in a small invented file: the same question, answer and measures."""

from __future__ import annotations

import csv
import json
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from answerkey.cases import read_cases
from answerkey.coerce.decode import warn_once
from answerkey.types import Case

TRACE = "5b8efff798038103d269b633813fc60c"
START = 1_700_000_000_000_000_000
SECOND = 1_000_000_000
MESSAGES = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Hello"},
    {"role": "assistant", "content": "Hi!"},
    {"role": "user", "content": "How long is the warranty?"},
]


def _write(path: Path, values: Sequence[object]) -> Path:
    path.write_text("".join(json.dumps(value) + "\n" for value in values), encoding="utf-8")
    return path


def _check(case: Case, *, history: bool = True) -> None:
    assert case.question == "How long is the warranty?"
    assert case.recorded is not None
    assert case.recorded.answer == "Two years."
    if history:
        assert [(turn.user, turn.answer) for turn in case.history] == [("Hello", "Hi!")]


def _attributes(values: dict[str, object]) -> list[object]:
    kinds = {str: "stringValue", int: "intValue", float: "doubleValue", bool: "boolValue"}
    return [
        {"key": key, "value": {kinds[type(value)]: str(value) if type(value) is int else value}}
        for key, value in values.items()
    ]


def _otlp(*spans: dict[str, object]) -> dict[str, object]:
    scope = {"name": "opentelemetry.instrumentation.openai_v2", "version": "1"}
    return {
        "resourceSpans": [
            {
                "resource": {"attributes": _attributes({"service.name": "bot"})},
                "scopeSpans": [{"scope": scope, "spans": list(spans)}],
            }
        ]
    }


def _otlp_span(
    number: int, parent: int, attributes: dict[str, object], **other: object
) -> dict[str, Any]:
    return {
        "traceId": TRACE,
        "spanId": f"{number:016x}",
        "parentSpanId": f"{parent:016x}" if parent else "",
        "name": f"span {number}",
        "kind": 1,
        "startTimeUnixNano": str(START + number * SECOND),
        "endTimeUnixNano": str(START + (number + 2) * SECOND),
        "attributes": _attributes(attributes),
        "status": {},
        **other,
    }


def test_otlp_json_lines_with_messages_tokens_and_session(tmp_path: Path) -> None:
    inputs = [
        {"role": m["role"], "parts": [{"type": "text", "content": m["content"]}]} for m in MESSAGES
    ]
    outputs = [{"role": "assistant", "parts": [{"type": "text", "content": "Two years."}]}]
    span = _otlp_span(
        1,
        0,
        {
            "gen_ai.operation.name": "chat",
            "gen_ai.input.messages": json.dumps(inputs),
            "gen_ai.output.messages": json.dumps(outputs),
            "gen_ai.usage.input_tokens": 31,
            "gen_ai.usage.output_tokens": 4,
            "gen_ai.response.model": "m-1",
            "gen_ai.conversation.id": "c-7",
        },
    )
    (case,) = read_cases([_write(tmp_path / "spans.jsonl", [_otlp(span)])])
    _check(case)
    assert case.recorded is not None
    assert (case.recorded.prompt_tokens, case.recorded.completion_tokens) == (31, 4)
    assert case.recorded.seconds == 2.0
    assert case.extra["conversation"] == "c-7"
    assert case.extra["trace_id"] == TRACE
    assert case.extra["model"] == "m-1"


def test_one_otlp_document_written_over_many_lines(tmp_path: Path) -> None:
    span = _otlp_span(
        1, 0, {"input.value": "How long is the warranty?", "output.value": "Two years."}
    )
    path = tmp_path / "spans.json"
    path.write_text(json.dumps(_otlp(span), indent=2))
    (case,) = read_cases([path])
    _check(case, history=False)


def test_events_of_the_older_convention(tmp_path: Path) -> None:
    def event(name: str, **attributes: str) -> dict[str, object]:
        return {
            "name": name,
            "timeUnixNano": str(START),
            "attributes": _attributes(dict(attributes)),
        }

    span = _otlp_span(
        1,
        0,
        {"gen_ai.operation.name": "chat"},
        events=[
            event("gen_ai.system.message", content="Be brief."),
            event("gen_ai.user.message", content="Hello"),
            event("gen_ai.assistant.message", content="Hi!"),
            event("gen_ai.user.message", content='[{"text": "How long is the warranty?"}]'),
            event("gen_ai.choice", message='[{"text": "Two years."}]', finish_reason="stop"),
        ],
    )
    (case,) = read_cases([_write(tmp_path / "spans.jsonl", [_otlp(span)])])
    _check(case)


def test_log_records_hold_the_messages_of_a_span(tmp_path: Path) -> None:
    span = _otlp_span(1, 0, {"gen_ai.operation.name": "chat"})
    record = {
        "timeUnixNano": str(START),
        "traceId": TRACE,
        "spanId": span["spanId"],
        "eventName": "gen_ai.client.inference.operation.details",
        "body": {},
        "attributes": _attributes(
            {
                "gen_ai.input.messages": json.dumps(MESSAGES),
                "gen_ai.output.messages": json.dumps(
                    [{"role": "assistant", "content": "Two years."}]
                ),
            }
        ),
    }
    logs = {"resourceLogs": [{"scopeLogs": [{"logRecords": [record]}]}]}
    (case,) = read_cases([_write(tmp_path / "spans.jsonl", [_otlp(span), logs])])
    _check(case)


def test_flattened_prompts_of_openllmetry_under_a_workflow(tmp_path: Path) -> None:
    workflow = _otlp_span(
        1,
        0,
        {
            "traceloop.span.kind": "workflow",
            "traceloop.entity.input": json.dumps(
                {"args": [], "kwargs": {"question": "How long is the warranty?"}}
            ),
            "traceloop.entity.output": '"Two years."',
            "traceloop.association.properties.session_id": "s-1",
        },
    )
    call = _otlp_span(
        2,
        1,
        {
            "llm.request.type": "chat",
            "gen_ai.prompt.0.role": "user",
            "gen_ai.prompt.0.content": "How long is the warranty?",
            "gen_ai.completion.0.role": "assistant",
            "gen_ai.completion.0.content": "Two years.",
            "gen_ai.usage.prompt_tokens": 9,
            "gen_ai.usage.completion_tokens": 3,
        },
    )
    search = _otlp_span(
        3,
        1,
        {"db.system": "chroma"},
        events=[
            {
                "name": "db.query.result",
                "attributes": _attributes(
                    {"db.query.result.document": "Warranty: 2 years", "db.query.result.id": "d4"}
                ),
            }
        ],
    )
    (case,) = read_cases([_write(tmp_path / "spans.jsonl", [_otlp(call, search, workflow)])])
    _check(case, history=False)
    assert case.recorded is not None
    assert case.recorded.prompt_tokens == 9
    assert [(passage.text, passage.id) for passage in case.recorded.passages] == [
        ("Warranty: 2 years", "d4")
    ]
    assert case.extra["conversation"] == "s-1"


def _console_span(
    number: int, parent: int | None, attributes: dict[str, object]
) -> dict[str, object]:
    return {
        "name": f"step {number}",
        "context": {"trace_id": f"0x{TRACE}", "span_id": f"0x{number:016x}", "trace_state": "[]"},
        "kind": "SpanKind.INTERNAL",
        "parent_id": None if parent is None else f"0x{parent:016x}",
        "start_time": f"2026-01-02T03:04:0{number}.000000Z",
        "end_time": "2026-01-02T03:04:09.500000Z",
        "status": {"status_code": "UNSET"},
        "attributes": attributes,
        "events": [],
        "links": [],
        "resource": {"attributes": {"service.name": "bot"}, "schema_url": ""},
    }


def test_console_spans_of_the_sdk_one_after_another(tmp_path: Path) -> None:
    documents = {
        "retrieval.documents.0.document.content": "Warranty: 2 years",
        "retrieval.documents.0.document.id": "manual#4",
        "retrieval.documents.0.document.score": 0.9,
        "retrieval.documents.1.document.content": "Returns: 30 days",
        "retrieval.documents.1.document.metadata": '{"source": "shop.md", "page": 2}',
        "openinference.span.kind": "RETRIEVER",
    }
    root = {
        "openinference.span.kind": "CHAIN",
        "input.value": '{"question": "How long is the warranty?", "chat_history": []}',
        "input.mime_type": "application/json",
        "output.value": '{"answer": "Two years."}',
        "session.id": "s-2",
        "metadata": '{"user": "u1"}',
    }
    path = tmp_path / "console.json"
    spans = [_console_span(2, 1, documents), _console_span(1, None, root)]
    path.write_text("\n".join(json.dumps(span, indent=4) for span in spans))
    (case,) = read_cases([path])
    _check(case, history=False)
    assert case.recorded is not None
    first, second = case.recorded.passages
    assert (first.text, first.id, first.score) == ("Warranty: 2 years", "manual#4", 0.9)
    assert (second.document, second.page) == ("shop.md", "2")
    assert case.recorded.seconds == 8.5


def test_flattened_messages_of_openinference(tmp_path: Path) -> None:
    attributes: dict[str, object] = {"openinference.span.kind": "LLM", "llm.model_name": "m-2"}
    for number, message in enumerate(MESSAGES):
        attributes[f"llm.input_messages.{number}.message.role"] = message["role"]
        attributes[f"llm.input_messages.{number}.message.content"] = message["content"]
    attributes["llm.output_messages.0.message.role"] = "assistant"
    attributes["llm.output_messages.0.message.contents.0.message_content.text"] = "Two years."
    (case,) = read_cases([_write(tmp_path / "spans.jsonl", [_console_span(1, None, attributes)])])
    _check(case)


def test_rows_of_phoenix_as_csv(tmp_path: Path) -> None:
    path = tmp_path / "phoenix.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(
            [
                "name", "span_kind", "parent_id", "start_time", "end_time", "context.trace_id", "context.span_id",
                "attributes.input.value", "attributes.output.value", "attributes.retrieval.documents",
                "attributes.llm.token_count.prompt", "attributes.session.id",
            ]
        )  # fmt: skip
        documents = [{"document.content": "Warranty: 2 years", "document.id": "4"}]
        writer.writerow(
            ["query", "CHAIN", "", "2026-01-02 03:04:01+00:00", "2026-01-02 03:04:05+00:00", "t1", "a",
             "How long is the warranty?", "Two years.", "", "", "s-3"]
        )  # fmt: skip
        writer.writerow(
            ["retrieve", "RETRIEVER", "a", "2026-01-02 03:04:02+00:00", "2026-01-02 03:04:03+00:00", "t1", "b",
             "How long is the warranty?", "", str(documents), "", ""]
        )  # fmt: skip
    (case,) = read_cases([path])
    _check(case, history=False)
    assert case.recorded is not None
    assert case.recorded.contexts == ("Warranty: 2 years",)
    assert case.recorded.seconds == 4.0
    assert case.extra["conversation"] == "s-3"


LANGFUSE_TRACE: dict[str, Any] = {
    "id": "lf-1",
    "timestamp": "2026-01-02T03:04:00.000Z",
    "name": "chat",
    "input": {"question": "How long is the warranty?"},
    "output": {"answer": "Two years."},
    "sessionId": "s-4",
    "latency": 3.5,
    "totalCost": 0.002,
    "scores": [{"name": "user-feedback", "value": 0, "dataType": "NUMERIC", "source": "API"}],
    "observations": [
        {
            "id": "o1",
            "traceId": "lf-1",
            "type": "GENERATION",
            "startTime": "2026-01-02T03:04:01.000Z",
            "endTime": "2026-01-02T03:04:03.000Z",
            "model": "m-3",
            "input": MESSAGES,
            "output": {"role": "assistant", "content": "Two years."},
            "usage": {"input": 12, "output": 3, "total": 15},
        },
        {
            "id": "o2",
            "traceId": "lf-1",
            "type": "RETRIEVER",
            "startTime": "2026-01-02T03:04:00.500Z",
            "input": "warranty",
            "output": [
                {
                    "pageContent": "x",
                    "page_content": "Warranty: 2 years",
                    "metadata": {"source": "m.pdf"},
                }
            ],
        },
    ],
}


def test_a_trace_of_langfuse_with_feedback(tmp_path: Path) -> None:
    (case,) = read_cases([_write(tmp_path / "langfuse.jsonl", [LANGFUSE_TRACE])])
    _check(case, history=False)
    assert case.recorded is not None
    assert case.recorded.seconds == 3.5
    assert (case.recorded.prompt_tokens, case.recorded.completion_tokens) == (12, 3)
    assert case.recorded.passages[0].document == "m.pdf"
    assert case.extra["feedback"] == "down"
    assert case.extra["label"] == 0
    assert case.extra["conversation"] == "s-4"


def test_a_score_without_a_value_is_no_feedback(tmp_path: Path) -> None:
    unset = {"name": "user-feedback", "value": None}
    trace = LANGFUSE_TRACE | {"observations": []}
    traces = [
        trace | {"id": "unset", "scores": [unset]},
        trace | {"id": "later", "scores": [unset, {"name": "user-feedback", "value": 1}]},
    ]
    cases = list(read_cases([_write(tmp_path / "langfuse.jsonl", traces)]))
    assert [case.extra.get("feedback") for case in cases] == [None, "up"]
    assert [case.extra.get("label") for case in cases] == [None, 1]


def test_observations_of_langfuse_alone(tmp_path: Path) -> None:
    (observation, _) = LANGFUSE_TRACE["observations"]
    path = tmp_path / "observations.json"
    path.write_text(json.dumps({"data": [observation], "meta": {"page": 1}}))
    (case,) = read_cases([path])
    _check(case)


def test_runs_of_langsmith_with_children_and_feedback(tmp_path: Path) -> None:
    root = {
        "id": "r1",
        "trace_id": "r1",
        "parent_run_id": None,
        "session_id": "the project, not a conversation",
        "run_type": "chain",
        "name": "RetrievalQA",
        "start_time": "2026-01-02T03:04:00.000000",
        "end_time": "2026-01-02T03:04:02.000000",
        "inputs": {"question": "How long is the warranty?"},
        "outputs": {"answer": "Two years."},
        "error": None,
        "extra": {"metadata": {"thread_id": "s-5"}},
        "feedback_stats": {"user_score": {"n": 1, "avg": 1.0}},
    }
    search = {
        "id": "r2",
        "trace_id": "r1",
        "parent_run_id": "r1",
        "run_type": "retriever",
        "name": "VectorStoreRetriever",
        "start_time": "2026-01-02T03:04:00.100000",
        "end_time": "2026-01-02T03:04:00.200000",
        "inputs": {"query": "warranty"},
        "outputs": {"documents": [{"page_content": "Warranty: 2 years", "metadata": {"page": 4}}]},
    }
    model = {
        "id": "r3",
        "trace_id": "r1",
        "parent_run_id": "r1",
        "run_type": "llm",
        "name": "ChatOpenAI",
        "start_time": "2026-01-02T03:04:01.000000",
        "end_time": "2026-01-02T03:04:01.900000",
        "inputs": {
            "messages": [
                [
                    {
                        "lc": 1,
                        "type": "constructor",
                        "id": ["langchain", "schema", "HumanMessage"],
                        "kwargs": {"content": "Q"},
                    }
                ]
            ]
        },
        "outputs": {
            "generations": [
                [{"text": "Two years.", "message": {"kwargs": {"content": "Two years."}}}]
            ]
        },
        "prompt_tokens": 20,
        "completion_tokens": 2,
        "extra": {"metadata": {"ls_model_name": "m-4"}},
    }
    (case,) = read_cases([_write(tmp_path / "runs.jsonl", [search, model, root])])
    _check(case, history=False)
    assert case.recorded is not None
    assert case.recorded.passages[0].page == "4"
    assert (case.recorded.prompt_tokens, case.recorded.completion_tokens) == (20, 2)
    assert case.extra["conversation"] == "s-5"
    assert case.extra["label"] == 1
    assert case.extra["model"] == "m-4"


def test_traces_of_a_session_are_one_conversation_in_order_of_time(tmp_path: Path) -> None:
    def turn(number: int, question: str, answer: str) -> dict[str, object]:
        return {
            "trace_id": f"t{number}",
            "span_id": f"s{number}",
            "name": "agent",
            "start_time": START + number * SECOND,
            "end_time": START + (number + 1) * SECOND,
            "attributes": {"input.value": question, "output.value": answer, "session.id": "s"},
        }

    spans = [turn(2, "And the battery?", "One year."), turn(1, "Warranty?", "Two years.")]
    first, second = read_cases([_write(tmp_path / "spans.jsonl", spans)])
    assert (first.question, second.question) == ("Warranty?", "And the battery?")
    assert [(t.user, t.answer) for t in second.history] == [("Warranty?", "Two years.")]
    assert {first.extra["conversation"], second.extra["conversation"]} == {"s"}


def test_a_turn_that_ends_in_an_error_has_an_error_and_no_answer(tmp_path: Path) -> None:
    failed = _otlp_span(
        1,
        0,
        {"openinference.span.kind": "AGENT", "input.value": "How long is the warranty?"},
        status={"code": 2, "message": "RateLimitError: 429"},
    )
    written = _otlp_span(
        2, 0, {"input.value": "Why?", "output.value": "Error: POST predict: connection closed"}
    )
    written["traceId"] = "other"
    first, second = read_cases([_write(tmp_path / "spans.jsonl", [_otlp(failed), _otlp(written)])])
    assert first.recorded is not None
    assert first.recorded.answer is None
    assert first.recorded.error == "RateLimitError: 429"
    assert second.recorded is not None
    assert second.recorded.answer is None
    assert second.recorded.error == "Error: POST predict: connection closed"


def test_damage_is_named_and_the_rest_is_read(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    warn_once.cache_clear()
    good = _otlp_span(
        1, 0, {"input.value": "How long is the warranty?", "output.value": "Two years."}
    )
    circle = [
        {
            "trace_id": "c",
            "span_id": "a",
            "parent_id": "b",
            "attributes": {"input.value": "Q", "output.value": "A"},
        },
        {
            "trace_id": "c",
            "span_id": "b",
            "parent_id": "a",
            "attributes": {"input.value": "Q", "output.value": "A"},
        },
    ]
    orphans = [
        {
            "trace_id": "o",
            "span_id": name,
            "parent_id": "gone",
            "attributes": {"input.value": "Q2", "output.value": "A"},
        }
        for name in "xyz"
    ]
    cut = _otlp_span(
        5,
        0,
        {
            "gen_ai.operation.name": "chat",
            "gen_ai.input.messages": '[{"role": "user", "content": "Cu',
        },
    )
    cut["traceId"] = "cut"
    lines = [
        json.dumps(value)
        for value in (_otlp(good), *circle, *orphans, {"no": "span"}, 7, _otlp(cut))
    ]
    path = tmp_path / "damaged.jsonl"
    path.write_text("\n".join([*lines, "[" * 5000, '{"resourceSpans": [{"scopeSpans": [{"spa']))
    with caplog.at_level(logging.WARNING):
        cases = list(read_cases([path]))
    assert [case.question for case in cases] == ["How long is the warranty?", "Q", "Q2"]
    assert "records skipped" in caplog.text
    assert "no trace id and span id among the keys no" in caplog.text
    assert "1 cycle of parents cut" in caplog.text
    assert "2 spans without the parent" in caplog.text
    assert "OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT" in caplog.text


def test_secrets_are_removed(tmp_path: Path) -> None:
    key = "sk-" + "a1B2c3D4" * 4
    span = _otlp_span(
        1, 0, {"input.value": f"My key is {key}, why?", "output.value": f"Never send {key}."}
    )
    (case,) = read_cases([_write(tmp_path / "spans.jsonl", [_otlp(span)])])
    assert case.recorded is not None
    assert case.question == "My key is [secret], why?"
    assert case.recorded.answer == "Never send [secret]."

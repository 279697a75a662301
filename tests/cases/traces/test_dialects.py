"""Records of Jaeger, Zipkin, Weave and Braintrust in the common names."""

from __future__ import annotations

from answerkey.cases.traces.dialects import common_names


def test_a_span_of_jaeger_has_seconds_a_parent_and_events() -> None:
    record = {
        "traceID": "t",
        "spanID": "b",
        "operationName": "search",
        "references": [
            {"refType": "FOLLOWS_FROM", "spanID": "x"},
            {"refType": "CHILD_OF", "spanID": "a"},
        ],
        "startTime": 1767348000000000,
        "duration": 400_000,
        "tags": [{"key": "k", "value": "v"}],
        "logs": [{"fields": [{"key": "event", "value": "exception"}]}],
    }
    span = common_names(record)
    assert (span["trace_id"], span["span_id"], span["parent_id"]) == ("t", "b", "a")
    assert span["duration"] == 0.4
    assert span["events"] == [{"name": "exception", "attributes": {"event": "exception"}}]


def test_a_span_of_zipkin() -> None:
    span = common_names({"traceId": "t", "id": "b", "parentId": "a", "duration": 2e6, "tags": {}})
    assert (span["trace_id"], span["span_id"], span["parent_id"]) == ("t", "b", "a")
    assert span["duration"] == 2.0


def test_a_call_of_weave() -> None:
    span = common_names({"op_name": "answer", "trace_id": "t", "id": "b", "exception": "Timeout"})
    assert (span["span_id"], span["name"], span["error"]) == ("b", "answer", "Timeout")


def test_a_span_of_braintrust() -> None:
    record = {
        "root_span_id": "t",
        "span_id": "b",
        "span_parents": ["a"],
        "span_attributes": {"name": "chat", "type": "llm"},
        "metrics": {"start": 1.0, "end": 3.0, "prompt_tokens": 5},
    }
    span = common_names(record)
    assert (span["trace_id"], span["parent_id"], span["type"]) == ("t", "a", "llm")
    assert (span["start_time"], span["end_time"]) == (1.0, 3.0)


def test_any_other_record_stays_as_it_is() -> None:
    record = {"trace_id": "t", "span_id": "a"}
    assert common_names(record) is record

"""Records of programs that name the parts of a span differently, in the common names."""

from __future__ import annotations

from collections.abc import Mapping

from answerkey.coerce.values import is_list, is_mapping, table_of

Table = Mapping[str, object]
_MICROSECONDS = 1_000_000


def common_names(record: Table) -> Table:
    """A span of Jaeger, Zipkin, Weave or Braintrust with the names that all others use."""
    if "traceID" in record and "operationName" in record:
        return _read_jaeger(record)
    # Zipkin's tags are a table; Jaeger's are a list.
    if "traceId" in record and "id" in record and is_mapping(record.get("tags")):
        return _read_zipkin(record)
    if "op_name" in record and "trace_id" in record and "id" in record:
        return _read_weave(record)
    if "root_span_id" in record and "span_id" in record:
        return _read_braintrust(record)
    return record


def _read_jaeger(record: Table) -> Table:
    references = record.get("references")
    parents = [
        reference.get("spanID")
        for reference in (references if is_list(references) else ())
        # FOLLOWS_FROM links spans that do not contain each other.
        if is_mapping(reference) and reference.get("refType") == "CHILD_OF"
    ]
    logs = record.get("logs")
    events = [_read_jaeger_log(log) for log in (logs if is_list(logs) else ()) if is_mapping(log)]
    return {
        "trace_id": record["traceID"],
        "span_id": record.get("spanID"),
        "parent_id": parents[0] if parents else record.get("parentSpanID"),
        "name": record["operationName"],
        "start_time": record.get("startTime"),
        "duration": _seconds(record.get("duration")),
        "attributes": record.get("tags"),
        "events": events,
    }


def _read_jaeger_log(log: Table) -> dict[str, object]:
    fields = log.get("fields")
    attributes = {
        str(field.get("key")): field.get("value")
        for field in (fields if is_list(fields) else ())
        if is_mapping(field)
    }
    return {"name": attributes.get("event") or attributes.get("name"), "attributes": attributes}


def _read_zipkin(record: Table) -> Table:
    return {
        "trace_id": record["traceId"],
        "span_id": record["id"],
        "parent_id": record.get("parentId"),
        "name": record.get("name"),
        "start_time": record.get("timestamp"),
        "duration": _seconds(record.get("duration")),
        "attributes": record["tags"],
    }


def _read_weave(record: Table) -> Table:
    renamed = {
        "span_id": record["id"],
        "name": record.get("display_name") or record["op_name"],
        "start_time": record.get("started_at"),
        "end_time": record.get("ended_at"),
        "error": record.get("exception"),
    }
    return {**record, **renamed}


def _read_braintrust(record: Table) -> Table:
    about = table_of(record.get("span_attributes"))
    metrics = table_of(record.get("metrics"))
    parents = record.get("span_parents")
    renamed: dict[str, object] = {
        "trace_id": record["root_span_id"],
        "parent_id": parents[0] if is_list(parents) and parents else None,
        "name": about.get("name"),
        "type": about.get("type"),
        "start_time": metrics.get("start") or record.get("created"),
        "end_time": metrics.get("end"),
        "usage": metrics,
    }
    return {**record, **renamed, "span_attributes": {}}


def _seconds(microseconds: object) -> float | None:
    # True is an int in Python.
    if isinstance(microseconds, bool) or not isinstance(microseconds, (int, float)):
        return None
    return microseconds / _MICROSECONDS

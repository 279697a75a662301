"""One record of a trace file as a span: the same fields, whichever program wrote it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from answerkey.cases.traces.dialects import common_names
from answerkey.cases.traces.families import NAMES, first_text, first_value, flatten
from answerkey.cases.traces.messages import parse_value
from answerkey.cases.traces.times import read_duration, read_time
from answerkey.coerce.values import is_list, is_mapping, table_of

Table = Mapping[str, object]
_KEYS: dict[str, list[str]] = NAMES["record"]
_DEEPEST = 200  # levels of child spans; deeper ones are reported and left out
_LANGFUSE_TYPES = frozenset(
    [
        "SPAN",
        "GENERATION",
        "EVENT",
        "AGENT",
        "TOOL",
        "CHAIN",
        "RETRIEVER",
        "EMBEDDING",
        "EVALUATOR",
        "GUARDRAIL",
    ]
)
# A trace of Langfuse has an input and an output, and at least one of these.
_LANGFUSE_TRACE = frozenset({"observations", "htmlPath", "sessionId", "projectId", "scores"})
_OPIK = frozenset({"feedback_scores", "thread_id"})  # traces of Opik, with a start time
_LANGSMITH = frozenset({"trace_id", "dotted_order", "parent_run_id", "child_runs", "session_id"})
_VALUE_KEYS = ("stringValue", "boolValue", "intValue", "doubleValue", "bytesValue")
_FRAME_PREFIX = "attributes."  # columns of a data frame of Phoenix


@dataclass(frozen=True, slots=True)
class SpanEvent:
    """An event of a span: its name, its attributes, and the body that some exporters write."""

    name: str
    attributes: Table
    body: object = None


@dataclass(frozen=True, slots=True)
class Span:
    """One span. Times are nanoseconds since 1970; `fields` are the keys of the record itself."""

    trace: str
    span: str
    parent: str
    name: str
    start: int | None
    end: int | None
    scope: str
    error: str
    attributes: Table
    events: tuple[SpanEvent, ...]
    fields: Table = field(default_factory=dict[str, object])


class BadSpan(ValueError):
    """A record that is no span; the message says what is missing."""


def is_span(record: object) -> bool:
    """Whether a record is a span, a trace, or a wrapper of spans."""
    if not is_mapping(record):
        return False
    record = common_names(record)
    if _is_mlflow(record):
        return True
    if not NAMES_OF_WRAPPERS.isdisjoint(record):
        return any(is_list(record.get(key)) for key in NAMES_OF_WRAPPERS)
    return _is_plain_span(record) or _is_langfuse(record) or _is_langsmith(record)


NAMES_OF_WRAPPERS = frozenset(NAMES["wrappers"]["inner"])


def _is_plain_span(record: Table) -> bool:
    if "context.span_id" in record and "context.trace_id" in record:
        return True
    ids = record.get("context")
    if is_mapping(ids) and "trace_id" in ids and "span_id" in ids:
        return True
    if "question" in record and not any(key in record for key in _KEYS["attributes"]):
        return False  # a case that was made from a trace keeps the ids of its span
    has_trace = any(key in record for key in ("trace_id", "traceId", "traceID"))
    return has_trace and any(key in record for key in ("span_id", "spanId", "spanID"))


def _is_langfuse(record: Table) -> bool:
    if str(record.get("type")) in _LANGFUSE_TYPES and ("traceId" in record or "trace_id" in record):
        return True
    if not ("input" in record and "output" in record and "id" in record):
        return False
    if "timestamp" in record and not _LANGFUSE_TRACE.isdisjoint(record):
        return True
    return "start_time" in record and not _OPIK.isdisjoint(record)


def _is_mlflow(record: Table) -> bool:
    """Whether a record is a trace of MLflow, whose spans lie in `data` beside an `info`."""
    return is_mapping(record.get("info")) and is_list(table_of(record.get("data")).get("spans"))


def _is_langsmith(record: Table) -> bool:
    return isinstance(record.get("run_type"), str) and not _LANGSMITH.isdisjoint(record)


def spans_of(record: object, context: Table, depth: int = 0) -> Iterator[Span | BadSpan]:
    """The spans of a record: one, those of a wrapper, or a span and its children.

    `context` holds what the wrappers around it say for all of them: scope, resource, session.
    """
    if not is_mapping(record):
        yield BadSpan(f"found {type(record).__name__}, expected a span")
        return
    if depth > _DEEPEST:
        yield BadSpan(f"child spans more than {_DEEPEST} levels deep")
        return
    record = common_names(record)
    if _is_mlflow(record):
        data = table_of(record["data"])
        yield from spans_of({**table_of(record["info"]), "spans": data["spans"]}, context, depth)
        return
    wrapped = [key for key in NAMES_OF_WRAPPERS if is_list(record.get(key))]
    if wrapped:
        yield from _unwrap_spans(record, wrapped, context, depth)
        return
    if not is_span(record):
        keys = ", ".join(str(key) for key in list(record)[:6]) or "none"
        yield BadSpan(f"no trace id and span id among the keys {keys}")
        return
    span = _read_span(record, context)
    yield span
    yield from _child_spans(record, span, context, depth + 1)


def _child_spans(record: Table, span: Span, context: Table, depth: int) -> Iterator[Span | BadSpan]:
    """The spans nested in a record; they inherit its trace, and it is their parent."""
    inner = {
        **context,
        "trace_id": span.trace,
        "parent_id": span.span,
        "session_id": _session(span),
    }
    for key in _KEYS["children"]:
        children = record.get(key)
        if is_list(children):
            for child in children:
                yield from _spans_of_child(child, inner, depth)


def _spans_of_child(child: object, context: Table, depth: int) -> Iterator[Span | BadSpan]:
    """A child may lack the ids that its place implies."""
    if is_mapping(child) and not is_span(child) and first_text(child, _KEYS["span"]):
        child = {
            **child,
            "trace_id": context["trace_id"],
            "span_id": first_text(child, _KEYS["span"]),
        }
    yield from spans_of(child, context, depth)


def _session(span: Span) -> str:
    about = NAMES["about"]["session"]
    return first_text(span.attributes, about) or first_text(span.fields, about)


def _unwrap_spans(
    record: Table, keys: list[str], context: Table, depth: int
) -> Iterator[Span | BadSpan]:
    inner = {**context, **wrapper_context(record)}
    for key in keys:
        items = record[key]
        if is_list(items):
            for item in items:
                yield from spans_of(item, inner, depth + 1)


def wrapper_context(record: Table) -> dict[str, object]:
    """The fields of a wrapper that hold for all its spans."""
    context: dict[str, object] = {}
    for key in ("scope", "instrumentationLibrary", "instrumentation_scope"):
        if is_mapping(record.get(key)):
            context["scope"] = record[key]
    for key in ("session_id", "sessionId", "trace_id"):
        if isinstance(record.get(key), str):
            context["session_id" if key == "sessionId" else key] = record[key]
    resource = record.get("resource")
    if is_mapping(resource):
        context["resource"] = read_attributes(resource.get("attributes"))
    # MLflow says what holds for the whole trace beside its spans.
    for key in ("trace_metadata", "request_metadata"):
        session = table_of(record.get(key)).get("mlflow.trace.session")
        if isinstance(session, str):
            context["session_id"] = session
    if is_list(record.get("assessments")):
        context["assessments"] = record["assessments"]
    return context


def _read_span(record: Table, context: Table) -> Span:
    ids = table_of(record.get("context"))
    trace = first_text(record, _KEYS["trace"]) or first_text(ids, ["trace_id"])
    span = first_text(record, ["span_id", "spanId"]) or first_text(ids, ["span_id"])
    span = span or first_text(record, _KEYS["span"])
    if not trace:  # a trace of Langfuse, or the root of a tree of runs
        trace = first_text(context, ["trace_id"]) or span
    parent = first_text(record, _KEYS["parent"]) or first_text(context, ["parent_id"])
    trace = trace.removeprefix("0x")  # as the console exporter writes its ids
    span = span.removeprefix("0x")
    parent = parent.removeprefix("0x")
    # Some exporters write zeros, or the span's own id, for "no parent".
    has_parent = parent != span and bool(parent.strip("0"))
    attributes = _all_attributes(record)
    times = _read_times(record)
    return Span(
        trace=trace,
        span=span,
        parent=parent if has_parent else "",
        name=first_text(record, _KEYS["name"]),
        start=times.start,
        end=times.end,
        scope=_scope_of(record, context, attributes),
        error=_error_of(record),
        attributes=attributes,
        events=tuple(_events_of(record)),
        fields=_other_fields(record, context, is_root=not parent),
    )


@dataclass(frozen=True, slots=True)
class _Times:
    """Start and end in nanoseconds; None where the record does not say."""

    start: int | None
    end: int | None


def _read_times(record: Table) -> _Times:
    start = read_time(first_value(record, _KEYS["start"]))
    end = read_time(first_value(record, _KEYS["end"]))
    if start is None or end is not None:
        return _Times(start, end)
    seconds = read_duration(first_value(record, _KEYS["duration"]))
    if seconds is None:
        milliseconds = read_duration(first_value(record, _KEYS["duration_ms"]))
        if milliseconds is None:
            return _Times(start, None)
        seconds = milliseconds / 1000
    # A duration beyond 30 years is damage, and would not fit into 64 bits.
    return _Times(start, start + int(min(seconds, 1e9) * 1e9))


def _other_fields(record: Table, context: Table, *, is_root: bool) -> dict[str, object]:
    """The fields besides the structure: they may hold sessions, feedback or costs."""
    fields = {key: value for key, value in record.items() if key not in _STRUCTURE}
    session = first_text(context, ["session_id"])
    if session and not first_text(record, NAMES["about"]["session"]):
        fields["session_id"] = session
    # Assessments are about the whole trace, so only its root gets them.
    if is_root and "assessments" in context:
        fields.setdefault("assessments", context["assessments"])
    return fields


_STRUCTURE = frozenset(
    name for key in ("attributes", "events", "children") for name in _KEYS[key]
) | {"context", "resource", "links", "logs"}


def _all_attributes(record: Table) -> dict[str, object]:
    value = first_value(record, _KEYS["attributes"])
    attributes = read_attributes(parse_value(value).value)
    for key, cell in record.items():
        if key.startswith(_FRAME_PREFIX) and cell not in (None, ""):
            name = key[len(_FRAME_PREFIX) :]
            if is_mapping(cell):
                attributes.update(flatten(cell, f"{name}."))
            else:
                attributes[name] = cell
    # Some exporters write `metadata` as a table of its own, OpenInference as JSON in an attribute:
    # users put sessions and feedback there.
    for name in ("metadata", "extra"):
        # A copy: the table grows inside the loop.
        for source in (record, dict(attributes)):
            metadata = parse_value(source.get(name)).value
            if is_mapping(metadata):
                for key, value in flatten(metadata).items():
                    # An attribute of the span itself wins over its metadata.
                    attributes.setdefault(key.removeprefix("metadata."), value)
    return attributes


def read_attributes(value: object) -> dict[str, object]:
    """Attributes as a table with dotted names: a table, or the list of pairs of OTLP."""
    if is_mapping(value):
        return flatten(value)
    attributes: dict[str, object] = {}
    if is_list(value):
        for pair in value:
            if is_mapping(pair) and isinstance(pair.get("key"), str):
                attributes[str(pair["key"])] = plain_value(pair.get("value"))
    return attributes


def plain_value(value: object, depth: int = 0) -> object:
    """The value of `{"stringValue": "x"}`, as OTLP writes it.

    >>> plain_value({"arrayValue": {"values": [{"intValue": "3"}]}})
    [3]
    """
    if not is_mapping(value) or depth > _DEEPEST:
        return value
    if "intValue" in value:
        try:
            # OTLP writes 64-bit numbers as text, as a float would round them.
            return int(str(value["intValue"]))
        except ValueError:
            return None
    for key in _VALUE_KEYS:
        if key in value:
            return value[key]
    if is_mapping(value.get("arrayValue")):
        return [plain_value(item, depth + 1) for item in _inner_values(value["arrayValue"])]
    if is_mapping(value.get("kvlistValue")):
        pairs = [pair for pair in _inner_values(value["kvlistValue"]) if is_mapping(pair)]
        return {str(pair.get("key")): plain_value(pair.get("value"), depth + 1) for pair in pairs}
    return value if value else None


def _inner_values(value: object) -> Sequence[object]:
    """The list in `{"values": […]}`; empty for anything else."""
    values = table_of(value).get("values")
    return values if is_list(values) else []


def _scope_of(record: Table, context: Table, attributes: Table) -> str:
    for table in (record.get("scope"), record.get("instrumentation_scope"), context.get("scope")):
        if is_mapping(table) and isinstance(table.get("name"), str):
            return str(table["name"])
    return first_text(record, ["scope_name"]) or first_text(attributes, ["otel.scope.name"])


def _error_of(record: Table) -> str:
    """The error that the status of a span names; "" where it has none."""
    status = record.get("status")
    code = ""
    message = ""
    if is_mapping(status):
        code = str(first_value(status, ["code", "status_code"]) or "")
        message = first_text(status, ["message", "description"])
    code = code or first_text(record, ["status_code", "level"])
    message = message or first_text(record, ["status_message", "statusMessage"])
    error = record.get("error")
    if isinstance(error, str) and error.strip():
        return error.strip()
    is_error = code.upper().removeprefix("STATUS_CODE_").removeprefix("STATUSCODE.") in (
        "ERROR",
        "2",
    )
    return (message or "error") if is_error else ""


def _events_of(record: Table) -> Iterator[SpanEvent]:
    events = parse_value(first_value(record, _KEYS["events"])).value
    for event in events if is_list(events) else ():
        if is_mapping(event):
            name = first_text(event, ["name", "event_name", "eventName"])
            attributes = read_attributes(event.get("attributes"))
            yield SpanEvent(name, attributes, plain_value(event.get("body")))
    if "body" in record:  # a log record of OTLP stands for an event of its span
        name = first_text(record, ["eventName", "event_name"])
        attributes = _all_attributes(record)
        name = name or first_text(attributes, ["event.name"])
        yield SpanEvent(name, attributes, plain_value(record["body"]))

"""Scores as OpenTelemetry log records `gen_ai.evaluation.result`, to a file or to a collector."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from answerkey import __version__
from answerkey.errors import EndpointError, SettingsError
from answerkey.files import json_line, replace_file
from answerkey.net import HttpClient, check_address
from answerkey.text import printable
from answerkey.types import Outcome, Score, Status

EVENT = "gen_ai.evaluation.result"
_INFO = 9  # severity number of OpenTelemetry
_BATCH = 200  # outcomes per request or line
_TIMEOUT = 30.0
_LONGEST_EXPLANATION = 2_000
_PATH = "/v1/logs"
_HEADERS_VARIABLE = "OTEL_EXPORTER_OTLP_HEADERS"
_TRACE_ID = re.compile(r"[0-9a-fA-F]{32}")
_SPAN_ID = re.compile(r"[0-9a-fA-F]{16}")
_VERDICT = "verdict"


def send_otlp(outcomes: Iterable[Outcome], destination: str) -> int:
    """Write the scores to a file of OTLP JSON lines, or post them to a collector; their number.

    An address without a path gets `/v1/logs`, as the exporters of OpenTelemetry do.
    """
    if "://" in destination:
        return _post(outcomes, destination)
    count = 0
    with replace_file(Path(destination)) as file:
        for records in _batches(outcomes):
            file.write(json_line(_request(records)).decode() + "\n")
            count += len(records)
    return count


def _post(outcomes: Iterable[Outcome], address: str) -> int:
    check_address(address, "--to otlp")
    parts = urlsplit(address)
    url = urlunsplit(parts if parts.path.strip("/") else parts._replace(path=_PATH))
    # The variable comes last, so that a user can replace any header.
    headers = {"content-type": "application/json", **_headers_of_variable()}
    client = HttpClient(url, headers, timeout=_TIMEOUT)
    count = 0
    try:
        for records in _batches(outcomes):
            client.begin()
            reply = client.request("POST", url, json_line(_request(records)))
            if not 200 <= reply.status < 300:
                text = printable(reply.body.decode("utf-8", "replace")[:200])
                raise EndpointError(f"{parts.netloc}: status {reply.status} {text}; {count} sent")
            count += len(records)
    finally:
        client.close()
    return count


def _headers_of_variable() -> dict[str, str]:
    """The headers that OpenTelemetry's own variable names, such as an authorization."""
    headers: dict[str, str] = {}
    for pair in os.environ.get(_HEADERS_VARIABLE, "").split(","):
        # A value may contain an equals sign, as base64 does.
        name, equals, value = pair.partition("=")
        if not equals:
            continue
        if not value.strip().isascii() or not name.strip():
            raise SettingsError(f"{_HEADERS_VARIABLE}: expected name=value, comma-separated")
        headers[name.strip().lower()] = value.strip()
    return headers


def _batches(outcomes: Iterable[Outcome]) -> Iterator[list[dict[str, object]]]:
    stream = iter(outcomes)
    while batch := list(islice(stream, _BATCH)):
        records = [record for outcome in batch for record in log_records(outcome)]
        if records:
            yield records


def _request(records: list[dict[str, object]]) -> dict[str, object]:
    scope = {"name": "answerkey", "version": __version__}
    resource = {"attributes": [_attribute("service.name", "answerkey")]}
    logs = {"scope": scope, "logRecords": records}
    return {"resourceLogs": [{"resource": resource, "scopeLogs": [logs]}]}


def log_records(outcome: Outcome) -> Iterator[dict[str, object]]:
    """A record per score that is applicable, and one for the verdict."""
    for name, score in outcome.scores.items():
        if score.applies:
            yield _record(outcome, _score_attributes(name, score))
    status = outcome.verdict.status
    # Nothing was decided, so there is no verdict to report.
    if status in (Status.SCORED, Status.UNSCORED):
        return
    attributes: dict[str, object] = {"gen_ai.evaluation.name": _VERDICT}
    if outcome.verdict.score is not None:
        attributes["gen_ai.evaluation.score.value"] = float(outcome.verdict.score)
    attributes["gen_ai.evaluation.score.label"] = "pass" if outcome.verdict.passed else "fail"
    attributes["gen_ai.evaluation.explanation"] = outcome.verdict.why
    if status == Status.ERROR:
        attributes["error.type"] = outcome.response.error_name or "error"
    yield _record(outcome, attributes)


def _score_attributes(name: str, score: Score) -> dict[str, object]:
    attributes: dict[str, object] = {"gen_ai.evaluation.name": name}
    if score.value is not None:
        attributes["gen_ai.evaluation.score.value"] = float(score.value)
    if score.error is not None:
        attributes["error.type"] = "evaluation_error"
    attributes["gen_ai.evaluation.explanation"] = score.error or score.reason
    return attributes


def _record(outcome: Outcome, attributes: dict[str, object]) -> dict[str, object]:
    now = str(time.time_ns())
    extra = outcome.case.extra
    named = {**attributes, "answerkey.case.id": outcome.case.id}
    if extra.get("response_id"):
        named["gen_ai.response.id"] = str(extra["response_id"])
    record: dict[str, object] = {
        "timeUnixNano": now,
        "observedTimeUnixNano": now,
        "severityNumber": _INFO,
        "eventName": EVENT,
        "attributes": [_attribute(name, value) for name, value in named.items() if value != ""],
    }
    # Ids of another form, such as those of LangSmith, are no ids of OpenTelemetry.
    trace = str(extra.get("trace_id") or "")
    span = str(extra.get("span_id") or "")
    if _TRACE_ID.fullmatch(trace):
        record["traceId"] = trace.lower()
        if _SPAN_ID.fullmatch(span):
            record["spanId"] = span.lower()
    return record


def _attribute(name: str, value: object) -> dict[str, object]:
    if isinstance(value, float):
        return {"key": name, "value": {"doubleValue": value}}
    return {"key": name, "value": {"stringValue": str(value)[:_LONGEST_EXPLANATION]}}

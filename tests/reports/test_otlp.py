"""Scores as OpenTelemetry log records, read back by the official protobuf classes."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.json_format import ParseDict
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest

Cli = Callable[..., Any]
Write = Callable[[str, object], Path]
TRACE = "5b8efff798038103d269b633813fc60c"
SPAN = "eee19b7ec3c1b174"


def _parse(line: str) -> ExportLogsServiceRequest:
    """OTLP writes ids in hexadecimal, where protobuf's own JSON has base64."""
    value = json.loads(line)
    for resource in value["resourceLogs"]:
        for scope in resource["scopeLogs"]:
            for record in scope["logRecords"]:
                for key in ("traceId", "spanId"):
                    if key in record:
                        record[key] = base64.b64encode(bytes.fromhex(record[key])).decode()
    return ParseDict(value, ExportLogsServiceRequest())


def _traces(write: Write) -> Path:
    spans = [
        {
            "trace_id": trace,
            "span_id": span,
            "start_time": 1_700_000_000_000_000_000,
            "end_time": 1_700_000_001_000_000_000,
            "attributes": {
                "input.value": "How long?",
                "output.value": answer,
                "gen_ai.response.id": "resp-1",
            },
        }
        for trace, span, answer in ((TRACE, SPAN, "Two years."), ("not-hex", "x", "I do not know."))
    ]
    return write("traces.jsonl", spans)


def _records(request: ExportLogsServiceRequest) -> list[tuple[Any, dict[str, Any]]]:
    records = [
        record for r in request.resource_logs for s in r.scope_logs for record in s.log_records
    ]
    return [
        (record, {a.key: getattr(a.value, a.value.WhichOneof("value")) for a in record.attributes})
        for record in records
    ]


def test_log_records_in_a_file(cli: Cli, write: Write, tmp_path: Path) -> None:
    out = tmp_path / "scores.jsonl"
    shown = cli(
        "score", _traces(write), "--metrics", "answer_relevance>=0.01", "--out", tmp_path / "runs",
        "--no-charts", "--quiet", "--to", "otlp", out,
    )  # fmt: skip
    assert out.is_file(), shown.err
    (line,) = out.read_text().splitlines()
    records = _records(_parse(line))
    assert {record.event_name for record, _ in records} == {"gen_ai.evaluation.result"}
    first, attributes = records[0]
    assert first.trace_id.hex() == TRACE
    assert first.span_id.hex() == SPAN
    assert attributes["gen_ai.evaluation.name"] == "answer_relevance"
    assert 0 <= attributes["gen_ai.evaluation.score.value"] <= 1
    assert attributes["gen_ai.response.id"] == "resp-1"
    other = next(record for record, a in records if a["answerkey.case.id"] == "not-hex")
    assert other.trace_id == b""
    verdicts = [a for _, a in records if a["gen_ai.evaluation.name"] == "verdict"]
    assert all(a["gen_ai.evaluation.score.label"] in ("pass", "fail") for a in verdicts)


@pytest.mark.network
def test_log_records_posted_to_a_collector(cli: Cli, write: Write, tmp_path: Path) -> None:
    received: list[tuple[str, str, bytes]] = []
    status = 200

    class Collector(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            received.append((self.path, self.headers["content-type"], body))
            self.send_response(status)
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, *arguments: object) -> None: ...

    server = HTTPServer(("127.0.0.1", 0), Collector)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        address = f"http://127.0.0.1:{server.server_port}"
        cli(
            "score", _traces(write), "--metrics", "refusal", "--out", tmp_path / "runs", "--no-charts", "--quiet",
            "--to", "otlp", address,
        )  # fmt: skip
        ((path, kind, body),) = received
        assert (path, kind) == ("/v1/logs", "application/json")
        assert len(_records(_parse(body.decode()))) == 2
        status = 503
        (run,) = (tmp_path / "runs").glob("score_*")
        shown = cli("report", run, "--to", "otlp", address, "--no-charts")
        assert shown.code == 3
        assert "status 503" in shown.last_line
    finally:
        server.shutdown()
        server.server_close()
        thread.join()

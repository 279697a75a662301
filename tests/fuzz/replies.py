"""Every parser of what a judge, an endpoint or a target may reply, from its body to our value."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import httpx2

from answerkey.embed.http_embedder import HttpEmbedder
from answerkey.errors import AnswerkeyError
from answerkey.files import json_line
from answerkey.llm.chat import CallFailed, Reply
from answerkey.llm.endpoint import Endpoint
from answerkey.llm.failures import ExchangeFailure, raise_for
from answerkey.llm.loose_json import find_objects
from answerkey.llm.verdict import read_verdict
from answerkey.metrics.judge.criteria_question import criteria_question
from answerkey.metrics.judge.preference_question import Duel, preference_question
from answerkey.metrics.judge.prompt import Frame
from answerkey.net import retry_after
from answerkey.quality.assess import assess_answer
from answerkey.runs.records import to_json
from answerkey.targets import http
from answerkey.targets.command import CommandTarget
from answerkey.targets.reply_fields import Fields
from answerkey.types import Case, Question, Requirement, Response

QUESTION = Question("q1", "When does it open?")
ANSWER = Response("It opens at nine. It closes at five.")
PAIR = (Case("q1", "When does it open?", ("At nine.",)), ANSWER)
REQUIREMENTS = (Requirement("Names a time.", "time"), Requirement("Is polite.", "polite", "0-5"))


class _Transport(httpx2.BaseTransport):
    """Stands in for the connections: every request gets the same body."""

    def __init__(self, body: str) -> None:
        self.body = body.encode("utf-8", "replace")

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, stream=httpx2.ByteStream(self.body))


def _target(table: Mapping[str, Any]) -> Callable[[str], Any]:
    """An HTTP target of these settings, asked once; its response must be storable."""

    def ask(body: str) -> Any:
        target = http.make_http_target(table, Path(), 5.0)
        target._wire._client._transport = _Transport(body)
        try:
            return _stored(target.ask(QUESTION))
        finally:
            target.close()

    return ask


def _stored(response: Response) -> str:
    return json_line(to_json(response)).decode("utf-8")


def _endpoint(body: str) -> Any:
    from answerkey.config.tables import ChatTable

    endpoint = Endpoint(
        ChatTable(base_url="http://127.0.0.1:1/v1", model="m", price_in=1.0, price_out=2.0)
    )
    try:
        return [endpoint._read(body, rung) for rung in ("schema", "prompt")]
    except (ExchangeFailure, CallFailed) as error:
        return str(error)
    finally:
        endpoint.close()


def _statuses(body: str) -> Any:
    found: list[str] = []
    for status in (200, 302, 400, 401, 404, 429, 500, 503):
        try:
            raise_for(status, {"location": body, "retry-after": body, "retry-after-ms": body}, body)
        except ExchangeFailure as error:
            found.append(str(error))
    return found, retry_after({"retry-after": body}), retry_after({"retry-after-ms": body})


def _embedder(body: str) -> Any:
    embedder = HttpEmbedder("m", "http://127.0.0.1:1/v1")
    embedder._client._transport = _Transport(body)
    try:
        return embedder.embed(["a", "b"]).shape
    except AnswerkeyError as error:
        return str(error)


def _command(body: str) -> Any:
    class Program:
        def exchange(self, line: bytes, seconds: float) -> bytes:
            return body.encode("utf-8", "surrogatepass")

        def kill(self) -> None:
            """Nothing runs."""

    target = CommandTarget.__new__(CommandTarget)
    target._timeout, target._fields = 5.0, Fields({})
    return _stored(target._exchange(Program(), b"{}", "q1"))  # type: ignore[arg-type]


def _verdict(body: str) -> Any:
    scales = {"score": (0.0, 5.0), "citation_quality": (0.0, 1.0)}
    return read_verdict(Reply(body), scales, "MARK", "It opens at nine.")


def _assess(body: str) -> Any:
    return assess_answer(
        question="List the times", answer=body, contexts=[body], retrieval_scores=[0.1], run_id="r"
    )


PARSERS: dict[str, Callable[[str], Any]] = {
    "verdict": _verdict,
    "one score": lambda body: read_verdict(Reply(body, truncated=True), {"score": (1.0, 10.0)}),
    "objects": find_objects,
    "criteria": lambda body: criteria_question(REQUIREMENTS, PAIR, Frame("{instructions}")).read(
        Reply(body), "MARK"
    ),
    "prefer": lambda body: preference_question(
        Duel(PAIR[0], ANSWER, Response(body)), Frame("{instructions}")
    ).read(Reply(body), "MARK"),
    "endpoint": _endpoint,
    "statuses": _statuses,
    "embedder": _embedder,
    "command": _command,
    "http": _target({"url": "http://127.0.0.1:1/"}),
    "http paths": _target(
        {
            "url": "http://127.0.0.1:1/",
            "answer": "$.answer",
            "passages": "$.sources[*].text",
            "route": "$.route",
        }
    ),
    "openai": _target({"openai": "http://127.0.0.1:1/v1", "model": "m"}),
    "gradio": _target({"gradio": "http://127.0.0.1:1/"}),
    "assess": _assess,
}

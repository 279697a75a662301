"""The runtime checks in a live bot: as a decorator, and as ASGI middleware. No model is called.

uvicorn app:app
"""

from __future__ import annotations

import functools
import json
import logging
from collections.abc import Callable
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from answerkey import assess_answer, improve_answer

log = logging.getLogger("bot.quality")
Reply = dict[str, Any]


def checked(bot: Callable[[str], Reply]) -> Callable[[str], Reply]:
    """Adds `quality` to the bot's result, and improves the answer if a model is given (none here)."""

    @functools.wraps(bot)
    def ask(question: str) -> Reply:
        reply = bot(question)
        better = improve_answer(
            question,
            reply["answer"],
            contexts=reply["contexts"],
            retrieval_scores=reply.get("scores"),
            model=None,
        )
        return {**reply, "answer": better.answer, "quality": better.assessment.to_dict()}

    return ask


class QualityMiddleware:
    """Assesses every JSON response with an answer, sets the header x-answer-quality, and logs the findings."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started: list[Message] = []
        body = bytearray()

        async def hold(message: Message) -> None:
            """Holds the start back until the whole body is known, so that a header can still be added."""
            if message["type"] == "http.response.start":
                started.append(message)
                return
            body.extend(message.get("body", b""))
            if message.get("more_body"):
                return
            headers = [
                *started[0]["headers"],
                (b"x-answer-quality", _quality(bytes(body)).encode()),
            ]
            await send({**started[0], "headers": headers})
            await send({"type": "http.response.body", "body": bytes(body)})

        await self.app(scope, receive, hold)


def _quality(body: bytes) -> str:
    try:
        reply = json.loads(body)
        result = assess_answer(
            reply["question"],
            reply["answer"],
            contexts=reply.get("contexts", ()),
            retrieval_scores=reply.get("scores"),
        )
    except (ValueError, KeyError, TypeError):
        return "unknown"
    for finding in result.findings:
        log.warning("%s: %s", finding.check, finding.message)
    return "passed" if result.passed else ",".join(finding.check for finding in result.findings)


@checked
def bot(question: str) -> Reply:
    contexts = ["Goods may be returned within 30 days of purchase."]
    answer = (
        "Within 30 days of purchase [1]."
        if "return" in question.lower()
        else "Unable to generate an answer."
    )
    return {"question": question, "answer": answer, "contexts": contexts, "scores": [0.72]}


async def ask(request: Request) -> JSONResponse:
    return JSONResponse(bot(request.query_params.get("q", "")))


app = QualityMiddleware(Starlette(routes=[Route("/ask", ask)]))

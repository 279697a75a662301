"""A run in progress: a page, and the stream of events that keeps it up to date."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from answerkey.types import Json
from answerkey.viewer.respond import respond
from answerkey.viewer.shelf import Shelf
from answerkey.viewer.tail import Tail

_EVERY = 0.5
_HEARTBEAT = 20  # looks without news after which a comment keeps the line open


def live_page(request: Request) -> Response:
    shelf: Shelf = request.app.state.shelf
    folder = shelf.run(request.path_params["run"])
    return respond(request, "live.html", {"run": shelf.key(folder), "live": Tail(folder).look()})


async def live_events(request: Request) -> Response:
    shelf: Shelf = request.app.state.shelf
    folder = shelf.run(request.path_params["run"])
    headers = {"X-Accel-Buffering": "no"}
    return StreamingResponse(_events(request, folder), media_type="text/event-stream", headers=headers)


async def _events(request: Request, folder: Path) -> AsyncIterator[str]:
    """A message whenever something changed; `done` when the run is over, and then no more."""
    tail, before, quiet = Tail(folder), "", 0
    while not await request.is_disconnected():
        now = await run_in_threadpool(tail.look)
        told = json.dumps(now, allow_nan=False)
        if _news(now) != before or quiet >= _HEARTBEAT:
            yield f"data: {told}\n\n"
            before, quiet = _news(now), 0
        if now["state"] != "in progress":
            yield f"event: done\ndata: {told}\n\n"
            return
        quiet += 1
        await anyio.sleep(_EVERY)


def _news(now: Json) -> str:
    return f"{now['answered']} {now['done']} {now['state']}"

"""The page of a run in progress, and the stream of events that keeps it up to date."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from answerkey.files import json_line
from answerkey.runs.run_reader import RunReader
from answerkey.runs.store import open_reader, read_manifest
from answerkey.text import short_label
from answerkey.viewer.library import IN_PROGRESS, requested_run, state_of
from answerkey.viewer.render import respond

_LATEST = 12  # cases listed
_WINDOW = 30.0  # seconds over which the pace is measured
_INTERVAL = 0.5  # seconds between two looks
_HEARTBEAT = 20  # looks without news after which a comment keeps the connection open


class LiveRun:
    """Reads only what is new at each look. A case scored twice counts once, as it was last."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._last_number = 0
        # By place, not by case: with repeats, each answer of a case has its own verdict.
        self._verdicts: dict[int, tuple[str, bool, float | None]] = {}
        self._latest: deque[dict[str, object]] = deque(maxlen=_LATEST)
        self._paces: deque[tuple[float, int]] = deque()

    def look(self) -> dict[str, object]:
        """The run as it stands now: `answered` and `done` (scored) cases, and the pace."""
        reader = open_reader(self.folder)
        self._read_news(reader)
        manifest = read_manifest(self.folder)
        done = len(self._verdicts)
        total = (manifest.count or 0) * manifest.settings.run.repeats
        scores = [score for _, _, score in self._verdicts.values() if score is not None]
        statuses = Counter(short_label(status) for status, _, _ in self._verdicts.values())
        rate = self._measure_pace(done)
        return {
            "name": short_label(manifest.name),
            "state": state_of(self.folder, manifest),
            "answered": reader.count_answers(),
            "done": done,
            "of": total,
            "passed": sum(passed for _, passed, _ in self._verdicts.values()),
            "statuses": dict(statuses.most_common()),
            "mean_score": sum(scores) / len(scores) if scores else None,
            "scored": len(scores),
            "rate": rate,
            "seconds_left": (total - done) / rate if rate and total > done else None,
            "latest": list(self._latest),
        }

    def _read_news(self, reader: RunReader) -> None:
        news = reader.verdicts_since(self._last_number)
        for number, place, _, status, passed, score in news:
            self._last_number = number
            self._verdicts[place] = (status, bool(passed), score)
        for _, place, case, status, _, score in news[-_LATEST:]:
            outcome = reader.attempt(place)
            if outcome:
                why = outcome.verdict.justification
            else:
                why = ""
            # A script puts these texts on the page, so they are made inert here.
            self._latest.appendleft(
                {
                    "id": short_label(case),
                    "status": short_label(status),
                    "score": score,
                    "why": short_label(why, 160),
                }
            )

    def _measure_pace(self, done: int) -> float | None:
        """Cases per second over the last half minute; None before the first step."""
        now = time.monotonic()
        self._paces.append((now, done))
        while now - self._paces[0][0] > _WINDOW:
            self._paces.popleft()
        began, done_before = self._paces[0]
        if now > began and done > done_before:
            return (done - done_before) / (now - began)
        return None


def live_page(request: Request) -> Response:
    library, folder = requested_run(request)
    data = {"run": library.key(folder), "live": LiveRun(folder).look()}
    return respond(request, "live.html", data)


async def live_events(request: Request) -> Response:
    _, folder = requested_run(request)
    # Without this header a proxy such as nginx keeps the events back.
    headers = {"X-Accel-Buffering": "no"}
    return StreamingResponse(
        _events(request, folder), media_type="text/event-stream", headers=headers
    )


async def _events(request: Request, folder: Path) -> AsyncIterator[str]:
    """A message whenever something changed; `done` when the run is over, and then no more."""
    live = LiveRun(folder)
    last_news = None
    quiet_looks = 0
    # The file is read in a thread: a slow disk must not stop the pages of other readers.
    while not await request.is_disconnected():
        now = await run_in_threadpool(live.look)
        message = json_line(now).decode()
        news = (now["answered"], now["done"], now["state"])
        if news != last_news or quiet_looks >= _HEARTBEAT:
            yield f"data: {message}\n\n"
            last_news = news
            quiet_looks = 0
        if now["state"] != IN_PROGRESS:
            yield f"event: done\ndata: {message}\n\n"
            return
        quiet_looks += 1
        await anyio.sleep(_INTERVAL)

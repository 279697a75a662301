"""A run in progress: its page, and the events that keep it current."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import anyio
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from answerkey.files import json_line
from answerkey.runs.journal_index import JournalTail
from answerkey.runs.store import read_manifest
from answerkey.text import short_label
from answerkey.types import Verdict
from answerkey.viewer.library import RunLibrary, state_of
from answerkey.viewer.render import respond

_LATEST = 12
_WINDOW = 30.0


@dataclass(frozen=True, slots=True)
class LiveCase:
    """A line of the page. It is put there by script, so its text is made inert here."""

    id: str
    status: str
    score: float | None
    why: str

    @staticmethod
    def of(case: str, verdict: Verdict) -> LiveCase:
        why = short_label(verdict.justification, 160)
        return LiveCase(short_label(case), short_label(verdict.status), verdict.score, why)


@dataclass(frozen=True, slots=True)
class LiveFigures:
    """A run as it stands: `answered` and `done` (scored) cases, and the pace."""

    name: str
    state: str
    answered: int
    done: int
    of: int
    passed: int
    statuses: dict[str, int]
    mean_score: float | None
    scored: int
    rate: float | None
    seconds_left: float | None
    latest: list[LiveCase]

    @property
    def news(self) -> tuple[int, int, str]:
        """Differs between two looks if something happened."""
        return self.answered, self.done, self.state


@dataclass(frozen=True, slots=True)
class LivePage:
    run: str
    live: LiveFigures


class LiveRun:
    """Reads only what is new at each look. A case scored twice counts once, as it was last."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._tail = JournalTail(folder)
        self._answered: set[int] = set()
        self._verdicts: dict[int, tuple[str, bool, float | None]] = {}
        self._latest: deque[LiveCase] = deque(maxlen=_LATEST)
        self._paces: deque[tuple[float, int]] = deque()

    def look(self) -> LiveFigures:
        """The run as it stands now."""
        for n, removed in self._tail.answered():
            (self._answered.discard if removed else self._answered.add)(n)
        for n, case, verdict in self._tail.scored():
            self._verdicts[n] = (verdict.status, verdict.passed, verdict.score)
            self._latest.appendleft(LiveCase.of(case, verdict))
        manifest = read_manifest(self.folder)
        done, of = len(self._verdicts), (manifest.count or 0) * manifest.settings.run.repeats
        scores = [score for _, _, score in self._verdicts.values() if score is not None]
        rate = self._rate(done)
        return LiveFigures(
            name=short_label(manifest.name),
            state=state_of(self.folder, manifest),
            answered=len(self._answered),
            done=done,
            of=of,
            passed=sum(passed for _, passed, _ in self._verdicts.values()),
            statuses=dict(Counter(short_label(status) for status, _, _ in self._verdicts.values()).most_common()),
            mean_score=sum(scores) / len(scores) if scores else None,
            scored=len(scores),
            rate=rate,
            seconds_left=(of - done) / rate if rate and of > done else None,
            latest=list(self._latest),
        )

    def _rate(self, done: int) -> float | None:
        """Cases a second over the last half minute."""
        now = time.monotonic()
        self._paces.append((now, done))
        while now - self._paces[0][0] > _WINDOW:
            self._paces.popleft()
        began, before = self._paces[0]
        return (done - before) / (now - began) if now > began and done > before else None


_EVERY = 0.5
_HEARTBEAT = 20  # looks without news after which a comment keeps the line open


def live_page(request: Request) -> Response:
    library: RunLibrary = request.app.state.library
    folder = library.run(request.path_params["run"])
    return respond(request, "live.html", LivePage(library.key(folder), LiveRun(folder).look()))


async def live_events(request: Request) -> Response:
    library: RunLibrary = request.app.state.library
    folder = library.run(request.path_params["run"])
    headers = {"X-Accel-Buffering": "no"}
    return StreamingResponse(_events(request, folder), media_type="text/event-stream", headers=headers)


async def _events(request: Request, folder: Path) -> AsyncIterator[str]:
    """A message whenever something changed; `done` when the run is over, and then no more."""
    tail, before, quiet = LiveRun(folder), None, 0
    while not await request.is_disconnected():
        now = await run_in_threadpool(tail.look)
        message = json_line(now).decode()
        if now.news != before or quiet >= _HEARTBEAT:
            yield f"data: {message}\n\n"
            before, quiet = now.news, 0
        if now.state != "in progress":
            yield f"event: done\ndata: {message}\n\n"
            return
        quiet += 1
        await anyio.sleep(_EVERY)

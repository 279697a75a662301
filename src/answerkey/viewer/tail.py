"""A run in progress, followed through what is added to its journals."""

from __future__ import annotations

import json
import time
from collections import Counter, deque
from pathlib import Path

from answerkey.reports.inert import label
from answerkey.runs.store import RESPONSES, SCORES, read_manifest
from answerkey.types import Json
from answerkey.viewer.shelf import state_of

_LATEST = 12
_WINDOW = 30.0


class Tail:
    """Reads only what is new at each look. A case scored twice counts once, as it was last."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._at = {RESPONSES: 0, SCORES: 0}
        self._answered: set[int] = set()
        self._verdicts: dict[int, tuple[str, bool, float | None]] = {}
        self._latest: deque[Json] = deque(maxlen=_LATEST)
        self._paces: deque[tuple[float, int]] = deque()

    def look(self) -> Json:
        """The run as it stands now."""
        for record in self._new(RESPONSES):
            (self._answered.discard if record.get("removed") else self._answered.add)(record["n"])
        for record in self._new(SCORES):
            verdict = record["verdict"]
            self._verdicts[record["n"]] = (
                verdict["status"],
                verdict.get("passed", False),
                verdict.get("score"),
            )
            self._latest.appendleft(_told(record["id"], verdict))
        manifest = read_manifest(self.folder)
        return {
            **self._figures(manifest),
            "state": state_of(self.folder, manifest),
            "latest": list(self._latest),
        }

    def _new(self, name: str) -> list[Json]:
        """Whole lines that were added since the last look; the header has no `n`."""
        path = self.folder / name
        if not path.is_file():
            return []
        with path.open("rb") as file:
            file.seek(self._at[name])
            added = file.read()
        whole = added[: added.rfind(b"\n") + 1]
        self._at[name] += len(whole)
        return [record for line in whole.splitlines() if "n" in (record := json.loads(line))]

    def _figures(self, manifest: Json) -> Json:
        done, of = len(self._verdicts), manifest.get("count") or 0
        scores = [score for _, _, score in self._verdicts.values() if score is not None]
        rate = self._rate(done)
        return {
            "name": label(manifest["name"]),
            "answered": len(self._answered),
            "done": done,
            "of": of,
            "passed": sum(passed for _, passed, _ in self._verdicts.values()),
            "statuses": dict(
                Counter(label(status) for status, _, _ in self._verdicts.values()).most_common()
            ),
            "mean_score": sum(scores) / len(scores) if scores else None,
            "scored": len(scores),
            "rate": rate,
            "seconds_left": (of - done) / rate if rate and of > done else None,
        }

    def _rate(self, done: int) -> float | None:
        """Cases a second over the last half minute."""
        now = time.monotonic()
        self._paces.append((now, done))
        while now - self._paces[0][0] > _WINDOW:
            self._paces.popleft()
        began, before = self._paces[0]
        return (done - before) / (now - began) if now > began and done > before else None


def _told(case: str, verdict: Json) -> Json:
    """A line of the page. It is put there by script, so its text is made inert here."""
    why = label(verdict.get("justification", ""), 160)
    return {"id": label(case), "status": label(verdict["status"]), "score": verdict.get("score"), "why": why}

"""The light columns of a run: everything a table of cases shows, and the position of each case in the journals.

Read once from the journals, then kept as one small file in the cache, so that a page of 10,000 cases opens at once
while the answers stay on disk.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path

import msgspec

from answerkey.cache import cache_folder
from answerkey.errors import StorageError
from answerkey.files import write_file
from answerkey.runs.engines.parts import list_parts
from answerkey.runs.journal import RESPONSES, SCORES
from answerkey.runs.journal_index import LightCase, outcome_at
from answerkey.runs.manifest import stored_manifest
from answerkey.runs.store import in_parts, profile_of, read_index
from answerkey.types import Outcome, Status

FORMAT = 5
EXCERPT = 240
WORTH_KEEPING = 500  # a smaller run is read as fast from its journals
FAILED = "error"
Value = float | str | None
_NUMBER_METRICS = ("number_close", "number_in_range", "factual_accuracy")


@dataclass(slots=True)
class Rows:
    """One entry per case in every column, in case order. A metric's value is a number, None (n/a) or "error"."""

    answered_at: list[int] = field(default_factory=list[int])
    scored_at: list[int] = field(default_factory=list[int])
    id: list[str] = field(default_factory=list[str])
    question: list[str] = field(default_factory=list[str])
    type: list[str | None] = field(default_factory=list[str | None])
    route: list[str | None] = field(default_factory=list[str | None])
    expected_route: list[str | None] = field(default_factory=list[str | None])
    acceptable_route: list[bool] = field(default_factory=list[bool])
    seconds: list[float | None] = field(default_factory=list[float | None])
    status: list[str] = field(default_factory=list[str])
    band: list[str] = field(default_factory=list[str])
    passed: list[bool] = field(default_factory=list[bool])
    reason: list[str] = field(default_factory=list[str])
    score: list[float | None] = field(default_factory=list[float | None])
    quality: list[float | None] = field(default_factory=list[float | None])
    metrics: dict[str, list[Value]] = field(default_factory=dict[str, list[Value]])

    def __len__(self) -> int:
        return len(self.id)


def read_rows(folder: Path) -> Rows:
    """The columns of a run, from memory, from the cache, or from the journals; always those of the present files."""
    with _reading:  # two pages that are opened at the same time read them once
        return _read_rows(folder.resolve(), journal_state(folder))


_reading = threading.Lock()


@lru_cache(maxsize=4)
def _read_rows(folder: Path, state: str) -> Rows:
    kept = (
        cache_folder()
        / "rows"
        / f"{blake2b(str(folder).encode(), digest_size=12).hexdigest()}.json"
    )
    with suppress(OSError, ValueError):
        stored = msgspec.json.decode(kept.read_bytes(), type=_KeptRows)
        if stored.state == state:
            return stored.rows
    rows = _from_index(folder)
    if len(rows) < WORTH_KEEPING:
        return rows
    with suppress(OSError, StorageError):  # it only saves work
        kept.parent.mkdir(parents=True, exist_ok=True)
        write_file(kept, msgspec.json.encode(_KeptRows(state, rows)), durable=False)
    return rows


class _KeptRows(msgspec.Struct):
    state: str
    rows: Rows


def journal_state(folder: Path) -> str:
    """Changes whenever a journal does."""
    parts = [str(FORMAT)]
    for path in (folder / RESPONSES, folder / SCORES, *list_parts(folder)):
        with suppress(OSError):
            about = path.stat()
            parts.append(f"{path.name} {about.st_size} {about.st_mtime_ns}")
    return "; ".join(parts)


def _from_index(folder: Path) -> Rows:
    rows = Rows()
    profile = profile_of(folder)
    scale = profile.scale if profile else 1.0
    for n, light in enumerate(read_index(folder).light()):
        case, response, verdict = light.case, light.response, light.verdict
        rows.answered_at.append(light.answered_at)
        rows.scored_at.append(light.scored_at)
        rows.id.append(case.id)
        rows.question.append(excerpt(case.question))
        rows.type.append(case.type)
        rows.route.append(response.route)
        rows.expected_route.append(case.expected_route)
        rows.acceptable_route.append(response.route in case.acceptable_routes)
        rows.seconds.append(response.seconds)
        rows.status.append(verdict.status)
        rows.band.append(verdict.band)
        rows.passed.append(verdict.passed)
        rows.reason.append(verdict.kind or _reason(light, scale))
        rows.score.append(verdict.score)
        rows.quality.append(verdict.quality)
        for name, score in light.scores.items():
            column = rows.metrics.setdefault(name, [])
            column.extend([None] * (n - len(column)))
            column.append(FAILED if score.error is not None else score.value)
    for column in rows.metrics.values():
        column.extend([None] * (len(rows) - len(column)))
    return rows


def _reason(light: LightCase, scale: float) -> str:
    """Why a case failed, in one or two words that many cases share; empty for one that passed or has no verdict."""
    case, response, verdict = light.case, light.response, light.verdict
    if verdict.passed or verdict.status not in (Status.FAILED, Status.ERROR):
        return ""
    if verdict.status == Status.ERROR:
        return "no response" if response.error else "scoring error"
    if (
        case.expected_route
        and response.route
        and response.route not in (case.expected_route, *case.acceptable_routes)
    ):
        return "wrong route"
    values = {name: score.value for name, score in light.scores.items() if score.value is not None}
    if values.get("abstention") == 0:
        return "wrong refusal"
    if any(values.get(name, 1) < 0.5 for name in _NUMBER_METRICS):
        return "wrong figure"
    lost = {part.metric: part.weight * scale - part.points for part in verdict.parts}
    return f"low {max(lost, key=lambda name: lost[name])}" if lost else "below the pass mark"


def excerpt(text: str) -> str:
    """The beginning, on one line."""
    return " ".join(text[: EXCERPT * 2].split())[:EXCERPT]


def read_outcome(folder: Path, rows: Rows, n: int) -> Outcome:
    """The whole case at a place in the rows: two lines are read, whatever the size of the run; of parts, one file."""
    return read_outcomes_at(folder, rows, [n])[0]


def read_outcomes_at(folder: Path, rows: Rows, places: Sequence[int]) -> list[Outcome]:
    if in_parts(folder) or stored_manifest(folder).repeats.times > 1:
        return list(read_index(folder).at([rows.answered_at[n] for n in places]))
    return [outcome_at(folder, rows.answered_at[n], rows.scored_at[n]) for n in places]


def worst_first(rows: Rows) -> list[int]:
    """Errors, then the failed by score, then the rest by score; cases without any verdict last."""

    def badness(n: int) -> tuple[bool, bool, bool, float, int]:
        score, status = rows.score[n], rows.status[n]
        return status in ("SCORED", "UNSCORED"), status != "ERROR", rows.passed[n], score or 0.0, n

    return sorted(range(len(rows)), key=badness)

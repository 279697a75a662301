"""Reading the journals of a run: the newest response and score of each case, by position or as they arrive."""

from __future__ import annotations

import os
import re
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import IO

from answerkey.coerce.values import shown
from answerkey.errors import StorageError
from answerkey.files import json_line, read_json
from answerkey.runs.journal import REMOVED_END, RESPONSES, SCORES, decoded, journal_lines
from answerkey.runs.records import from_json, judged_json, outcome_from_json, to_json
from answerkey.runs.repeats import Repeats
from answerkey.types import Case, Json, Outcome, Response, Verdict

_POSITION = re.compile(rb'\{"n":(\d{1,7}),')


@dataclass(frozen=True, slots=True)
class StoredCase:
    """One case as its journals have it: JSON, and the bytes at which the two records begin (-1: not scored)."""

    n: int
    answered: Json
    judged: Json | None
    answered_at: int
    scored_at: int

    def outcome(self, path: Path) -> Outcome:
        """The outcome; `path` names the run, or its part, where a record is damaged."""
        try:
            return outcome_from_json(self.answered, self.judged)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            key = shown(self.answered.get("id", self.n))
            raise StorageError(
                f"{path}: the record of case {key} is damaged ({error}); "
                f"remove its line from {RESPONSES} and {SCORES}, then resume"
            ) from None


class JournalIndex:
    """Finds the newest response and score of each attempt by position, with 16 bytes per attempt in memory.

    Positions of attempts and of cases are the same unless cases are repeated.
    """

    def __init__(self, folder: Path, repeats: Repeats = Repeats()) -> None:  # noqa: B008
        self.folder, self.repeats = folder, repeats
        self.responses, self.scores = array("q"), array("q")
        for name, offsets in ((RESPONSES, self.responses), (SCORES, self.scores)):
            for n, offset in _positions(folder / name):
                if n >= len(offsets):
                    offsets.extend([-1] * (n + 1 - len(offsets)))
                offsets[n] = offset

    def __len__(self) -> int:
        """How many cases have all their answers and scores."""
        done = [at >= 0 and scored >= 0 for at, scored in zip(self.responses, self.scores, strict=False)]
        times = self.repeats.times
        return sum(done) if times == 1 else sum(sum(done[n : n + times]) == times for n in range(0, len(done), times))

    @property
    def last(self) -> int:
        """All positions of cases are below it."""
        return -(-len(self.responses) // self.repeats.times)

    def records(self) -> Iterator[StoredCase]:
        """Every answered case, in case order; with repeats those with all their answers, and positions instead of bytes."""
        if self.repeats.times > 1:
            yield from (stored_case(n, outcome) for n, outcome in self.numbered(stopped=True))
            return
        yield from self._stored()

    def _stored(self, cases: range | None = None) -> Iterator[StoredCase]:
        first, end = (cases.start * self.repeats.times, cases.stop * self.repeats.times) if cases else (0, None)
        with _open(self.folder / RESPONSES) as responses, _open(self.folder / SCORES) as scores:
            for n, at in enumerate(self.responses[first:end], first):
                if at >= 0:
                    scored = self.scores[n] if n < len(self.scores) else -1
                    judged = _record(scores, scored) if scored >= 0 else None
                    yield StoredCase(n, _record(responses, at), judged, at, scored)

    def numbered(
        self, *, unscored: bool = False, stopped: bool = False, cases: range | None = None
    ) -> Iterator[tuple[int, Outcome]]:
        """The outcomes in case order with their positions, of all cases or of some. One that is not scored only with
        `unscored`; one that the run stopped at, to ask it again on resume, only with `stopped` or `unscored`."""
        attempts = self.attempts(unscored=unscored, stopped=stopped, cases=cases)
        return self.repeats.combined(attempts, whole=not stopped)

    def attempts(
        self, *, unscored: bool = False, stopped: bool = False, cases: range | None = None
    ) -> Iterator[tuple[int, Outcome]]:
        """As `numbered`, with an outcome per answer."""
        for stored in self._stored(cases):
            if unscored or (stored.judged is not None and (stopped or not stored.judged.get("stopped"))):
                yield stored.n, stored.outcome(self.folder)

    def outcomes(self, *, unscored: bool = False) -> Iterator[Outcome]:
        return (outcome for _, outcome in self.numbered(unscored=unscored))

    def at(self, positions: Iterable[int]) -> Iterator[Outcome]:
        """The outcomes of those of the cases at these positions that have an answer, in the order given."""
        for n in positions:
            places = [place for place in self.repeats.positions(n) if place < len(self.responses)]
            if found := [self.attempt(place) for place in places if self.responses[place] >= 0]:
                yield self.repeats.combine(found)

    def attempt(self, n: int) -> Outcome:
        """The outcome of the answer at this position."""
        return outcome_at(self.folder, self.responses[n], self.scores[n] if n < len(self.scores) else -1)

    def answers(self, positions: Iterable[int] | None = None) -> Iterator[tuple[int, Case, Response]]:
        """The newest responses, of all answered cases or of some."""
        wanted = range(len(self.responses)) if positions is None else positions
        with _open(self.folder / RESPONSES) as responses:
            for n in wanted:
                if self.responses[n] >= 0:
                    answered = _record(responses, self.responses[n])
                    outcome = StoredCase(n, answered, None, self.responses[n], -1).outcome(self.folder)
                    yield n, outcome.case, outcome.response


def stored_case(n: int, outcome: Outcome) -> StoredCase:
    """An outcome as JSON, with its position in place of its bytes."""
    answered: Json = {
        "n": n,
        "id": outcome.case.id,
        "case": to_json(outcome.case),
        "response": to_json(outcome.response),
    }
    return StoredCase(n, answered, judged_json(outcome), n, n)


def outcome_at(folder: Path, answered_at: int, scored_at: int) -> Outcome:
    """One whole outcome from the bytes at which its records begin; -1 for a case that is not scored."""
    with _open(folder / RESPONSES) as responses, _open(folder / SCORES) as scores:
        answered, judged = _record(responses, answered_at), _record(scores, scored_at) if scored_at >= 0 else None
        return StoredCase(answered["n"], answered, judged, answered_at, scored_at).outcome(folder)


def _positions(path: Path) -> Iterator[tuple[int, int]]:
    """The position of each record's case with the byte of its line, or -1 for a removed case; lines are not parsed."""
    for offset, line in journal_lines(path):
        found = _POSITION.match(line)
        n = int(found[1]) if found else decoded(line, path, offset)["n"]
        yield n, -1 if line.endswith(REMOVED_END) else offset


def _open(path: Path) -> IO[bytes]:
    return path.open("rb") if path.is_file() else open(os.devnull, "rb")


def _record(file: IO[bytes], at: int) -> Json:
    if file.tell() != at:
        file.seek(at)
    return decoded(file.readline(), _path(file.name), at)


_path = cache(Path)


class JournalTail:
    """Follows the journals of a run in progress: each call returns only what was added since the last one."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._at = {RESPONSES: 0, SCORES: 0}

    def answered(self) -> list[tuple[int, bool]]:
        """The positions of new responses, and whether each removes its case."""
        return [(record["n"], bool(record.get("removed"))) for record in self._new(RESPONSES)]

    def scored(self) -> list[tuple[int, str, Verdict]]:
        """Position, id and verdict of each new score."""
        return [(r["n"], r["id"], from_json(Verdict, r["verdict"])) for r in self._new(SCORES)]

    def _new(self, name: str) -> list[Json]:
        path = self._folder / name
        if not path.is_file():
            return []
        records: list[Json] = []
        with path.open("rb") as file:
            file.seek(self._at[name])
            while (line := file.readline()).endswith(b"\n"):
                if at := self._at[name]:  # the header is at 0
                    records.append(decoded(line, path, at))
                self._at[name] += len(line)
        return records


def find_text(folder: Path, answered_at: Sequence[int], text: str) -> Iterator[int]:
    """Which of these responses have the text in their id, question or answer, ignoring case; one line in memory."""
    quick = json_line(text.lower())[1:-1].decode("utf-8", "replace")  # as it stands in a line of JSON
    with _open(folder / RESPONSES) as file:
        for row, at in enumerate(answered_at):
            file.seek(at)
            line = file.readline()
            if quick in line.decode("utf-8", "replace").lower() and has_text(read_json(line), text):
                yield row


def has_text(answered: Json, text: str) -> bool:
    """Whether the id, question or answer of a stored response contains the text, ignoring case."""
    case, needle = answered["case"], text.lower()
    texts = (case["id"], case["question"], answered["response"].get("answer"))
    return any(needle in each.lower() for each in texts if each)

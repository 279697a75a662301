"""Reading the journals of a run: the newest response and score of each case, by position or as they arrive."""

from __future__ import annotations

import os
import re
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import IO

import msgspec

from answerkey.runs import journal
from answerkey.runs.journal import (
    RESPONSES,
    SCORES,
    NumberedRecord,
    Position,
    RecordType,
    decoded,
    journal_lines,
)
from answerkey.runs.records import StoredScores
from answerkey.runs.repeats import Repeats
from answerkey.types import Case, Outcome, Response, Score, Status, Verdict

_path = cache(Path)
_POSITION = re.compile(rb'\{"n":(\d{1,7}),')

NumberedOutcome = tuple[int, Outcome]
# The position of an answer, and the bytes at which its record and that of its scores begin: -1 where it is not scored.
RecordPlaces = tuple[int, int, int]
CaseTexts = tuple[str, str, str]


class _LightQuestion(msgspec.Struct):
    id: str
    question: str
    type: str | None = None
    expected_route: str | None = None
    acceptable_routes: tuple[str, ...] = ()


class _LightResponse(msgspec.Struct):
    answer: str | None = None
    route: str | None = None
    seconds: float | None = None
    error: str | None = None


class _LightScore(msgspec.Struct):
    value: float | None = None
    error: str | None = None


class _LightAnswered(NumberedRecord):
    case: _LightQuestion
    response: _LightResponse


class _LightScored(NumberedRecord):
    scores: dict[str, _LightScore] = msgspec.field(default_factory=dict[str, _LightScore])
    verdict: Verdict = Verdict(Status.UNSCORED)


class _Answered(NumberedRecord):
    case: Case
    response: Response


class _Scored(StoredScores, kw_only=True):
    n: Position
    id: str


@dataclass(frozen=True, slots=True)
class LightCase:
    """What a table of cases shows, read without the long texts; and the bytes, or positions, to find the rest by."""

    case: Case | _LightQuestion
    response: Response | _LightResponse
    scores: Mapping[str, Score | _LightScore]
    verdict: Verdict
    answered_at: int
    scored_at: int

    @staticmethod
    def of(outcome: Outcome, answered_at: int, scored_at: int) -> LightCase:
        return LightCase(
            outcome.case, outcome.response, outcome.scores, outcome.verdict, answered_at, scored_at
        )


class JournalIndex:
    """Finds the newest response and score of each attempt by position, with 16 bytes per attempt in memory. Positions
    of attempts and of cases are the same unless cases are repeated."""

    def __init__(self, folder: Path, repeats: Repeats = Repeats()) -> None:  # noqa: B008
        self.folder, self.repeats = folder, repeats
        self.responses, self.scores = array("q"), array("q")
        self.records = {RESPONSES: 0, SCORES: 0}
        for name, offsets in ((RESPONSES, self.responses), (SCORES, self.scores)):
            for offset, line in journal_lines(folder / name):
                found = _POSITION.match(line)  # lines are not parsed
                n = (
                    int(found[1])
                    if found
                    else decoded(line, folder / name, offset, NumberedRecord).n
                )
                self.records[name] += 1
                if n >= len(offsets):
                    offsets.extend([-1] * (n + 1 - len(offsets)))
                offsets[n] = -1 if line.endswith(journal.REMOVED_END) else offset

    def __len__(self) -> int:
        """How many cases have all their answers and scores."""
        done = [
            at >= 0 and scored >= 0 for at, scored in zip(self.responses, self.scores, strict=False)
        ]
        times = self.repeats.times
        return (
            sum(done)
            if times == 1
            else sum(sum(done[n : n + times]) == times for n in range(0, len(done), times))
        )

    @property
    def last(self) -> int:
        """All positions of cases are below it."""
        return -(-len(self.responses) // self.repeats.times)

    def light(self) -> Iterator[LightCase]:
        """Every answered case, in case order; with repeats those with all their answers, and positions instead of bytes."""
        if self.repeats.times > 1:
            yield from (LightCase.of(outcome, n, n) for n, outcome in self.numbered(stopped=True))
            return
        responses, scores = self.folder / RESPONSES, self.folder / SCORES
        for (n, at, scored), answered, judged in _lines(self.folder, self.places()):
            given = decoded(answered, responses, at, _LightAnswered)
            found = decoded(judged, scores, scored, _LightScored) if judged else _LightScored(n, "")
            yield LightCase(given.case, given.response, found.scores, found.verdict, at, scored)

    def places(self, cases: range | None = None) -> Iterator[RecordPlaces]:
        """Where each answer is found, in order, of all cases or of some."""
        first, end = (
            (cases.start * self.repeats.times, cases.stop * self.repeats.times)
            if cases
            else (0, None)
        )
        for n, at in enumerate(self.responses[first:end], first):
            if at >= 0:
                yield n, at, self.scores[n] if n < len(self.scores) else -1

    def numbered(
        self, *, unscored: bool = False, stopped: bool = False
    ) -> Iterator[NumberedOutcome]:
        """The outcomes in case order with their positions. One that is not scored only with `unscored`; one that the run
        stopped at, to ask it again on resume, only with `stopped` or `unscored`."""
        return self.repeats.combined(
            self.attempts(unscored=unscored, stopped=stopped), whole=not stopped
        )

    def attempts(
        self, *, unscored: bool = False, stopped: bool = False
    ) -> Iterator[NumberedOutcome]:
        """As `numbered`, with an outcome per answer."""
        return attempts_at(self.folder, self.places(), unscored=unscored, stopped=stopped)

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
        return outcome_at(
            self.folder, self.responses[n], self.scores[n] if n < len(self.scores) else -1
        )

    def answers(
        self, positions: Iterable[int] | None = None
    ) -> Iterator[tuple[int, Case, Response]]:
        """The newest responses, of all answered cases or of some."""
        wanted = range(len(self.responses)) if positions is None else positions
        with _open(self.folder / RESPONSES) as responses:
            for n in wanted:
                if self.responses[n] >= 0:
                    outcome = _outcome(_record(responses, self.responses[n], _Answered), None)
                    yield n, outcome.case, outcome.response


def attempts_at(
    folder: Path, places: Iterable[RecordPlaces], *, unscored: bool = False, stopped: bool = False
) -> Iterator[NumberedOutcome]:
    """The outcomes of these answers with their positions, as `JournalIndex.attempts` has them."""
    for (n, at, scored_at), answered, judged in _lines(folder, places):
        scored = decoded(judged, folder / SCORES, scored_at, _Scored) if judged else None
        if unscored or (scored is not None and (stopped or not scored.stopped)):
            yield n, _outcome(decoded(answered, folder / RESPONSES, at, _Answered), scored)


def _lines(
    folder: Path, places: Iterable[RecordPlaces]
) -> Iterator[tuple[RecordPlaces, bytes, bytes | None]]:
    """Each place with the lines of its answer and of its scores."""
    with _open(folder / RESPONSES) as responses, _open(folder / SCORES) as scores:
        for place in places:
            _, at, scored = place
            yield place, _line(responses, at), _line(scores, scored) if scored >= 0 else None


def outcome_at(folder: Path, answered_at: int, scored_at: int) -> Outcome:
    """One whole outcome from the bytes at which its records begin; -1 for a case that is not scored."""
    with _open(folder / RESPONSES) as responses, _open(folder / SCORES) as scores:
        scored = _record(scores, scored_at, _Scored) if scored_at >= 0 else None
        return _outcome(_record(responses, answered_at, _Answered), scored)


def _outcome(answered: _Answered, scored: _Scored | None) -> Outcome:
    return (scored or StoredScores(verdict=Verdict(Status.UNSCORED))).outcome(
        answered.case, answered.response
    )


def _open(path: Path) -> IO[bytes]:
    return path.open("rb", journal.READ_AHEAD) if path.is_file() else open(os.devnull, "rb")


def _record(file: IO[bytes], at: int, kind: type[RecordType]) -> RecordType:
    return decoded(_line(file, at), _path(file.name), at, kind)


def _line(file: IO[bytes], at: int) -> bytes:
    if file.tell() != at:
        file.seek(at)
    return file.readline()


class JournalTail:
    """Follows the journals of a run in progress: each call returns only what was added since the last one."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._at = {RESPONSES: 0, SCORES: 0}

    def answered(self) -> list[tuple[int, bool]]:
        """The positions of new responses, and whether each removes its case."""
        return [(record.n, record.removed) for record in self._new(RESPONSES, journal.AnswerState)]

    def scored(self) -> list[tuple[int, str, Verdict]]:
        """Position, id and verdict of each new score."""
        return [
            (record.n, record.id, record.verdict)
            for record in self._new(SCORES, journal.ScoreState)
        ]

    def _new(self, name: str, kind: type[RecordType]) -> list[RecordType]:
        path = self._folder / name
        if not path.is_file():
            return []
        records: list[RecordType] = []
        with path.open("rb") as file:
            file.seek(self._at[name])
            while (line := file.readline()).endswith(b"\n"):
                if at := self._at[name]:  # the header is at 0
                    records.append(decoded(line, path, at, kind))
                self._at[name] += len(line)
        return records


def stored_texts(
    folder: Path, answered_at: Sequence[int], quick: bytes = b""
) -> Iterator[tuple[int, CaseTexts]]:
    """Id, question and answer of each of these responses, with its place among them; only of those whose line, in lower
    case, contains `quick`. One line is in memory."""
    places = {at: place for place, at in enumerate(answered_at)}
    for at, line in journal_lines(folder / RESPONSES):
        if at not in places or (quick and quick not in line.lower()):
            continue
        found = decoded(line, folder / RESPONSES, at, _LightAnswered)
        yield places[at], (found.case.id, found.case.question, found.response.answer or "")

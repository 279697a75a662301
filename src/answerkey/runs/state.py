"""What a run's journals say of each case, by position: to be asked, answered, finished, or stopped at."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from answerkey.profiles.decide import ERROR
from answerkey.runs.fingerprint import of_value
from answerkey.runs.folder import RESPONSES, SCORES
from answerkey.runs.journal import read_journal
from answerkey.runs.records import to_json
from answerkey.types import Case

ASK, ANSWERED, FINISHED, STOPPED, REMOVED = range(5)


class State:
    """One byte a case. An answer without a usable score is scored again; an error is asked again."""

    def __init__(self, folder: Path | None = None) -> None:
        self._codes = bytearray()
        if folder is None:
            return
        for _, record in read_journal(folder / RESPONSES):
            failed = record.get("removed") or record["response"].get("error")
            self[record["n"]] = REMOVED if record.get("removed") else ASK if failed else ANSWERED
        for _, record in read_journal(folder / SCORES):
            n = record["n"]
            if record.get("stopped"):
                self[n] = STOPPED
            elif self[n] in (ANSWERED, STOPPED) and record["verdict"]["status"] != ERROR:
                self[n] = FINISHED

    def __getitem__(self, n: int) -> int:
        return self._codes[n] if n < len(self._codes) else ASK

    def __setitem__(self, n: int, code: int) -> None:
        if n >= len(self._codes):
            self._codes.extend(bytes(n + 1 - len(self._codes)))
        self._codes[n] = code

    def count(self, code: int) -> int:
        return self._codes.count(code)

    def __len__(self) -> int:
        return len(self._codes)

    def score_again(self) -> None:
        """The ruler changed: every answer is measured anew, and nobody is asked."""
        self._codes = self._codes.replace(bytes([FINISHED]), bytes([ANSWERED]))


def places_of(folder: Path) -> dict[str, tuple[int, str]]:
    """Each case that the journal knows: its position and a hash of what it was. Read only when cases changed."""
    places: dict[str, tuple[int, str]] = {}
    for _, record in read_journal(folder / RESPONSES):
        if record.get("removed"):
            places.pop(record["id"], None)
        else:
            places[record["id"]] = record["n"], of_value(record["case"])
    return places


def replaced(
    cases: Iterator[Case], places: dict[str, tuple[int, str]], state: State
) -> Iterator[tuple[int, Case]]:
    """Cases with the positions they have in the journal; new ones behind; those that were edited are asked again."""
    behind = max((n for n, _ in places.values()), default=-1) + 1
    for case in cases:
        n, digest = places.get(case.id, (behind, ""))
        if n == behind:
            behind += 1
        elif digest != of_value(to_json(case)):
            state[n] = ASK
        yield n, case

"""How far each answer of a run is: what a resumed run still has to ask and to score."""

from __future__ import annotations

from enum import IntEnum


class Progress(IntEnum):
    """How far one answer is. ASK is 0, so that an unknown position is asked."""

    ASK = 0
    ANSWERED = 1  # without a verdict: it is scored, and not asked again
    FINISHED = 2
    STOPPED = 3  # --stop-on-fail stopped at it: it is asked again, before the others
    REMOVED = 4  # its case is no longer in the suite


class RunState:
    """The progress of every answer by its place, one byte each."""

    def __init__(self) -> None:
        # Not a dict or a list of enums: those take 30 to 100 MB for a million answers.
        self._codes = bytearray()

    def __getitem__(self, place: int) -> Progress:
        if place < len(self._codes):
            return Progress(self._codes[place])
        return Progress.ASK

    def __setitem__(self, place: int, progress: Progress) -> None:
        missing = place + 1 - len(self._codes)
        if missing > 0:
            self._codes.extend(bytes(missing))
        self._codes[place] = progress

    def count(self, progress: Progress) -> int:
        return self._codes.count(progress)

    def places(self, progress: Progress) -> list[int]:
        return [place for place, code in enumerate(self._codes) if code == progress]

    def score_again(self) -> None:
        """The scoring changed: every answer is scored again, and none is asked again."""
        finished = bytes([Progress.FINISHED])
        self._codes = self._codes.replace(finished, bytes([Progress.ANSWERED]))

"""What went wrong in a run, by kind: a thousand cases without an answer are one line, not a thousand."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from answerkey.types import Json, Outcome

_LONGEST = 200
_QUOTED = re.compile(r"\"[^\"]*\"|'[^']*'")


@dataclass(slots=True)
class ErrorKinds:
    """kind → how many, and the first and last text of that kind by the alphabet: the same however parts are merged."""

    kinds: dict[str, tuple[int, str, str]] = field(default_factory=dict[str, tuple[int, str, str]])

    def add(self, outcome: Outcome) -> None:
        text = outcome.verdict.justification.split("\n")[0][:_LONGEST]
        self._put(_kind(outcome, text), (1, text, text))

    def merge(self, other: ErrorKinds) -> None:
        for kind, entry in other.kinds.items():
            self._put(kind, entry)

    def _put(self, kind: str, entry: tuple[int, str, str]) -> None:
        count, first, last = self.kinds.get(kind, (0, entry[1], entry[2]))
        self.kinds[kind] = (count + entry[0], min(first, entry[1]), max(last, entry[2]))

    def listed(self, most: int) -> dict[str, int]:
        """The most frequent kinds, each told by one of its texts."""
        often = sorted(self.kinds.values(), key=lambda entry: (-entry[0], entry[1]))[:most]
        return {f"{first}{'' if first == last else ', and the like'}": count for count, first, last in often}

    def to_json(self) -> Json:
        return {kind: list(entry) for kind, entry in self.kinds.items()}

    @staticmethod
    def from_json(record: Json) -> ErrorKinds:
        """Parts written before kinds were told apart hold a count alone."""
        entries = {
            kind: (entry, kind, kind) if isinstance(entry, int) else (entry[0], entry[1], entry[2])
            for kind, entry in record.items()
        }
        return ErrorKinds(entries)


def _kind(outcome: Outcome, text: str) -> str:
    """The target's own name for the error, else the text without what is this case's own."""
    response = outcome.response
    if response.error is not None and (name := response.extra.get("error_name")):
        return f"No response: {name}"
    return _QUOTED.sub("…", text.replace(outcome.case.id, "…") if outcome.case.id else text)

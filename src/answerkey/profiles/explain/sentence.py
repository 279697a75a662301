"""The sentence of a failure: a kind, its words, and the facts that they are about."""

from __future__ import annotations

from dataclasses import dataclass

from answerkey.profiles.explain.statements import Statement
from answerkey.types import Kind

LONGEST_WHY = 160
# Two quotes and the words between them fit into LONGEST_WHY.
_LONGEST_QUOTE = 60


@dataclass(frozen=True, slots=True)
class Failure:
    """A kind with its sentence.

    `expected` is the fact that the answer lacks, `stated` the one in its place; `omitted` are
    facts without one.
    """

    kind: Kind
    sentence: str
    expected: Statement | None = None
    stated: Statement | None = None
    omitted: str = ""


def clip(text: str, longest: int = _LONGEST_QUOTE) -> str:
    """The text on one line, cut with an ellipsis where it is too long."""
    line = " ".join(text.split())
    if len(line) <= longest:
        return line
    return f"{line[: longest - 1].rstrip()}…"


def quote(text: str) -> str:
    """The text in quotation marks, without its full stop: the sentence around it has its own."""
    return f'"{clip(text).rstrip(".")}"'

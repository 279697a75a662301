"""What `groundedness` says of one sentence, whichever model decides."""

from __future__ import annotations

from typing import TypedDict


class SentenceFinding(TypedDict):
    """`probability` is that of being unsupported; `span` is the place of the best evidence, or of what contradicts it."""

    text: str
    start: int
    end: int
    probability: float
    flag: bool
    contradicted: bool
    passage: int | None
    span: list[int] | None
    reason: str

"""A hash of each thing that made a run, so that two runs can say what changed between them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

from answerkey import __version__
from answerkey.metrics.registry import find
from answerkey.runs.json_line import encode_sorted
from answerkey.runs.records import to_json
from answerkey.types import Case, Response

_MODULUS = 1 << 256


class SetDigest:
    """A hash of a set: the same whatever the order, and of two parts the sum; so streams and shards agree."""

    def __init__(self, total: int = 0) -> None:
        self.total = total

    def add(self, data: bytes) -> None:
        self.total = (self.total + int.from_bytes(hashlib.sha256(data).digest(), "big")) % _MODULUS

    def merge(self, other: SetDigest) -> None:
        self.total = (self.total + other.total) % _MODULUS

    def text(self) -> str:
        return f"{self.total:064x}"[:16]


def add_case(digest: SetDigest, case: Case) -> None:
    digest.add(encode_sorted(to_json(case)))


def add_answer(digest: SetDigest, case: Case, response: Response) -> None:
    """What the bot said: answer, route and what it retrieved; not how long it took."""
    retrieved = (
        response.retrieved
        if response.retrieved is not None
        else [p.id or p.page or p.text for p in response.passages]
    )
    parts = (case.id, response.answer or "", response.route or "", *map(str, retrieved))
    digest.add("\x1f".join(parts).encode("utf-8", "surrogatepass"))


def of_metrics(names: Iterable[str]) -> str:
    return of_value(
        {name: find(name).facts.version for name in names} | {"answerkey": __version__.rpartition(".")[0]}
    )


def of_value(value: Any) -> str:
    return hashlib.sha256(encode_sorted(value)).hexdigest()[:16]


def changed(old: Mapping[str, str], new: Mapping[str, str]) -> list[str]:
    """The names of what differs, of those that both know."""
    return [name for name in old if name in new and old[name] != new[name]]

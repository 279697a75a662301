"""The nouns as JSON and back. What equals its default is left out, so journals stay small."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, fields
from functools import cache
from typing import Any, TypeVar

from answerkey import __version__
from answerkey.files import json_line
from answerkey.metrics.registry import find
from answerkey.types import (
    AnswerCriteria,
    Case,
    Json,
    Outcome,
    Part,
    Passage,
    Response,
    Score,
    Turn,
    Verdict,
)

T = TypeVar("T")
_TUPLES: dict[tuple[type, str], type] = {
    (Case, "history"): Turn,
    (Response, "passages"): Passage,
    (Verdict, "parts"): Part,
}
_OBJECTS: dict[tuple[type, str], type] = {(Case, "criteria"): AnswerCriteria, (Case, "recorded"): Response}
_NESTED = frozenset((*_TUPLES, *_OBJECTS))


def to_json(noun: Any) -> Json:
    """A frozen noun as plain JSON values; a case without its recorded response, which is stored as the response."""
    kind = type(noun)
    record: Json = {}
    for name, default in _shape(kind):
        if name == "recorded":
            continue
        value = getattr(noun, name)
        if value == default or (value == {} and default is MISSING):
            continue
        if (kind, name) in _TUPLES:
            value = [to_json(item) for item in value]
        elif (kind, name) in _OBJECTS:
            value = to_json(value)
        record[name] = value
    return record


def from_json(kind: type[T], record: Mapping[str, Any]) -> T:
    """The object again; keys that a newer version wrote are ignored."""
    if kind is Response and "error_kind" in record.get("extra", {}):  # as runs before version 0.2 have it
        record = {**record, **{name: record["extra"][name] for name in ("error_kind", "error_name")}}
    given: Json = {}
    for name, _ in _shape(kind):
        if name not in record:
            continue
        value = record[name]
        if (kind, name) in _TUPLES:
            value = tuple(from_json(_TUPLES[kind, name], item) for item in value)
        elif (kind, name) in _OBJECTS:
            value = from_json(_OBJECTS[kind, name], value)
        elif isinstance(value, list):
            value = tuple(value)
        given[name] = value
    return kind(**given)


@cache
def _shape(kind: type) -> tuple[tuple[str, Any], ...]:
    return tuple((field.name, field.default) for field in fields(kind))  # pyright: ignore[reportArgumentType]


def scores_to_json(scores: Mapping[str, Score]) -> Json:
    """By hand: there are more scores than anything else."""
    return {name: _score_to_json(score) for name, score in scores.items()}


def _score_to_json(score: Score) -> Json:
    record: Json = {} if score.value is None else {"value": score.value}
    if score.reason:
        record["reason"] = score.reason
    if score.error is not None:
        record["error"] = score.error
    if score.details:
        record["details"] = score.details
    return record


def scores_from_json(record: Mapping[str, Any]) -> dict[str, Score]:
    return {
        name: Score(
            score.get("value"), score.get("reason", ""), score.get("error"), score.get("details") or {}
        )
        for name, score in record.items()
    }


def result_line(outcome: Outcome) -> Json:
    """A line of results.jsonl."""
    case, response, verdict = outcome.case, outcome.response, outcome.verdict
    return {
        "id": case.id,
        "question": case.question,
        "expected_answer": case.expected[0] if len(case.expected) == 1 else list(case.expected) or None,
        "answer": response.answer,
        "route": response.route,
        "expected_route": case.expected_route,
        "type": case.type,
        "sources": list(response.sources),
        "contexts": list(response.contexts),
        "source_file": case.source_file,
        "question_num": case.question_num,
        "response_time": response.seconds,
        "error": response.error,
        "scores": {
            name: {"value": score.value, "reason": score.reason, "error": score.error}
            for name, score in outcome.scores.items()
        },
        "verdict": {
            "status": verdict.status,
            "score": verdict.score,
            "quality": verdict.quality,
            "route_score": verdict.route_score,
            "band": verdict.band,
            "justification": verdict.justification,
            "passed": verdict.passed,
        },
    }


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
    digest.add(json_line(to_json(case), sort=True))


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
    return hashlib.sha256(json_line(value, sort=True)).hexdigest()[:16]


def changed(old: Mapping[str, str], new: Mapping[str, str]) -> list[str]:
    """The names of what differs, of those that both know."""
    return [name for name in old if name in new and old[name] != new[name]]

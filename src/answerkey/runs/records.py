"""Outcomes as JSON and back, and the hashes that tell what changed between two runs."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, fields, is_dataclass, replace
from functools import cache
from typing import Any, cast

import msgspec

from answerkey import __version__
from answerkey.files import json_line
from answerkey.metrics.registry import find
from answerkey.types import Case, Json, Outcome, Requirement, Response, Score, Verdict

_VERDICT = (
    "status",
    "score",
    "quality",
    "route_score",
    "band",
    "justification",
    "passed",
    "why",
    "kind",
    "cause",
)
_PLAIN = (str, int, float, dict, type(None))
# Sums of SHA-256 hashes stay hashes: the order of the texts does not matter, and no list is kept.
_MODULUS = 1 << 256
# The parts of a fingerprint that make the scores.
SCORING = ("profile", "metrics", "metric_settings", "judge", "embedding", "entailment")


def to_json(value: Any) -> dict[str, object]:
    """A case, response or verdict as JSON. What equals its default is left out, so that runs stay small. The
    recorded response of a case is left out too: it is stored as the response. So are its column names, which run.json has."""
    record: dict[str, object] = {}
    for name, default in _shape(cast("type[Any]", type(value))):
        if name in ("recorded", "written"):
            continue
        item = getattr(value, name)
        # An empty table equals a default that is made by a factory.
        if item == default or (item == {} and default is MISSING):
            continue
        if isinstance(item, tuple):
            items = cast("tuple[Any, ...]", item)
            if items and not isinstance(items[0], _PLAIN):
                item = [to_json(each) for each in items]
        elif not isinstance(item, _PLAIN) and is_dataclass(item):
            item = to_json(item)
        record[name] = item
    return record


@cache
def _shape(kind: type) -> tuple[tuple[str, Any], ...]:
    return tuple((field.name, field.default) for field in fields(kind))  # pyright: ignore[reportArgumentType]


# Details that no page shows: the inner values of a metric, up to 2 kB per case.
_DEBUG_DETAILS = "features"


def judged_json(outcome: Outcome, *, debug: bool = True) -> dict[str, object]:
    """The scores and the verdict; of combined attempts also each of them.

    Without `debug`, the inner values of metrics are left out.
    """
    scores = outcome.scores
    if not debug:
        scores = {name: _shown_score(score) for name, score in scores.items()}
    record: dict[str, object] = {"scores": scores, "verdict": to_json(outcome.verdict)}
    if outcome.attempts:
        record["attempts"] = [
            {"response": to_json(each.response), **judged_json(each)} for each in outcome.attempts
        ]
    return record


def _shown_score(score: Score) -> Score:
    if _DEBUG_DETAILS not in score.details:
        return score
    details = {name: value for name, value in score.details.items() if name != _DEBUG_DETAILS}
    return msgspec.structs.replace(score, details=details)


class StoredScores(msgspec.Struct, kw_only=True):
    """What `judged_json` wrote; `stopped`: the run stopped at this case, to ask it again on resume."""

    scores: dict[str, Score] = {}
    verdict: Verdict
    attempts: tuple[StoredAttempt, ...] = ()
    stopped: bool = False

    def outcome(self, case: Case, response: Response) -> Outcome:
        attempts = tuple(each.outcome(case, each.response) for each in self.attempts)
        kind = response.extra.get("error_kind")
        name = response.extra.get("error_name")
        # Runs before version 0.2 have the kind of an error among the extra fields.
        if (
            not response.error_kind
            and isinstance(name, str)
            and kind in ("infrastructure", "content")
        ):
            response = replace(response, error_kind=kind, error_name=name)
        return Outcome(case, response, self.scores, self.verdict, attempts)


class StoredAttempt(StoredScores, kw_only=True):
    response: Response = Response()


class StoredOutcome(StoredAttempt, kw_only=True):
    """A whole outcome, as a part of a run on a cluster has it."""

    case: Case


def result_line(outcome: Outcome) -> Json:
    """A line of results.jsonl."""
    case = outcome.case
    response = outcome.response
    verdict = outcome.verdict
    if len(case.expected) == 1:
        expected = case.expected[0]
    else:
        expected = list(case.expected) or None
    repeats = [
        {
            "answer": each.response.answer,
            "route": each.response.route,
            "response_time": each.response.seconds,
            "error": each.response.error,
            "scores": {name: score.value for name, score in each.scores.items()},
            "status": each.verdict.status,
            "score": each.verdict.score,
            "passed": each.verdict.passed,
        }
        for each in outcome.attempts
    ]
    return {
        "id": case.id,
        "question": case.question,
        "expected_answer": expected,
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
        "extra": {**case.extra, **response.extra},
        "scores": {
            name: {"value": score.value, "reason": score.reason, "error": score.error}
            for name, score in outcome.scores.items()
        },
        "verdict": {name: getattr(verdict, name) for name in _VERDICT},
        **_tool_fields(case, response),
        **({"repeats": repeats} if repeats else {}),
    }


def _tool_fields(case: Case, response: Response) -> Json:
    """Calls, turns and what the case says about calls: only where there are any."""
    fields: Json = {}
    if case.expected_tools is not None:
        fields["expected_tools"] = [
            [to_json(call) for call in alternative.calls] for alternative in case.expected_tools
        ]
    if response.tools is not None:
        fields["tools"] = [to_json(call) for call in response.tools]
    if response.turns:
        fields["turns"] = [to_json(turn) for turn in response.turns]
    return fields


class SetDigest:
    """A hash of a set of texts, independent of their order."""

    def __init__(self, total: int = 0) -> None:
        self.total = total

    def add(self, data: bytes) -> None:
        self.total = (self.total + int.from_bytes(hashlib.sha256(data).digest(), "big")) % _MODULUS

    def text(self) -> str:
        return f"{self.total:064x}"[:16]


def add_answer(digest: SetDigest, case: Case, response: Response) -> None:
    """The answer, the route and what was retrieved; not how long it took."""
    retrieved = response.retrieved
    if retrieved is None:
        # Without ids the text itself tells what was retrieved.
        retrieved = [p.id or p.page or p.text for p in response.passages]
    parts = (case.id, response.answer or "", response.route or "", *map(str, retrieved))
    # Half a surrogate pair has no UTF-8, yet bots write it.
    digest.add("\x1f".join(parts).encode("utf-8", "surrogatepass"))


def cluster_of(case: Case, column: str | None = None) -> str | None:
    """The cluster of dependent cases that a case belongs to: its column `cluster`, or its conversation. `column` names
    another column; "none" treats every case as independent."""
    if column == "none":
        return None
    value = case.extra.get(column or "cluster")
    if value is None and column is not None:
        value = getattr(case, column, None)
    if value is None and column is None and (talk := case.extra.get("conversation")) is not None:
        # Two files may both have a conversation "1".
        return f"{case.source_file or ''} {talk}"
    return None if value in (None, "") else str(value)


def digest_of_metrics(names: Iterable[str], criteria: Iterable[Requirement] = ()) -> str:
    """A hash of the metrics and their versions, and of the suite's own criteria."""
    versions = {name: find(name).facts.version for name in names}
    own = {f"[[criteria]] {each.name}": to_json(each) for each in criteria}
    # A patch release changes no metric, so only the first two numbers count.
    return digest_of(versions | own | {"answerkey": __version__.rpartition(".")[0]})


def digest_of(value: Any) -> str:
    """A short hash of any JSON value."""
    return hashlib.sha256(json_line(value, sort=True)).hexdigest()[:16]


def changed_parts(old: Mapping[str, str], new: Mapping[str, str]) -> list[str]:
    """The names that differ between two fingerprints, of those that both have."""
    # A part that an earlier version did not record is no change.
    return [name for name in old if name in new and old[name] != new[name]]

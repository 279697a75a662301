"""A case of a run in one short row: what lists show and what every figure is computed from.

The same row is written to the table `cases` of run.sqlite and collected into a `RunTable`.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import NamedTuple

from answerkey.runs.records import cluster_of
from answerkey.types import Outcome, Status, Verdict

_NUMBER_METRICS = ("number_close", "number_in_range", "factual_accuracy")
_LONGEST_ERROR = 200
# Quoted parts are names and values of one case; without them equal errors are equal texts.
_QUOTED = re.compile(r"\"[^\"]*\"|'[^']*'")


class Stage(StrEnum):
    """How far a case is.

    A `stopped` case failed with --stop-on-fail and is asked again on resume; one with an `error` is
    tried again.
    """

    ANSWERED = "answered"
    STOPPED = "stopped"
    ERROR = "error"
    SCORED = "scored"


class CaseRow(NamedTuple):
    """The columns of the table `cases`, in order; schema.sql says what each of them is."""

    n: int
    id: str
    type: str | None
    source_file: str | None
    route: str | None
    expected_route: str | None
    acceptable_route: bool
    seconds: float | None
    answered: bool
    has_passages: bool
    status: str
    passed: bool
    score: float | None
    quality: float | None
    band: str
    reason: str
    kind: str
    cause: str
    error: str | None
    error_kind: str | None
    cluster: str | None
    attempts: int
    attempts_passed: int
    stage: str


def case_row(
    n: int,
    outcome: Outcome,
    *,
    scale: float = 1.0,
    cluster_column: str = "",
    stage: Stage = Stage.SCORED,
) -> CaseRow:
    """The row of the case at position `n`; `scale` is the highest score of the profile."""
    case = outcome.case
    response = outcome.response
    verdict = outcome.verdict
    has_error = verdict.status == Status.ERROR
    return CaseRow(
        n=n,
        id=case.id,
        type=case.type,
        source_file=case.source_file,
        route=response.route,
        expected_route=case.expected_route,
        acceptable_route=response.route in case.acceptable_routes,
        seconds=response.seconds,
        answered=response.error is None,
        has_passages=bool(response.passages),
        status=verdict.status,
        passed=verdict.passed,
        score=verdict.score,
        quality=verdict.quality,
        band=verdict.band,
        reason=verdict.kind or _reason(outcome, scale),
        kind=verdict.kind,
        cause=verdict.cause,
        error=_error_line(verdict) if has_error else None,
        error_kind=error_kind(outcome) if has_error else None,
        cluster=cluster_of(case, cluster_column or None),
        attempts=len(outcome.attempts),
        attempts_passed=sum(attempt.verdict.passed for attempt in outcome.attempts),
        stage=stage,
    )


def error_kind(outcome: Outcome) -> str:
    """What cases with the same error share: its name, or the message without what is of this case."""
    response = outcome.response
    if response.error is not None and response.error_name:
        return f"No response: {response.error_name}"
    message = _error_line(outcome.verdict)
    if outcome.case.id:
        message = message.replace(outcome.case.id, "…")
    return _QUOTED.sub("…", message)


def _error_line(verdict: Verdict) -> str:
    return verdict.justification.split("\n")[0][:_LONGEST_ERROR]


def _reason(outcome: Outcome, scale: float) -> str:
    """Why a case failed, in one or two words that many cases share; empty for any other case."""
    case = outcome.case
    response = outcome.response
    verdict = outcome.verdict
    if verdict.passed or verdict.status not in (Status.FAILED, Status.ERROR):
        return ""
    if verdict.status == Status.ERROR:
        if response.error:
            return "no response"
        return "scoring error"
    acceptable = (case.expected_route, *case.acceptable_routes)
    if case.expected_route and response.route and response.route not in acceptable:
        return "wrong route"
    values = {
        name: score.value for name, score in outcome.scores.items() if score.value is not None
    }
    if values.get("abstention") == 0:
        return "wrong refusal"
    if any(values.get(name, 1) < 0.5 for name in _NUMBER_METRICS):
        return "wrong figure"
    return _weakest_part(verdict, scale)


def _weakest_part(verdict: Verdict, scale: float) -> str:
    lost = {part.metric: part.weight * scale - part.points for part in verdict.parts}
    if not lost:
        return "below the pass mark"
    return f"low {max(lost, key=lambda name: lost[name])}"

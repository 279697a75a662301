"""Why a case got its verdict: the report page, the viewer and programs all read this."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from answerkey.reports.evidence import (
    CheckedCriterion,
    CheckedFact,
    TextPiece,
    answer_pieces,
    criteria_of,
    facts_of,
    passage_pieces,
    quote_of,
    sentences_of,
    texts_of,
)
from answerkey.reports.failure_screen import expected_lines
from answerkey.types import Criterion, Outcome, Part, Profile, Score, Turn


@dataclass(frozen=True, slots=True)
class ExplainedPassage:
    number: int
    id: str | None
    page: str | None
    score: float | None
    length: int
    cut: bool
    pieces: list[TextPiece]


@dataclass(frozen=True, slots=True)
class ExplainedScore:
    metric: str
    kind: str
    value: float | None
    error: str | None
    reason: str
    quote: str
    maximum: float | None
    weight: float | None
    points: float | None
    floor: float | None
    required: bool
    better: str | None


@dataclass(frozen=True, slots=True)
class ExplainedVerdict:
    """The verdict with the sum that gives it: the parts make the quality, quality and route make the score."""

    status: str
    passed: bool
    score: float | None
    quality: float | None
    route_score: float | None
    band: str
    justification: str
    shortfalls: Sequence[str]
    parts: Sequence[Part]
    scale: float = 1.0
    pass_mark: float | None = None
    route_weight: float = 0.0
    own_mark: float | None = None


@dataclass(frozen=True, slots=True)
class JudgeCall:
    metrics: list[str]
    model: str
    raw: list[str]
    reasoning: list[str]


@dataclass(frozen=True, slots=True)
class ExplainedAttempt:
    status: str
    score: float | None
    answer: str | None
    error: str | None


@dataclass(frozen=True, slots=True)
class AboutCase:
    type: str | None
    route: str | None
    expected_route: str | None
    acceptable_routes: Sequence[str]
    seconds: float | None
    prompt_tokens: int | None
    completion_tokens: int | None
    cost: float | None
    priority: str | None
    note: str | None
    tags: Sequence[str]
    source_file: str | None
    question_num: int | None


@dataclass(frozen=True, slots=True)
class ShownCase:
    """Question, expected answer, answer and passages: what the label desk shows."""

    id: str
    question: str
    history: Sequence[Turn]
    expected: list[str]
    answer: list[TextPiece] | None
    answer_length: int
    answer_cut: bool
    error: str | None
    passages: list[ExplainedPassage]
    sources: Sequence[str]
    sentences: int
    unsupported: int


@dataclass(frozen=True, slots=True)
class ExplainedCase(ShownCase):
    """With everything that led to the verdict."""

    about: AboutCase
    verdict: ExplainedVerdict
    scores: list[ExplainedScore]
    facts: list[CheckedFact]
    claims: list[CheckedFact]
    criteria: list[CheckedCriterion]
    judge: list[JudgeCall]
    attempts: list[ExplainedAttempt]
    extra: Mapping[str, Any]


def explain(outcome: Outcome, profile: Profile | None, longest: int | None = None) -> ExplainedCase:
    """Everything that led to the verdict. Texts longer than `longest` are cut, and their whole length is given."""
    case, response = outcome.case, outcome.response
    sentences = sentences_of(outcome)
    facts, claims = facts_of(outcome)
    return ExplainedCase(
        id=case.id,
        question=_clip(case.question, longest),
        history=case.history,
        expected=[_clip(line, longest) for line in expected_lines(outcome)],
        answer=None if response.answer is None else answer_pieces(outcome, longest),
        answer_length=len(response.answer or ""),
        answer_cut=longest is not None and len(response.answer or "") > longest,
        error=response.error,
        passages=_passages(outcome, longest),
        sources=response.sources,
        sentences=len(sentences),
        unsupported=sum(bool(sentence.get("flag")) for sentence in sentences),
        about=_about(outcome),
        verdict=_verdict(outcome, profile),
        scores=_scores(outcome, profile),
        facts=facts,
        claims=claims,
        criteria=criteria_of(outcome),
        judge=_judge(outcome),
        attempts=[
            ExplainedAttempt(each.verdict.status, each.verdict.score, each.response.answer, each.response.error)
            for each in outcome.attempts
        ],
        extra={str(key): value for key, value in response.extra.items()},
    )


def blind(case: ExplainedCase) -> ShownCase:
    """Without any score and reasoning."""
    kept: dict[str, Any] = {name: getattr(case, name) for name in ShownCase.__dataclass_fields__}
    passages = [replace(each, score=None, pieces=_joined(each.pieces)) for each in case.passages]
    answer = None if case.answer is None else _joined(case.answer)
    kept |= {"answer": answer, "passages": passages, "sentences": 0, "unsupported": 0}
    return ShownCase(**kept)


def _joined(pieces: Sequence[TextPiece]) -> list[TextPiece]:
    return [TextPiece("".join(piece.text for piece in pieces))]


def _about(outcome: Outcome) -> AboutCase:
    case, response = outcome.case, outcome.response
    return AboutCase(
        case.type, response.route, case.expected_route, case.acceptable_routes, response.seconds, response.prompt_tokens,
        response.completion_tokens, response.cost, case.priority, case.note, case.tags, case.source_file, case.question_num,
    )  # fmt: skip


def _passages(outcome: Outcome, longest: int | None) -> list[ExplainedPassage]:
    return [
        ExplainedPassage(
            number,
            passage.id,
            passage.page,
            passage.score,
            len(passage.text),
            longest is not None and len(passage.text) > longest,
            passage_pieces(outcome, number, longest),
        )
        for number, passage in enumerate(outcome.response.passages, 1)
    ]


def _verdict(outcome: Outcome, profile: Profile | None) -> ExplainedVerdict:
    v = outcome.verdict
    made = ExplainedVerdict(
        v.status, v.passed, v.score, v.quality, v.route_score, v.band, v.justification, v.shortfalls, v.parts
    )
    if profile is None:
        return made
    return replace(
        made,
        scale=profile.scale,
        pass_mark=profile.rules_for(outcome.response.route).pass_mark,
        route_weight=profile.route_weight if v.route_score is not None else 0.0,
        own_mark=outcome.case.min_score,
    )


def _scores(outcome: Outcome, profile: Profile | None) -> list[ExplainedScore]:
    """The metrics of the profile first, in its order; then the others."""
    rules = profile.rules_for(outcome.response.route) if profile else None
    criteria = {c.metric: c for c in rules.criteria} if rules else {}
    weights = {part.metric: part for part in outcome.verdict.parts}
    names = [name for name in criteria if name in outcome.scores]
    names += [name for name in outcome.scores if name not in criteria]
    return [_score(name, outcome.scores[name], criteria.get(name), weights.get(name)) for name in names]


def _score(name: str, score: Score, criterion: Criterion | None, part: Part | None) -> ExplainedScore:
    kind = "error" if score.error is not None else "not applicable" if score.value is None else "value"
    return ExplainedScore(
        name,
        kind,
        score.value,
        score.error,
        score.reason,
        quote_of(score),
        maximum=criterion.maximum if criterion else None,
        weight=part.weight if part else None,
        points=part.points if part else None,
        floor=criterion.floor if criterion else None,
        required=bool(criterion and criterion.required),
        better=criterion.better if criterion else None,
    )


def _judge(outcome: Outcome) -> list[JudgeCall]:
    """Each judge call once, with its metrics, its reasoning and its raw reply."""
    calls: dict[str, JudgeCall] = {}
    for name, score in outcome.scores.items():
        raw, reasoning = texts_of(score, "raw"), texts_of(score, "reasoning")
        if not raw and not reasoning:
            continue
        key = str(score.details.get("call") or f"{raw}{reasoning}")
        call = calls.setdefault(key, JudgeCall([], str(score.details.get("model") or ""), raw, reasoning))
        call.metrics.append(name)
    return list(calls.values())


def _clip(text: str, longest: int | None) -> str:
    if longest is None or len(text) <= longest:
        return text
    return f"{text[:longest]}… ({len(text):,} characters in total)"

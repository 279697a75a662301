"""Why a case got its verdict: the report page, the viewer and programs all read this."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from answerkey.reports import evidence
from answerkey.reports.failure_screen import expected_lines
from answerkey.types import Criterion, Outcome, Part, Profile, Score, Turn, Verdict


@dataclass(frozen=True, slots=True)
class ExplainedPassage:
    number: int
    id: str | None
    page: str | None
    score: float | None
    length: int
    cut: bool
    pieces: list[evidence.TextPiece]


@dataclass(frozen=True, slots=True)
class ExplainedScore:
    metric: str
    kind: str
    value: float | None
    error: str | None
    reason: str
    quote: str
    maximum: float | None = None
    weight: float | None = None
    points: float | None = None
    floor: float | None = None
    required: bool = False
    better: str | None = None


@dataclass(frozen=True, slots=True)
class ExplainedVerdict(Verdict):
    """The verdict with the sum that gives it: the parts make the quality, quality and route make the score."""

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
class ShownCase:
    """Question, expected answer, answer and passages: what the label desk shows."""

    id: str
    question: str
    history: Sequence[Turn]
    expected: list[str]
    answer: list[evidence.TextPiece] | None
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

    about: Mapping[str, object]
    verdict: ExplainedVerdict
    scores: list[ExplainedScore]
    facts: list[evidence.CheckedFact]
    claims: list[evidence.CheckedFact]
    criteria: list[evidence.CheckedCriterion]
    judge: list[JudgeCall]
    attempts: list[dict[str, object]]
    extra: Mapping[str, Any]


def explain(outcome: Outcome, profile: Profile | None, longest: int | None = None) -> ExplainedCase:
    """Everything that led to the verdict. Texts longer than `longest` are cut, and their whole length is given."""
    case, response = outcome.case, outcome.response
    sentences = evidence.sentences_of(outcome)
    facts, claims = evidence.facts_of(outcome)
    return ExplainedCase(
        id=case.id,
        question=_clip(case.question, longest),
        history=case.history,
        expected=[_clip(line, longest) for line in expected_lines(outcome)],
        answer=None if response.answer is None else evidence.answer_pieces(outcome, longest),
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
        criteria=evidence.criteria_of(outcome),
        judge=_judge(outcome),
        attempts=[
            {"status": v.status, "score": v.score, "answer": response.answer, "error": response.error}
            for v, response in ((each.verdict, each.response) for each in outcome.attempts)
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


def _joined(pieces: Sequence[evidence.TextPiece]) -> list[evidence.TextPiece]:
    return [evidence.TextPiece("".join(piece.text for piece in pieces))]


def _about(outcome: Outcome) -> dict[str, object]:
    of_case = ("type", "expected_route", "acceptable_routes", "priority", "note", "tags", "source_file", "question_num")
    of_response = ("route", "seconds", "prompt_tokens", "completion_tokens", "cost")
    about = {name: getattr(outcome.case, name) for name in of_case}
    return about | {name: getattr(outcome.response, name) for name in of_response}


def _passages(outcome: Outcome, longest: int | None) -> list[ExplainedPassage]:
    found: list[ExplainedPassage] = []
    for number, passage in enumerate(outcome.response.passages, 1):
        length, pieces = len(passage.text), evidence.passage_pieces(outcome, number, longest)
        was_cut = longest is not None and length > longest
        found.append(ExplainedPassage(number, passage.id, passage.page, passage.score, length, was_cut, pieces))
    return found


def _verdict(outcome: Outcome, profile: Profile | None) -> ExplainedVerdict:
    verdict = outcome.verdict
    given: dict[str, Any] = {name: getattr(verdict, name) for name in Verdict.__dataclass_fields__}
    if profile is None:
        return ExplainedVerdict(**given)
    return ExplainedVerdict(
        **given,
        scale=profile.scale,
        pass_mark=profile.rules_for(outcome.response.route).pass_mark,
        route_weight=profile.route_weight if verdict.route_score is not None else 0.0,
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
    made = ExplainedScore(name, kind, score.value, score.error, score.reason, evidence.quote_of(score))
    if criterion:
        c = criterion
        made = replace(made, maximum=c.maximum, floor=c.floor, required=c.required, better=c.better)
    return replace(made, weight=part.weight, points=part.points) if part else made


def _judge(outcome: Outcome) -> list[JudgeCall]:
    """Each judge call once, with its metrics, its reasoning and its raw reply."""
    calls: dict[str, JudgeCall] = {}
    for name, score in outcome.scores.items():
        raw, reasoning = evidence.texts_of(score, "raw"), evidence.texts_of(score, "reasoning")
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

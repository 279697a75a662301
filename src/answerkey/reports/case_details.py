"""One case with everything that led to its verdict: the data of the report page and the viewer."""

from __future__ import annotations

from dataclasses import fields

from answerkey.reports import evidence
from answerkey.reports.call_details import (
    describe_calls,
    describe_expected_calls,
    describe_turns,
)
from answerkey.reports.failure_screen import expected_lines
from answerkey.reports.text_pieces import TextPiece, answer_pieces, passage_pieces, sentences_of
from answerkey.reports.verdict_sentence import verdict_sentence
from answerkey.types import Outcome, Passage, Profile, Score, Verdict

Details = dict[str, object]

_CASE_FIELDS = (
    "type",
    "expected_route",
    "acceptable_routes",
    "priority",
    "note",
    "tags",
    "source_file",
    "question_num",
)
_RESPONSE_FIELDS = ("route", "seconds", "prompt_tokens", "completion_tokens", "cost")
_CRITERION_FIELDS = ("maximum", "floor", "better")
_PART_FIELDS = ("weight", "points")


def describe_blind(outcome: Outcome, longest: int | None = None) -> Details:
    """Question, expected answer, answer and passages without any score, for the label desk."""
    case = outcome.case
    response = outcome.response
    answer = response.answer or ""
    return {
        "id": case.id,
        "question": _clip(case.question, longest),
        "history": case.history,
        "expected": [_clip(line, longest) for line in expected_lines(outcome)],
        "has_expected": bool(case.expected),
        "answer": None if response.answer is None else [TextPiece(answer[:longest])],
        "answer_length": len(answer),
        "answer_cut": _is_cut(answer, longest),
        "error": response.error,
        "passages": [
            _describe_passage(number, passage, longest)
            for number, passage in enumerate(response.passages, 1)
        ],
        "sources": response.sources,
        "sentences": 0,
        "unsupported": 0,
    }


def describe_case(outcome: Outcome, profile: Profile | None, longest: int | None = None) -> Details:
    """Everything that led to the verdict.

    Texts longer than `longest` are cut, and their whole length is given.
    """
    case = outcome.case
    response = outcome.response
    sentences = sentences_of(outcome)
    facts, claims = evidence.facts_of(outcome)
    passages: list[Details] = []
    for number, passage in enumerate(response.passages, 1):
        pieces = passage_pieces(outcome, number, longest)
        plain = _describe_passage(number, passage, longest)
        passages.append(plain | {"score": passage.score, "pieces": pieces})
    return describe_blind(outcome, longest) | {
        "answer": None if response.answer is None else answer_pieces(outcome, longest),
        "passages": passages,
        "sentences": len(sentences),
        "unsupported": sum(bool(sentence.get("flag")) for sentence in sentences),
        "about": {
            **{name: getattr(case, name) for name in _CASE_FIELDS},
            **{name: getattr(response, name) for name in _RESPONSE_FIELDS},
        },
        "verdict": _describe_verdict(outcome, profile),
        "scores": _describe_scores(outcome, profile),
        "facts": facts,
        "claims": claims,
        "calls": describe_calls(response.tools or ()),
        "turns": describe_turns(response),
        "expected_calls": describe_expected_calls(case),
        "criteria": evidence.criteria_of(outcome),
        "judge": _judge_calls(outcome),
        "attempts": [_describe_attempt(attempt) for attempt in outcome.attempts],
        # Columns are anything that a row had; JSON needs text as keys.
        "columns": {str(key): value for key, value in case.extra.items()},
        "extra": {str(key): value for key, value in response.extra.items()},
    }


def _clip(text: str, longest: int | None) -> str:
    if not _is_cut(text, longest):
        return text
    return f"{text[:longest]}… ({len(text):,} characters in total)"


def _is_cut(text: str, longest: int | None) -> bool:
    return longest is not None and len(text) > longest


def _describe_passage(number: int, passage: Passage, longest: int | None) -> Details:
    return {
        "number": number,
        "id": passage.id,
        "page": passage.page,
        "score": None,
        "length": len(passage.text),
        "cut": _is_cut(passage.text, longest),
        "pieces": [TextPiece(passage.text[:longest])],
    }


def _describe_verdict(outcome: Outcome, profile: Profile | None) -> Details:
    """The verdict with the numbers of its sum: parts make quality, quality and route the score."""
    verdict = outcome.verdict
    details: Details = {each.name: getattr(verdict, each.name) for each in fields(Verdict)}
    details |= {"scale": 1.0, "pass_mark": None, "route_weight": 0.0, "own_mark": None}
    details["why"] = verdict.why or verdict.justification
    details["sentence"] = verdict_sentence(outcome, profile)
    if profile is None:
        return details
    details["scale"] = profile.scale
    details["pass_mark"] = profile.rules_for(outcome.response.route).pass_mark
    details["own_mark"] = outcome.case.min_score
    # The route counts only where it was scored.
    if verdict.route_score is not None:
        details["route_weight"] = profile.route_weight
    return details


def _describe_scores(outcome: Outcome, profile: Profile | None) -> list[Details]:
    """The metrics of the profile first, in its order; then the others."""
    if profile:
        rules = profile.rules_for(outcome.response.route).lines
    else:
        rules = ()
    criteria = {criterion.metric: criterion for criterion in rules}
    parts = {part.metric: part for part in outcome.verdict.parts}
    described: list[Details] = []
    for name in dict.fromkeys([*criteria, *outcome.scores]):
        score = outcome.scores.get(name)
        if score is None:
            continue
        criterion = criteria.get(name)
        part = parts.get(name)
        described.append(
            {
                "metric": name,
                "kind": _score_kind(score),
                "value": score.value,
                "error": score.error,
                "reason": score.reason,
                "quote": evidence.quote_of(score),
                **{field: getattr(criterion, field, None) for field in _CRITERION_FIELDS},
                "required": criterion is not None and criterion.required,
                **{field: getattr(part, field, None) for field in _PART_FIELDS},
            }
        )
    return described


def _score_kind(score: Score) -> str:
    if score.error is not None:
        return "error"
    if score.value is None:
        return "not applicable"
    return "value"


def _judge_calls(outcome: Outcome) -> list[Details]:
    """Each judge call once, with its metrics, its reasoning and its raw reply."""
    calls: dict[str, Details] = {}
    metrics: dict[str, list[str]] = {}
    for name, score in outcome.scores.items():
        raw = evidence.texts_of(score, "raw")
        reasoning = evidence.texts_of(score, "reasoning")
        if not raw and not reasoning:
            continue
        # A call without a name of its own is known by its reply.
        call = str(score.details.get("call") or f"{raw}{reasoning}")
        metrics.setdefault(call, []).append(name)
        if call not in calls:
            model = str(score.details.get("model") or "")
            calls[call] = {
                "metrics": metrics[call],
                "model": model,
                "raw": raw,
                "reasoning": reasoning,
            }
    return list(calls.values())


def _describe_attempt(attempt: Outcome) -> Details:
    return {
        "status": attempt.verdict.status,
        "score": attempt.verdict.score,
        "answer": attempt.response.answer,
        "error": attempt.response.error,
    }

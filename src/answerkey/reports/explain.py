"""Why a case got its verdict, as plain JSON: the report page, the viewer and programs all read this."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from answerkey.coerce.values import is_list, is_mapping
from answerkey.reports.failure_screen import expected_lines
from answerkey.types import Criterion, Json, Outcome, Part, Profile, Score


def explain(outcome: Outcome, profile: Profile | None, longest: int | None = None) -> Json:
    """Everything that led to the verdict. Texts longer than `longest` are cut, and their whole length is given."""
    case, response = outcome.case, outcome.response
    return {
        "id": case.id,
        "question": _clip(case.question, longest),
        "history": [{"user": t.user, "answer": t.answer} for t in case.history],
        "expected": [_clip(line, longest) for line in expected_lines(outcome)],
        "about": _about(outcome),
        "answer": None if response.answer is None else answer_pieces(outcome, longest),
        "answer_length": len(response.answer or ""),
        "answer_cut": longest is not None and len(response.answer or "") > longest,
        "error": response.error,
        "sentences": len(sentences_of(outcome)),
        "unsupported": sum(bool(sentence.get("flag")) for sentence in sentences_of(outcome)),
        "passages": _passages(outcome, longest),
        "sources": list(response.sources),
        "verdict": _verdict(outcome, profile),
        "scores": _scores(outcome, profile),
        "judge": _judge(outcome),
        "attempts": [
            {
                "status": each.verdict.status,
                "score": each.verdict.score,
                "answer": each.response.answer,
                "error": each.response.error,
            }
            for each in outcome.attempts
        ],
        "extra": {str(key): value for key, value in response.extra.items()},
    }


def _about(outcome: Outcome) -> Json:
    case, response = outcome.case, outcome.response
    return {
        "type": case.type,
        "route": response.route,
        "expected_route": case.expected_route,
        "acceptable_routes": list(case.acceptable_routes),
        "seconds": response.seconds,
        "prompt_tokens": response.prompt_tokens,
        "completion_tokens": response.completion_tokens,
        "cost": response.cost,
        "priority": case.priority,
        "note": case.note,
        "tags": list(case.tags),
        "source_file": case.source_file,
        "question_num": case.question_num,
    }


def _passages(outcome: Outcome, longest: int | None) -> list[Json]:
    return [
        {
            "number": number,
            "id": passage.id,
            "page": passage.page,
            "score": passage.score,
            "length": len(passage.text),
            "cut": longest is not None and len(passage.text) > longest,
            "pieces": passage_pieces(outcome, number, longest),
        }
        for number, passage in enumerate(outcome.response.passages, 1)
    ]


def _verdict(outcome: Outcome, profile: Profile | None) -> Json:
    """The verdict with the sum that gives it: the parts make the quality, quality and route make the score."""
    verdict = outcome.verdict
    record: Json = {
        "status": verdict.status,
        "passed": verdict.passed,
        "score": verdict.score,
        "quality": verdict.quality,
        "route_score": verdict.route_score,
        "band": verdict.band,
        "justification": verdict.justification,
        "shortfalls": list(verdict.shortfalls),
        "parts": [_part(part) for part in verdict.parts],
    }
    if profile is None:
        return {**record, "scale": 1.0, "pass_mark": None, "route_weight": 0.0, "own_mark": None}
    return {
        **record,
        "scale": profile.scale,
        "pass_mark": profile.rules_for(outcome.response.route).pass_mark,
        "route_weight": profile.route_weight if verdict.route_score is not None else 0.0,
        "own_mark": outcome.case.min_score,
    }


def _part(part: Part) -> Json:
    share = part.points / part.weight if part.weight else 0.0
    return {
        "metric": part.metric,
        "value": part.value,
        "maximum": part.maximum,
        "weight": part.weight,
        "points": part.points,
        "share": share,
    }


def _scores(outcome: Outcome, profile: Profile | None) -> list[Json]:
    """The metrics of the profile first, in its order; then the others."""
    rules = profile.rules_for(outcome.response.route) if profile else None
    criteria = {c.metric: c for c in rules.criteria} if rules else {}
    weights = {part.metric: part for part in outcome.verdict.parts}
    names = [name for name in criteria if name in outcome.scores]
    names += [name for name in outcome.scores if name not in criteria]
    return [_score(name, outcome.scores[name], criteria.get(name), weights.get(name)) for name in names]


def _score(name: str, score: Score, criterion: Criterion | None, part: Part | None) -> Json:
    kind = "error" if score.error is not None else "not applicable" if score.value is None else "value"
    return {
        "metric": name,
        "kind": kind,
        "value": score.value,
        "error": score.error,
        "reason": score.reason,
        "maximum": criterion.maximum if criterion else None,
        "weight": part.weight if part else None,
        "points": part.points if part else None,
        "floor": criterion.floor if criterion else None,
        "required": bool(criterion and criterion.required),
        "better": criterion.better if criterion else None,
    }


def _judge(outcome: Outcome) -> list[Json]:
    """Each judge call once, with its metrics, its reasoning and its raw reply."""
    calls: dict[str, Json] = {}
    for name, score in outcome.scores.items():
        raw, reasoning = _texts(score.details.get("raw")), _texts(score.details.get("reasoning"))
        if not raw and not reasoning:
            continue
        key = str(score.details.get("call") or f"{raw}{reasoning}")
        call = calls.setdefault(
            key, {"metrics": [], "model": str(score.details.get("model") or ""), "raw": raw, "reasoning": reasoning}
        )
        call["metrics"].append(name)
    return list(calls.values())


def _texts(given: Any) -> list[str]:
    several = given if is_list(given) else [given]
    return [str(text) for text in several if text]


def _clip(text: str, longest: int | None) -> str:
    if longest is None or len(text) <= longest:
        return text
    return f"{text[:longest]}… ({len(text):,} characters in total)"


Span = tuple[int, int, Json]


def answer_pieces(outcome: Outcome, longest: int | None = None) -> list[Json]:
    """The answer split at the detector's sentences; the text between them has no `flag`."""
    answer = outcome.response.answer or ""
    found: list[Span] = []
    for number, sentence in enumerate(sentences_of(outcome), 1):
        about = {
            "sentence": number,
            "flag": bool(sentence.get("flag")),
            "probability": _share(sentence.get("probability")),
            "reason": str(sentence.get("reason") or ""),
            "passage": _passage_number(sentence),
        }
        found.append((*_place(sentence.get("start"), sentence.get("end"), answer), about))
    return _cut(answer, found, longest)


def _share(value: Any) -> float | None:
    """A probability; None for anything else that a metric may have put in its place."""
    return value if isinstance(value, int | float) and 0 <= value <= 1 else None


def passage_pieces(outcome: Outcome, number: int, longest: int | None = None) -> list[Json]:
    """A passage (counted from 1) split where it supports a sentence of the answer."""
    text = outcome.response.passages[number - 1].text
    found: list[Span] = []
    for place, sentence in enumerate(sentences_of(outcome), 1):
        if _passage_number(sentence) == number and not sentence.get("flag"):
            found.append((*_span(sentence.get("span"), text), {"supports": place}))
    return _cut(text, found, longest)


def sentences_of(outcome: Outcome) -> list[Mapping[str, Any]]:
    """The sentence details of `groundedness`, or else of the first metric that has any."""
    looked = sorted(outcome.scores.items(), key=lambda entry: entry[0] != "groundedness")
    for _, score in looked:
        given = score.details.get("sentences")
        if is_list(given) and given:
            return [sentence for sentence in given if is_mapping(sentence)]
    return []


def _passage_number(sentence: Mapping[str, Any]) -> int | None:
    place = sentence.get("passage")
    return place + 1 if isinstance(place, int) and place >= 0 else None


def _span(span: Any, text: str) -> tuple[int, int]:
    """From two positions, or from the quoted words."""
    if isinstance(span, str):
        start = text.find(span) if span else -1
        return (start, start + len(span)) if start >= 0 else (0, 0)
    if is_list(span) and len(span) == 2:
        return _place(span[0], span[1], text)
    return 0, 0


def _place(start: Any, end: Any, text: str) -> tuple[int, int]:
    if not (isinstance(start, int) and isinstance(end, int)):
        return 0, 0
    return max(start, 0), min(end, len(text))


def _cut(text: str, found: Iterable[Span], longest: int | None) -> list[Json]:
    shown = text if longest is None else text[:longest]
    pieces: list[Json] = []
    reached = 0
    for start, end, about in sorted(found, key=lambda span: span[:2]):
        start, end = max(start, reached), min(end, len(shown))
        if start >= end:
            continue
        if start > reached:
            pieces.append({"text": shown[reached:start]})
        pieces.append({"text": shown[start:end], **about})
        reached = end
    return [*pieces, {"text": shown[reached:]}] if reached < len(shown) or not pieces else pieces

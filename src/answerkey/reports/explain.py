"""Why a case got its verdict, as the JSON that the report page, the viewer and programs read; and two texts word by word."""

from __future__ import annotations

import re
from dataclasses import dataclass

from answerkey.reports import evidence
from answerkey.reports.failure_screen import expected_lines
from answerkey.types import Outcome, Profile, Verdict

Shown = dict[str, object]
LONGEST = 20_000
_PIECES = re.compile(r"\s*\S+|\s+\Z")
_EDGES = re.compile(r"^\W+|\W+$")
_SIMILAR = 0.35  # below it the few words in common are chance, and marking them hides that everything is new
_OF_CASE = (
    "type",
    "expected_route",
    "acceptable_routes",
    "priority",
    "note",
    "tags",
    "source_file",
    "question_num",
)
_OF_RESPONSE = ("route", "seconds", "prompt_tokens", "completion_tokens", "cost")
_OF_CRITERION = ("maximum", "floor", "required", "better")


def blind(outcome: Outcome, longest: int | None = None) -> Shown:
    """Question, expected answer, answer and passages without any score and reasoning, as the label desk shows them."""
    case, response, answer = outcome.case, outcome.response, outcome.response.answer or ""

    def clip(text: str) -> str:
        return (
            f"{text[:longest]}… ({len(text):,} characters in total)"
            if _is_cut(text, longest)
            else text
        )

    return {
        "id": case.id,
        "question": clip(case.question),
        "history": case.history,
        "expected": [clip(line) for line in expected_lines(outcome)],
        "answer": None if response.answer is None else [evidence.TextPiece(answer[:longest])],
        "answer_length": len(answer),
        "answer_cut": _is_cut(answer, longest),
        "error": response.error,
        "passages": _passages(outcome, longest, marked=False),
        "sources": response.sources,
        "sentences": 0,
        "unsupported": 0,
    }


def _passages(outcome: Outcome, longest: int | None, *, marked: bool) -> list[Shown]:
    """The passages; `marked` adds their scores and the spans that support a sentence of the answer."""
    return [
        {
            "number": n,
            "id": each.id,
            "page": each.page,
            "score": each.score if marked else None,
            "length": len(each.text),
            "cut": _is_cut(each.text, longest),
            "pieces": evidence.passage_pieces(outcome, n, longest)
            if marked
            else [evidence.TextPiece(each.text[:longest])],
        }
        for n, each in enumerate(outcome.response.passages, 1)
    ]


def _is_cut(text: str, longest: int | None) -> bool:
    return longest is not None and len(text) > longest


def explain(outcome: Outcome, profile: Profile | None, longest: int | None = None) -> Shown:
    """Everything that led to the verdict. Texts longer than `longest` are cut, and their whole length is given."""
    case, response, verdict = outcome.case, outcome.response, outcome.verdict
    sentences = evidence.sentences_of(outcome)
    facts, claims = evidence.facts_of(outcome)
    rules = profile.rules_for(response.route) if profile else None
    return blind(outcome, longest) | {
        "answer": None if response.answer is None else evidence.answer_pieces(outcome, longest),
        "passages": _passages(outcome, longest, marked=True),
        "sentences": len(sentences),
        "unsupported": sum(bool(sentence.get("flag")) for sentence in sentences),
        "about": {
            **{name: getattr(case, name) for name in _OF_CASE},
            **{name: getattr(response, name) for name in _OF_RESPONSE},
        },
        "verdict": {  # the parts make the quality, quality and route make the score
            **{name: getattr(verdict, name) for name in Verdict.__dataclass_fields__},
            "scale": profile.scale if profile else 1.0,
            "pass_mark": rules.pass_mark if rules else None,
            "route_weight": profile.route_weight
            if profile and verdict.route_score is not None
            else 0.0,
            "own_mark": case.min_score if profile else None,
        },
        "scores": _scores(outcome, profile),
        "facts": facts,
        "claims": claims,
        "criteria": evidence.criteria_of(outcome),
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


def _scores(outcome: Outcome, profile: Profile | None) -> list[Shown]:
    """The metrics of the profile first, in its order; then the others."""
    rules = profile.rules_for(outcome.response.route).criteria if profile else ()
    criteria = {criterion.metric: criterion for criterion in rules}
    parts = {part.metric: part for part in outcome.verdict.parts}
    shown: list[Shown] = []
    for name in dict.fromkeys([*criteria, *outcome.scores]):
        if (score := outcome.scores.get(name)) is None:
            continue
        kind = (
            "error"
            if score.error is not None
            else "not applicable"
            if score.value is None
            else "value"
        )
        about = {
            "metric": name,
            "kind": kind,
            "value": score.value,
            "error": score.error,
            "reason": score.reason,
        }
        of_criterion = {field: getattr(criteria.get(name), field, None) for field in _OF_CRITERION}
        of_part = {field: getattr(parts.get(name), field, None) for field in ("weight", "points")}
        required = {"required": bool(of_criterion["required"])}
        shown.append(
            {**about, "quote": evidence.quote_of(score), **of_criterion, **required, **of_part}
        )
    return shown


def _judge(outcome: Outcome) -> list[Shown]:
    """Each judge call once, with its metrics, its reasoning and its raw reply."""
    calls: dict[str, Shown] = {}
    metrics: dict[str, list[str]] = {}
    for name, score in outcome.scores.items():
        raw, reasoning = evidence.texts_of(score, "raw"), evidence.texts_of(score, "reasoning")
        if raw or reasoning:
            key, model = (
                str(score.details.get("call") or f"{raw}{reasoning}"),
                str(score.details.get("model") or ""),
            )
            named = metrics.setdefault(key, [])
            named.append(name)
            calls.setdefault(
                key, {"metrics": named, "model": model, "raw": raw, "reasoning": reasoning}
            )
    return list(calls.values())


@dataclass(slots=True)
class DiffPart:
    """Part of a text; `kind` is same, removed, added, missing or other."""

    text: str
    kind: str = "same"


def word_diff(a: str, b: str) -> tuple[list[DiffPart], list[DiffPart]]:
    """Each side in pieces with `kind` same, removed or added. Very long texts are cut before they are compared."""
    from rapidfuzz.distance import Indel

    left, right = _PIECES.findall(a[:LONGEST]), _PIECES.findall(b[:LONGEST])
    if Indel.normalized_similarity(left, right) < _SIMILAR:
        return [DiffPart(a[:LONGEST], "removed")], [DiffPart(b[:LONGEST], "added")]
    side_a: list[DiffPart] = []
    side_b: list[DiffPart] = []
    for step in Indel.opcodes(left, right):
        gone = "".join(left[step.src_start : step.src_end])
        came = "".join(right[step.dest_start : step.dest_end])
        if step.tag == "equal":
            side_a.append(DiffPart(gone))
            side_b.append(DiffPart(came))
            continue
        if gone:
            side_a.append(DiffPart(gone, "removed"))
        if came:
            side_b.append(DiffPart(came, "added"))
    return side_a, side_b


def marked_answer(expected: str, answer: str) -> tuple[list[DiffPart], list[DiffPart]]:
    """The expected answer with the words that the answer lacks, and the answer with the numbers that are not expected.

    Wording may differ freely in a right answer; missing words and other numbers are what a reader looks for.
    """
    wanted, found = _PIECES.findall(expected), _PIECES.findall(answer)
    known, there = ({_bare(piece) for piece in pieces} for pieces in (wanted, found))
    lacking = [(piece, bool(_bare(piece)) and _bare(piece) not in there) for piece in wanted]
    other = [
        (piece, bool(wanted) and any(map(str.isdigit, piece)) and _bare(piece) not in known)
        for piece in found
    ]
    return _joined(lacking, "missing"), _joined(other, "other")


def _bare(piece: str) -> str:
    return _EDGES.sub("", piece).casefold()


def _joined(pieces: list[tuple[str, bool]], kind: str) -> list[DiffPart]:
    """Neighbours of one kind as one piece; the blank before a marked word is not marked."""
    joined: list[DiffPart] = []
    for piece, marked in pieces:
        word = piece.lstrip()
        for text, here in (
            (piece[: len(piece) - len(word)], "same"),
            (word, kind if marked else "same"),
        ):
            if joined and (joined[-1].kind == here or not text):
                joined[-1].text += text
            elif text:
                joined.append(DiffPart(text, here))
    return joined

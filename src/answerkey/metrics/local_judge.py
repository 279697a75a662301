"""The judge without a language model: the rubric filled from overlap and embedding metrics, and saying so.

It is a stand-in for a reader: it sees shared words, near meanings, numbers and citation marks, and no more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from answerkey.llm.cache import digest
from answerkey.metrics.plan import make_plan
from answerkey.text import numbers, sentences, words
from answerkey.types import Json, Pair, Score

if TYPE_CHECKING:
    from answerkey.embed import Embedder

VERSION = 1
LABEL = "local judge, no language model"
_FROM = ("token_f1", "keyword_recall", "answer_correctness", "answer_relevance", "answer_hallucination")
_FROM_CITATIONS = ("citation_validity", "citation_coverage")


class LocalJudge:
    """The same scores as a model judge gives, on the same scales. `embed` is the default model unless given."""

    name = "local"

    def __init__(self, embed: Embedder | None = None) -> None:
        self._given = embed

    @cached_property
    def _embed(self) -> Embedder:
        if self._given is not None:
            return self._given
        from answerkey.embed import load_embedder

        return load_embedder()

    def rubric(self, pairs: Sequence[Pair]) -> list[dict[str, Score]]:
        return [_rubric(pair, scores) for pair, scores in zip(pairs, self._measured(pairs), strict=True)]

    def judge(self, name: str, pairs: Sequence[Pair]) -> list[Score]:
        return [_single(name, scores) for scores in self._measured(pairs)]

    def usage(self) -> Json:
        return {}

    def fingerprint(self) -> str:
        return f"local {digest(VERSION, self._embed.name, self._embed.digest, self._embed.precision)[:16]}"

    def close(self) -> None:
        pass

    def _measured(self, pairs: Sequence[Pair]) -> list[dict[str, Score]]:
        return make_plan((*_FROM, *_FROM_CITATIONS), {"embed": self._embed}).score(pairs)


def _rubric(pair: Pair, scores: Mapping[str, Score]) -> dict[str, Score]:
    case, response = pair
    if not case.expected:
        lacking = Score.not_applicable(f"no expected answer to compare with ({LABEL})")
        return dict.fromkeys(("accuracy", "completeness"), lacking) | _form(pair, scores)
    value = {name: score.value or 0.0 for name, score in scores.items()}
    cosine, overlap, recall = value["answer_correctness"], value["token_f1"], value["keyword_recall"]
    right = (cosine + max(overlap, recall)) / 2
    seen = f"cosine {cosine:.2f}, words shared {overlap:.2f}, words found {recall:.2f}"
    if missing := _missing_number(case.expected, response.answer or ""):
        right, seen = min(right, 0.2), f"{seen}, the number {missing} is not there"
    return {
        "accuracy": _score(5 * right, seen),
        "completeness": _score(5 * (cosine + recall) / 2, seen),
    } | _form(pair, scores)


def _form(pair: Pair, scores: Mapping[str, Score]) -> dict[str, Score]:
    """What shows without an expected answer: citations and sentences."""
    _, response = pair
    parts = sentences(response.answer or "")
    whole = [part for part in parts if 2 <= len(words(part)) <= 60]
    clear = _score(
        3 * len(whole) / len(parts) if parts else 0.0,
        f"{len(whole)} of {len(parts)} sentences of a usual length",
    )
    valid, covered = (scores[name].value for name in _FROM_CITATIONS)
    if valid is None and not response.passages and not response.sources:
        return {"citation_quality": Score.not_applicable(f"nothing to cite ({LABEL})"), "coherence": clear}
    told = f"valid marks {valid or 0:.2f}, sentences with one {covered or 0:.2f}"
    return {"citation_quality": _score(5 * ((valid or 0) + (covered or 0)) / 2, told), "coherence": clear}


def _single(name: str, scores: Mapping[str, Score]) -> Score:
    if name == "relevance":
        return _score(scores["answer_relevance"].value or 0.0, scores["answer_relevance"].reason)
    if name == "faithfulness":
        return _score(
            1 - (scores["answer_hallucination"].value or 0.0), scores["answer_hallucination"].reason
        )
    return Score.not_applicable(f"{name} cannot be judged without a language model ({LABEL})")


def _missing_number(expected: Sequence[str], answer: str) -> str:
    """A number that every expected answer states and the answer does not."""
    given = {number.value for number in numbers(answer)}
    lacking = [[n.text for n in numbers(text) if n.value not in given] for text in expected]
    return lacking[0][0] if lacking and all(lacking) else ""


def _score(value: float, seen: str) -> Score:
    details: dict[str, Any] = {"model": "local"}
    return Score(round(value, 4), f"{LABEL}: {seen}", details=details)

"""Questions that are asked twice: near-duplicates, and one question with two answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from answerkey.embed import Embedder
from answerkey.language.refusal import refusal
from answerkey.metrics.agreement.answer_agreement import answer_agreement
from answerkey.retrieval.search_index import exact_search
from answerkey.testsets.audit.findings import CaseFinding, FindingKind
from answerkey.testsets.audit.question_words import SetLanguage
from answerkey.testsets.audit.support import states_opposite
from answerkey.text import normalise, short_label, words
from answerkey.types import Case, Response

# Cosine of the packaged model from which two questions ask the same. Chosen by reading pairs of
# SciFact claims and FAQ questions: at 0.90 some still had different subjects.
_SAME_MEANING = 0.93
# Below this two expected answers do not say the same.
_AGREE_FROM = 0.5
_NEIGHBOURS = 5  # of each question; a cluster of repeats is still found, pair by pair


@dataclass(frozen=True, slots=True)
class QuestionPair:
    """Two cases, by number, the earlier one first; `similarity` is 1 for equal words."""

    first: int
    second: int
    similarity: float


def check_repeated_questions(
    cases: Sequence[Case], language: SetLanguage, embed: Embedder | None
) -> Iterator[CaseFinding]:
    """Findings on pairs of cases that ask the same."""
    pairs = find_similar_questions(cases, language, embed)
    agreements = _answer_agreements(cases, pairs)
    cluster_of: dict[int, str] = {}
    for pair, agreement in zip(pairs, agreements, strict=True):
        first = cases[pair.first]
        second = cases[pair.second]
        # Near questions with other answers are usually near, not the same: only equal words accuse.
        if agreement is not None and agreement < _AGREE_FROM:
            if _asks_the_same(first, second, language):
                yield _two_answers(first, second, agreement)
            continue
        if agreement is None and not _share_labels(first, second) and pair.similarity < 1:
            continue  # nothing but the wording says that they are the same
        if pair.second in cluster_of:
            continue  # it is in the cluster of an earlier case already
        cluster = cluster_of.setdefault(pair.first, first.id)
        cluster_of[pair.second] = cluster
        yield _near_duplicate(cases[pair.first], second, pair.similarity, cluster)


def find_similar_questions(
    cases: Sequence[Case], language: SetLanguage, embed: Embedder | None
) -> list[QuestionPair]:
    """Pairs with the same content words, and pairs whose vectors are near and figures equal."""
    pairs: dict[tuple[int, int], float] = {}
    first_with: dict[object, int] = {}
    for number, case in enumerate(cases):
        # A question of stop words only, "What is it?", is compared as it is written.
        key = (_history(case), language.content(case.question) or normalise(case.question))
        if key in first_with:
            pairs[first_with[key], number] = 1.0
        else:
            first_with[key] = number
    if embed is not None and len(cases) > 1:
        vectors = np.asarray(embed.embed([case.question for case in cases]), np.float32)
        # One more neighbour, as each question is nearest to itself.
        top = exact_search(vectors, vectors, min(_NEIGHBOURS + 1, len(cases)))
        for number, row in enumerate(top.chunk):
            neighbours: list[int] = row.tolist()
            scores: list[float] = top.score[number].tolist()
            for other, score in zip(neighbours, scores, strict=True):
                # Each pair is seen from both sides and counted once.
                if score < _SAME_MEANING or other <= number:
                    continue
                if _may_be_same(cases[number], cases[other]):
                    pairs.setdefault((number, other), score)
    return [QuestionPair(first, second, score) for (first, second), score in sorted(pairs.items())]


def _history(case: Case) -> str:
    return normalise(" ".join(turn.user for turn in case.history))


def _may_be_same(first: Case, second: Case) -> bool:
    """Questions with other figures, names or codes ask for something else, however alike."""
    if _history(first) != _history(second) or _codes(first) != _codes(second):
        return False
    return not states_opposite(first.question, second.question)


def _codes(case: Case) -> set[str]:
    """Words with a digit, and words that are written in capitals."""
    every_word = case.question.replace("-", " ").split()
    capitals = {word.strip("?.,!'\"()") for word in every_word if word.isupper() and len(word) > 1}
    return capitals | {word for word in words(case.question) if any(map(str.isdigit, word))}


def _answer_agreements(cases: Sequence[Case], pairs: Sequence[QuestionPair]) -> list[float | None]:
    """How far the expected answers of each pair agree; None where one has none."""
    compared = [
        number
        for number, pair in enumerate(pairs)
        if cases[pair.first].expected and cases[pair.second].expected
    ]
    agreements: list[float | None] = [None] * len(pairs)
    answers = [
        (
            Case("", cases[pairs[number].first].question, cases[pairs[number].first].expected),
            Response(cases[pairs[number].second].expected[0]),
        )
        for number in compared
    ]
    scores = answer_agreement(answers)
    for number, (case, response), score in zip(compared, answers, scores, strict=True):
        answer = normalise(response.answer or "")
        if any(normalise(text) == answer for text in case.expected):
            agreements[number] = 1.0
        # A refusal and an answer contradict each other, whatever words they share.
        elif refusal(response.answer or "") != refusal(case.expected[0]):
            agreements[number] = 0.0
        else:
            agreements[number] = score.value
    return agreements


def _asks_the_same(first: Case, second: Case, language: SetLanguage) -> bool:
    """Whether both questions have the same content words; alike is not enough to contradict."""
    content = language.content(first.question)
    return content == language.content(second.question) and _may_be_same(first, second)


def _share_labels(first: Case, second: Case) -> bool:
    return bool((first.relevant or {}).keys() & (second.relevant or {}).keys())


def _two_answers(first: Case, second: Case, agreement: float) -> CaseFinding:
    return CaseFinding(
        second.id,
        FindingKind.TWO_ANSWERS,
        min(0.95, 1 - agreement),
        f'{first.id} asks the same, "{short_label(first.question, 160)}", and expects '
        f'"{short_label(first.expected[0], 120)}"; here "{short_label(second.expected[0], 120)}" '
        "is expected",
        "Decide which answer is right; list both under expected if both are.",
        related=(first.id,),
    )


def _probability_of_repeat(similarity: float) -> float:
    """From 0.6 at the lowest cosine to 0.95 for equal words."""
    share = (min(similarity, 1.0) - _SAME_MEANING) / (1 - _SAME_MEANING)
    return 0.6 + 0.35 * share


def _near_duplicate(first: Case, second: Case, similarity: float, cluster: str) -> CaseFinding:
    return CaseFinding(
        second.id,
        FindingKind.NEAR_DUPLICATE,
        _probability_of_repeat(similarity),
        f'asks the same as {first.id}: "{short_label(second.question, 160)}" and '
        f'"{short_label(first.question, 160)}"',
        f'Remove one, or set cluster = "{short_label(cluster)}" on both, so that intervals count '
        "them once.",
        related=(first.id,),
        cluster=cluster,
    )

"""How well the labels of a case fit its question and answer, beside all other pages."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from answerkey.coerce.values import LIVE, as_texts
from answerkey.testsets.audit.document_set import MEANING_WEIGHT, DocumentSet, PageScores
from answerkey.types import Case

_CANDIDATES = 3
_LEAST_SCORE = 0.01
_LARGEST_RATIO = 5.0  # log; a label that shares no word is not infinitely wrong
# The margin at which a label is as likely wrong as right, and how fast that changes. Set on the
# development set of tools/measure_testsets.py; without an expected answer there is less to compare.
_EVEN_WITH_ANSWER = 0.5
_EVEN_WITHOUT_ANSWER = 1.2
_STEEPNESS = 3.0
# Of a difference between the best sentences. On the two development sets of
# tools/measure_testsets.py, without their expected answers, the precision with 0, 6 and 12 is 0.84,
# 0.90, 0.91 and 0.89, 0.91, 0.86.
_SENTENCE_WEIGHT = 6.0
_CLEARLY_RIGHT = -1.5


@dataclass(frozen=True, slots=True)
class LabelMatch:
    """The labels of a case against the other pages.

    `labels` and `others` are page numbers, the best other page first. `margin` is positive where
    another page fits better than every label. `has_answer` says whether more than the question was
    compared: the expected answer, or a quote.
    """

    has_answer: bool
    labels: tuple[int, ...]
    others: tuple[int, ...]
    margin: float
    best_words: float
    best_meaning: float
    fits: Mapping[int, tuple[float, float]]

    @property
    def error_probability(self) -> float:
        """The chance that none of the labels is right."""
        if self.has_answer:
            even = _EVEN_WITH_ANSWER
        else:
            even = _EVEN_WITHOUT_ANSWER
        return sigmoid(_STEEPNESS * (self.margin - even))


def sigmoid(value: float) -> float:
    return 1 / (1 + math.exp(-max(-50.0, min(50.0, value))))


def quotes_of_case(case: Case) -> tuple[str, ...]:
    """The quotes of a case, from its column `quote` or `quotes`."""
    quotes = case.extra.get("quote") or case.extra.get("quotes")
    if quotes:
        return tuple(as_texts(quotes, "quotes", LIVE))
    return ()


def answer_texts(case: Case) -> tuple[str, ...]:
    """The expected answers, or else the quotes: words that a right label has."""
    return case.expected or quotes_of_case(case)


def case_text(case: Case) -> str:
    """The text that a right label fits: the question with its expected answer or its quote."""
    return " ".join((case.question, *answer_texts(case)[:1]))


def match_labels(
    cases: Sequence[Case], labels: Mapping[str, Sequence[int]], documents: DocumentSet
) -> list[LabelMatch]:
    """One match per case; cases without a label get their best pages only."""
    rows = documents.scores([case_text(case) for case in cases])
    matches = [
        _match_case(tuple(labels.get(case.id, ())), row, has_answer=bool(answer_texts(case)))
        for case, row in zip(cases, rows, strict=True)
    ]
    return _compare_sentences(cases, matches, documents)


def _compare_sentences(
    cases: Sequence[Case], matches: Sequence[LabelMatch], documents: DocumentSet
) -> list[LabelMatch]:
    """The matches of cases without an answer or quote, with the best sentences compared as well.

    A question alone says little about the passage that answers it; with the expected answer the
    whole passages suffice (0.976 against 0.969 on the published set of
    tools/measure_testsets.py). A label that is clearly the best page needs no second look.
    """
    doubtful = [
        number
        for number, match in enumerate(matches)
        if match.labels and match.others and not match.has_answer and match.margin > _CLEARLY_RIGHT
    ]
    pairs = [
        (case_text(cases[number]), (*matches[number].labels, *matches[number].others))
        for number in doubtful
    ]
    compared = list(matches)
    for number, cosines in zip(doubtful, documents.nearest_sentences(pairs), strict=True):
        match = matches[number]
        if not cosines:
            continue
        own = max(cosines[page] for page in match.labels)
        best = max(cosines[page] for page in match.others)
        compared[number] = replace(match, margin=match.margin + _SENTENCE_WEIGHT * (best - own))
    return compared


def _match_case(labels: tuple[int, ...], row: PageScores, *, has_answer: bool) -> LabelMatch:
    # The best of all labels counts: of two right labels one may have only a part of the answer.
    is_other = np.ones(len(row.words), bool)
    is_other[list(labels)] = False
    others = _best_pages(row, np.flatnonzero(is_other).tolist())
    margin = 0.0
    if labels and others:
        best_words = float(row.words[is_other].max())
        own_words = max(float(row.words[page]) for page in labels)
        best_meaning = float(row.meaning[is_other].max())
        own_meaning = max(float(row.meaning[page]) for page in labels)
        ratio = math.log((best_words + _LEAST_SCORE) / (own_words + _LEAST_SCORE))
        margin = min(_LARGEST_RATIO, ratio) + MEANING_WEIGHT * (best_meaning - own_meaning)
    return LabelMatch(
        has_answer=has_answer,
        labels=labels,
        others=others,
        margin=margin,
        best_words=float(row.words.max(initial=0.0)),
        best_meaning=float(row.meaning.max(initial=0.0)),
        fits={page: (float(row.words[page]), float(row.meaning[page])) for page in labels},
    )


def _best_pages(row: PageScores, pages: list[int]) -> tuple[int, ...]:
    """The pages that fit best, from the best by words and the best by meaning."""
    by_words = sorted(pages, key=lambda page: -row.words[page])[:_CANDIDATES]
    by_meaning = sorted(pages, key=lambda page: -row.meaning[page])[:_CANDIDATES]
    pool = [page for page in dict.fromkeys((*by_words, *by_meaning)) if row.words[page] > 0]
    return tuple(sorted(pool, key=lambda page: -row.fit(page))[:_CANDIDATES])

"""Findings on labels: missing, empty, wrong, superfluous, and labels without a quote."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from answerkey.errors import did_you_mean
from answerkey.experiments.label_check import LabelCheck
from answerkey.experiments.quote_hits import find_quotes
from answerkey.retrieval.chunks import Chunk
from answerkey.testsets.audit.document_set import MEANING_WEIGHT, DocumentSet
from answerkey.testsets.audit.findings import CaseFinding, FindingKind
from answerkey.testsets.audit.label_match import (
    LabelMatch,
    case_text,
    quotes_of_case,
    sigmoid,
)
from answerkey.testsets.audit.support import HEADING_LINE, nearest_window
from answerkey.text import short_label, words
from answerkey.types import Case

_FEWEST_WORDS = 3
# A quote is there if this share of its neighbouring words is in one page: line breaks and
# hyphens of PDF text change a few of them.
_QUOTE_SHARE = 0.8
# A label adds nothing below these shares of the answer's own words: alone, and beside the others.
# Chosen by reading some 40 labels of a published set: above 0.3 most have a part of the answer.
_NOTHING_ALONE = 0.3
_NOTHING_ADDED = 0.1
# Ranked by their margin before the limit, so that the worst still come first.
_NEVER_CERTAIN = 0.99
_QUOTED = 160
_EXPLAINED = 50


def check_present_labels(
    cases: Sequence[Case], check: LabelCheck, documents: DocumentSet
) -> Iterator[CaseFinding]:
    """Labels that are not in the documents, or that name a page without content."""
    for case in cases:
        for label, grade in (case.relevant or {}).items():
            if grade > 0 and label in check.missing:
                fix = _fix_of_missing_label(label, check, documents)
                yield CaseFinding(
                    case.id,
                    FindingKind.LABEL_MISSING,
                    0.99,
                    f'"{short_label(label, 120)}" is not in the documents{check.advice}',
                    fix,
                    label=label,
                )
        for label, grade in check.labels.get(case.id, {}).items():
            number = documents.numbers.get(label)
            if grade <= 0 or number is None:
                continue
            page = documents.pages[number]
            if _is_empty(page.text, page.title):
                yield CaseFinding(
                    case.id,
                    FindingKind.EMPTY_PASSAGE,
                    0.95,
                    f'the passage "{short_label(label, 120)}" has no text beside '
                    f'"{short_label(page.text, 80)}"',
                    "Label the passage with the answer, or repair the cut of the document.",
                    label=label,
                )


def _fix_of_missing_label(label: str, check: LabelCheck, documents: DocumentSet) -> str:
    near = check.missing[label]
    if near:
        return f"Write {near}."
    hint = ""
    if len(check.missing) <= _EXPLAINED:  # each one is compared with every id
        hint = did_you_mean(label, documents.numbers)
    return f"Correct the label, or add the document{hint or '.'}"


def _is_empty(text: str, title: str) -> bool:
    """Whether a page has no text but a heading."""
    body = HEADING_LINE.sub("", text).strip()
    # The title may be repeated as the first line.
    if title and body.startswith(title):
        body = body[len(title) :]
    lines = [line for line in body.splitlines() if words(line)]
    if len(lines) == 1 and len(words(lines[0])) <= 6 and lines[0].strip()[-1] not in ".!?:;。":
        return True  # a single short line that is no sentence
    return len(words(body)) < _FEWEST_WORDS


def check_quotes(cases: Sequence[Case], documents: DocumentSet) -> Iterator[CaseFinding]:
    """Quotes that are in no page."""
    quotes = [quotes_of_case(case) for case in cases]
    if not any(quotes):
        return
    chunks = [
        Chunk(str(number), page.text, page.id, page.document, 0, len(page.text))
        for number, page in enumerate(documents.pages)
    ]
    held = find_quotes(quotes, chunks, _QUOTE_SHARE)
    for case, row, shares in zip(cases, quotes, held.share, strict=True):
        present = {number for pairs in shares.values() for number, _ in pairs}
        for number, quote in enumerate(row):
            if number not in present:
                yield CaseFinding(
                    case.id,
                    FindingKind.QUOTE_MISSING,
                    0.95,
                    f'"{short_label(quote, _QUOTED)}" is in no document',
                    "Update the quote and check the expected answer: the document has changed.",
                )


def check_wrong_labels(
    cases: Sequence[Case], matches: Sequence[LabelMatch], documents: DocumentSet
) -> Iterator[CaseFinding]:
    """Cases where a page without a label fits clearly better than every label."""
    rows = sorted(
        zip(cases, matches, strict=True), key=lambda row: row[1].error_probability, reverse=True
    )
    for case, match in rows:
        if not match.labels or not match.others:
            continue
        better = documents.pages[match.others[0]]
        text = case_text(case)
        names = ", ".join(short_label(documents.pages[one].id, 100) for one in match.labels[:3])
        quote = nearest_window(better.text, text, documents.language)
        yield CaseFinding(
            case.id,
            FindingKind.UNSUPPORTED,
            min(_NEVER_CERTAIN, match.error_probability),
            f"{names} fits {_compared_part(case)} less than {short_label(better.id, 100)}: "
            f'"{short_label(quote, _QUOTED)}"',
            _fix_of_wrong_label(case, short_label(better.id, 120)),
            label=documents.pages[match.labels[0]].id,
            better_label=better.id,
        )


def _compared_part(case: Case) -> str:
    """The part of the case that the passages were compared with, besides the question."""
    if case.expected:
        return "the expected answer"
    if quotes_of_case(case):
        return "the quote"
    return "the question"


def _fix_of_wrong_label(case: Case, better: str) -> str:
    if case.expected:
        return f'Label "{better}" instead, or correct the expected answer.'
    if quotes_of_case(case):
        return f'Label "{better}" instead, or correct the quote.'
    # A question alone may have its answer in both passages.
    return f'If "{better}" answers the question, label it instead or as well.'


def check_superfluous_labels(
    cases: Sequence[Case], matches: Sequence[LabelMatch], documents: DocumentSet
) -> Iterator[CaseFinding]:
    """Of several labels, those without anything of the answer.

    A label is judged by what it adds to the others: one that has a part of the answer which the
    others lack is right, however little of the whole it has.
    """
    for case, match in zip(cases, matches, strict=True):
        if len(match.labels) < 2 or not case.expected:
            continue
        for page in match.labels:
            probability = _superfluous_probability(case, match, page, documents)
            if not probability:
                continue
            name = documents.pages[page].id
            nearest = nearest_window(
                documents.pages[page].text, case.expected[0], documents.language
            )
            yield CaseFinding(
                case.id,
                FindingKind.LABEL_ADDS_NOTHING,
                probability,
                f"{short_label(name, 120)} has nothing of the expected answer; its nearest text is "
                f'"{short_label(nearest, _QUOTED)}"',
                "Remove this label; the other labels have the answer.",
                label=name,
            )


def _superfluous_probability(
    case: Case, match: LabelMatch, page: int, documents: DocumentSet
) -> float:
    content = documents.language.content(case.expected[0])
    # An answer of the question's own words has no new ones; then all of them count.
    new_words = content - documents.language.content(case.question) or content
    others = [one for one in match.labels if one != page]
    alone = documents.coverage(new_words, [page])
    gain = documents.coverage(content, match.labels) - documents.coverage(content, others)
    if alone >= _NOTHING_ALONE or gain >= _NOTHING_ADDED:
        return 0.0
    best_words, best_meaning = _best_fit(match.fits, others)
    own_words, own_meaning = match.fits[page]
    # The small number keeps the logarithm finite where no word is shared.
    ratio = math.log((best_words + 0.01) / (own_words + 0.01))
    distance = ratio + MEANING_WEIGHT * (best_meaning - own_meaning - gain)
    return sigmoid(2 * (distance - 1.0)) * (1 - alone)


def _best_fit(fits: Mapping[int, tuple[float, float]], pages: Sequence[int]) -> tuple[float, float]:
    by_words = max(fits[page][0] for page in pages)
    by_meaning = max(fits[page][1] for page in pages)
    return by_words, by_meaning

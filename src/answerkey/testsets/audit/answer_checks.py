"""Findings on expected answers: not in the documents, contradicted, or refused without need."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from answerkey.language.refusal import refusal
from answerkey.testsets.audit.document_set import DocumentSet
from answerkey.testsets.audit.findings import CaseFinding, FindingKind
from answerkey.testsets.audit.label_match import LabelMatch
from answerkey.testsets.audit.support import (
    AnswerSupport,
    SupportQuestion,
    measure_support,
    nearest_sentence,
    nearest_window,
)
from answerkey.text import short_label
from answerkey.types import Case

_QUOTED = 160
_UNSUPPORTED = 0.35  # below this a statement has no support (a right passage: 5 % are lower)
_SUPPORTED = 0.7
_COVERED = 0.5  # share of the answer's own words from which the documents may have it
# A refusal is needless where one page has nearly all words of the question and is near to it.
_ANSWERED_WORDS = 0.85
_ANSWERED_MEANING = 0.6
_SAME_SUBJECT = 0.5  # share of a statement's words that a text about the same has
_LEAST_GAIN = 0.2  # share of a statement's words that a better passage has and the labels lack
_AT_ONCE = 64


def is_refusal(case: Case) -> bool:
    return bool(case.expected) and all(refusal(text) == "full" for text in case.expected)


def check_answers(
    cases: Sequence[Case], matches: Sequence[LabelMatch], documents: DocumentSet
) -> Iterator[CaseFinding]:
    """Answers that the labelled pages, and then the best other pages, do not support.

    The pages that search finds are read only where the labels do not suffice: few cases of a
    good test set.
    """
    rows = [
        (case, match)
        for case, match in zip(cases, matches, strict=True)
        if case.expected and not is_refusal(case) and (match.labels or match.others)
    ]
    for start in range(0, len(rows), _AT_ONCE):
        part = rows[start : start + _AT_ONCE]
        own = _support([(case, match.labels or match.others) for case, match in part], documents)
        # Few answers of a good set are weak, and only these pay for reading the other pages.
        weak = [n for n, one in enumerate(own) if one.least < _UNSUPPORTED]
        all_pages = _support(
            [(part[n][0], (*part[n][1].labels, *part[n][1].others)) for n in weak], documents
        )
        for n, everywhere in zip(weak, all_pages, strict=True):
            case, match = part[n]
            finding = _judge_answer(case, match, own[n], everywhere, documents)
            if finding is not None:
                yield finding


def _support(
    rows: Sequence[tuple[Case, tuple[int, ...]]], documents: DocumentSet
) -> list[AnswerSupport]:
    questions = [
        SupportQuestion(
            case.question,
            case.expected[0],
            tuple(documents.pages[page].text for page in pages),
        )
        for case, pages in rows
    ]
    return measure_support(questions, documents.language, documents.pair_model)


def _judge_answer(
    case: Case,
    match: LabelMatch,
    own: AnswerSupport,
    everywhere: AnswerSupport,
    documents: DocumentSet,
) -> CaseFinding | None:
    """The finding about an answer that its labels do not support; None for a doubtful one."""
    content = documents.language.content(case.expected[0])
    # Words of the question are on any page about its subject; only new words tell.
    new_words = content - documents.language.content(case.question) or content
    covered = documents.coverage(new_words, match.labels or match.others)
    is_same_subject = _share_in(own.weakest, own.quote, documents) >= _SAME_SUBJECT
    # Another page may support the answer; then the label is wrong, not the answer.
    if match.labels and own.contradicted and is_same_subject and everywhere.least < _UNSUPPORTED:
        return _contradiction(case, match, own, documents)
    if everywhere.share < _UNSUPPORTED and covered < _COVERED:
        return _missing_answer(case, everywhere, covered)
    # An answer with one supported and one missing statement needs a second label, not another one.
    gained = [text for text in own.missing if text not in everywhere.missing]
    if match.labels and gained and everywhere.least >= _SUPPORTED:
        return _better_passage(case, match, gained[0], own, documents)
    return None


def _share_in(statement: str, text: str, documents: DocumentSet) -> float:
    """The share of a statement's content words that a text has."""
    content = documents.language.content(statement)
    if not content:
        return 0.0
    return len(content & documents.language.content(text)) / len(content)


def _contradiction(
    case: Case, match: LabelMatch, own: AnswerSupport, documents: DocumentSet
) -> CaseFinding:
    labelled = "\n\n".join(documents.pages[page].text for page in match.labels)
    # With the words of the question: an answer such as "40 euros" shares few with any sentence.
    compared = f"{case.question} {own.weakest}"
    quote = nearest_sentence(labelled, compared, documents.language)
    return CaseFinding(
        case.id,
        FindingKind.CONTRADICTED,
        min(0.9, 1 - own.least),
        f'expected "{short_label(own.weakest, 120)}", the labelled passage has '
        f'"{short_label(quote, _QUOTED)}"',
        "Correct the expected answer, or label the passage that it comes from.",
    )


def _missing_answer(case: Case, everywhere: AnswerSupport, covered: float) -> CaseFinding:
    return CaseFinding(
        case.id,
        FindingKind.ANSWER_MISSING,
        min(0.9, 1 - everywhere.share * covered),
        f'"{short_label(everywhere.weakest, 120)}" is in none of the best passages; the nearest '
        f'text is "{short_label(everywhere.quote, _QUOTED)}"',
        "Update the expected answer to the documents, or mark the case as out of scope.",
    )


def _better_passage(
    case: Case, match: LabelMatch, gained: str, own: AnswerSupport, documents: DocumentSet
) -> CaseFinding | None:
    language = documents.language
    content = language.content(gained)
    best = max(match.others, key=lambda page: documents.coverage(content, [page]))
    gain = documents.coverage(content, [best]) - documents.coverage(content, match.labels)
    # Without a clear gain the suggestion would be one page of many.
    if gain < _LEAST_GAIN:
        return None
    name = documents.pages[best].id
    quote = nearest_window(documents.pages[best].text, gained, language)
    return CaseFinding(
        case.id,
        FindingKind.BETTER_PASSAGE,
        0.55 + 0.3 * (_UNSUPPORTED - own.least),
        f'the labels do not support "{short_label(gained, 120)}"; {short_label(name, 100)} does: '
        f'"{short_label(quote, _QUOTED)}"',
        f'Add the label "{short_label(name, 120)}".',
        better_label=name,
    )


def check_refusals(cases: Sequence[Case], documents: DocumentSet) -> Iterator[CaseFinding]:
    """Cases that expect a refusal although a page is about exactly what is asked."""
    refused = [case for case in cases if is_refusal(case)]
    rows = documents.scores([case.question for case in refused])
    for case, row in zip(refused, rows, strict=True):
        content = documents.language.subject(case.question)
        best = max(range(len(row.words)), key=row.fit)
        covered = documents.coverage(content, [best])
        # Both must agree: words alone match a page about something else.
        if covered < _ANSWERED_WORDS or float(row.meaning[best]) < _ANSWERED_MEANING:
            continue
        page = documents.pages[best]
        quote = nearest_window(page.text, case.question, documents.language)
        yield CaseFinding(
            case.id,
            FindingKind.NEEDLESS_REFUSAL,
            min(0.9, covered * (0.3 + float(row.meaning[best]))),
            f"a refusal is expected, but {short_label(page.id, 100)} has "
            f'"{short_label(quote, _QUOTED)}"',
            "Write the answer, or ask for something that the documents do not have.",
            better_label=page.id,
        )

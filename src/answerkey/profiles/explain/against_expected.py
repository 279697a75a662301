"""The answer against the expected one: figures, names, a yes for a no, and what is left out."""

from __future__ import annotations

from answerkey.language.sentences import content_stems
from answerkey.language.words import stem_list
from answerkey.profiles.explain.failed_answer import HAS_FACTS, RELEVANCE_METRICS, FailedAnswer
from answerkey.profiles.explain.sentence import Failure, clip, quote
from answerkey.profiles.explain.statements import (
    Statement,
    find_figures,
    find_names,
    find_passage,
    find_rival,
    without_question,
)
from answerkey.profiles.explain.wording import (
    asks_yes_or_no,
    has_opposite,
    missing_items,
    missing_words,
    own_words,
    polarity,
    share_of_words,
    split_items,
    starts_with_yes_or_no,
)
from answerkey.text import CITATION
from answerkey.types import Kind

# Share of the other expected words below which the answer is about another subject: "Use the store
# finder" for "Open My orders" is no wrong name. "Berlin is the capital" for "Paris is the capital" is.
_SAME_SUBJECT = 0.3


def compare_with_expected(failed: FailedAnswer) -> Failure | None:
    """The first difference that applies; they are ordered from the surest to the vaguest."""
    if not failed.case.expected or failed.fails_only_support():
        return None
    # A yes for a no outweighs a wrong figure beside it. Being off topic is checked before names:
    # a text about something else has other names, too.
    return (
        _compare_polarity(failed)
        or _compare_figures(failed)
        or _compare_opposites(failed)
        or find_off_topic(failed)
        or _compare_names(failed)
        or _find_omission(failed)
    )


def find_off_topic(failed: FailedAnswer) -> Failure | None:
    """An answer that shares no word with the question and the expected answer."""
    if not any(name in failed.failing for name in RELEVANCE_METRICS):
        return None
    stems = content_stems(failed.case.question) | content_stems(failed.expected)
    if share_of_words(content_stems(failed.answer), " ".join(sorted(stems))) > 0:
        return None
    sentence = f"Says {quote(failed.answer)}, which is about something else"
    if failed.case.expected:
        sentence += f"; expected {quote(failed.expected)}"
    return Failure(Kind.OFF_TOPIC, f"{sentence}.")


def _compare_polarity(failed: FailedAnswer) -> Failure | None:
    both_open = starts_with_yes_or_no(failed.answer) and starts_with_yes_or_no(failed.expected)
    if not both_open and not asks_yes_or_no(failed.case.question):
        return None
    if polarity(failed.answer) == polarity(failed.expected):
        return None
    # "12 Canal Street" says neither yes nor no to "Are you open on Sundays?".
    subject = content_stems(failed.case.question) | content_stems(failed.expected)
    if not both_open and subject.isdisjoint(content_stems(failed.answer)):
        return None
    return _describe_contradiction(failed)


def _compare_opposites(failed: FailedAnswer) -> Failure | None:
    if not has_opposite(failed.answer, failed.expected):
        return None
    return _describe_contradiction(failed)


def _describe_contradiction(failed: FailedAnswer) -> Failure:
    sentence = f"Says {quote(failed.answer)}, expected {quote(failed.expected)}"
    return Failure(Kind.CONTRADICTS, f"{sentence}{failed.cite_expected()}.")


def _compare_figures(failed: FailedAnswer) -> Failure | None:
    # A figure that the question contains is repeated by right and wrong answers alike.
    in_question = find_figures(failed.case.question)
    expected = without_question(find_figures(failed.expected), in_question)
    stated = without_question(find_figures(_without_citations(failed.answer)), in_question)
    return _describe_rival(failed, Kind.WRONG_FIGURE, find_rival(stated, expected))


def _without_citations(text: str) -> str:
    """The text without marks such as [2], whose numbers are no figures."""
    return CITATION.sub(" ", text)


def _compare_names(failed: FailedAnswer) -> Failure | None:
    is_one_word = len(failed.expected.split()) == 1
    missing = [
        name
        for name in find_names(failed.expected, failed.case.question)
        # One capital at the start of a sentence is a name only where it stands alone.
        if (name.is_sure or is_one_word) and find_passage(name, [failed.answer]) is None
    ]
    others = [
        name
        for name in find_names(failed.answer, failed.case.question)
        if find_passage(name, [failed.expected]) is None
    ]
    rival = find_rival(others, missing)
    if rival is not None and _has_other_subject(failed, rival[1]):
        return None
    return _describe_rival(failed, Kind.WRONG_NAME, rival)


def _has_other_subject(failed: FailedAnswer, expected: Statement) -> bool:
    """Whether the rest of the answer is about something else, so that no name is just swapped."""
    rest = content_stems(failed.expected) - content_stems(expected.text)
    # Only "Dr" is left of "Dr Ana Silva": it says nothing about the subject.
    rest -= stem_list("honorifics")
    return bool(rest) and share_of_words(rest, failed.answer) < _SAME_SUBJECT


def _describe_rival(
    failed: FailedAnswer, kind: Kind, rival: tuple[Statement, Statement] | None
) -> Failure | None:
    if rival is None:
        return None
    stated, expected = rival
    sentence = f"Says {clip(stated.text)}, expected {clip(expected.text)}"
    number = find_passage(expected, failed.passages)
    if number is not None:
        sentence += f"; passage {number} says {clip(expected.text)}"
    elif (number := find_passage(stated, failed.passages)) is not None:
        sentence += f"; passage {number} says {clip(stated.text)}"
    return Failure(kind, f"{sentence}.", expected, stated)


def _find_omission(failed: FailedAnswer) -> Failure | None:
    """Some of the expected facts, and nothing in place of the others."""
    omitted = _find_omitted(failed)
    if not omitted:
        return None
    sentence = f"Says {quote(failed.answer)}, but not {quote(omitted)}"
    for number, passage in enumerate(failed.passages, start=1):
        if share_of_words(content_stems(omitted), passage) >= HAS_FACTS:
            sentence += f"; passage {number} has it"
            break
    return Failure(Kind.INCOMPLETE, f"{sentence}.", omitted=omitted)


def _find_omitted(failed: FailedAnswer) -> str:
    facts = own_words(failed.expected, failed.case.question)
    # An answer without any expected fact is another answer, not an incomplete one.
    if share_of_words(facts, failed.answer) == 0:
        return ""
    # "Use the store finder on our website" is no part of "Open My orders on the website".
    stated = own_words(failed.answer, failed.case.question)
    if stated and share_of_words(stated, failed.expected) < _SAME_SUBJECT:
        return ""
    missing = missing_items(failed.answer, failed.expected)
    # Nothing is an omission where every item is missing.
    if missing and len(missing) < len(list(split_items(failed.expected))):
        return ", ".join(missing)
    return missing_words(failed.answer, failed.expected, failed.case.question)

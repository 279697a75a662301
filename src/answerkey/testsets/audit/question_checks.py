"""Findings that need only the questions and expected answers, no documents."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from answerkey.language.refusal import refusal
from answerkey.testsets.audit.findings import CaseFinding, FindingKind
from answerkey.testsets.audit.question_words import SetLanguage
from answerkey.text import numbers, short_label, words
from answerkey.types import Case

# An answer of this many content words or fewer is a figure or a name: all of it must be there.
_LONGEST_ANSWER = 12
# Share of a question's words that another question must have to be about the same thing.
_SAME_SUBJECT = 0.6


def check_named_subject(cases: Sequence[Case], language: SetLanguage) -> Iterator[CaseFinding]:
    """Questions such as "How long is it?" that no reader can answer without more context."""
    for case in cases:
        # The history may name what the question leaves out.
        if case.history or not language.has_word_lists:
            continue
        phrase = language.pointer(case.question)
        if phrase:
            yield CaseFinding(
                case.id,
                FindingKind.NAMES_NOTHING,
                0.85,
                f'"{short_label(case.question, 160)}" points at "{phrase}", which the bot is not '
                "shown",
                "Name the document or the subject in the question.",
            )
            continue
        probability = _nameless_probability(case.question, language)
        if probability:
            yield CaseFinding(
                case.id,
                FindingKind.NAMES_NOTHING,
                probability,
                f'"{short_label(case.question, 160)}" names no thing, person or place, and there '
                "is no history",
                "Say what the question is about, or add the earlier turns as history.",
            )


def _nameless_probability(question: str, language: SetLanguage) -> float:
    """0 for a question that names something."""
    every_word = words(question)
    # A number names nothing: "How many of the 12?"
    subject = [word for word in language.subject(question) if not word.isdigit()]
    if subject or not every_word:
        return 0.0
    if any(language.is_pronoun(word) for word in every_word):
        return 0.95
    return 0.8


def check_given_answers(cases: Sequence[Case], language: SetLanguage) -> Iterator[CaseFinding]:
    """Cases whose question contains the expected answer of another case about the same thing.

    Only questions that share the rarest word of an answer are compared, so the time grows with
    the number of matches, not with the square of the cases.
    """
    contents = [language.content(case.question) for case in cases]
    cases_with: dict[str, list[int]] = defaultdict(list)
    for number, content in enumerate(contents):
        for word in content:
            cases_with[word].append(number)
    for number, case in enumerate(cases):
        yield from _own_answer(case, contents[number], language)
        for answer in case.expected[:1]:
            new_words = language.content(answer) - contents[number]
            if not new_words or len(new_words) > _LONGEST_ANSWER or refusal(answer) == "full":
                continue
            if language.is_plain_answer(answer):
                continue
            rarest = min(new_words, key=lambda word: len(cases_with[word]))
            for other in cases_with[rarest]:
                if other == number or not new_words <= contents[other]:
                    continue
                if _share(contents[number], contents[other]) >= _SAME_SUBJECT:
                    yield _given_answer(case, cases[other])


def _own_answer(
    case: Case, content: frozenset[str], language: SetLanguage
) -> Iterator[CaseFinding]:
    """A question that contains its own answer; a choice between two things may."""
    if language.offers_choice(case.question):
        return
    spaced_question = f" {' '.join(words(case.question))} "
    for answer in case.expected[:1]:
        answer_content = language.content(answer)
        # A single word of the question is often the answer to "which of …".
        if len(answer_content) < 2 or not answer_content < content:
            continue
        if f" {' '.join(words(answer))} " not in spaced_question:
            continue
        yield CaseFinding(
            case.id,
            FindingKind.GIVES_ANSWER_AWAY,
            0.6,
            f'the question contains its own expected answer "{short_label(answer, 120)}"',
            "Ask without the answer.",
        )


def _share(part: frozenset[str], whole: frozenset[str]) -> float:
    if part:
        return len(part & whole) / len(part)
    return 0.0


def _given_answer(case: Case, other: Case) -> CaseFinding:
    answer = short_label(case.expected[0], 120)
    # A figure or a phrase is rarely in another question by chance; one common word may be.
    is_telling = bool(numbers(case.expected[0])) or len(words(answer)) > 2
    return CaseFinding(
        other.id,
        FindingKind.GIVES_ANSWER_AWAY,
        0.85 if is_telling else 0.65,
        f'its question "{short_label(other.question, 160)}" contains the answer of {case.id}, '
        f'"{answer}"',
        f"Ask without it, or keep {other.id} and {case.id} apart when a bot sees both.",
        related=(case.id,),
    )

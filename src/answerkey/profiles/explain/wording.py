"""Words of two texts compared: a yes against a no, opposites, and items of a list."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import regex

from answerkey.language.sentences import content_stems, pieces
from answerkey.language.words import opposites, synonyms

LONGEST_READ = 20_000  # characters of a text; longer passages are cut before they are compared
_OPENING_WORD = regex.compile(r"^\W*(yes|no|yeah|nope|true|false|correct|sure)\b", regex.IGNORECASE)
_YES = {"yes", "yeah", "true", "correct", "sure"}
_YES_NO_QUESTION = regex.compile(
    r"^\W*(?:is|are|was|were|am|does|do|did|has|have|had|can|could|will|would|should|must|may)\b",
    regex.IGNORECASE,
)
_ITEM_END = regex.compile(r",\s*(?:and|or)?\s+|;\s*|\s+(?:and|or)\s+")
_WORD = regex.compile(r"[\p{L}\p{N}][\p{L}\p{N}'’-]*")
# Share of the words of an item from which an answer mentions it: "nausea" for "severe nausea".
_MENTIONED = 0.5
# Words such as "before" and "over" stand in many answers. Two texts that differ in one of them
# contradict each other only where they agree in most other words.
_SAME_WORDS = 0.6


def polarity(text: str) -> int:
    """1 for a yes, -1 for a no, also where it is implied by a negation."""
    if opening := _OPENING_WORD.match(text):
        return 1 if opening[1].casefold() in _YES else -1
    # Two negations cancel each other.
    negations = sum(piece.negations for piece in pieces(text[:LONGEST_READ]))
    return -1 if negations % 2 else 1


def asks_yes_or_no(question: str) -> bool:
    # "Is it red or blue?" has the form of a yes-no question, but asks for a choice.
    return _YES_NO_QUESTION.match(question) is not None and " or " not in question


def starts_with_yes_or_no(text: str) -> bool:
    return _OPENING_WORD.match(text) is not None


def has_opposite(answer: str, expected: str) -> bool:
    """Whether the answer has the opposite of an expected word: "rejected" for "approved"."""
    if _find_opposites(content_stems(answer), content_stems(expected)):
        return True
    shared = share_of_words(content_stems(expected), answer)
    return shared >= _SAME_WORDS and _find_opposites(_all_stems(answer), _all_stems(expected))


def _find_opposites(answer: set[str], expected: set[str]) -> bool:
    return any(
        # A word that the expected answer has beside its opposite contradicts nothing.
        not answer.isdisjoint(opposites().get(stem, frozenset()) - expected)
        for stem in expected - answer
    )


def _all_stems(text: str) -> set[str]:
    """The stems of all words, also of those that content words leave out, such as "before"."""
    return {stem for piece in pieces(text[:LONGEST_READ]) for stem in piece.stems}


def own_words(text: str, question: str) -> set[str]:
    """The stems of a text that the question does not contain, without a yes or no."""
    return content_stems(_OPENING_WORD.sub("", text)) - content_stems(question)


def share_of_words(words: Iterable[str], text: str) -> float:
    """The share of the stems that a text contains, itself or as a synonym."""
    stems = list(words)
    if not stems:
        return 0.0
    in_text = content_stems(text[:LONGEST_READ])
    return sum(_has_word(stem, in_text) for stem in stems) / len(stems)


def _has_word(stem: str, stems: set[str]) -> bool:
    return stem in stems or not stems.isdisjoint(synonyms().get(stem, frozenset()))


def missing_items(answer: str, expected: str) -> list[str]:
    """The items of an expected list that the answer does not mention."""
    items = {item: content_stems(item) for item in split_items(expected)}
    missing: list[str] = []
    for item, stems in items.items():
        # "fee" says nothing about which of "a booking fee" and "a card fee" is there.
        others = [other for text, other in items.items() if text != item]
        own = stems.difference(*others) or stems
        if own and share_of_words(own, answer) < _MENTIONED:
            missing.append(item)
    return missing


def split_items(text: str) -> Iterator[str]:
    for item in _ITEM_END.split(text.strip(" .")):
        if item.strip():
            yield item.strip()


def missing_words(answer: str, expected: str, question: str) -> str:
    """The expected words that an answer leaves out which says nothing else; empty otherwise.

    >>> missing_words("The meeting is on 4 June.", "On 4 June in the town hall", "When is the meeting?")
    'town hall'
    """
    stated = own_words(answer, question)
    if not stated or share_of_words(stated, expected) < 1:
        return ""
    words = _WORD.findall(_OPENING_WORD.sub("", expected))
    # The question itself may name what the answer leaves out.
    mentioned = f"{answer} {question}"
    return " ".join(
        word
        for word in words
        if content_stems(word) and share_of_words(content_stems(word), mentioned) == 0
    )

"""The conclusion of an answer: yes or no, up or down, below or above zero."""

from __future__ import annotations

import re
from collections.abc import Sequence

from answerkey.metrics.agreement.comparable import Text, read
from answerkey.metrics.quantities import Figure, figures, figures_agree
from answerkey.metrics.sentences import opposites, stem_list

_SAID = re.compile(
    r"(?:^\W*|\b(?:so|thus|hence|therefore|answer\ is|conclusion|overall)\b[\s,:*]*)(yes|no|true|false)\b"
    r"(?!\.?\s*\d|\s+(?:one|matter|longer|match|answer|information|data|problem|doubt|wonder|worr(?:y|ies)|idea)\b)",
    re.IGNORECASE,
)
_ASKS_YES_NO = re.compile(
    r"(?:^|[.,?!:]\s+)(?:and\s+)?(?:is|are|was|were|does|do|did|has|have|had|can|could|will|would|should)\s+(?!not\b)[^?]*\?",
    re.IGNORECASE,
)
_UP = re.compile(r"\b(?:went|go|goes|gone|moved|is|was|were|are) up\b|\bup (?:by|from|\d)", re.IGNORECASE)
_DOWN = re.compile(r"\b(?:went|go|goes|gone|moved|is|was|were|are) down\b|\bdown (?:by|from|\d)", re.IGNORECASE)
_AMOUNT = r"([$€£]?\d[\d.,]*%?(?: (?:thousand|million|billion|trillion))?)"
_FROM_TO = re.compile(rf"\bfrom {_AMOUNT}[^.;\d]{{0,40}}?(?:\bin (?:FY)?\d{{4}},? )?\bto {_AMOUNT}", re.IGNORECASE)
_TO_FROM = re.compile(rf"\bto {_AMOUNT}[^.;\d]{{0,40}}?(?:\bin (?:FY)?\d{{4}},? )?\bfrom {_AMOUNT}", re.IGNORECASE)
_SIDES = {"yes": 1.0, "true": 1.0, "no": -1.0, "false": -1.0}
_IMPLIED = 0.5  # the weight of a yes or no that only the wording implies
_REACH = 5  # words after a `not` that it negates
_BRIEF = 4  # words of an expected answer that is little more than a figure


def stance(text: Text, question: Text) -> float:
    """1 for yes, -1 for no, half of it where only the wording implies it, else 0."""
    said = _SAID.search(text.plain)
    if said:
        return _SIDES[said[1].lower()]
    asked = _ASKS_YES_NO.search(question.plain)
    about = frozenset(read(asked[0]).content) if asked else frozenset[str]()
    if about.isdisjoint(text.content):
        return 0.0  # a sentence about something else is neither
    return -_IMPLIED if _denies(text, about) else _IMPLIED


def same_stance(said: Text, wanted: Text, question: Text) -> float:
    """1 where both are yes or both no, down to -1 where they differ, 0 where one of them is neither."""
    both = stance(said, question) * stance(wanted, question)
    return both if both < 0 or both == 1 else 0.0


def _denies(text: Text, asked: frozenset[str]) -> bool:
    """Whether a word of the question follows a `not` within a few words, or its opposite or `prohibited` is there."""
    contrary = frozenset[str]().union(*(opposites().get(word, frozenset()) for word in asked))
    if text.vocabulary & (stem_list("denials") | contrary) and not text.negations:
        return True
    negations = stem_list("negations") | {"t"}
    return any(
        word.stem in asked
        for n, denial in enumerate(text.words)
        if denial.stem in negations
        for word in text.words[n + 1 : n + 1 + _REACH]
        if word.sentence == denial.sentence
    )


def direction(text: Text) -> float:
    """1 where everything goes up, -1 where everything goes down, 0 for none or both."""
    up = text.vocabulary & stem_list("upward") or _UP.search(text.plain)
    down = text.vocabulary & stem_list("downward") or _DOWN.search(text.plain)
    return float(bool(up)) - float(bool(down))


def moved(text: Text) -> frozenset[tuple[float, float]]:
    """The changes in a text as (before, after): `from 4.1 to 5.3`, `to 5.3 from 4.1`."""
    found = [(m[1], m[2]) for m in _FROM_TO.finditer(text.plain)]
    found += [(m[2], m[1]) for m in _TO_FROM.finditer(text.plain)]
    ends = [(figures(before), figures(after)) for before, after in found]
    return frozenset((one[0].value, other[0].value) for one, other in ends if one and other)


def other_sign(said: Text, wanted: Text, key: Sequence[Figure]) -> bool:
    """The only expected figure has the other sign, and no word such as `loss` explains it."""
    if len(key) != 1 or len(wanted.content) > _BRIEF:
        return False
    same = [figure.value < 0 for figure in said.figures if figures_agree(key[0], figure)]
    negative = key[0].value < 0
    told = said if negative else wanted
    return bool(same) and negative not in same and not told.vocabulary & stem_list("below_zero")

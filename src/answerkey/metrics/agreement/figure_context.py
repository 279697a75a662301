"""What a text says about its figures: bounds, changes from one to another, and whose figure each is."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from answerkey.language.figure_match import figures_agree
from answerkey.language.quantities import Figure, figures
from answerkey.language.words import bounds, poles, stem_list
from answerkey.metrics.agreement.comparable import Text, read
from answerkey.metrics.agreement.stance import RISE, marks, word_order

_BOUNDS = [
    (re.compile(rf"\b(?:{before})\s*#|#\s*(?:{after})", re.IGNORECASE), side)
    for (before, after), side in zip(bounds(), (-1, 1), strict=True)
]  # in a text in which the figure is a #
_AMOUNT = r"([$€£]?\d[\d.,]*%?(?: (?:thousand|million|billion|trillion))?)"
_FROM_TO = re.compile(
    rf"\bfrom {_AMOUNT}[^.;\d]{{0,40}}?(?:\bin (?:FY)?\d{{4}},? )?\bto {_AMOUNT}", re.IGNORECASE
)
_RATIO = re.compile(r"(?<![\d:.])(\d{1,3}) ?: ?(\d{1,3})(?![\d:])(?<!:\d\d)")  # not the time 10:30
_TO_FROM = re.compile(
    rf"\bto {_AMOUNT}[^.;\d]{{0,40}}?(?:\bin (?:FY)?\d{{4}},? )?\bfrom {_AMOUNT}", re.IGNORECASE
)
_SENTENCE_END = re.compile(r"[.;!?]\s")
# Each pair of figures is compared below, which is quadratic in their number.
_FIGURES_READ = 12
_BRIEF = 4  # words of an expected answer that is little more than a figure


def changes_in(text: Text) -> frozenset[tuple[float, float]]:
    """The changes in a text as (before, after): `from 4.1 to 5.3`, `to 5.3 from 4.1`; and ratios, `4:1`."""
    spans = [(m[1], m[2]) for pattern in (_FROM_TO, _RATIO) for m in pattern.finditer(text.plain)]
    spans += [(m[2], m[1]) for m in _TO_FROM.finditer(text.plain)]
    ends = [(figures(before), figures(after)) for before, after in spans]
    return frozenset((one[0].value, other[0].value) for one, other in ends if one and other)


def _bound_of(text: Text, figure: Figure) -> int:
    """1 for `at least 5`, -1 for `at most 5`, else 0."""
    start, end = figure.span
    for pattern, side in _BOUNDS:
        if pattern.search(f"{text.plain[max(0, start - 30) : start]}#{text.plain[end : end + 20]}"):
            return side
    return 0


def other_bound(said: Text, wanted: Text, asked: Text, key: Sequence[Figure]) -> bool:
    """Whether an expected figure is the least in one text, or in the question, and the most in the other."""
    limit = {"minimum": 1, "maximum": -1}
    sought = sum(side for word, side in limit.items() if word in asked.vocabulary)
    for figure in key:
        bounds = {_bound_of(said, other) for other in said.figures if figures_agree(figure, other)}
        if bounds and bounds == {-(_bound_of(wanted, figure) or sought)} - {0}:
            return True
    return False


@dataclass(frozen=True, slots=True)
class _Labelled:
    """A figure with the text of its sentence from the figure before it, and up to the next one."""

    figure: Figure
    before: Text
    after: Text

    @property
    def direction(self) -> int:
        """1 or -1 for the last word before it in its clause that rises or falls, else 0."""
        clause = re.split(r"[,;:(.]\s?", self.before.plain)[-1]
        return ([mark.side for mark in marks(clause) if mark.axis == RISE] or [0])[-1]


def _label_figures(text: Text) -> list[_Labelled]:
    # Years are labels of other figures here, not figures that can be exchanged.
    stated = [figure for figure in text.figures if not figure.year][:_FIGURES_READ]
    ends = [0, *(figure.span[1] for figure in stated)]
    starts = [*(figure.span[0] for figure in stated), len(text.plain)]
    return [
        _Labelled(
            figure,
            read(_SENTENCE_END.split(text.plain[ends[n] : starts[n]])[-1]),
            read(_SENTENCE_END.split(text.plain[ends[n + 1] : starts[n + 1]])[0]),
        )
        for n, figure in enumerate(stated)
    ]


def figures_exchanged(said: Text, wanted: Text) -> bool:
    """Whether two expected figures have each other's words, or one has the other direction.

    `assets of 5 and debts of 3` for `assets of 3 and debts of 5`; `fell 2 % to 9` for `rose 2 % to 9`.
    """
    sought = _label_figures(wanted)
    stated = _label_figures(said)
    pairs = [
        (ours, theirs)
        for ours in sought
        for theirs in stated
        if figures_agree(ours.figure, theirs.figure)
        and _once(ours, stated)
        and _once(theirs, sought)
    ]
    if any(ours.direction * theirs.direction < 0 for ours, theirs in pairs):
        return True
    return any(
        word_order(
            (_label(one[0], side), _label(two[0], side)),
            (_label(one[1], side), _label(two[1], side)),
            frozenset(),
        )
        < 0
        for n, one in enumerate(pairs)
        for two in pairs[n + 1 :]
        if one[0] is not two[0] and one[1] is not two[1]
        for side in ("before", "after")
    )


def _once(one: _Labelled, others: Sequence[_Labelled]) -> bool:
    """Whether only one of the others has its figure; with two, either may be meant."""
    return sum(figures_agree(one.figure, other.figure) for other in others) == 1


def _label(one: _Labelled, side: str) -> frozenset[str]:
    """The words on one side of a figure; years, short ones ("to", "FY") and directions are no labels."""
    words = (one.before if side == "before" else one.after).content
    # Words of rising and falling are compared as directions; as labels they would count twice.
    return frozenset(
        word
        for word in words
        if len(word) > 2
        and not any(sign.isdigit() for sign in word)
        and not any(axis == RISE for axis, _ in poles().get(word, ()))
    )


def differences(text: Text) -> list[float]:
    """By how much each change in a text is: 1.2 for `from 4.1 to 5.3`."""
    return [abs(after - before) for before, after in changes_in(text)]


def implied_figures(said: Text, wanted: Text, key: Sequence[Figure]) -> tuple[Figure, ...]:
    """The expected figures of a change that an answer gives as the change and one end: `fell by 1.2 to 4.1`."""
    values = [abs(figure.value) for figure in said.figures]

    def has(value: float) -> bool:
        return any(math.isclose(value, other, rel_tol=1e-6) for other in values)

    changes = [
        ends for ends in changes_in(wanted) if has(abs(ends[1] - ends[0])) and any(map(has, ends))
    ]
    return tuple(figure for figure in key if any(figure.value in ends for ends in changes))


def other_sign(said: Text, wanted: Text, key: Sequence[Figure]) -> bool:
    """The only expected figure has the other sign, and no word such as `loss` explains it."""
    # A longer text may say the sign in words that the list does not have.
    if len(key) != 1 or len(wanted.content) > _BRIEF:
        return False
    same = [figure.value < 0 for figure in said.figures if figures_agree(key[0], figure)]
    negative = key[0].value < 0
    told = said if negative else wanted
    return bool(same) and negative not in same and not told.vocabulary & stem_list("below_zero")

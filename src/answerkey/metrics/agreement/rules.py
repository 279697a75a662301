"""The rules of `answer_agreement`: what the labelled data hardly has, and a small model can't see.

They are about yes and no, directions, figures with their units and bounds, and names. Each weight is a
number of log-odds and has a line in the ablation table of docs/validity_tables.md.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

from answerkey.language.dates import without_dates
from answerkey.language.figure_match import figures_agree
from answerkey.language.quantities import Figure, figures
from answerkey.language.stems import stem
from answerkey.metrics.agreement.comparable import Text
from answerkey.metrics.agreement.figure_context import (
    changes_in,
    differences,
    figures_exchanged,
    other_bound,
    other_sign,
)
from answerkey.metrics.agreement.replacements import names_of
from answerkey.metrics.agreement.stance import focus, relation, stance
from answerkey.metrics.agreement.word_match import NEAR, Near, closest

# For the same quantity; against the opposite (no for yes, A over B for B over A, the figure of A for that of B) and
# against another quantity of the same kind.
SURE = 6.0
LIKELY = 4.0  # for the same yes or no; against what may be the opposite
FIGURES_SHORT = 1.0  # against an answer that has none of several expected figures; less for some
OTHER_NAME = (
    2.5  # against another name or number next to an expected one, or in place of all of them
)
_OPPOSED_SIDE = -0.5  # an implied yes or no against a plain one
_ONE_THING = 25  # words of a sentence in which one word can turn the whole
_FEW = 3  # words of an expected answer that is a figure with its unit
_SHORT = 8  # words of an expected answer in which every quantity counts
_PHRASE = math.log1p(5)
_LONG = math.log1p(20)
_CODE = re.compile(r"\b(?=[a-z]+\d)[a-z\d]{6,}\b")  # letters, then digits: `de8937`, `ax4211`
_NEGATED = re.compile(r"\b(?:not|cannot|never)\b|n['’]t\b", re.IGNORECASE)
_WITHOUT = re.compile(r"\b(?:no|without)\s+(?:an?\s+|any\s+|the\s+)?(\w+)", re.IGNORECASE)
_WITH = re.compile(
    r"\b(?:with|needs?|requires?)\s+(?:an?\s+|the\s+|your\s+)?(\w+)"
    r"|\b(\w+)\s+(?:(?:is|are)\s+)?(?:required|needed|necessary|mandatory)\b",
    re.IGNORECASE,
)


def conclusions(
    said: Text, expected: Text, question: Text, key: Sequence[Figure], spelled: Near
) -> dict[str, float]:
    """The features that the rules use, beside those of the fitted model."""
    sought = _own_figures(expected, question, key)
    side = stance(said, question) * stance(expected, question)
    needs_differ = _needs_what_the_other_does_not(said, expected)
    # "With a receipt" and "without a receipt" share their words; the stance may call them equal.
    if needs_differ:
        side = min(side, 0.0)
    reversals = {(after, before) for before, after in changes_in(expected)}
    return {
        "same_side": side,
        "opposed_side": float(
            side <= _OPPOSED_SIDE
            or needs_differ
            or (side == 0 and _is_opposed(said, expected, question, sought))
        ),
        "other_sign": float(other_sign(said, expected, sought)),
        "other_bound": float(other_bound(said, expected, question, key)),
        # A change that the expected answer has in both directions says nothing about the order.
        "reversed": float(bool(reversals & changes_in(said) - changes_in(expected))),
        "exchanged": float(figures_exchanged(said, expected)),
        "other_quantity": float(
            _has_other_unit(said, sought) or _other_quantity(said, expected, question, sought)
        ),
        "other_code": float(_has_other_code(said, expected)),
        "same_quantity": float(_is_same_quantity(said, expected, sought)),
        "other_names": float(_has_other_names(said, expected, question, spelled)),
    }


def _own_figures(expected: Text, question: Text, key: Sequence[Figure]) -> list[Figure]:
    """The expected figures that are not in the question, no year and no part of a date."""
    plain = {figure.value for figure in figures(without_dates(expected.plain))}
    dated = {figure.value for figure in figures(expected.plain)} - plain
    ignored = dated | {figure.value for figure in question.figures}
    return [figure for figure in key if figure.value not in ignored and not figure.year]


def _is_opposed(said: Text, expected: Text, question: Text, sought: Sequence[Figure]) -> bool:
    """Whether the sentence nearest to a short expected answer says the opposite of it."""
    near = focus(said, expected, sought)
    # One negation turns a short sentence; in a long one it may belong to another clause.
    if max(len(near.words), len(expected.words)) > _ONE_THING:
        return False
    return relation(near, expected, question.vocabulary) < 0


def _is_same_quantity(said: Text, expected: Text, sought: Sequence[Figure]) -> bool:
    """Whether the expected answer is little more than a figure with a unit, and the answer has it."""
    # Bare counts ("3") agree by chance more often than figures with a unit.
    if len(expected.words) > _FEW or all(figure.count for figure in sought):
        return False
    return all(any(figures_agree(one, other) for other in said.figures) for one in sought)


def _has_other_unit(said: Text, sought: Sequence[Figure]) -> bool:
    """Whether an expected figure is missing, and its digits are there with another unit."""
    return any(
        one.value == other.value and one.other_unit(other)
        for one in sought
        if not any(figures_agree(one, other) for other in said.figures)
        for other in said.figures
    )


def _has_other_code(said: Text, expected: Text) -> bool:
    """Whether an account or part number has another one of the same length in its place."""
    ours = _codes(expected) - _codes(said)
    theirs = _codes(said) - _codes(expected)
    return any(len(one) == len(other) for one in ours for other in theirs)


def _codes(text: Text) -> set[str]:
    return set(_CODE.findall(text.plain.lower()))


def _other_quantity(said: Text, expected: Text, question: Text, sought: Sequence[Figure]) -> bool:
    """None of the expected quantities, but others of the same kind; of a short expected answer, not even one."""
    asked_values = {figure.value for figure in question.figures}
    derived = differences(expected)
    own = [
        figure
        for figure in said.figures
        if figure.value not in asked_values
        and not any(math.isclose(figure.value, change) for change in derived)
    ]
    missing = [
        figure for figure in sought if not any(figures_agree(figure, other) for other in own)
    ]
    others = [figure for figure in own if not any(figures_agree(one, figure) for one in sought)]
    kinds = {figure.dimension or figure.percent for figure in missing} - {False}
    if len(expected.words) <= _SHORT:
        is_enough = bool(missing)
    else:
        is_enough = len(missing) == len(sought)
    return is_enough and any((figure.dimension or figure.percent) in kinds for figure in others)


def _has_other_names(said: Text, expected: Text, question: Text, spelled: Near) -> bool:
    names = names_of(expected.words, question)
    rivals = [
        name
        for name in names_of(said.words, question)
        if closest(name, expected, expected)[0] < NEAR
    ]
    return bool(names and rivals) and all(spelled[name][0] < NEAR for name in names)


def _needs_what_the_other_does_not(one: Text, other: Text) -> bool:
    """Whether one text has `with a receipt` or `a receipt is needed`, and the other `no receipt` or `without a receipt`."""
    lacks = [_stems_of(_WITHOUT, text) for text in (one, other)]
    needs = [_stems_of(_WITH, text) for text in (one, other)]
    # A text that both needs and lacks a thing speaks of two situations; it opposes nothing.
    return bool((lacks[0] & needs[1] - lacks[1]) | (lacks[1] & needs[0] - lacks[0]))


def _stems_of(pattern: re.Pattern[str], text: Text) -> set[str]:
    """The words that the pattern finds in the clauses that nothing negates: not in `you can't enter without a ticket`."""
    clauses = [clause for clause in re.split(r"[.;,]\s", text.plain) if not _NEGATED.search(clause)]
    return {
        stem(match[match.lastindex or 0].lower())
        for clause in clauses
        for match in pattern.finditer(clause)
    }


def log_odds(f: Mapping[str, float]) -> float:
    """The sum of the rules for one answer."""
    is_phrase = f["reference_length"] >= _PHRASE
    is_same = f["contains"] or f["exact"]
    is_brief = f["answer_length"] <= _LONG
    is_turned = f["exchanged"] or f["reversed"] or f["other_sign"] or f["other_bound"]
    if is_turned or f["same_side"] <= -1:
        against = SURE
    else:
        against = LIKELY * f["opposed_side"]
    # A brief answer on the right side of a yes-or-no question need not repeat every figure.
    if f["figures"] >= 2 and not (is_phrase and is_brief and f["same_side"] > 0):
        against += FIGURES_SHORT * (1 - f["figures_found"])
    # An answer with the expected text may name other quantities and people beside it.
    if not is_same:
        against += SURE * f["other_quantity"]
        against += OTHER_NAME * _has_replaced_name(f, is_phrase)
    is_same_date = f["date"] == 1 and f["date_shared"] == 3 and not is_phrase
    # Evidence against wins: the same figure may belong to something else.
    if (f["same_quantity"] or is_same_date) and not against:
        return SURE
    if f["same_side"] == 1 or (is_brief and not f["declines"]):
        return LIKELY * max(0.0, f["same_side"]) - against
    return -against


def _has_replaced_name(f: Mapping[str, float], is_phrase: bool) -> bool:
    """`David Coleman` for `David Vine`, `James V` for `James IV`; not where the expected figures or dates are there."""
    if f["best_contains"] or (f["figures"] and f["figures_found"] == 1) or f["date"] == 1:
        return False
    is_next_to = f["replaced_name"] == 1 or bool(f["replaced_number"])
    return is_next_to or (is_phrase and bool(f["other_names"]))

"""What is set by hand in `answer_agreement`: conclusions, names, lists and units, which the labelled data hardly has.

Each rule is a number of log-odds, added to those of the fitted model; both are measured together in docs/validity.md.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

from answerkey.language.dates import without_dates
from answerkey.language.figure_match import figures_agree
from answerkey.language.quantities import Figure, figures
from answerkey.language.stems import stem
from answerkey.language.words import poles, stem_list
from answerkey.metrics.agreement.comparable import Text, read
from answerkey.metrics.agreement.figure_context import (
    differences,
    figures_exchanged,
    moved,
    other_bound,
    other_sign,
)
from answerkey.metrics.agreement.replacements import (
    holds,
    items,
    names_of,
    other_code,
    other_of_kind,
    other_person,
    swapped,
)
from answerkey.metrics.agreement.stance import (
    RISE,
    direction,
    focus,
    other_direction,
    other_order,
    relation,
    stance,
)
from answerkey.metrics.agreement.word_match import NEAR, Near, closest, has_root

YES_NO = 4.0  # for the same yes or no, against the other; less where it is only implied
OTHER_WAY = 6.0  # against the opposite: no for yes, a fall for a rise, A over B for B over A, the figure of A for that of B
OPPOSED = 4.0  # against what may be the opposite: one of the texts negates what the other has
WRONG_COPY = 8.0  # against a near copy of the expected answer that has another figure
FIGURES_SHORT = (
    1.0  # against an answer that has none of several expected figures; less for some of them
)
OTHER_FIGURE = 2.5  # against another figure in place of the expected one, in an expected sentence
OTHER_UNIT = 6.0  # against the expected digits with another unit or currency, or other quantities in the same unit
SAME_QUANTITY = 5.0  # for the expected figures in an expected answer that says nothing else
SAME_FACTS = 1.5  # for the expected figures, whatever their unit, or all the expected names, in an expected sentence
RIGHT_FIGURES = (
    1.5  # for the first expected figure and no wrong one, in an expected sentence of several
)
OTHER_NAME = 0.5  # against another name next to an expected one; the fitted data is more lenient than quizzes
OTHER_PERSON = 5.0  # against `David Coleman` for `David Vine`
OTHER_NAMES = 3.5  # against other names in place of all the expected ones, in an expected sentence
OTHER_CODE = 9.0  # against another file name, address or part number than the expected one
OTHER_NUMBER = 2.0  # against `James V` for `James IV`
OTHER_OF_KIND = 5.0  # against another weekday, colour or the like, of which only one can be true
ITEMS_SHORT = (
    4.0  # against an answer that has none of the items of an expected list; less for some of them
)
ITEM_REPLACED = 4.0  # against a list in which another item takes the place of an expected one
ITEM_ADDED = 5.0  # against the expected list with one more item
OTHER_REASON = (
    6.0  # against the same yes or no with a reason that shares no word with the expected one
)
OTHER_WAY_TO = 3.5  # against the expected figure with other words, where the question is how or why something is done
SWAPPED = (
    4.0  # against the expected sentence with one name exchanged; a third of it for another word
)
DECLINED = 1.0  # against an answer that declines and gives nothing expected
_LIMITED = 0.75  # the weight of the same limit in place of a yes or no
_OPPOSED = -0.5  # an implied yes or no against a plain one
_ONE_THING = 25  # words of a sentence in which one word can turn the whole
_SHORT = 8  # words of an expected answer in which every quantity counts
_COPY = 0.9
_PHRASE = math.log1p(5)
_SENTENCE = math.log1p(6)
_LONG = math.log1p(20)
_REASON = re.compile(
    r"\b(?:because(?: of)?|due to|owing to|on account of|thanks to)\b([^.;]*)", re.IGNORECASE
)
_ONLY = re.compile(
    r"\b(?:only|solely|exclusively|just|(?:restricted|limited|confined) to|reserved for)\b",
    re.IGNORECASE,
)
_UNLIMITED = re.compile(
    r"\b(?:any ?time|always|whenever|everyone|anyone|everywhere|anywhere|without (?:any )?(?:limit|restriction|exception)s?)\b",
    re.IGNORECASE,
)
_NEGATED = re.compile(r"\b(?:not|cannot|never)\b|n['’]t\b", re.IGNORECASE)
_WITHOUT = re.compile(r"\b(?:no|without)\s+(?:an?\s+|any\s+|the\s+)?(\w+)", re.IGNORECASE)
_WITH = re.compile(
    r"\b(?:with|needs?|requires?)\s+(?:an?\s+|the\s+|your\s+)?(\w+)|\b(\w+)\s+(?:(?:is|are)\s+)?(?:required|needed|necessary|mandatory)\b",
    re.IGNORECASE,
)
_ASKS_WAY = re.compile(
    r"^\W*(?:how (?:do|can|should|would|to|is|are|does)|why|what (?:should|do|must))\b",
    re.IGNORECASE,
)


def conclusions(
    said: Text, wanted: Text, asked: Text, key: Sequence[Figure], spelled: Near
) -> dict[str, float]:
    """The features that the rules use, beside those of the fitted model."""
    given = {figure.value for figure in asked.figures}
    dated = {f.value for f in figures(wanted.plain)} - {
        f.value for f in figures(without_dates(wanted.plain))
    }
    sought = [figure for figure in key if figure.value not in given | dated and not figure.year]
    found = [any(figures_agree(figure, other) for other in said.figures) for figure in sought]
    names = names_of(wanted.words, asked)
    rivals = [
        name for name in names_of(said.words, asked) if closest(name, wanted, wanted)[0] < NEAR
    ]
    listed = items(wanted.plain)
    missing = [item for item in listed if not holds(said, item)]
    extra = [item for item in items(said.plain) if not (holds(wanted, item) or holds(asked, item))]
    side = stance(said, asked) * stance(wanted, asked)
    if side > -1 and _same_limit(said, wanted, asked):
        side = _LIMITED
    turned = _needs_what_the_other_does_not(said, wanted)
    side = min(side, 0.0) if turned else side
    near = focus(said, wanted, sought)
    brief = max(len(near.words), len(wanted.words)) <= _ONE_THING
    unlimited = bool(_UNLIMITED.search(said.plain)) and not _UNLIMITED.search(wanted.plain)
    if side == 0 and brief:
        related = relation(near, wanted, asked.vocabulary)
    else:
        related = 0.0
    opposed = (
        related < 0
        or (side > 0 and unlimited and bool(wanted.vocabulary & stem_list("limits")))
        or turned
    )
    return {
        "plain_words": float(not (names or sought or wanted.dates or listed)),
        "same_side": side,
        "opposed_side": float(side <= _OPPOSED or opposed),
        "opposite_words": float(related == -1),
        "other_sign": float(other_sign(said, wanted, sought)),
        "other_bound": float(other_bound(said, wanted, asked, key)),
        "reversed": float(
            bool({(after, before) for before, after in moved(wanted)} & moved(said) - moved(wanted))
        ),
        "exchanged": float(figures_exchanged(said, wanted)),
        "other_direction": float(
            other_direction(said, wanted)
            or other_order(said, wanted)
            or _denies_change(said, wanted)
        ),
        "same_quantity": float(
            bool(sought) and all(found) and not any(figure.count for figure in sought)
        ),
        "only_quantity": float(
            any(not figure.count for figure in sought)
            and all(found)
            and _only_quantities(said, wanted, asked)
        ),
        "other_quantity": float(_other_quantity(said, wanted, sought, given)),
        "right_figures": float(_right_figures(said, wanted, sought, given)),
        "other_figure": float(
            bool(sought) and not any(found) and any(f.value not in given for f in said.figures)
        ),
        "same_names": float(
            bool(names) and not rivals and all(spelled[name][0] >= NEAR for name in names)
        ),
        "swapped": swapped(said, wanted),
        "other_unit": float(
            any(
                not hit
                and any(
                    one.value == other.value and one.other_unit(other) for other in said.figures
                )
                for one, hit in zip(sought, found, strict=True)
            )
        ),
        "other_names": float(
            bool(names and rivals) and all(spelled[name][0] < NEAR for name in names)
        ),
        "other_person": float(other_person(said, wanted, asked)),
        "other_code": float(other_code(said, wanted, asked)),
        "other_of_kind": float(other_of_kind(said, wanted, asked)),
        "items_found": 1 - len(missing) / len(listed) if listed else 1.0,
        "item_replaced": float(bool(missing and extra)),
        "item_added": float(bool(listed and extra) and not missing),
        "other_reason": float(_other_reason(said, wanted, asked)),
        "other_way_to": float(bool(sought) and all(found) and _other_way_to(said, wanted, asked)),
    }


def _other_quantity(said: Text, wanted: Text, sought: Sequence[Figure], given: set[float]) -> bool:
    """None of the expected quantities, but others of the same kind; of a short expected answer, not even one."""
    derived = differences(wanted)
    own = [
        figure
        for figure in said.figures
        if figure.value not in given
        and not any(math.isclose(figure.value, change) for change in derived)
    ]
    missing = [
        figure for figure in sought if not any(figures_agree(figure, other) for other in own)
    ]
    others = [figure for figure in own if not any(figures_agree(one, figure) for one in sought)]
    kinds = {figure.dimension or figure.percent for figure in missing} - {False}
    if len(wanted.words) <= _SHORT:
        enough = missing
    else:
        enough = len(missing) == len(sought)
    return bool(enough) and any((figure.dimension or figure.percent) in kinds for figure in others)


def _denies_change(said: Text, wanted: Text) -> bool:
    """Whether the answer has the figures of an expected change and the other direction: `from 2 to 3, so it did not rise`."""
    changes = moved(wanted)
    told = direction(said)
    if len(changes) != 1 or told == direction(wanted) or len(wanted.words) > _ONE_THING:
        return False
    ((before, after),) = changes
    return {before, after} <= {figure.value for figure in said.figures} and told * (
        after - before
    ) < 0


def _right_figures(said: Text, wanted: Text, sought: Sequence[Figure], given: set[float]) -> bool:
    """Whether the answer has the first expected figure, and none that is not expected or the difference of two that are."""
    key = [figure for figure in wanted.figures if not figure.year]
    apart = [abs(one.value - other.value) for n, one in enumerate(key) for other in key[n + 1 :]]
    own = [
        figure
        for figure in said.figures
        if not (figure.year or figure.count or figure.value in given)
    ]
    return (
        bool(sought)
        and any(figures_agree(sought[0], figure) for figure in own)
        and all(
            any(figures_agree(one, figure) for one in key)
            or any(math.isclose(figure.value, change, rel_tol=0.02) for change in apart)
            for figure in own
        )
    )


def _only_quantities(said: Text, wanted: Text, asked: Text) -> bool:
    """Whether an expected answer has no word of its own beside its figures and dates, but for the direction of both."""
    own = _own_words(wanted, asked)
    if direction(said) == direction(wanted):
        own = {word for word in own if not any(axis == RISE for axis, _ in poles().get(word, ()))}
    return not own


def _own_words(wanted: Text, asked: Text) -> set[str]:
    """The content words of an expected answer that are no figure and no date, and not in the question."""
    plain = list(wanted.plain)
    for figure in wanted.figures:
        plain[slice(*figure.span)] = " " * (figure.span[1] - figure.span[0])
    rest = read(without_dates("".join(plain), years=True))
    own = (
        {word.stem for word in rest.words if word.content}
        - asked.vocabulary
        - stem_list("around_figures")
    )
    return {word for word in own if closest(word, asked, asked)[0] < NEAR}


def _has(said: Text, word: str) -> bool:
    return closest(word, said, said)[0] >= NEAR or has_root(word, said.vocabulary)


def _other_way_to(said: Text, wanted: Text, asked: Text) -> bool:
    """Whether the question is how or why, and the answer has none of the expected words beside the figures."""
    if _ASKS_WAY.match(asked.plain):
        own = _own_words(wanted, asked)
    else:
        own = set[str]()
    return len(own) >= 2 and not any(_has(said, word) for word in own)


def _other_reason(said: Text, wanted: Text, asked: Text) -> bool:
    """Whether the answer has none of the words of the expected reason, and a reason or several words of its own."""
    sought = _REASON.search(wanted.plain)
    content = read(sought[1]).content if sought else ()
    if not content or any(_has(said, word) for word in content):
        return False
    own = (
        {word.stem for word in said.words if word.content}
        - asked.vocabulary
        - wanted.vocabulary
        - {"yes", "no"}
    )
    return bool(_REASON.search(said.plain)) or len(own) >= 2


def _needs_what_the_other_does_not(one: Text, other: Text) -> bool:
    """Whether one text has `with a receipt` or `a receipt is needed`, and the other `no receipt` or `without a receipt`."""
    lacks, needs = (
        [_stems_of(pattern, text) for text in (one, other)] for pattern in (_WITHOUT, _WITH)
    )
    return bool((lacks[0] & needs[1] - lacks[1]) | (lacks[1] & needs[0] - lacks[0]))


def _stems_of(pattern: re.Pattern[str], text: Text) -> set[str]:
    """The words that the pattern finds in the clauses that nothing negates: not in `you can't enter without a ticket`."""
    clauses = [clause for clause in re.split(r"[.;,]\s", text.plain) if not _NEGATED.search(clause)]
    return {
        stem(match[match.lastindex or 0].lower())
        for clause in clauses
        for match in pattern.finditer(clause)
    }


def _same_limit(said: Text, wanted: Text, asked: Text) -> bool:
    """Whether both limit something to the same, in place of a yes or no: `only on the terrace`, `restricted to the terrace`."""
    if not (_ONLY.search(said.plain) and _ONLY.search(wanted.plain)):
        return False
    own = {word for word in wanted.content if word not in asked.vocabulary} - {
        "only",
        "yes",
        "no",
        "just",
    }
    return bool(own) and all(_has(said, word) for word in own)


def log_odds(f: Mapping[str, float]) -> float:
    """The sum of the rules for one answer."""
    phrase = f["reference_length"] >= _PHRASE
    sentence = f["reference_length"] >= _SENTENCE
    same = f["contains"] or f["exact"]
    found = same or (f["figures"] and f["figures_found"] == 1)
    brief = phrase and not f["opposed_side"] and f["answer_length"] <= _LONG
    short = f["figures"] >= 2 and not (brief and f["same_side"] > 0) and 1 - f["figures_found"]
    other_name = f["replaced_name"] == 1 and not found and not f["best_contains"]
    turned = (
        f["exchanged"]
        or f["reversed"]
        or f["other_direction"]
        or f["opposite_words"]
        or f["same_side"] <= -1
    )
    surely = bool(turned or f["other_sign"] or f["other_bound"])
    other_way = surely or bool(f["opposed_side"])
    asked_figure = (
        f["asks_count"] and f["figures"] and not f["first_figure"] and not f["figures_none"]
    )
    against = (
        (OTHER_WAY if surely else OPPOSED * other_way)
        + WRONG_COPY * _wrong_copy(f)
        + FIGURES_SHORT * short
        + OTHER_FIGURE * bool(((sentence and f["other_figure"]) or asked_figure) and not same)
        + OTHER_UNIT * max(f["other_unit"], f["other_quantity"] * (not same))
        + DECLINED * (bool(f["declines"]) + 2 * f["declines_in_part"]) * (not found)
        + OTHER_NUMBER * bool(f["replaced_number"] and not found and f["date"] != 1)
        + OTHER_NAME * bool(other_name) * (5 if phrase else 1)
        + OTHER_CODE * bool(f["other_code"] and not same)
        + OTHER_PERSON * bool(f["other_person"] and not same and not f["best_contains"])
        + OTHER_NAMES * bool(phrase and f["other_names"] and not same)
        + OTHER_OF_KIND * bool(f["other_of_kind"] and not same)
        + (
            ITEMS_SHORT * (1.5 - f["items_found"]) * (f["items_found"] < 1)
            + ITEM_REPLACED * f["item_replaced"]
        )
        * (not same)
        + ITEM_ADDED * f["item_added"]
        + OTHER_REASON * bool(f["other_reason"] and f["same_side"] > 0 and not same)
        + OTHER_WAY_TO * bool(f["other_way_to"] and not same)
        + SWAPPED * f["swapped"]
    )
    same_facts = brief and (f["same_quantity"] or f["same_names"] or f["date_shared"] == 3)
    quantity = (
        f["only_quantity"]
        and not (other_way or same or f["other_of_kind"])
        and (f["date"] == 1 or not f["date_parts"])
    )
    same_date = f["date"] == 1 and f["date_shared"] == 3 and not phrase and not other_way
    told = not f["other_of_kind"] and (
        f["same_side"] == 1 or (f["answer_length"] <= _LONG and not f["declines"])
    )
    agreed = YES_NO * max(0.0, f["same_side"]) if told else 0.0
    several = sentence and f["figures"] > 1 and f["right_figures"] and not other_way
    return (
        agreed
        + RIGHT_FIGURES * bool(several)
        + SAME_FACTS * bool(same_facts)
        + SAME_QUANTITY * bool(quantity or same_date)
        - against
    )


def _wrong_copy(f: Mapping[str, float]) -> bool:
    """Nearly the expected words, but not all of its figures: `12 months` for `24 months`."""
    near = (
        f["reference_length"] >= _SENTENCE
        and f["partial"] >= _COPY
        and not f["contains"]
        and not f["exact"]
    )
    return bool(near and f["figures"] and f["figures_found"] < 1 and not f["figures_none"])

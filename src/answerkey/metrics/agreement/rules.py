"""What is set by hand in `answer_agreement`: conclusions, names, lists and units, which the labelled data hardly has.

Each rule is a number of log-odds, added to those of the fitted model; both are measured together in docs/validity.md.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher

from rapidfuzz import fuzz

from answerkey.metrics.agreement.comparable import Text, Word, read
from answerkey.metrics.agreement.figure_context import differences, figures_exchanged, moved, other_bound, other_sign
from answerkey.metrics.agreement.stance import focus, relation, stance
from answerkey.metrics.agreement.word_match import NEAR, Near, closest, has_root
from answerkey.metrics.dates import MONTHS, without_dates
from answerkey.metrics.quantities import Figure, figures, figures_agree
from answerkey.metrics.sentences import stem, stem_list, synonyms, word_groups, word_list

YES_NO = 4.0  # for the same yes or no, against the other; less where it is only implied
OTHER_WAY = 6.0  # against the opposite: not allowed for allowed, a fall for a rise, A over B for B over A
WRONG_COPY = 8.0  # against a near copy of the expected answer that has another figure
FIGURES_SHORT = 1.0  # against an answer that has none of several expected figures; less for some of them
OTHER_FIGURE = 2.5  # against another figure in place of the expected one, in an expected sentence
OTHER_UNIT = 6.0  # against the expected digits with another unit or currency, or other quantities in the same unit
SAME_QUANTITY = 5.0  # for the expected figures in an expected answer that says nothing else
SAME_FACTS = 1.5  # for the expected figures, whatever their unit, or all the expected names, in an expected sentence
RIGHT_FIGURES = 1.5  # for the first expected figure and no wrong one, in an expected sentence of several
OTHER_NAME = 0.5  # against another name next to an expected one; the fitted data is more lenient than quizzes
OTHER_PERSON = 4.0  # against `David Coleman` for `David Vine`
OTHER_NAMES = 3.5  # against other names in place of all the expected ones, in an expected sentence
OTHER_NUMBER = 2.0  # against `James V` for `James IV`
OTHER_OF_KIND = 5.0  # against another weekday, colour or the like, of which only one can be true
ITEMS_SHORT = 4.0  # against an answer that has none of the items of an expected list; less for some of them
ITEM_REPLACED = 4.0  # against a list in which another item takes the place of an expected one
SWAPPED = 4.0  # against the expected sentence with one name exchanged; a third of it for another word
DECLINED = 1.0  # against an answer that declines and gives nothing expected
_OPPOSED = -0.15  # a yes or no in other words against a plain statement
_NAMES_READ = 40
_ONE_THING = 25  # words of a sentence in which one word can turn the whole
_SHORT = 8  # words of an expected answer in which every quantity counts
_COPY = 0.9
_PHRASE, _SENTENCE, _LONG = math.log1p(5), math.log1p(6), math.log1p(20)
_NOT_NAMES = frozenset(stem(word) for word in MONTHS)
_ITEM = re.compile(r",\s*(?:and\s+|or\s+|und\s+|et\s+|y\s+)?|\s+(?:and|or|und|et|y)\s+")


def conclusions(said: Text, wanted: Text, asked: Text, key: Sequence[Figure], spelled: Near) -> dict[str, float]:
    """The features that the rules use, beside those of the fitted model."""
    given = {figure.value for figure in asked.figures}
    dated = {f.value for f in figures(wanted.plain)} - {f.value for f in figures(without_dates(wanted.plain))}
    sought = [figure for figure in key if figure.value not in given | dated and not figure.year]
    found = [any(figures_agree(figure, other) for other in said.figures) for figure in sought]
    names = _names(wanted.words, asked)
    rivals = [name for name in _names(said.words, asked) if closest(name, wanted, wanted)[0] < NEAR]
    listed = items(wanted.plain)
    missing = [item for item in listed if not _holds(said, item)]
    side = stance(said, asked) * stance(wanted, asked)
    near = focus(said, wanted, sought)
    brief = max(len(near.words), len(wanted.words)) <= _ONE_THING
    opposed = side == 0 and brief and relation(near, wanted, asked.vocabulary) < 0
    return {
        "plain_words": float(not (names or sought or wanted.dates or listed)),
        "same_side": side,
        "opposed_side": float(side <= _OPPOSED or opposed),
        "other_sign": float(other_sign(said, wanted, sought)),
        "other_bound": float(other_bound(said, wanted, asked, key)),
        "reversed": float(bool({(after, before) for before, after in moved(wanted)} & moved(said) - moved(wanted))),
        "exchanged": float(figures_exchanged(said, wanted)),
        "same_quantity": float(bool(sought) and all(found) and not any(figure.count for figure in sought)),
        "only_quantity": float(
            any(not figure.count for figure in sought) and all(found) and _only_quantities(wanted, asked)
        ),
        "other_quantity": float(_other_quantity(said, wanted, sought, given)),
        "right_figures": float(_right_figures(said, wanted, sought, given)),
        "other_figure": float(bool(sought) and not any(found) and any(f.value not in given for f in said.figures)),
        "same_names": float(bool(names) and not rivals and all(spelled[name][0] >= NEAR for name in names)),
        "swapped": swapped(said, wanted),
        "other_unit": float(
            any(
                not hit and any(one.value == other.value and one.other_unit(other) for other in said.figures)
                for one, hit in zip(sought, found, strict=True)
            )
        ),
        "other_names": float(bool(names and rivals) and all(spelled[name][0] < NEAR for name in names)),
        "other_person": float(_other_person(said, wanted, asked)),
        "other_of_kind": float(_other_of_kind(said, wanted, asked)),
        "items_found": 1 - len(missing) / len(listed) if listed else 1.0,
        "item_replaced": float(
            bool(missing) and any(not _holds(wanted, item) and not _holds(asked, item) for item in items(said.plain))
        ),
    }


def _full_names(text: Text) -> list[list[str]]:
    """Runs of two or more words with a capital, without titles: first names with their surname."""
    runs: list[list[str]] = [[]]
    for word in text.words:
        named = word.capital and word.stem not in stem_list("titles") and not word.stem[0].isdigit()
        if not (named and word.before == " "):
            runs.append([])
        if named:
            runs[-1].append(word.stem)
    return [run for run in runs if len(run) >= 2][:_NAMES_READ]


def _other_person(said: Text, wanted: Text, asked: Text) -> bool:
    """The same surname with another first name, or the reverse, and the expected one nowhere in the answer."""

    def differs(one: str, other: str) -> bool:
        alike = one.startswith(other) or other.startswith(one) or fuzz.ratio(one, other) >= 100 * NEAR
        return not alike and other not in wanted.vocabulary and closest(one, said, wanted)[0] < NEAR

    pairs = [(ours, theirs) for ours in _full_names(wanted) for theirs in _full_names(said)]
    return any(
        ours[same] == theirs[same] and ours[same] not in asked.vocabulary and differs(ours[other], theirs[other])
        for ours, theirs in pairs
        for same, other in ((0, -1), (-1, 0))
    )


def _other_quantity(said: Text, wanted: Text, sought: Sequence[Figure], given: set[float]) -> bool:
    """None of the expected quantities, but others of the same kind; of a short expected answer, not even one."""
    derived = differences(wanted)
    own = [
        figure
        for figure in said.figures
        if figure.value not in given and not any(math.isclose(figure.value, change) for change in derived)
    ]
    missing = [figure for figure in sought if not any(figures_agree(figure, other) for other in own)]
    others = [figure for figure in own if not any(figures_agree(one, figure) for one in sought)]
    kinds = {figure.dimension or figure.percent for figure in missing} - {False}
    enough = missing if len(wanted.words) <= _SHORT else len(missing) == len(sought)
    return bool(enough) and any((figure.dimension or figure.percent) in kinds for figure in others)


def _right_figures(said: Text, wanted: Text, sought: Sequence[Figure], given: set[float]) -> bool:
    """Whether the answer has the first expected figure, and none that is not expected or the difference of two that are."""
    key = [figure for figure in wanted.figures if not figure.year]
    apart = [abs(one.value - other.value) for n, one in enumerate(key) for other in key[n + 1 :]]
    own = [figure for figure in said.figures if not (figure.year or figure.count or figure.value in given)]
    return (
        bool(sought)
        and any(figures_agree(sought[0], figure) for figure in own)
        and all(
            any(figures_agree(one, figure) for one in key)
            or any(math.isclose(figure.value, change, rel_tol=0.02) for change in apart)
            for figure in own
        )
    )


def _only_quantities(wanted: Text, asked: Text) -> bool:
    """Whether an expected answer has no word of its own beside its figures and dates."""
    plain = list(wanted.plain)
    for figure in wanted.figures:
        plain[slice(*figure.span)] = " " * (figure.span[1] - figure.span[0])
    rest = read(without_dates("".join(plain), years=True))
    own = {word.stem for word in rest.words if word.content} - asked.vocabulary - stem_list("around_figures")
    return not any(closest(word, asked, asked)[0] < NEAR for word in own)


def _other_of_kind(said: Text, wanted: Text, asked: Text) -> bool:
    """Another word of a list of which only one can be true, and not the expected one."""
    for group in word_groups("exclusive"):
        kind = {stem(word) for word in group.split()} - asked.vocabulary
        sought = kind & wanted.vocabulary
        missing = {word for word in sought - said.vocabulary if said.vocabulary.isdisjoint(synonyms().get(word, ()))}
        others = kind & said.vocabulary
        if missing and (others - wanted.vocabulary or (missing == sought and others)):
            return True
    return False


def _names(words: Sequence[Word], asked: Text) -> list[str]:
    """The names that are not in the question: words with a capital, not only because they begin a sentence."""
    found: list[str] = []
    for n, word in enumerate(words):
        if not word.capital or word.stem in asked.vocabulary or word.stem[0].isdigit():
            continue
        if n and words[n - 1].stem[0].isdigit():  # the GB of `5 GB`
            continue
        first = n == 0 or words[n - 1].sentence != word.sentence
        follows = n + 1 < len(words) and words[n + 1].capital and words[n + 1].before == " "
        if first and not (follows and words[n + 1].sentence == word.sentence):
            continue
        if word.stem not in stem_list("titles") and word.stem not in _NOT_NAMES:
            found.append(word.stem)
    return found


def swapped(said: Text, wanted: Text) -> float:
    """1 for the expected words with one name exchanged, a third for another word, else 0."""
    if abs(len(wanted.tokens) - len(said.tokens)) > 1 or len(wanted.tokens) > 200:
        return 0.0
    codes = SequenceMatcher(None, wanted.tokens, said.tokens, autojunk=False).get_opcodes()
    changes = [code for code in codes if code[0] != "equal"]
    if len(changes) != 1 or changes[0][0] != "replace" or len(wanted.tokens) < 4:
        return 0.0
    _, i1, i2, j1, j2 = changes[0]
    if max(i2 - i1, j2 - j1) > 2 or 2 * (i2 - i1) > len(wanted.tokens):
        return 0.0
    ours, theirs = wanted.words[i1:i2], said.words[j1:j2]
    if any(word.stem[0].isdigit() or not word.content for word in (*ours, *theirs)):
        return 0.0
    if any(closest(word.stem, said, wanted)[0] >= NEAR for word in ours):
        return 0.0
    return 1.0 if any(word.capital for word in ours) and any(word.capital for word in theirs) else 1 / 3


def items(text: str) -> list[str]:
    """The items of `X, Y and Z` in a text, three or more; none for a text without such a list."""
    for sentence in re.split(r"(?<=[.!?])\s+", text):
        parts = [part.strip(" .!?:;") for part in _ITEM.split(sentence)]
        if len(parts) >= 3 and "," in sentence and all(0 < len(part.split()) <= 3 for part in parts[1:]):
            return [" ".join(parts[0].split()[-1:]), *parts[1:]]
    return []


def _holds(said: Text, item: str) -> bool:
    """Whether a text has an item: every word of a name, most of the words of anything else."""
    written = re.findall(r"\w+", item)
    stems = [stem(word.lower()) for word in written if word.lower() not in word_list("stop_words")]
    found = [
        token in said.vocabulary or closest(token, said, said)[0] >= NEAR or has_root(token, said.vocabulary)
        for token in stems
    ]
    named = any(word[0].isupper() for word in written[1:])
    return bool(found) and (all(found) if named else 2 * sum(found) >= len(found))


def log_odds(f: Mapping[str, float]) -> float:
    """The sum of the rules for one answer."""
    phrase, sentence = f["reference_length"] >= _PHRASE, f["reference_length"] >= _SENTENCE
    same = f["contains"] or f["exact"]
    found = same or (f["figures"] and f["figures_found"] == 1)
    brief = phrase and not f["opposed_side"] and f["answer_length"] <= _LONG
    short = f["figures"] >= 2 and not (brief and f["same_side"] > 0) and 1 - f["figures_found"]
    other_name = f["replaced_name"] == 1 and not found and not f["best_contains"]
    other_way = bool(f["other_sign"] or f["other_bound"] or f["exchanged"] or f["reversed"] or f["opposed_side"])
    asked_figure = f["asks_count"] and f["figures"] and not f["first_figure"] and not f["figures_none"]
    against = (
        OTHER_WAY * other_way
        + WRONG_COPY * _wrong_copy(f)
        + FIGURES_SHORT * short
        + OTHER_FIGURE * bool(((sentence and f["other_figure"]) or asked_figure) and not same)
        + OTHER_UNIT * max(f["other_unit"], f["other_quantity"] * (not same))
        + DECLINED * (bool(f["declines"]) + 2 * f["declines_in_part"]) * (not found)
        + OTHER_NUMBER * bool(f["replaced_number"] and not found and f["date"] != 1)
        + OTHER_NAME * bool(other_name) * (3 if phrase else 1)
        + OTHER_PERSON * bool(f["other_person"] and not same and not f["best_contains"])
        + OTHER_NAMES * bool(sentence and f["other_names"] and not same)
        + OTHER_OF_KIND * bool(f["other_of_kind"] and not same)
        + (ITEMS_SHORT * (1.5 - f["items_found"]) * (f["items_found"] < 1) + ITEM_REPLACED * f["item_replaced"])
        * (not same)
        + SWAPPED * f["swapped"]
    )
    same_facts = brief and (f["same_quantity"] or f["same_names"] or f["date_shared"] == 3)
    quantity = f["only_quantity"] and not (other_way or same) and (f["date"] == 1 or not f["date_parts"])
    told = f["same_side"] == 1 or (f["answer_length"] <= _LONG and not f["declines"])
    agreed = YES_NO * max(0.0, f["same_side"]) if told else 0.0
    several = sentence and f["figures"] > 1 and f["right_figures"] and not other_way
    return (
        agreed
        + RIGHT_FIGURES * bool(several)
        + SAME_FACTS * bool(same_facts)
        + SAME_QUANTITY * bool(quantity)
        - against
    )


def _wrong_copy(f: Mapping[str, float]) -> bool:
    """Nearly the expected words, but not all of its figures: `12 months` for `24 months`."""
    near = f["reference_length"] >= _SENTENCE and f["partial"] >= _COPY and not f["contains"] and not f["exact"]
    return bool(near and f["figures"] and f["figures_found"] < 1 and not f["figures_none"])

"""Two answers of one conversation that cannot both be right."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from answerkey.errors import SettingsError
from answerkey.language.claims import claims
from answerkey.language.dates import dates, without_dates
from answerkey.language.refusal import refusal
from answerkey.language.sentences import content_stems
from answerkey.metrics.conversation.read_turns import has_phrase, phrase_list
from answerkey.metrics.entailment.contradiction import contradicts
from answerkey.metrics.entailment.entailed import entail
from answerkey.text import numbers, words
from answerkey.types import Turn

_SHARED = 2  # content words that two statements about one thing have in common
_SAME_WORDS = 0.5  # share of the content words that both have
_SHORTEST = 4  # words of a statement; shorter ones are headings
_SURE = 0.9  # probability of the entailment model, beside the rules
_DENIED = 0.8  # probability by which the model alone decides about names
_DENIED_SURELY = 0.88  # and about anything else
_LABEL = re.compile(r"^[\W\d]*[\w /-]{1,30}:")
_NAME = re.compile(r"(?<!^)\b[A-Z][a-z]+\b")
_MOST_CLAIMS = 40


@dataclass(frozen=True, slots=True)
class Contradiction:
    """A statement, and the earlier one that it contradicts."""

    statement: str
    earlier: str


def find_contradiction(turns: Sequence[Turn], place: int) -> Contradiction | None:
    """A statement of the answer at `place` that contradicts an earlier answer.

    A bot that corrects itself, and says so, does not contradict itself.
    """
    answer = turns[place].answer
    if has_phrase(answer, phrase_list("corrections")):
        return None
    statements = _statements(answer)
    for earlier in range(place):
        changed = _new_conditions(turns, earlier, place)
        for old in _statements(turns[earlier].answer):
            for new in statements:
                if _is_contradiction(new, old, changed):
                    return Contradiction(new, old)
    return None


def _statements(answer: str) -> list[str]:
    if refusal(answer) == "full":
        return []
    # "Departure: 9:00" in a list says nothing without its heading.
    return [
        claim
        for claim in claims(answer)[:_MOST_CLAIMS]
        if not _LABEL.match(claim) and len(claim.split()) >= _SHORTEST
    ]


def _new_conditions(turns: Sequence[Turn], earlier: int, place: int) -> set[str]:
    """Words of later messages of the user that the earlier exchange does not have.

    "And for children?" asks about another case: another figure is no contradiction then.
    """
    before = content_stems(f"{turns[earlier].user}\n{turns[earlier].answer}")
    later = content_stems("\n".join(turn.user for turn in turns[earlier + 1 : place + 1]))
    return later - before


def _is_contradiction(statement: str, earlier: str, changed: set[str]) -> bool:
    stems = _stems(statement)
    earlier_stems = _stems(earlier)
    if _has_other_name(statement, earlier, changed):
        return _is_denied_by_model(statement, earlier)
    if stems & changed:
        return False
    if _has_other_date(statement, earlier):
        return True
    shared = len(stems & earlier_stems)
    if shared < _SHARED:
        return False
    if _is_restricted(statement, earlier) or _is_restricted(earlier, statement):
        return True
    if shared / len(stems | earlier_stems) < _SAME_WORDS:
        return False
    if not _differ_in_one_figure(statement, earlier):
        return False
    if not contradicts(statement, earlier) and not contradicts(earlier, statement):
        return _is_denied_by_model(statement, earlier, _DENIED_SURELY)
    return _has_model_no_doubt(statement, earlier)


def _stems(statement: str) -> set[str]:
    """The content words, without figures."""
    return {stem for stem in content_stems(statement) if not stem[:1].isdigit()}


def _is_restricted(statement: str, earlier: str) -> bool:
    """Whether one is about all and the other about a part: "open all day", "only open at noon"."""
    has_part = not set(words(statement)).isdisjoint(phrase_list("restricting"))
    has_all = not set(words(earlier)).isdisjoint(phrase_list("universal"))
    return has_part and has_all


def _has_other_date(statement: str, earlier: str) -> bool:
    """Whether two statements are the same but for their date."""
    days = [date for date in dates(statement) if date.parts > 1]
    other_days = [date for date in dates(earlier) if date.parts > 1]
    if len(days) != 1 or len(other_days) != 1 or days[0].agrees(other_days[0]) > 0:
        return False
    stems = _stems(without_dates(statement))
    return bool(stems) and stems == _stems(without_dates(earlier))


def _has_other_name(statement: str, earlier: str, changed: set[str]) -> bool:
    """Whether only a name differs: "is run by Kari Holm" and "is run by Erik Dahl"."""
    missing = _stems(earlier) - _stems(statement)
    names = {stem for match in _NAME.finditer(earlier) for stem in content_stems(match[0])}
    other_names = {stem for match in _NAME.finditer(statement) for stem in content_stems(match[0])}
    new_names = other_names - _stems(earlier)
    shared = _stems(earlier) & _stems(statement)
    has_same_figures = {n.value for n in numbers(earlier)} <= {n.value for n in numbers(statement)}
    is_replaced = bool(missing) and missing <= names and bool(new_names - changed)
    return is_replaced and has_same_figures and len(shared - names) >= _SHARED


def _is_denied_by_model(statement: str, earlier: str, least: float = _DENIED) -> bool:
    try:
        pairs = entail([(earlier, statement), (statement, earlier)])
    except SettingsError:  # the packaged model is not installed
        return False
    return all(pair.contradicted >= least for pair in pairs)


def _differ_in_one_figure(statement: str, earlier: str) -> bool:
    """Two nights for 200 and three nights for 300 differ in two figures: another case."""
    own = {number.value for number in numbers(statement)}
    other = {number.value for number in numbers(earlier)}
    return len(own - other) <= 1 and len(other - own) <= 1


def _has_model_no_doubt(statement: str, earlier: str) -> bool:
    """The rules decide unless the entailment model is sure that one supports the other."""
    try:
        pairs = entail([(earlier, statement), (statement, earlier)])
    except SettingsError:  # the packaged model is not installed
        return True
    return all(pair.supported < _SURE for pair in pairs)

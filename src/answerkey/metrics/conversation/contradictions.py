"""Two answers of one conversation that cannot both be right."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from answerkey.errors import SettingsError
from answerkey.language.claims import claims
from answerkey.language.refusal import refusal
from answerkey.language.sentences import content_stems
from answerkey.metrics.conversation.read_turns import has_phrase, phrase_list
from answerkey.metrics.entailment.contradiction import contradicts
from answerkey.metrics.entailment.entailed import entail
from answerkey.text import numbers
from answerkey.types import Turn

_SHARED = 2  # content words that two statements about one thing have in common
_SAME_WORDS = 0.5  # share of the content words that both have
_SHORTEST = 4  # words of a statement; shorter ones are headings
_SURE = 0.9  # probability of the entailment model, beside the rules
_DENIED = 0.8  # probability by which the model alone decides about names
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
    shared = len(stems & earlier_stems)
    if shared < _SHARED or stems & changed:
        return False
    if shared / len(stems | earlier_stems) < _SAME_WORDS:
        return False
    if not _differ_in_one_figure(statement, earlier):
        return False
    if not contradicts(statement, earlier) and not contradicts(earlier, statement):
        return False
    return _has_model_no_doubt(statement, earlier)


def _stems(statement: str) -> set[str]:
    """The content words, without figures."""
    return {stem for stem in content_stems(statement) if not stem[:1].isdigit()}


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


def _is_denied_by_model(statement: str, earlier: str) -> bool:
    try:
        pairs = entail([(earlier, statement), (statement, earlier)])
    except SettingsError:  # the packaged model is not installed
        return False
    return all(pair.contradicted >= _DENIED for pair in pairs)


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

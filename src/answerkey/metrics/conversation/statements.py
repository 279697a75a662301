"""The statements of a bot's answers, and the pairs of them that may contradict each other."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from answerkey.language.claims import claims
from answerkey.language.refusal import refusal
from answerkey.language.sentences import content_stems
from answerkey.metrics.conversation.read_turns import (
    begins_with_phrase,
    ends_with_question,
    filler_stems,
    has_phrase,
    phrase_list,
    split_sentences,
)
from answerkey.types import Turn

_MOST_STATEMENTS = 40  # of one answer
_SHORTEST = 3  # words; shorter ones are headings and courtesies
_SHORTEST_WITH_FIGURE = 2  # "80 kilos" answers a question
_LABEL = re.compile(r"^[\W\d]*[\w /-]{1,30}:")
_FIRST_PERSON = re.compile(r"\bI\b")
_PREAMBLE = re.compile(
    r"\bI(?:['’]m| am) (?:afraid|sorry),?(?: but| that)?\b\s*|\b(?:please )?note that\b\s*"
    r"|\bunfortunately,?\s*",
    re.IGNORECASE,
)
# "Around an hour, but you cannot take a pushchair" says two things.
_CLAUSE = re.compile(
    r",?\s+(?:but|since|because|although|however|whereas)\s+|;\s+|,\s+(?:as|so)\s+"
    r"|,\s+(?:and\s+)?(?=(?:it|they|you|we|there|he|she|that|this)\b)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class StatementPair:
    """A statement, an earlier one, the questions before them, and what the user brought up since."""

    statement: str
    earlier: str
    question: str
    earlier_question: str
    new_words: frozenset[str]


def pair_statements(turns: Sequence[Turn], place: int) -> Iterator[StatementPair]:
    """Each statement of the answer at `place` with each statement of the answers before it."""
    statements = split_statements(turns[place].answer)
    for earlier in range(place):
        new_words = _new_words(turns, earlier, place)
        for old in split_statements(turns[earlier].answer):
            for new in statements:
                yield StatementPair(
                    statement=new,
                    earlier=old,
                    question=turns[place].user,
                    earlier_question=turns[earlier].user,
                    new_words=new_words,
                )


def split_statements(answer: str) -> list[str]:
    """The statements of an answer, clause by clause, each once."""
    clauses = [
        phrase.strip(" ,.;!")
        for sentence in split_sentences(_PREAMBLE.sub("", answer))
        for claim in _claims(sentence)
        for phrase in _CLAUSE.split(claim)
    ]
    statements = [clause for clause in map(_without_opening, clauses) if _states_something(clause)]
    return list(dict.fromkeys(statements))[:_MOST_STATEMENTS]


def _claims(sentence: str) -> Sequence[str]:
    if ends_with_question(sentence):
        return ()
    # `claims` leaves refusals out, but "Your policy doesn't cover theft" is a statement.
    if refusal(sentence) == "full":
        return (sentence,)
    return claims(sentence)


def _without_opening(clause: str) -> str:
    """The clause without "No problem, " at its beginning."""
    for opening in phrase_list("openings"):
        if clause.lower().startswith(f"{opening}, "):
            return clause[len(opening) + 2 :]
    return clause


def _states_something(clause: str) -> bool:
    # What the bot does itself changes from turn to turn: "I can help you", "I have booked it".
    # "Departure: 9:00" in a list says nothing without its heading.
    if _FIRST_PERSON.search(clause) or _LABEL.match(clause):
        return False
    has_figure = any(sign.isdigit() for sign in clause)
    least = _SHORTEST_WITH_FIGURE if has_figure else _SHORTEST
    if len(clause.split()) < least:
        return False
    # "Your exam is now on Tuesday" reports a change, which contradicts nothing.
    if has_phrase(f" {clause} ", phrase_list("changes")):
        return False
    # "Then you can cancel at the end of the month" follows from what the user just said.
    if begins_with_phrase(clause, phrase_list("consequences")):
        return False
    return not begins_with_phrase(clause, phrase_list("no_statements"))


def _new_words(turns: Sequence[Turn], earlier: int, place: int) -> frozenset[str]:
    """Words of later messages of the user that the earlier exchange does not have.

    "And for children?" asks about another case: another figure is no contradiction then.
    """
    before = content_stems(f"{turns[earlier].user}\n{turns[earlier].answer}")
    later = content_stems("\n".join(turn.user for turn in turns[earlier + 1 : place + 1]))
    return frozenset(later - before - filler_stems("insisting"))

"""Two answers of one conversation that cannot both be right."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from answerkey.embed import Embedder
from answerkey.errors import SettingsError
from answerkey.language.claims import claims
from answerkey.language.dates import dates, without_dates
from answerkey.language.numbers import in_digits
from answerkey.language.refusal import refusal
from answerkey.language.sentences import content_stems
from answerkey.language.words import opposites
from answerkey.metrics.agreement.comparable import read
from answerkey.metrics.conversation.read_turns import (
    begins_with_phrase,
    filler_stems,
    has_phrase,
    phrase_list,
    split_sentences,
)
from answerkey.metrics.entailment.contradiction import contradicts
from answerkey.metrics.entailment.entailed import entail
from answerkey.text import numbers, words
from answerkey.types import Turn

# Measured on the 142 conversations that were written before these limits were set.
_RELATED = 0.33  # least cosine of two statements about one thing that share a word
_CLOSELY_RELATED = 0.5  # and of two that share none: "deliver to Ireland", "ship outside the UK"
_OPPOSITE = 0.4  # and of two with opposite words: "Admission is free", "Tickets are 11 euros"
_SAME_FIGURE = 0.5  # cosine from which two figures are figures of the same thing
_DENIED_BY_MODEL = 0.5  # mean probability of a contradiction that needs no further sign
_DOUBTED_BY_MODEL = 0.15  # the same beside a negation that only one of the two statements has
_SUPPORTED_BY_MODEL = 0.9  # from here on the model overrules words that look opposite

_SHARED = 2  # content words that two statements about one thing have in common
_SAME_WORDS = 0.5  # share of the content words that both have
_SHORTEST = 4  # words of a statement; shorter ones are headings
_SHORTEST_CLAUSE = 3
_LABEL = re.compile(r"^[\W\d]*[\w /-]{1,30}:")
_NAME = re.compile(r"(?<!^)\b[A-Z][a-z]+\b")
# "Around an hour, but you cannot take a pushchair" says two things.
_CLAUSE = re.compile(r",?\s+(?:but|since|because|although|however|whereas)\s+|;\s+", re.IGNORECASE)
_PREAMBLE = re.compile(
    r"\bI(?:['’]m| am) (?:afraid|sorry),?(?: but| that)?\b\s*|\b(?:please )?note that\b\s*"
    r"|\bunfortunately,?\s*",
    re.IGNORECASE,
)
_FIRST_PERSON = re.compile(r"\bI\b")
_REFERENCE = re.compile(r"\b(?:it|that|this|they|them|these|those)\b", re.IGNORECASE)
# "Yes, with hot water, for 2 euros" has no subject of its own.
_FRAGMENT = re.compile(
    r"(?:yes|no),? (?:with|for|from|on|in|at|until|by|about|around|up to)\b", re.IGNORECASE
)
_PRICE = re.compile(r"\d\s*(?:euros?|dollars?|pounds?|cents?|francs?)\b|[€$£]\s*\d", re.IGNORECASE)
_LONGEST_ELLIPSIS = 5  # words of "and the café?"
# Groups of words of which only one holds at a time.
_EXCLUSIVE = ("weekdays", "parts_of_the_day", "seasons")
_CODE = re.compile(r"\b(?=\w*\d)(?=\w*[A-Z])[A-Z0-9]{4,}\b")
_COUNTED = re.compile(r"\b(\d+)\s+([A-Za-z]{3,})")
_FEW_PAIRS = 40  # statements that are compared in a short conversation
# On 34 long conversations of an airline agent, read by eye, lower limits gave more false alarms.
_DENIED_AMONG_MANY = 0.8
_MOST_CLAIMS = 40
_MOST_PAIRS = 200  # for the model: the pairs that are most alike


@dataclass(frozen=True, slots=True)
class Contradiction:
    """A statement, and the earlier one that it contradicts."""

    statement: str
    earlier: str


@dataclass(frozen=True)
class _StatementPair:
    """A statement, an earlier one, and the words that the user brought up in between."""

    statement: str
    earlier: str
    question: str  # of the turn of the statement
    earlier_question: str
    exchange: str  # the earlier question and the whole answer to it
    changed: frozenset[str]

    @cached_property
    def stems(self) -> set[str]:
        return _stems(self.statement)

    @cached_property
    def earlier_stems(self) -> set[str]:
        return _stems(self.earlier)

    @cached_property
    def shared_count(self) -> int:
        return len(self.stems & self.earlier_stems)

    @property
    def is_about_something_else(self) -> bool:
        """Whether the statement is about what the user asked later: "And for children?"."""
        if content_stems(self.statement) & self.changed and not self.has_other_count:
            return True
        codes = set(_CODE.findall(self.statement))
        earlier_codes = set(_CODE.findall(self.earlier))
        if codes and earlier_codes and codes.isdisjoint(earlier_codes):
            return True  # two orders, two flights
        if has_phrase(self.question, phrase_list("other_times")) or _asks_about_past(self.question):
            return True
        is_reply = begins_with_phrase(self.statement, ("yes,", "no,"))
        is_fragment = _FRAGMENT.match(self.statement) is not None
        if self.changed and (is_fragment or (is_reply and not self.shared_count)):
            return True  # it answers the new question only
        is_short = len(self.question.split()) <= _LONGEST_ELLIPSIS
        if is_short and self.changed and _REFERENCE.search(self.statement):
            return True  # "And the café?", "You need a ticket for it"
        return begins_with_phrase(self.statement, phrase_list("consequences"))

    @cached_property
    def has_other_polarity(self) -> bool:
        return (read(self.statement).negations > 0) != (read(self.earlier).negations > 0)

    @cached_property
    def has_other_count(self) -> bool:
        """Whether both count the same things with another number: "seven seats", "nine seats"."""
        counts = _counted_nouns(self.statement)
        earlier_counts = _counted_nouns(self.earlier)
        return any(counts[noun] != earlier_counts[noun] for noun in counts.keys() & earlier_counts)

    @cached_property
    def has_opposite_words(self) -> bool:
        """Whether a word of one is the opposite of a word of the other: "free", "costs"."""
        earlier_words = set(read(self.earlier).content)
        if begins_with_phrase(self.earlier, phrase_list("agreements")):
            # "Yes, on Sundays from 8 to 6" repeats the question "Is it open?".
            earlier_words |= set(read(self.earlier_question).content)
        own_words = frozenset(read(self.statement).vocabulary)
        if any(opposites().get(word, frozenset()) & own_words for word in earlier_words):
            return True
        return _oppose(self.earlier, self.statement) or _oppose(self.statement, self.earlier)


def _asks_about_past(question: str) -> bool:
    """ "When was the launch before?" asks for what is no longer true."""
    question_words = set(words(question))
    return "before" in question_words and not question_words.isdisjoint(phrase_list("past_verbs"))


def _counted_nouns(statement: str) -> dict[str, str]:
    """Stem of a noun → the number before it; units of time, money and measure are no nouns here."""
    counts: dict[str, str] = {}
    for match in _COUNTED.finditer(in_digits(statement)):
        if match[2].lower() in phrase_list("units"):
            continue
        for stem in content_stems(match[2]):
            counts[stem] = match[1]
    return counts


def _oppose(statement: str, other: str) -> bool:
    """Whether one is free or allowed, and the other is paid for or barred."""
    own = set(words(statement))
    theirs = set(words(other))
    is_free = not own.isdisjoint(phrase_list("unpaid"))
    if is_free and (_PRICE.search(other) or not theirs.isdisjoint(phrase_list("paid"))):
        return True
    is_allowed = not own.isdisjoint(phrase_list("allowed"))
    if is_allowed and not theirs.isdisjoint(phrase_list("barred")):
        return True
    return any(_name_different(own, theirs, phrase_list(group)) for group in _EXCLUSIVE)


def _name_different(own: set[str], theirs: set[str], group: tuple[str, ...]) -> bool:
    """Whether both name members of a group, and none in common: "Mondays", "Friday"."""
    members = {_singular(word) for word in own if _singular(word) in group}
    other_members = {_singular(word) for word in theirs if _singular(word) in group}
    return bool(members) and bool(other_members) and members.isdisjoint(other_members)


def _singular(word: str) -> str:
    return word.removesuffix("s")


def find_contradiction(turns: Sequence[Turn], place: int, embed: Embedder) -> Contradiction | None:
    """A statement of the answer at `place` that contradicts an earlier answer.

    A bot that corrects itself, and says so, does not contradict itself.
    """
    if has_phrase(turns[place].answer, phrase_list("corrections")):
        return None
    pairs = list(_pair_statements(turns, place))
    # Rules first: they are sure, and need the model for few pairs.
    is_long = len(pairs) > _FEW_PAIRS
    for pair in pairs:
        is_contradicted = _is_contradicted_by_rules(pair)
        if is_contradicted and (not is_long or _mean_denial(pair) >= _DENIED_BY_MODEL):
            return Contradiction(pair.statement, pair.earlier)
    return _find_by_meaning(pairs, embed)


def _pair_statements(turns: Sequence[Turn], place: int) -> Iterator[_StatementPair]:
    statements = _statements(turns[place].answer)
    for earlier in range(place):
        exchange = f"{turns[earlier].user} {turns[earlier].answer}"
        changed = _new_conditions(turns, earlier, place)
        for old in _statements(turns[earlier].answer):
            for new in statements:
                yield _StatementPair(
                    statement=new,
                    earlier=old,
                    question=turns[place].user,
                    earlier_question=turns[earlier].user,
                    exchange=exchange,
                    changed=changed,
                )


def _statements(answer: str) -> list[str]:
    """The statements of an answer, clause by clause."""
    text = _PREAMBLE.sub("", answer)
    all_claims = list(claims(text)[:_MOST_CLAIMS])
    # `claims` leaves refusals out, but "Your policy doesn't cover theft" is a statement.
    all_claims += [each for each in split_sentences(text) if refusal(each) == "full"]
    statements: list[str] = []
    for claim in all_claims:
        # What the bot does itself changes from turn to turn: "I can help you", "I have booked it".
        if _FIRST_PERSON.search(claim):
            continue
        # "Departure: 9:00" in a list says nothing without its heading.
        if _LABEL.match(claim) or len(claim.split()) < _SHORTEST:
            continue
        clauses = [each for each in _CLAUSE.split(claim) if len(each.split()) >= _SHORTEST_CLAUSE]
        statements += [
            clause
            for clause in clauses or [claim]
            if not begins_with_phrase(clause, phrase_list("no_statements"))
        ]
    return statements


def _new_conditions(turns: Sequence[Turn], earlier: int, place: int) -> frozenset[str]:
    """Words of later messages of the user that the earlier exchange does not have.

    "And for children?" asks about another case: another figure is no contradiction then.
    """
    before = content_stems(f"{turns[earlier].user}\n{turns[earlier].answer}")
    later = content_stems("\n".join(turn.user for turn in turns[earlier + 1 : place + 1]))
    return frozenset(later - before - filler_stems("insisting"))


def _stems(statement: str) -> set[str]:
    """The content words, without figures."""
    return {stem for stem in content_stems(statement) if not stem[:1].isdigit()}


def _is_contradicted_by_rules(pair: _StatementPair) -> bool:
    """Whether the words alone show it; the model may object where they only look opposite."""
    if _has_other_name(pair):
        return _mean_denial(pair) >= _DENIED_BY_MODEL
    if pair.is_about_something_else:
        return False
    if _has_other_date(pair.statement, pair.earlier):
        return True
    if pair.shared_count and pair.has_opposite_words and not pair.has_other_polarity:
        return not _is_supported_by_model(pair)
    if pair.shared_count < _SHARED:
        return False
    if _is_restricted(pair.statement, pair.earlier) or _is_restricted(pair.earlier, pair.statement):
        return True
    if pair.shared_count / len(pair.stems | pair.earlier_stems) < _SAME_WORDS:
        return False
    if not _differ_in_one_figure(pair.statement, pair.earlier):
        return False
    is_opposed = contradicts(pair.statement, pair.earlier)
    if not is_opposed and not contradicts(pair.earlier, pair.statement):
        return False
    return not _is_supported_by_model(pair)


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


def _has_other_name(pair: _StatementPair) -> bool:
    """Whether only a name differs: "is run by Kari Holm" and "is run by Erik Dahl"."""
    missing = pair.earlier_stems - pair.stems
    names = {stem for match in _NAME.finditer(pair.earlier) for stem in content_stems(match[0])}
    other_names = {
        stem for match in _NAME.finditer(pair.statement) for stem in content_stems(match[0])
    }
    new_names = other_names - pair.earlier_stems
    figures = {number.value for number in numbers(pair.earlier)}
    has_same_figures = figures <= {number.value for number in numbers(pair.statement)}
    is_replaced = bool(missing) and missing <= names and bool(new_names - pair.changed)
    shared = (pair.earlier_stems & pair.stems) - names
    return is_replaced and has_same_figures and len(shared) >= _SHARED


def _differ_in_one_figure(statement: str, earlier: str) -> bool:
    """Two nights for 200 and three nights for 300 differ in two figures: another case."""
    own = {number.value for number in numbers(statement)}
    other = {number.value for number in numbers(earlier)}
    return len(own - other) <= 1 and len(other - own) <= 1


def _find_by_meaning(pairs: Sequence[_StatementPair], embed: Embedder) -> Contradiction | None:
    """The pair of related statements that the entailment model finds most contradictory."""
    candidates = [pair for pair in pairs if not pair.is_about_something_else]
    if not candidates:
        return None
    likeness = _measure_likeness(candidates, embed)
    # The model is slow beside an embedding, so it sees the most similar pairs only.
    nearest = sorted(range(len(candidates)), key=lambda n: -likeness[n].of_statements)
    best: tuple[float, _StatementPair] | None = None
    # Of many pairs some look contradictory by chance, so that each needs to be surer.
    is_long = len(candidates) > _FEW_PAIRS
    for n in nearest[:_MOST_PAIRS]:
        pair = candidates[n]
        if not _is_related(pair, likeness[n]):
            continue
        if is_long:
            denial = _mean_denial(pair)
            if denial >= _DENIED_AMONG_MANY and (best is None or denial > best[0]):
                best = (denial, pair)
            continue
        if _is_part_against_all(pair, likeness[n].of_statements):
            return Contradiction(pair.statement, pair.earlier)
        if _is_opposite_alike(pair, likeness[n]):
            return Contradiction(pair.statement, pair.earlier)
        denial = _mean_denial(pair)
        if denial >= _least_denial(pair) and (best is None or denial > best[0]):
            best = (denial, pair)
    if best is None:
        return None
    return Contradiction(best[1].statement, best[1].earlier)


@dataclass(frozen=True, slots=True)
class _Likeness:
    """Cosines of two statements, and of the two exchanges that they are part of."""

    of_statements: float
    of_exchanges: float


def _measure_likeness(pairs: Sequence[_StatementPair], embed: Embedder) -> list[_Likeness]:
    texts: dict[str, None] = {}
    for pair in pairs:
        for text in (pair.statement, pair.earlier, _with_question(pair), pair.exchange):
            texts[text] = None
    vectors = dict(zip(texts, embed.embed(list(texts)), strict=True))
    return [
        _Likeness(
            float(vectors[pair.statement] @ vectors[pair.earlier]),
            float(vectors[_with_question(pair)] @ vectors[pair.exchange]),
        )
        for pair in pairs
    ]


def _with_question(pair: _StatementPair) -> str:
    return f"{pair.question} {pair.statement}"


def _is_related(pair: _StatementPair, likeness: _Likeness) -> bool:
    """Whether both statements are about one thing, and their figures too."""
    cosine = likeness.of_statements
    closest = max(cosine, likeness.of_exchanges)
    is_opposite = pair.has_opposite_words and cosine >= _OPPOSITE
    if closest < _RELATED or not (pair.shared_count or is_opposite or closest >= _CLOSELY_RELATED):
        return False
    if is_opposite:
        return True
    figures = {number.value for number in numbers(pair.statement)}
    other_figures = {number.value for number in numbers(pair.earlier)}
    if not figures or not other_figures or figures == other_figures:
        return True
    # "You have 25 days a year" and "You have taken 10 days" are about two figures.
    return closest >= _SAME_FIGURE and _differ_in_one_figure(pair.statement, pair.earlier)


def _is_part_against_all(pair: _StatementPair, cosine: float) -> bool:
    """ "Cancel any time in the app" and "Cancellations are only possible by letter" share no stem."""
    is_restricted = _is_restricted(pair.statement, pair.earlier) or _is_restricted(
        pair.earlier, pair.statement
    )
    return is_restricted and cosine >= _CLOSELY_RELATED


def _is_opposite_alike(pair: _StatementPair, likeness: _Likeness) -> bool:
    """ "Admission is free" and "Tickets are 11 euros" share no word."""
    if not pair.has_opposite_words or pair.has_other_polarity:
        return False
    return likeness.of_statements >= _OPPOSITE


def _least_denial(pair: _StatementPair) -> float:
    if pair.has_other_polarity and pair.shared_count:
        return _DOUBTED_BY_MODEL
    return _DENIED_BY_MODEL


def _mean_denial(pair: _StatementPair) -> float:
    """The model's probability of a contradiction: both ways, and by the whole earlier exchange."""
    try:
        results = entail(
            [
                (pair.earlier, pair.statement),
                (pair.statement, pair.earlier),
                (pair.exchange, pair.statement),
            ]
        )
    except SettingsError:  # the packaged model is not installed
        return 0.0
    return sum(result.contradicted for result in results) / len(results)


def _is_supported_by_model(pair: _StatementPair) -> bool:
    try:
        results = entail([(pair.earlier, pair.statement), (pair.statement, pair.earlier)])
    except SettingsError:  # the packaged model is not installed
        return False
    return any(result.supported >= _SUPPORTED_BY_MODEL for result in results)

"""What speaks for and against a contradiction between two statements, in figures.

`tools/fit_conversations.py` fits one weight per feature. Features that brought nothing on sets that were left out
of the fit are not here: values, names and dates by themselves, the share of the same words.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from answerkey.embed import Embedder
from answerkey.errors import SettingsError
from answerkey.language.sentences import content_stems
from answerkey.language.words import opposites
from answerkey.metrics.agreement.comparable import read
from answerkey.metrics.agreement.stance import stance
from answerkey.metrics.conversation.read_turns import begins_with_phrase, phrase_list
from answerkey.metrics.conversation.statements import StatementPair
from answerkey.metrics.entailment.contradiction import contradicts
from answerkey.metrics.entailment.entailed import entail
from answerkey.text import words

Features = dict[str, float]

_SHORT_QUESTION = 5  # words of "And the café?", which keeps the rest of the question before it
_ELLIPSIS = re.compile(
    r"(?:(?:ok|okay|nice|great|good|hm|fine)[,. !]+)*(?:and|what about|how about|or)\b",
    re.IGNORECASE,
)
_PRICE = re.compile(r"\d\s*(?:euros?|dollars?|pounds?|cents?|francs?)\b|[€$£]\s*\d", re.IGNORECASE)
# Groups of words of which only one holds at a time.
_EXCLUSIVE = ("weekdays", "parts_of_the_day", "seasons")


def contradiction_features(pairs: Sequence[StatementPair], embed: Embedder) -> list[Features]:
    """The features of each pair, in the order of the weights in `fitted/contradiction.json`."""
    denials = _denials(pairs)
    likeness = _likeness_of_topics(pairs, embed)
    return [
        _features(pair, denial, cosine, len(pairs))
        for pair, denial, cosine in zip(pairs, denials, likeness, strict=True)
    ]


def _features(pair: StatementPair, denial: float, likeness: float, count: int) -> Features:
    has_other_polarity = _is_negated(pair.statement) != _is_negated(pair.earlier)
    stems = content_stems(pair.statement)
    is_opposed = contradicts(pair.statement, pair.earlier)
    is_opposed = is_opposed or contradicts(pair.earlier, pair.statement)
    return {
        # The model finds contradictions between any two topics, so both must hold.
        "denied_on_topic": denial * max(0.0, likeness),
        "answered_otherwise": _share_answered_otherwise(pair),
        "other_reply": float(_reply(pair.statement, pair) * _reply(pair.earlier, pair) < 0),
        "other_polarity": float(has_other_polarity),
        "opposite_words": float(_has_opposite_words(pair) and not has_other_polarity),
        "opposed_by_rules": float(is_opposed),
        # Of many pairs some look contradictory by chance, so that each needs to be surer.
        "many_pairs": math.log(count),
        # The rest shows that the statement is about another case.
        "new_words": len(stems & pair.new_words) / max(1, len(stems)),
        "elliptic_question": float(_ELLIPSIS.match(pair.question) is not None),
        "short_question": float(len(pair.question.split()) <= _SHORT_QUESTION),
    }


def _denials(pairs: Sequence[StatementPair]) -> list[float]:
    """The model's mean probability of a contradiction: both ways, alone and after the question."""
    readings = [
        (
            (pair.earlier, pair.statement),
            (pair.statement, pair.earlier),
            (f"{pair.earlier_question} {pair.earlier}", pair.statement),
            (f"{pair.earlier_question} {pair.statement}", pair.earlier),
        )
        for pair in pairs
    ]
    unique = list(dict.fromkeys(reading for group in readings for reading in group))
    try:
        results = dict(zip(unique, entail(unique), strict=True))
    except SettingsError:  # the packaged model is not installed
        return [0.0 for _ in pairs]
    return [
        sum(results[reading].contradicted for reading in group) / len(group) for group in readings
    ]


def _likeness_of_topics(pairs: Sequence[StatementPair], embed: Embedder) -> list[float]:
    """How well a statement fits the earlier one, or its question: whether the topic is the same."""
    texts = list(
        dict.fromkeys(
            text for pair in pairs for text in (pair.statement, pair.earlier, pair.earlier_question)
        )
    )
    vectors = dict(zip(texts, embed.embed(texts), strict=True))
    likeness: list[float] = []
    for pair in pairs:
        statement = vectors[pair.statement]
        to_earlier = float(statement @ vectors[pair.earlier])
        to_question = float(statement @ vectors[pair.earlier_question])
        likeness.append((to_earlier + to_question) / 2)
    return likeness


def _share_answered_otherwise(pair: StatementPair) -> float:
    """Share of the earlier question's words in a statement that completes them in another way.

    "Where does the tour start?", "At the town hall", "It starts at the harbour".
    """
    topic = content_stems(pair.earlier_question)
    stems = content_stems(pair.statement)
    earlier_completion = content_stems(pair.earlier) - topic
    completion = stems - topic - content_stems(pair.question)
    if not completion or not earlier_completion or completion & earlier_completion:
        return 0.0
    return len(topic & stems) / max(1, len(topic))


def _reply(statement: str, pair: StatementPair) -> float:
    """Whether a statement says yes (above 0) or no (below 0) to the earlier question."""
    return stance(read(statement), read(pair.earlier_question))


def _is_negated(statement: str) -> bool:
    return read(statement).negations > 0


def _has_opposite_words(pair: StatementPair) -> bool:
    """Whether a word of one is the opposite of a word of the other: "free", "costs"."""
    earlier_words = set(read(pair.earlier).content)
    if begins_with_phrase(pair.earlier, phrase_list("agreements")):
        # "Yes, on Sundays from 8 to 6" repeats the question "Is it open?".
        earlier_words |= set(read(pair.earlier_question).content)
    own_words = frozenset(read(pair.statement).vocabulary)
    if any(opposites().get(word, frozenset()) & own_words for word in earlier_words):
        return True
    return _oppose(pair.earlier, pair.statement) or _oppose(pair.statement, pair.earlier)


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

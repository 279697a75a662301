"""Two answers of one conversation that cannot both be right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from answerkey.embed import Embedder
from answerkey.metrics.conversation.fitted_weights import load_weights
from answerkey.metrics.conversation.pair_features import contradiction_features
from answerkey.metrics.conversation.read_turns import has_phrase, phrase_list
from answerkey.metrics.conversation.statements import StatementPair, pair_statements
from answerkey.types import Turn

_SHORT_CONVERSATION = 5  # turns; the written conversations of the fit have at most 4
_MOST_PAIRS = 200  # for the model: the pairs that are most alike


@dataclass(frozen=True, slots=True)
class Contradiction:
    """A statement, and the earlier one that it contradicts."""

    statement: str
    earlier: str


def find_contradiction(turns: Sequence[Turn], place: int, embed: Embedder) -> Contradiction | None:
    """The statement of the answer at `place` that most probably contradicts an earlier answer.

    A bot that corrects itself, and says so, does not contradict itself.
    """
    pairs = comparable_pairs(turns, place, embed)
    if not pairs:
        return None
    fitted = load_weights("contradiction")
    features = contradiction_features(pairs, embed)
    probabilities = [fitted.probability(each) for each in features]
    best = max(range(len(pairs)), key=probabilities.__getitem__)
    is_long = len(turns) > _SHORT_CONVERSATION
    least = fitted.least_in_long if is_long else fitted.least
    if probabilities[best] < least:
        return None
    return Contradiction(pairs[best].statement, pairs[best].earlier)


def comparable_pairs(turns: Sequence[Turn], place: int, embed: Embedder) -> list[StatementPair]:
    """The pairs of statements to look at: none of an answer that corrects itself openly."""
    if has_phrase(turns[place].answer, phrase_list("corrections")):
        return []
    pairs = list(pair_statements(turns, place))
    if len(pairs) <= _MOST_PAIRS:
        return pairs
    # The model is slow beside an embedding, so it sees the most similar pairs only.
    texts = list(dict.fromkeys(text for pair in pairs for text in (pair.statement, pair.earlier)))
    vectors = dict(zip(texts, embed.embed(texts), strict=True))
    pairs.sort(key=lambda pair: -float(vectors[pair.statement] @ vectors[pair.earlier]))
    return pairs[:_MOST_PAIRS]

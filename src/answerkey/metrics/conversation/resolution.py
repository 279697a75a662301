"""Whether a conversation ends with the user's problem solved, and after how many turns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from answerkey.embed import Embedder
from answerkey.language.sentences import content_stems
from answerkey.metrics.conversation.ending_features import ending_features, is_closing
from answerkey.metrics.conversation.fitted_weights import FittedWeights, load_weights
from answerkey.types import Turn

_SHORTEST_MESSAGE = 2  # content words


class ConversationEnding(StrEnum):
    """How a conversation ends."""

    CONTENT = "the user is content"
    ANSWERED = "the last question is answered"
    DISCONTENT = "the user is not content"
    REPEATED = "the user asks the same again"
    STUCK = "the bot repeats an answer"
    REFUSED = "the last answer declines"
    OPEN = "the bot still asks"
    EVASIVE = "the last answer does not say what was asked"
    SILENT = "the last message has no answer"


# What a feature that speaks for an unsolved problem says about the ending.
_ENDINGS = {
    "complaints": ConversationEnding.DISCONTENT,
    "declines": ConversationEnding.REFUSED,
    "declined_before": ConversationEnding.REFUSED,
    "only_asks": ConversationEnding.OPEN,
    "repeats_answer": ConversationEnding.STUCK,
    "repeated_before": ConversationEnding.STUCK,
    "words_of_earlier_answer": ConversationEnding.STUCK,
    "question_repeated": ConversationEnding.REPEATED,
    "off_topic": ConversationEnding.EVASIVE,
    "vague": ConversationEnding.EVASIVE,
    "empty_courtesy": ConversationEnding.EVASIVE,
}


@dataclass(frozen=True, slots=True)
class Resolution:
    ending: ConversationEnding
    turns: int

    @property
    def is_resolved(self) -> bool:
        return self.ending in (ConversationEnding.CONTENT, ConversationEnding.ANSWERED)


def find_resolution(turns: Sequence[Turn], embed: Embedder) -> Resolution:
    """How the conversation ends, and the number of turns until its problem was solved."""
    turns = without_end_mark(turns)
    last = turns[-1]
    has_closing = len(turns) > 1 and is_closing(last.user)
    if not last.answer.strip() and not has_closing:
        return Resolution(ConversationEnding.SILENT, len(turns))
    fitted = load_weights("ending")
    features = ending_features(turns, embed)
    if fitted.probability(features) >= fitted.least:
        return Resolution(_main_reason(features, fitted), len(turns))
    if has_closing:
        return Resolution(ConversationEnding.CONTENT, len(turns) - 1)
    return Resolution(ConversationEnding.ANSWERED, len(turns))


def _main_reason(features: Mapping[str, float], fitted: FittedWeights) -> ConversationEnding:
    """The ending of the feature that contributes most."""
    name = max(_ENDINGS, key=lambda each: fitted.weights[each] * features[each])
    return _ENDINGS[name]


def without_end_mark(turns: Sequence[Turn]) -> Sequence[Turn]:
    """The turns without a last message that says nothing and got no answer: "###STOP###"."""
    last = turns[-1]
    is_mark = len(content_stems(last.user)) < _SHORTEST_MESSAGE and not is_closing(last.user)
    if len(turns) > 1 and not last.answer.strip() and is_mark:
        return turns[:-1]
    return turns

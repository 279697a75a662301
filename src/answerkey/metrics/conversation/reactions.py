"""Messages read by the entailment model: a user who is not helped, a bot that cannot help.

Phrases find the messages that contain them; the model also finds "nothing happens, the light stays
red". It is asked how well the message supports a few sentences (`hypotheses` in phrases.toml).
"""

from __future__ import annotations

from functools import lru_cache

from answerkey.errors import SettingsError
from answerkey.metrics.conversation.read_turns import hypothesis_list
from answerkey.metrics.entailment.entailed import entail

# Measured on the last messages of 142 written conversations: complaints had 0.23 to 0.70, other
# messages at most 0.16 (questions, and replies to a question of the bot, are not asked about).
COMPLAINT = 0.22
LEAVING = 0.5  # "I'll book somewhere else" 0.80; the highest other message 0.46
SLIGHT_DENIAL = (
    0.1  # "I've unlocked it. Please try again.", no refusal at all, has 0.03, refusals 0.54 to 0.87
)


def complaint_degree(message: str) -> float:
    """How much a message of the user says that the problem is still there."""
    return _mean_support(message, "complaint")


def leaving_degree(message: str) -> float:
    """How much a message of the user says that they go to somebody else."""
    return _mean_support(message, "leaving")


def denial_degree(answer: str) -> float:
    """How much an answer says that the bot cannot help."""
    return _mean_support(answer, "denial")


@lru_cache(maxsize=4096)
def _mean_support(message: str, name: str) -> float:
    """The mean probability of some sentences; 0 without the packaged model."""
    if not message.strip():
        return 0.0
    sentences = hypothesis_list(name)
    try:
        results = entail([(message, sentence) for sentence in sentences])
    except SettingsError:  # the packaged model is not installed: phrases alone decide
        return 0.0
    return sum(result.supported for result in results) / len(results)

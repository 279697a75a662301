"""The turns of a conversation, and which of them a metric looks at."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import msgspec

from answerkey.language.sentences import content_stems, language_of, sentence_spans
from answerkey.text import fold
from answerkey.types import Case, Response, Turn

_SHORTEST = 2  # turns; one question and its answer are no conversation


@dataclass(frozen=True, slots=True)
class Conversation:
    """All turns; `first` is the first turn whose answer a metric judges.

    Of the row of one turn only its own answer is judged, of a whole conversation all of them.
    """

    turns: tuple[Turn, ...]
    first: int = 0
    is_part: bool = False

    @property
    def judged_places(self) -> Iterable[int]:
        return range(self.first, len(self.turns))


def read_conversation(case: Case, response: Response) -> Conversation | None:
    """The conversation that a case and its response belong to; None for a single question."""
    if response.turns:
        # The row of a conversation may keep its messages as history: they are in the response.
        is_whole = case.extra.get("whole_conversation") is True
        history = () if is_whole else case.history
        turns = (*history, *response.turns)
        if len(turns) >= _SHORTEST:
            return Conversation(turns)
        return None
    if not case.history:
        return None
    last = Turn(case.question, response.answer or "", response.tools or ())
    is_part = "conversation" in case.extra
    return Conversation((*case.history, last), len(case.history), is_part)


def is_english(turns: Sequence[Turn]) -> bool:
    text = "\n".join(f"{turn.user}\n{turn.answer}" for turn in turns)
    return language_of(text) in ("english", "unclear")


class Slot(msgspec.Struct, frozen=True):
    """Something that bots ask for: phrases that ask, and the form in which a user gives it."""

    asks: tuple[str, ...]
    gives: str
    nouns: tuple[str, ...] = ()


class PhraseFile(msgspec.Struct, frozen=True):
    """The file of phrases."""

    en: dict[str, tuple[str, ...]]
    slot: tuple[Slot, ...]
    values: dict[str, tuple[str, ...]]
    hypotheses: dict[str, tuple[str, ...]]


@cache
def _phrases() -> PhraseFile:
    text = files("answerkey.metrics.conversation").joinpath("phrases.toml").read_text("utf-8")
    return msgspec.convert(tomllib.loads(text), PhraseFile)


def phrase_list(name: str) -> tuple[str, ...]:
    return _phrases().en[name]


@cache
def filler_stems(name: str) -> frozenset[str]:
    """The stems of a list of words that say nothing by themselves."""
    return frozenset(stem for word in phrase_list(name) for stem in content_stems(word))


def value_list(name: str) -> tuple[str, ...]:
    return _phrases().values[name]


def hypothesis_list(name: str) -> tuple[str, ...]:
    return _phrases().hypotheses[name]


def slots() -> tuple[Slot, ...]:
    return _phrases().slot


def plain(text: str) -> str:
    """The text as phrases are looked up in it."""
    return " ".join(fold(text).split())


def has_phrase(text: str, phrases: Sequence[str]) -> bool:
    folded = plain(text)
    return any(phrase in folded for phrase in phrases)


def begins_with_phrase(text: str, phrases: tuple[str, ...]) -> bool:
    return plain(text).startswith(phrases)


def ends_with_question(text: str) -> bool:
    return text.rstrip().endswith("?")


def split_sentences(text: str) -> list[str]:
    return [text[start:end] for start, end in sentence_spans(text)]

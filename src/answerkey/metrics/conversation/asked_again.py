"""Questions of a bot that the user has already answered."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from answerkey.language.dates import dates
from answerkey.language.numbers import in_digits
from answerkey.language.sentences import content_stems
from answerkey.language.times import clock_times
from answerkey.metrics.conversation.read_turns import (
    Slot,
    begins_with_phrase,
    ends_with_question,
    filler_stems,
    has_phrase,
    phrase_list,
    plain,
    slots,
    split_sentences,
    value_list,
)
from answerkey.text import numbers, words
from answerkey.types import Turn

_EMAIL = re.compile(r"\S+@\S+\.\w+")
_PHONE = re.compile(r"\+?\d[\d ()/-]{6,}\d")
_CODE = re.compile(r"\b(?=\w*\d)[\w-]{4,}\b|#\s?\w{3,}")
_ZIP = re.compile(r"\b\d{4,6}\b")
_CAPITAL_NAME = re.compile(r"(?:[Nn]ame is|[Nn]ame's|I am|I'm|[Tt]his is)\s+[A-Z][a-z]+")
_DESTINATION = re.compile(r"\b(?:to|in|for)\s+[A-Z]\w+")
_PLACE = re.compile(r"\b(?:[Ii]n|[Ff]rom|[Nn]ear)\s+[A-Z]\w+")
_SIZE = re.compile(r"\bsize\s+\w+|\b(?:small|medium|large|xl|xxl)\b", re.IGNORECASE)
_AGE = re.compile(
    r"\b\d{1,3}[- ]years?[- ]old\b|\bborn\b|\bi am \d{1,3}\b|\bi'm \d{1,3}\b", re.IGNORECASE
)
_REQUESTED_NOUN = re.compile(r"\b(?:which|what|your)\s+(\w{3,})", re.IGNORECASE)
_OPTIONS = re.compile(r"([\w-]+),? or (?:the |a |an )?([\w-]+)")
_LONGEST_REPLY = 6  # words of a message that only replies
_MOST_VALUES = 6  # words of a reply that repeats one thing
_NEAR = 40  # characters between the noun and its code
_SAME_QUESTION = 0.6  # share of the words of what is asked for


@dataclass(frozen=True, slots=True)
class Repetition:
    """A question of the bot, and the message in which the user had answered it."""

    question: str
    message: str


def find_repetition(turns: Sequence[Turn], place: int) -> Repetition | None:
    """A question in the answer at `place` that an earlier message, or that of the same turn, answers."""
    answer = turns[place].answer
    # "I cannot find that number" is a reason to ask once more.
    if has_phrase(answer, phrase_list("excuses")):
        return None
    messages = [turn.user for n, turn in enumerate(turns[: place + 1]) if not _is_reply(turns, n)]
    questions = questions_in(answer)
    for question in questions:
        message = _find_message(question, messages) or _find_earlier_reply(question, turns, place)
        if message:
            return Repetition(question, message)
    # With two questions the reply may repeat the answer to the other one.
    if len(questions) == 1 and place + 1 < len(turns):
        message = _find_repeated_words(questions[0], turns, place)
        if message:
            return Repetition(questions[0], message)
    return None


def _is_reply(turns: Sequence[Turn], place: int) -> bool:
    """Whether a short message replies to a question: its value belongs to that question only."""
    if place == 0 or len(turns[place].user.split()) > _LONGEST_REPLY:
        return False
    return bool(questions_in(turns[place - 1].answer))


def _find_repeated_words(question: str, turns: Sequence[Turn], place: int) -> str:
    """The earlier message that has all words of the user's reply to the question.

    Somebody who answers "Six" after "a table for six" has been asked again, whatever was asked for.
    """
    reply = turns[place + 1].user
    if ends_with_question(reply) or not set(words(question)).isdisjoint(phrase_list("anew")):
        return ""
    values = _value_words(reply) - filler_stems("reply_fillers")
    if not values or len(values) > _MOST_VALUES:
        return ""
    options = _options_in(question)
    if values & _value_words(question) and not values & options:
        return ""  # the bot names the value itself: it wants it confirmed
    for turn in turns[: place + 1]:
        message_words = _value_words(turn.user)
        # Somebody with two orders may be asked which of them it is about.
        other_options = options - values
        is_choice = bool(other_options) and other_options <= message_words
        if values <= message_words and not is_choice:
            return turn.user
    return ""


def _options_in(question: str) -> set[str]:
    """The words beside "or": "front or rear"."""
    return {
        stem
        for match in _OPTIONS.finditer(question)
        for word in match.groups()
        for stem in _value_words(word)
    }


def _value_words(text: str) -> set[str]:
    """The stems and figures of a text; "six" is 6."""
    return content_stems(in_digits(text))


def questions_in(answer: str) -> list[str]:
    """The sentences that ask the user for something; not courtesy, and not "shall I go ahead?"."""
    questions: list[str] = []
    for sentence in split_sentences(answer):
        is_request = ends_with_question(sentence) or has_phrase(sentence, phrase_list("requests"))
        is_conditional = begins_with_phrase(sentence, phrase_list("conditions"))
        if is_request and not is_conditional and not _is_courtesy(sentence):
            questions.append(sentence)
    return questions


def _is_courtesy(sentence: str) -> bool:
    if has_phrase(sentence, phrase_list("courtesy")):
        return True
    asks_for_something = not set(words(sentence)).isdisjoint(phrase_list("question_words"))
    return has_phrase(sentence, phrase_list("offers")) and not asks_for_something


def _find_message(question: str, messages: Sequence[str]) -> str:
    """The message that already gives what a question asks for; empty where none does."""
    slot = _find_slot(question)
    for message in messages:
        if slot is not None and _gives(slot, question, message):
            return message
        if slot is None and (_states(question, message) or _has_value_of_noun(question, message)):
            return message
    return ""


def _find_slot(question: str) -> Slot | None:
    folded = plain(question)
    for slot in slots():
        if any(phrase in folded for phrase in slot.asks):
            return slot
    return None


def _gives(slot: Slot, question: str, message: str) -> bool:
    if slot.nouns:
        return any(_names_code(noun, message) for noun in _nouns_of(slot, question))
    if slot.gives in _PATTERNS:
        return any(pattern.search(message) for pattern in _PATTERNS[slot.gives])
    if slot.gives in ("problem", "colour", "payment"):
        return has_phrase(message, value_list(slot.gives))
    if slot.gives == "date":
        has_day = has_phrase(message, value_list("days"))
        return has_day or any(date.day is not None for date in dates(message))
    if slot.gives == "time":
        return bool(clock_times(message))
    if slot.gives == "amount":
        return any(number.currency for number in numbers(message))
    # "How many nights?": a figure beside the same noun.
    nouns = content_stems(plain(question).partition("how many")[2])
    stated = content_stems(message)
    first_noun = next(iter(_first_noun(question)), "")
    return bool(first_noun in stated and nouns and numbers(_digits(message)))


def _nouns_of(slot: Slot, question: str) -> list[str]:
    """Words that name the number that is asked for: `user` in "your user ID"."""
    folded = plain(question)
    asked_with = [phrase for phrase in slot.asks if phrase in folded]
    return [noun for noun in slot.nouns if any(noun in phrase for phrase in asked_with)]


def _names_code(noun: str, message: str) -> bool:
    """Whether a message has a code in the same sentence after the noun: "my order is 4711"."""
    for sentence in split_sentences(message):
        _before, is_there, after = plain(sentence).partition(noun)
        if is_there and _CODE.search(after[:_NEAR]):
            return True
    return False


def _first_noun(question: str) -> list[str]:
    words_after = plain(question).partition("how many")[2].split()
    return [stem for word in words_after[:2] for stem in content_stems(word)]


def _digits(message: str) -> str:
    words = {"one": "1", "two": "2", "three": "3", "four": "4", "five": "5", "six": "6"}
    return " ".join(words.get(word, word) for word in plain(message).split())


# The forms in which users give a value that needs no word list.
_PATTERNS: dict[str, tuple[re.Pattern[str], ...]] = {
    "email": (_EMAIL,),
    "phone": (_PHONE,),
    "code": (_CODE,),
    "zip": (_ZIP,),
    "name": (_CAPITAL_NAME,),
    "destination": (_DESTINATION,),
    "place": (_PLACE,),
    "size": (_SIZE,),
    "age": (_AGE,),
}


def _subject(question: str) -> set[str]:
    """The stems of what a question asks for, without the words of asking."""
    return content_stems(question) - {
        stem for word in phrase_list("request_words") for stem in content_stems(word)
    }


def _states(question: str, message: str) -> bool:
    """Whether a statement of the user has the subject of the question and a value beside it."""
    subject = _subject(question)
    options = _options_in(question)
    if len(subject) < 2 or (len(options) > 1 and options <= _value_words(message)):
        return False  # too vague, or a choice between things that the user named
    for sentence in split_sentences(message):
        if ends_with_question(sentence):
            continue
        has_value = bool(numbers(sentence) or _EMAIL.search(sentence) or _CODE.search(sentence))
        if has_value and subject <= content_stems(sentence):
            return True
    return False


def _has_value_of_noun(question: str, message: str) -> bool:
    """Whether a code or name follows the noun that the question asks for: "flat 12B"."""
    asks_for_code = not set(words(question)).isdisjoint(phrase_list("code_words"))
    for match in _REQUESTED_NOUN.finditer(question):
        value = rf"\b{re.escape(match[1])}s?\s+(?:(?i:of|is|called|named)\s+)?(?P<value>[\w-]+)"
        for stated in re.finditer(rf"(?i:{value})", message):
            is_code = any(sign.isdigit() for sign in stated["value"])
            is_name = stated["value"][:1].isupper() and not asks_for_code
            if is_code or is_name:
                return True
    return False


def _find_earlier_reply(question: str, turns: Sequence[Turn], place: int) -> str:
    """The reply to an earlier question for the same thing."""
    slot = _find_slot(question)
    for earlier in range(place):
        reply = turns[earlier + 1].user
        if ends_with_question(reply) or has_phrase(reply, phrase_list("unknown")):
            continue
        for other in questions_in(turns[earlier].answer):
            is_answered = slot is None or _replies(slot, question, reply)
            if is_answered and _asks_the_same(question, other, slot):
                return reply
    return ""


def _replies(slot: Slot, question: str, reply: str) -> bool:
    """Whether a reply has a value of the form that was asked for; a reply needs no noun."""
    if slot.nouns:
        nouns = [noun for noun in slot.nouns if noun in plain(reply)]
        is_about_it = not nouns or not set(nouns).isdisjoint(_nouns_of(slot, question))
        return is_about_it and _CODE.search(reply) is not None
    if slot.gives == "count":
        return bool(numbers(_digits(reply)))
    return True


def _asks_the_same(question: str, other: str, slot: Slot | None) -> bool:
    if plain(question) == plain(other):
        return True
    if slot is not None and _find_slot(other) is slot:
        # "How many adults?" and "How many rooms?" ask for two things, as do user and order number.
        if slot.nouns:
            return not set(_nouns_of(slot, question)).isdisjoint(_nouns_of(slot, other))
        if slot.gives in ("date", "time"):
            # "When would you like to travel?" and "… to return?" ask for two dates.
            subject = _subject(question)
            other_subject = _subject(other)
            return not subject or not other_subject or bool(subject & other_subject)
        return slot.gives != "count" or _first_noun(question) == _first_noun(other)
    if slot is not None:
        return False
    subject = _subject(question)
    other_subject = _subject(other)
    if not subject or not other_subject:
        return False
    shared = len(subject & other_subject)
    return shared / len(subject | other_subject) >= _SAME_QUESTION

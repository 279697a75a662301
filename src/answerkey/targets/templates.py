"""The request that a target is sent: templates with `{question}`, `{history}`, `{id}` and files.

Braces in a question are never read as code.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from urllib.parse import quote

from answerkey.coerce.values import is_list, is_mapping
from answerkey.errors import SettingsError, did_you_mean
from answerkey.targets.attachments import data_url
from answerkey.types import Question

PLACES = ("question", "history", "id", "image", "image_data", "files")
_PLACE = re.compile(r"\{(\w+)\}")


def history_turns(question: Question) -> list[dict[str, str]]:
    """The history as every target sees it: `[{"user": …, "answer": …}, …]`, oldest first."""
    return [{"user": turn.user, "answer": turn.answer} for turn in question.history]


def chat_messages(
    question: Question, system: str = "", asked: str | None = None
) -> list[dict[str, str]]:
    """The conversation so far and the question (or `asked` in its place), as chat endpoints take
    them."""
    messages: list[dict[str, str]] = []
    if system:
        messages.append({"role": "system", "content": system})
    for turn in question.history:
        messages.append({"role": "user", "content": turn.user})
        if turn.answer:
            messages.append({"role": "assistant", "content": turn.answer})
    messages.append({"role": "user", "content": question.text if asked is None else asked})
    return messages


def fill(template: object, question: Question) -> object:
    """The template with its places filled.

    `"{history}"` and `"{files}"` alone become the list itself; inside other text, its words. The
    image is null where the question has none.
    """

    def fill_text(text: str) -> object:
        if text == "{history}":
            return history_turns(question)
        if text == "{files}":
            return list(question.files)
        if text in ("{image}", "{image_data}") and question.image is None:
            return None
        return _PLACE.sub(lambda match: _value_of_place(match, question), text)

    return each_text(template, fill_text)


def fill_address(url: str, question: Question) -> str:
    """The address with its places filled, each value quoted for an address."""
    return _PLACE.sub(lambda match: quote(_value_of_place(match, question), safe=""), url)


def each_text(template: object, change: Callable[[str], object]) -> object:
    """The template with every text in it changed, however deep."""
    if isinstance(template, str):
        return change(template)
    if is_mapping(template):
        return {key: each_text(value, change) for key, value in template.items()}
    if is_list(template):
        return [each_text(item, change) for item in template]
    return template


def check_places(template: object, key: str) -> None:
    """Check that there is a place for the question; a typo such as `{qustion}` is an error with a hint."""
    names: set[str] = set()
    each_text(template, lambda text: names.update(_PLACE.findall(text)))
    for name in names - set(PLACES):
        hint = did_you_mean(name, PLACES)
        if hint:
            raise SettingsError(f'[target] {key}: nothing is known to fill "{{{name}}}" with{hint}')
    if "question" not in names:
        problem = "no place for the question in it"
        raise SettingsError(f'[target] {key}: {problem}; put "{{question}}" somewhere')


def _value_of_place(match: re.Match[str], question: Question) -> str:
    match match[1]:
        case "question":
            return question.text
        case "id":
            return question.id
        case "history":
            turns = (f"User: {turn.user}\nAssistant: {turn.answer}" for turn in question.history)
            return "\n".join(turns)
        case "image":
            return question.image or ""
        case "image_data":
            return data_url(question.image) if question.image else ""
        case "files":
            return "\n".join(question.files)
        case _:
            return match[0]  # not one of ours: left as it is written

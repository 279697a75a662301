"""`{question}`, `{history}` and `{id}` filled into a body, a query or a list, without ever reading braces as code."""

from __future__ import annotations

import re
from collections.abc import Callable
from urllib.parse import quote

from answerkey.coerce.values import is_list, is_mapping
from answerkey.errors import SettingsError, did_you_mean
from answerkey.types import Question

_PLACE = re.compile(r"\{(\w+)\}")
PLACES = ("question", "history", "id")


def turns(question: Question) -> list[dict[str, str]]:
    """The history as every target sees it: `[{"user": …, "answer": …}, …]`, oldest first."""
    return [{"user": turn.user, "answer": turn.answer} for turn in question.history]


def messages(question: Question, system: str = "", asked: str | None = None) -> list[dict[str, str]]:
    """The conversation so far and the question (or `asked` in its place), as chat endpoints take them."""
    listed = [{"role": "system", "content": system}] if system else []
    for turn in question.history:
        listed.append({"role": "user", "content": turn.user})
        if turn.answer:
            listed.append({"role": "assistant", "content": turn.answer})
    return [*listed, {"role": "user", "content": question.text if asked is None else asked}]


def fill(template: object, question: Question) -> object:
    """The template with its places filled. `"{history}"` alone is the list itself; inside other text, its words."""

    def filled(text: str) -> object:
        if text == "{history}":
            return turns(question)
        return _PLACE.sub(lambda match: _text(match, question), text)

    return each_text(template, filled)


def fill_address(url: str, question: Question) -> str:
    """The address with its places filled, each value quoted for an address."""
    return _PLACE.sub(lambda match: quote(_text(match, question), safe=""), url)


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
    """At least one placeholder for the question; a typo such as `{qustion}` is an error with a hint."""
    names = set(_names(template))
    for name in names - set(PLACES):
        if hint := did_you_mean(name, PLACES):
            raise SettingsError(f'[target] {key}: nothing is known to fill "{{{name}}}" with{hint}')
    if "question" not in names:
        raise SettingsError(f'[target] {key}: no place for the question in it; put "{{question}}" somewhere')


def _text(match: re.Match[str], question: Question) -> str:
    if match[1] == "history":
        return "\n".join(f"User: {turn.user}\nAssistant: {turn.answer}" for turn in question.history)
    return {"question": question.text, "id": question.id}.get(match[1], match[0])


def _names(template: object) -> list[str]:
    found: list[str] = []
    each_text(template, lambda text: found.extend(_PLACE.findall(text)))
    return found

"""Variants that a language model writes: the question in other words, or in another language.

The model that wrote a variant is asked again whether it still asks the same; one that does not, or
that lost a figure, is left out and counted.
"""

from __future__ import annotations

import re

from answerkey.errors import AnswerkeyError, SettingsError
from answerkey.llm.chat import Chat
from answerkey.types import Case

PARAPHRASE = "paraphrase"
TRANSLATE = "translate:"
_FIGURE = re.compile(r"\d+")
_LONGEST_TIMES = 4  # times as long as the question: then it is no rewording
_LEAST_LENGTH = 40

_WRITE = (
    "Write the question below {way}. Keep names and figures. Keep what is asked. "
    "Reply with the new question only.\n\nQuestion: {question}"
)
_CHECK = (
    "Do these two questions ask for exactly the same information, so that one answer is right for "
    "both? They may be in different languages. Reply with yes or no only.\n\n"
    "1: {question}\n2: {variant}"
)


def is_reworded(kind: str) -> bool:
    return kind == PARAPHRASE or kind.startswith(TRANSLATE)


def reword(case: Case, kind: str, chat: Chat | None) -> str | None:
    """The question in other words or another language; None where its meaning did not stay."""
    if chat is None:
        fix = 'give the suite a judge with a language model, such as judge = "ollama"'
        raise SettingsError(f'the variant "{kind}" needs a language model; {fix}')
    if kind == PARAPHRASE:
        way = "in other words, as another person would ask it"
    else:
        way = f"in the language with the code {kind.removeprefix(TRANSLATE)}"
    try:
        variant = _clean(_ask(chat, _WRITE.format(way=way, question=case.question)))
        if not variant or not _keeps_figures(case.question, variant):
            return None
        check = _ask(chat, _CHECK.format(question=case.question, variant=variant))
    except AnswerkeyError:
        return None
    if _clean(check).lower().startswith("yes"):
        return variant
    return None


def _ask(chat: Chat, prompt: str) -> str:
    return chat.complete([{"role": "user", "content": prompt}]).text


def _clean(text: str) -> str:
    """The reply on one line, without quotes and a heading."""
    line = " ".join(text.split()).strip("\"'“” ")
    return line.removeprefix("Question:").strip()


def _keeps_figures(question: str, variant: str) -> bool:
    if len(variant) > max(_LEAST_LENGTH, _LONGEST_TIMES * len(question)):
        return False
    return sorted(_FIGURE.findall(question)) == sorted(_FIGURE.findall(variant))

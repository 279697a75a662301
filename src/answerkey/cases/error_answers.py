"""Recorded answers that are error messages of the bot's program, such as `Error: POST predict: …`."""

from __future__ import annotations

import re
import tomllib
from importlib.resources import files

_DATA = tomllib.loads(files("answerkey.cases").joinpath("error_answers.toml").read_text("utf-8"))
_BEGINS: tuple[str, ...] = tuple(_DATA["begins"])
_LEADING_MARKS = re.compile(r"^[^\w{]+")
_MOST_CHARACTERS = 20_000


def error_message(question: str, answer: str) -> str:
    """The error message that an answer consists of, or "" where it is an answer.

    >>> error_message("Open?", "❌ Error: LLM did not respond within 90.0s")
    'Error: LLM did not respond within 90.0s'
    >>> error_message("What does error 404 mean?", "Error: 404 means not found.")
    ''
    """
    text = answer.strip()[:_MOST_CHARACTERS]
    lines = text.splitlines()
    for number, line in enumerate(lines):
        plain = _LEADING_MARKS.sub("", line).strip()
        if plain.lower().startswith(_BEGINS):
            rest = "\n".join([plain, *lines[number + 1 :]]).strip()
            return rest if _is_error(question, rest) else ""
        if plain and not _is_heading(line):  # only headings stand before the message
            return ""
    return ""


def _is_heading(line: str) -> bool:
    return line.lstrip().startswith(("#", "**"))


def _is_error(question: str, message: str) -> bool:
    topic = question.lower()
    # A question about errors may be answered with "Error: …".
    if not any(word in topic for word in _DATA["about_errors"]):
        return True
    return any(sign in message.lower() for sign in _DATA["signs"])

"""Phrases of fallback answers, and patterns of list questions and list answers.

The words are in `phrases.toml`.
"""

from __future__ import annotations

import re
import tomllib
from importlib.resources import files

_DATA = tomllib.loads(files("answerkey.quality").joinpath("phrases.toml").read_text("utf-8"))

FALLBACKS: tuple[str, ...] = tuple(_DATA["fallbacks"])

_PLURAL = rf"(?!\w*(?:{'|'.join(_DATA['not_lists'])})\b)\w+s\b"
_LIST_QUESTION = re.compile(
    "|".join(pattern.replace("{plural}", _PLURAL) for pattern in _DATA["list_questions"]),
    re.IGNORECASE,
)
_LIST_ITEM = re.compile(
    r"^\s*(?:[-*•–·]|\d{1,3}[.)]|[a-z][.)])\s+\S"  # a bullet, or "1." or "a)" before the item
    r"|^\s*\|.+\|\s*$"  # a row of a Markdown table
    r"|<li\b",
    re.IGNORECASE | re.MULTILINE,
)
_ITEMS_IN_ONE_LINE = re.compile(
    r"(?:^|\s)\(?(?:1|a|i)[.)]\s.*\s\(?(?:2|b|ii)[.)]\s", re.IGNORECASE | re.DOTALL
)


def is_list_question(question: str) -> bool:
    """Whether the question asks for several things: "list …", "what are the …s", "steps to …"."""
    return _LIST_QUESTION.search(question) is not None


def is_listing(answer: str) -> bool:
    """Whether the answer has bullets, numbered items, or a table."""
    if _LIST_ITEM.search(answer):
        return True
    return _ITEMS_IN_ONE_LINE.search(answer) is not None

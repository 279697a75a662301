"""Is a judge's reason worth reading? One that contradicts its score, or repeats the prompt, is flagged."""

from __future__ import annotations

import re

from answerkey.text import normalise, words

CONTRADICTS = "the reason contradicts the score"
REPEATS = "the reason repeats the prompt"
_LOW, _HIGH = 0.2, 0.8
_NEGATION = r"(?:\bno\b|\bnot\b|\bnever\b|\bnothing\b|\bnone\b|\bwithout\b|n't\b|\bneither\b|\bnor\b|\bhardly\b)"
_PRAISE = re.compile(
    r"\b(?:(?:fully|entirely|completely|perfectly|factually|all|is|are) (?:correct|right|accurate|supported|met)"
    r"|(?:fully|completely|directly|perfectly) answers|perfect|flawless|excellent|matches the expected)\b"
)
_BLAME = re.compile(
    r"\b(?:(?:is|are|completely|entirely|factually|plainly) (?:wrong|incorrect|false|unsupported|off topic|irrelevant)"
    r"|contradicts|(?:fails|failed) to|does not (?:answer|address|meet|match)|doesn't (?:answer|address|meet|match)"
    r"|not (?:met|supported|correct|answered)|made up|hallucinat\w+)\b"
)
_EMPTY = re.compile(r"[\W_]*(?:reason(?:ing)?|string|your reason(?:ing)? here|short reason|text|n/?a|none)?[\W_]*")
_SHORTEST_COPY = 8  # words in a row


def flags_of(reason: str, share: float, instructions: str = "") -> list[str]:
    """What is wrong with a reason; `share` is the score as a share of its scale.

    >>> flags_of("The answer contradicts the passages.", 1.0)
    ['the reason contradicts the score']
    """
    found: list[str] = []
    text = normalise(reason)
    if share <= _LOW and _says(_PRAISE, text) and not _says(_BLAME, text):
        found.append(CONTRADICTS)
    if share >= _HIGH and _says(_BLAME, text) and not _says(_PRAISE, text):
        found.append(CONTRADICTS)
    if reason.strip() and _repeats(text, instructions):
        found.append(REPEATS)
    return found


def _says(pattern: re.Pattern[str], text: str) -> bool:
    """Whether it is stated without a negation shortly before it, or a restriction (`but`, `only`) anywhere."""
    for match in pattern.finditer(text):
        before = text[max(0, match.start() - 25) : match.start()]
        if not re.search(_NEGATION, before) and not re.search(r"\b(?:but|although|however|only|except)\b", text):
            return True
    return False


def _repeats(reason: str, instructions: str) -> bool:
    if _EMPTY.fullmatch(reason):
        return True
    said = words(reason)
    if len(said) < _SHORTEST_COPY:
        return False
    return " ".join(said) in " ".join(words(instructions))

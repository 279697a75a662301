"""Cut a text into claims that can be checked one by one: sentences, clauses, list items, enumerations.

>>> claims("You need a passport, proof of address and a tax number; it takes two days.")
('You need a passport', 'You need proof of address', 'You need a tax number', 'it takes two days')
"""

from __future__ import annotations

import re
from functools import lru_cache

from answerkey.language.refusal import refusal
from answerkey.language.sentences import sentence_spans
from answerkey.language.words import read_words
from answerkey.text import CITATION, UNSPACED

LONGEST = 60  # claims of one text; a longer text is not an answer to one question
_FEWEST_WORDS = 3  # of a clause that stands alone
_ITEM_WORDS = 4  # at most, of an item of an enumeration

_RULES: dict[str, str] = read_words("en")["claims"]
_VERB = re.compile(_RULES["verb"], re.IGNORECASE)
_CLAUSE = re.compile(_RULES["clause"])
_INTRODUCES = re.compile(_RULES["introduces"], re.IGNORECASE)
_AUXILIARY = re.compile(_RULES["auxiliary"])
_AND_AUXILIARY = re.compile(rf"{_RULES['and']}(?={_RULES['auxiliary']})")
_PLACED = re.compile(_RULES["placed"], re.IGNORECASE)
_PRONOUN = re.compile(_RULES["pronoun"], re.IGNORECASE)
_ARTICLE = re.compile(_RULES["article"])
_JOINT = re.compile(_RULES["joint"])
_BULLET = re.compile(r"^\s*(?:[-*•–·]|\(?\d{1,2}[.)]|\(?[a-z][.)])\s+")
_MARKUP = re.compile(r"\*\*|__|`|^#+\s*")
_NAME = re.compile(_RULES["name"])


@lru_cache(maxsize=2048)
def claims(text: str) -> tuple[str, ...]:
    """The claims of a text in order, without markers, bullets, headings and refusals."""
    parts: list[str] = []
    subject = ""
    for start, end in sentence_spans(text, longest=1_000):
        sentence = _remove_markup(text[start:end])
        # A line that ends in a colon introduces the claims below it, and a question claims nothing.
        if not sentence or sentence[-1] in ":?" or refusal(sentence) == "full":
            continue
        for clause in _split_clauses(sentence):
            parts += [_name_subject(item, subject) for item in _split_items(clause)]
        # A sentence without a name keeps the subject of the one before it.
        subject = _leading_name(sentence) or subject
    telling = [part for part in parts if any(ch.isalnum() for ch in part)]
    return tuple(dict.fromkeys(telling))[:LONGEST]


def _remove_markup(sentence: str) -> str:
    return _MARKUP.sub("", _BULLET.sub("", CITATION.sub("", sentence))).strip()


def _name_subject(claim: str, subject: str) -> str:
    """Replace a pronoun at the beginning by the name that the sentence before began with."""
    if subject:
        return _PRONOUN.sub(subject, claim, count=1)
    return claim


def _split_clauses(sentence: str) -> list[str]:
    """The clauses of a sentence that have a verb of their own on both sides of the cut."""
    parts: list[str] = []
    start = 0
    for joint in _CLAUSE.finditer(sentence):
        left = sentence[start : joint.start()]
        right = _CLAUSE.split(sentence[joint.end() :], maxsplit=1)[0]
        if _is_cut(left, right, is_semicolon=joint[0][0] == ";"):
            parts.append(left)
            start = joint.end()
    parts.append(sentence[start:])
    return [clause for part in parts for clause in _split_predicates(part.strip(" ,.;!"))]


def _is_cut(left: str, right: str, is_semicolon: bool) -> bool:
    # A short part is an addition ("and more"), no statement of its own.
    if min(len(left.split()), len(right.split())) < _FEWEST_WORDS:
        return False
    return is_semicolon or bool(_VERB.search(left) and _VERB.search(right))


def _split_predicates(clause: str) -> list[str]:
    """`X is long and was opened in 1932` as two claims about X."""
    first = _AUXILIARY.search(clause)
    cut = _AND_AUXILIARY.search(clause)
    # The auxiliary before the "and" marks the subject that both predicates share.
    if not first or not cut or cut.start() <= first.start():
        return [clause]
    return [clause[: cut.start()], f"{clause[: first.start()]}{clause[cut.end() :]}"]


def _split_items(clause: str) -> list[str]:
    """`The members are X, Y and Z` as three claims; otherwise the clause itself."""
    opening, *items = _JOINT.split(clause)
    is_list = len(items) >= 2 and "," in clause
    if not is_list or any(not 0 < len(item.split()) <= _ITEM_WORDS for item in items):
        return [clause]
    # "Paris, in France, and Rome" is no list: one item only places another.
    if any(_PLACED.search(item) for item in items[:-1]):
        return [clause]
    words = opening.split()
    for cut in range(1, len(words)):
        frame = " ".join(words[:cut]) + " "
        first = words[cut:]
        if len(first) <= _ITEM_WORDS and _INTRODUCES.search(frame):
            # The article belongs to the first item: "a passport, proof of address".
            bare = _ARTICLE.sub(" ", frame)
            return [f"{frame}{' '.join(first)}", *(f"{bare}{item}" for item in items)]
    return [clause]


def _leading_name(sentence: str) -> str:
    """The name that a sentence begins with: `The Harbour Bridge`; a single word is no name."""
    name = _NAME.match(sentence)
    if not name:
        return ""
    is_name = " " in name[0] or re.match(rf"[{UNSPACED}]", name[0])
    return name[0] if is_name else ""

"""Cut a text into claims that can be checked one by one, by rules: sentences, clauses, list items and enumerations.

>>> claims("You need a passport, proof of address and a tax number; it takes two days.")
['You need a passport', 'You need proof of address', 'You need a tax number', 'it takes two days']
"""

from __future__ import annotations

import re
from functools import lru_cache

from answerkey.language.refusal import refusal
from answerkey.language.sentences import sentence_spans
from answerkey.text import CITATION, UNSPACED

LONGEST = 60  # claims of one text; a longer text is not an answer to one question
_BULLET = re.compile(r"^\s*(?:[-*•–·]|\(?\d{1,2}[.)]|\(?[a-z][.)])\s+")
_MARKUP = re.compile(r"\*\*|__|`|^#+\s*")
_VERB = re.compile(
    r"\b(?:is|are|was|were|be|been|has|have|had|can|could|will|would|may|might|must|shall|should|do|does|did|cannot|\w+n't|\w{3,}ed"
    r"|\w{3,}(?<!s)s|\w{4,}ing|took|takes?|went|gave|gets?|got|made|ran|rose|fell|grew|became|began|came|held|kept|led|left|lost|met|paid"
    r"|said|sold|sent|spent|won|wrote|cut|put|set|need|want|use|work|live|cost|eat|sort|include|contain|open|close|start|end)\b",
    re.IGNORECASE,
)
_CLAUSE = re.compile(r";\s+|,?\s+(?:but|while|whereas|although|however,?)\s+|,\s+and\s+|,\s+so\s+")
_INTRODUCES = re.compile(
    r"\b(?:are|is|include|includes|including|need|needs|contain|contains|have|has|of|bring|offers?|covers?|supports?|between|by|were|was|from|for|in"
    r"|on|with|into|sort|eat|eats|like|as|:)\s+(?:the\s+|a\s+|an\s+|your\s+)?$",
    re.IGNORECASE,
)
_AUXILIARY = re.compile(r"\b(?:is|are|was|were|has|have|had|can|will)\b")
_AND_AUXILIARY = re.compile(rf",?\s+and\s+(?={_AUXILIARY.pattern})")
_PLACED = re.compile(r"\b(?:on|in|at|every|from|to|by)\b", re.IGNORECASE)
_PRONOUN = re.compile(r"^(?:it|he|she|they|this)\b(?=\s)", re.IGNORECASE)
_NAME = re.compile(r"^(?:The\s+)?[A-Z][\w'’-]+(?:\s+(?:of\s+(?:the\s+)?)?[A-Z][\w'’-]+)*")
_FEW = 3  # words of the shortest clause that stands alone


@lru_cache(maxsize=2048)
def claims(text: str) -> tuple[str, ...]:
    """The claims of a text in order, without markers, bullets, headings and refusals."""
    found: list[str] = []
    subject = ""
    for start, end in sentence_spans(text, longest=1_000):
        sentence = _MARKUP.sub("", _BULLET.sub("", CITATION.sub("", text[start:end]))).strip()
        if not sentence or sentence.endswith((":", "?")) or refusal(sentence) == "full":
            continue
        parts = [part for clause in _clauses(sentence) for part in _items(clause)]
        found += [_PRONOUN.sub(subject, part, count=1) if subject else part for part in parts]
        subject = _subject(sentence) or subject
    return tuple(dict.fromkeys(part for part in found if any(ch.isalnum() for ch in part)))[
        :LONGEST
    ]


def _clauses(sentence: str) -> list[str]:
    """The clauses of a sentence that have a verb of their own on both sides of the cut."""
    parts = [""]
    last = 0
    for match in _CLAUSE.finditer(sentence):
        left, right = sentence[last : match.start()], sentence[match.end() :]
        following = _CLAUSE.split(right, maxsplit=1)[0]
        whole = all(len(side.split()) >= _FEW for side in (left, following))
        if whole and (match[0][0] == ";" or all(_VERB.search(side) for side in (left, following))):
            parts[-1] = left
            parts.append("")
            last = match.end()
    parts[-1] = sentence[last:]
    return [clause for part in parts for clause in _predicates(part.strip(" ,.;!"))]


def _predicates(clause: str) -> list[str]:
    """`X is long and was opened in 1932` as two claims about X."""
    first, cut = _AUXILIARY.search(clause), _AND_AUXILIARY.search(clause)
    if not first or not cut or cut.start() <= first.start():
        return [clause]
    return [clause[: cut.start()], f"{clause[: first.start()]}{clause[cut.end() :]}"]


def _items(clause: str) -> list[str]:
    """`The members are X, Y and Z` as three claims; else the clause itself."""
    pieces = re.split(r",\s+(?:and\s+|or\s+)?|\s+(?:and|or)\s+", clause)
    if (
        len(pieces) < 3
        or "," not in clause
        or any(not 0 < len(piece.split()) <= 4 for piece in pieces[1:])
    ):
        return [clause]
    if any(_PLACED.search(piece) for piece in pieces[1:-1]):
        return [clause]
    words = pieces[0].split()
    for cut in range(1, len(words)):
        frame, first = " ".join(words[:cut]) + " ", " ".join(words[cut:])
        if len(first.split()) <= 4 and _INTRODUCES.search(frame):
            bare = re.sub(r"\s(?:the|a|an|your)\s$", " ", frame)
            return [f"{frame}{first}", *(f"{bare}{piece}" for piece in pieces[1:])]
    return [clause]


def _subject(sentence: str) -> str:
    """The name that a sentence begins with: `The Harbour Bridge`."""
    match = _NAME.match(sentence)
    if not match or (" " not in match[0] and not re.match(rf"[{UNSPACED}]", match[0])):
        return ""
    return match[0]

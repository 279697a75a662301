"""Two texts word by word: what differs between two answers, and what an answer lacks."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from answerkey.text import CITATION

LONGEST = 20_000  # longer texts are cut before they are compared
_PIECES = re.compile(r"\s*\S+|\s+\Z")
_EDGES = re.compile(r"^\W+|\W+$")
# Below this similarity the few words in common are chance, and marking them hides that all is new.
_SIMILAR = 0.35
_LONG_WORD = 4  # letters; shorter words are mostly articles and prepositions
_MOST_ADDED = 0.5  # of the answer's words

MarkKind = Literal["same", "removed", "added", "missing", "other"]


@dataclass(slots=True)
class DiffPart:
    """Part of a text, and how it relates to the other text."""

    text: str
    kind: MarkKind = "same"


def word_diff(a: str, b: str) -> tuple[list[DiffPart], list[DiffPart]]:
    """Both sides in pieces that are the same, removed or added."""
    from rapidfuzz.distance import Indel

    words_a = _PIECES.findall(a[:LONGEST])
    words_b = _PIECES.findall(b[:LONGEST])
    if Indel.normalized_similarity(words_a, words_b) < _SIMILAR:
        return [DiffPart(a[:LONGEST], "removed")], [DiffPart(b[:LONGEST], "added")]
    side_a: list[DiffPart] = []
    side_b: list[DiffPart] = []
    for step in Indel.opcodes(words_a, words_b):
        part_a = "".join(words_a[step.src_start : step.src_end])
        part_b = "".join(words_b[step.dest_start : step.dest_end])
        if step.tag == "equal":
            side_a.append(DiffPart(part_a))
            side_b.append(DiffPart(part_b))
            continue
        if part_a:
            side_a.append(DiffPart(part_a, "removed"))
        if part_b:
            side_b.append(DiffPart(part_b, "added"))
    return side_a, side_b


@dataclass(frozen=True, slots=True)
class WordMarks:
    """Words of a text to mark, each with the kind of its mark."""

    kinds: Mapping[str, MarkKind]

    def split(self, text: str) -> list[DiffPart]:
        """The text in parts; every letter is in exactly one of them."""
        pieces = _PIECES.findall(text)
        parts = _Parts()
        last_kind: MarkKind = "same"
        for piece in pieces:
            word = piece.lstrip()
            kind = self.kinds.get(_bare_word(word), "same")
            # The blank between two marked words is marked, the one before the first is not.
            parts.add(piece[: len(piece) - len(word)], kind if kind == last_kind else "same")
            parts.add(word, kind)
            last_kind = kind
        parts.add(text[sum(map(len, pieces)) :], "same")
        return parts.list


def compare_words(expected: str, answer: str, question: str = "") -> tuple[WordMarks, WordMarks]:
    """The marks of the expected answer and of the answer.

    A word of the expected answer that the answer lacks is `missing`. A number of the answer that is
    not expected is `other`; a longer word that is neither expected nor in the question is `added`.
    A right answer may be worded freely: if most of its words would be marked as added, the marks
    say nothing, and only the numbers are marked.
    """
    expected_words = _bare_words(expected)
    answer_words = _bare_words(answer)
    missing: dict[str, MarkKind] = dict.fromkeys(expected_words - answer_words, "missing")
    if not expected_words:
        return WordMarks(missing), WordMarks({})
    new_words = answer_words - expected_words
    numbers: dict[str, MarkKind] = {word: "other" for word in new_words if _has_digit(word)}
    added: dict[str, MarkKind] = {
        word: "added"
        for word in new_words - _bare_words(question)
        if len(word) >= _LONG_WORD and not _has_digit(word)
    }
    # A fluent paraphrase shares few words with the expected answer, and is not wrong for that.
    if len(added) > _MOST_ADDED * len(answer_words):
        added = {}
    return WordMarks(missing), WordMarks(added | numbers)


def marked_answer(
    expected: str, answer: str, question: str = ""
) -> tuple[list[DiffPart], list[DiffPart]]:
    """Both texts in parts, with the marks of `compare_words`."""
    expected_marks, answer_marks = compare_words(expected, answer, question)
    return expected_marks.split(expected), answer_marks.split(answer)


def _bare_words(text: str) -> set[str]:
    # "[1, 3]" names passages: these are no numbers of the answer.
    return {_bare_word(piece) for piece in CITATION.sub(" ", text).split()} - {""}


def _has_digit(word: str) -> bool:
    return any(map(str.isdigit, word))


def _bare_word(piece: str) -> str:
    return _EDGES.sub("", CITATION.sub("", piece)).casefold()


class _Parts:
    """Collects parts; neighbours of one kind become one."""

    def __init__(self) -> None:
        self.list: list[DiffPart] = []

    def add(self, text: str, kind: MarkKind) -> None:
        if not text:
            return
        if self.list and self.list[-1].kind == kind:
            self.list[-1].text += text
        else:
            self.list.append(DiffPart(text, kind))

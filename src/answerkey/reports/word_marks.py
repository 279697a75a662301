"""Two texts word by word: what differs between two answers, and what an answer lacks."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

LONGEST = 20_000  # longer texts are cut before they are compared
_PIECES = re.compile(r"\s*\S+|\s+\Z")
_EDGES = re.compile(r"^\W+|\W+$")
# Below this similarity the few words in common are chance, and marking them hides that all is new.
_SIMILAR = 0.35

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


def marked_answer(expected: str, answer: str) -> tuple[list[DiffPart], list[DiffPart]]:
    """The expected answer with the words that the answer lacks, and the answer with other numbers.

    Wording may differ freely in a right answer; a reader looks for missing words and for numbers
    that are not expected.
    """
    expected_pieces = _PIECES.findall(expected)
    answer_pieces = _PIECES.findall(answer)
    expected_words = {_bare_word(piece) for piece in expected_pieces}
    answer_words = {_bare_word(piece) for piece in answer_pieces}

    def is_missing(piece: str) -> bool:
        word = _bare_word(piece)
        return bool(word) and word not in answer_words

    def is_other_number(piece: str) -> bool:
        has_digit = any(map(str.isdigit, piece))
        return bool(expected_pieces) and has_digit and _bare_word(piece) not in expected_words

    missing = ((piece, is_missing(piece)) for piece in expected_pieces)
    other = ((piece, is_other_number(piece)) for piece in answer_pieces)
    return _merge_pieces(missing, "missing"), _merge_pieces(other, "other")


def _bare_word(piece: str) -> str:
    return _EDGES.sub("", piece).casefold()


def _merge_pieces(pieces: Iterable[tuple[str, bool]], kind: MarkKind) -> list[DiffPart]:
    """Neighbours of one kind as one part; the blank before a marked word is not marked."""
    parts: list[DiffPart] = []

    def add(text: str, text_kind: MarkKind) -> None:
        if not text:
            return
        if parts and parts[-1].kind == text_kind:
            parts[-1].text += text
        else:
            parts.append(DiffPart(text, text_kind))

    for piece, is_marked in pieces:
        word = piece.lstrip()
        blank = piece[: len(piece) - len(word)]
        if is_marked:
            add(blank, "same")
            add(word, kind)
        else:
            add(piece, "same")
    return parts

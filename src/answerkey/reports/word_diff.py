"""Two texts, word by word: the same, removed, added."""

from __future__ import annotations

import re
from dataclasses import dataclass

LONGEST = 20_000
_PIECES = re.compile(r"\s*\S+|\s+\Z")
_EDGES = re.compile(r"^\W+|\W+$")
_SIMILAR = 0.35  # below it the few words in common are chance, and marking them hides that everything is new


@dataclass(slots=True)
class DiffPart:
    """Part of a text; `kind` is same, removed, added, missing or other."""

    text: str
    kind: str = "same"


def word_diff(a: str, b: str) -> tuple[list[DiffPart], list[DiffPart]]:
    """Each side in pieces with `kind` same, removed or added. Very long texts are cut before they are compared."""
    from rapidfuzz.distance import Indel

    left, right = _PIECES.findall(a[:LONGEST]), _PIECES.findall(b[:LONGEST])
    if Indel.normalized_similarity(left, right) < _SIMILAR:
        return [DiffPart(a[:LONGEST], "removed")], [DiffPart(b[:LONGEST], "added")]
    side_a: list[DiffPart] = []
    side_b: list[DiffPart] = []
    for step in Indel.opcodes(left, right):
        gone = "".join(left[step.src_start : step.src_end])
        came = "".join(right[step.dest_start : step.dest_end])
        if step.tag == "equal":
            side_a.append(DiffPart(gone))
            side_b.append(DiffPart(came))
            continue
        if gone:
            side_a.append(DiffPart(gone, "removed"))
        if came:
            side_b.append(DiffPart(came, "added"))
    return side_a, side_b


def marked_answer(expected: str, answer: str) -> tuple[list[DiffPart], list[DiffPart]]:
    """The expected answer with the words that the answer lacks, and the answer with the numbers that are not expected.

    Wording may differ freely in a right answer; missing words and other numbers are what a reader looks for.
    """
    wanted, found = _PIECES.findall(expected), _PIECES.findall(answer)
    known, there = ({_bare(piece) for piece in pieces} for pieces in (wanted, found))
    lacking = [(piece, bool(_bare(piece)) and _bare(piece) not in there) for piece in wanted]
    other = [(piece, bool(wanted) and any(map(str.isdigit, piece)) and _bare(piece) not in known) for piece in found]
    return _joined(lacking, "missing"), _joined(other, "other")


def _bare(piece: str) -> str:
    return _EDGES.sub("", piece).casefold()


def _joined(pieces: list[tuple[str, bool]], kind: str) -> list[DiffPart]:
    """Neighbours of one kind as one piece; the blank before a marked word is not marked."""
    joined: list[DiffPart] = []
    for piece, marked in pieces:
        word = piece.lstrip()
        for text, here in ((piece[: len(piece) - len(word)], "same"), (word, kind if marked else "same")):
            if joined and (joined[-1].kind == here or not text):
                joined[-1].text += text
            elif text:
                joined.append(DiffPart(text, here))
    return joined

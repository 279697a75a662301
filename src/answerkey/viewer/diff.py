"""Two answers, word by word: what stayed, what went, what came."""

from __future__ import annotations

import re

from answerkey.types import Json

LONGEST = 20_000
_PIECES = re.compile(r"\s*\S+|\s+\Z")
_ALIKE = 0.35  # below it the few words in common are chance, and marking them hides that all is new


def diff(a: str, b: str) -> tuple[list[Json], list[Json]]:
    """Each side in pieces with `kind` same, removed or added. Very long answers are cut before they are compared."""
    from rapidfuzz.distance import Indel

    left, right = _PIECES.findall(a[:LONGEST]), _PIECES.findall(b[:LONGEST])
    if Indel.normalized_similarity(left, right) < _ALIKE:
        return [{"text": a[:LONGEST], "kind": "removed"}], [{"text": b[:LONGEST], "kind": "added"}]
    side_a: list[Json] = []
    side_b: list[Json] = []
    for step in Indel.opcodes(left, right):
        gone = "".join(left[step.src_start : step.src_end])
        came = "".join(right[step.dest_start : step.dest_end])
        if step.tag == "equal":
            side_a.append({"text": gone, "kind": "same"})
            side_b.append({"text": came, "kind": "same"})
            continue
        if gone:
            side_a.append({"text": gone, "kind": "removed"})
        if came:
            side_b.append({"text": came, "kind": "added"})
    return side_a, side_b

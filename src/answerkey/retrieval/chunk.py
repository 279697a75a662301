"""Pages cut into chunks of words, each with its page and where in the page it stood."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from answerkey.config.tables import ChunkBy
from answerkey.retrieval.corpus import Page

_WORD = re.compile(r"\S+")
_HEADING = re.compile(r"^#{1,6}\s+\S.*$", re.MULTILINE)
_FENCE = re.compile(r"^(```|~~~).*?^\1\s*$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Chunk:
    """`page` is the id that labels name; `start` and `end` are offsets into the page's text."""

    id: str
    text: str
    page: str
    document: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Chunking:
    """`by` "page": one chunk per page; "words": `size` words, `overlap` of them shared with the next;
    "heading": one chunk per Markdown section, split every `size` words if longer."""

    by: ChunkBy = "page"
    size: int = 200
    overlap: int = 40


def cut(pages: Iterable[Page], how: Chunking) -> list[Chunk]:
    """Every chunk of every page, in order; ids are the page's id and the chunk's number in it."""
    chunks: list[Chunk] = []
    seen: dict[str, int] = {}
    for page in pages:
        for start, end in _spans(page.text, how):
            number = seen[page.id] = seen.get(page.id, 0) + 1
            chunks.append(Chunk(f"{page.id}:{number}", page.text[start:end], page.id, page.document, start, end))
    return chunks


def _spans(text: str, how: Chunking) -> Iterator[tuple[int, int]]:
    if how.by == "page":
        yield 0, len(text)
    elif how.by == "words":
        yield from _windows(text, 0, len(text), how)
    else:
        for start, end in _sections(text):
            yield from _windows(text, start, end, how)


def _sections(text: str) -> Iterator[tuple[int, int]]:
    """From one heading to the next; a `#` inside a code fence is no heading."""
    fenced = [(match.start(), match.end()) for match in _FENCE.finditer(text)]
    headings = [m.start() for m in _HEADING.finditer(text) if not any(a <= m.start() < b for a, b in fenced)]
    edges = sorted({0, *headings, len(text)})
    yield from pairwise(edges)


def _windows(text: str, start: int, end: int, how: Chunking) -> Iterator[tuple[int, int]]:
    words = [(match.start(), match.end()) for match in _WORD.finditer(text, start, end)]
    step = how.size - how.overlap
    for first in range(0, max(len(words) - how.overlap, 1), step):
        window = words[first : first + how.size]
        if window:
            yield window[0][0], window[-1][1]

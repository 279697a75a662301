"""Pages cut into chunks: whole pages, sections, sentences or windows of words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from answerkey.config.retrieval_tables import ChunkBy, ChunkTable
from answerkey.errors import SettingsError
from answerkey.retrieval.corpus import Page
from answerkey.text import UNSPACED

_WORD = re.compile(
    rf"[{UNSPACED}]{{1,2}}|[^\s{UNSPACED}]+"
)  # without spaces, two characters count as a word
# A mark that ends a sentence and a blank after it, a full-width mark, or an empty line.
_SENTENCE_END = re.compile(r"[.!?؟।]+[\"'”’)\]]*(?=\s)(?<!\b\d\.)|[。！？]+[」』”’]*|\n\s*\n")
_HEADING = re.compile(r"^#{1,6}\s+\S.*$", re.MULTILINE)
_FENCE = re.compile(r"^(```|~~~).*?^\1\s*$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Chunk:
    """`page` is the id that labels name; `start` and `end` are offsets into the page's text; `number` is its page number."""

    id: str
    text: str
    page: str
    document: str
    start: int
    end: int
    number: str = ""


@dataclass(frozen=True, slots=True)
class Chunking:
    """`by` "page": one chunk per page; "fixed" or "words": `size` words, `overlap` of them shared with the next;
    "sentence": whole sentences of together at most `size` words; "heading": one chunk per Markdown section, cut into
    `size` words where it is longer."""

    by: ChunkBy = "page"
    size: int = 200
    overlap: int = 40

    @property
    def name(self) -> str:
        return "page" if self.by == "page" else f"{self.by} {self.size}/{self.overlap}"


def chunkings(settings: ChunkTable) -> list[Chunking]:
    """Every way to cut that the settings name; an overlap must be below its size."""
    sizes = _as_tuple(settings.size)
    overlaps = _as_tuple(settings.overlap)
    several = isinstance(settings.size, tuple) or isinstance(settings.overlap, tuple)
    if isinstance(settings.size, tuple) and isinstance(settings.overlap, int):
        # The default overlap must not rule out small sizes.
        overlaps = (min(settings.overlap, min(sizes) // 5),)
    kinds = settings.by
    if kinds is None:
        kinds = "fixed" if several else "page"
    if isinstance(kinds, str):
        kinds = (kinds,)
    ways: list[Chunking] = []
    for kind in kinds:
        if kind == "page":  # pages have no size
            ways.append(Chunking(kind, 0, 0))
            continue
        pairs = [(size, overlap) for size in sizes for overlap in overlaps if overlap < size]
        ways += [Chunking(kind, size, overlap) for size, overlap in pairs]
    if not ways:
        raise SettingsError(
            f"[retrieval] overlaps = {list(overlaps)}: expected less than chunk_sizes, {list(sizes)}"
        )
    return list(dict.fromkeys(ways))


def _as_tuple(value: int | tuple[int, ...]) -> tuple[int, ...]:
    if isinstance(value, int):
        return (value,)
    return tuple(sorted(set(value)))


def cut_pages(pages: Iterable[Page], how: Chunking) -> list[Chunk]:
    """Every chunk of every page, in order; ids are the page's id and the chunk's number in it."""
    chunks: list[Chunk] = []
    seen: dict[str, int] = {}
    for page in pages:
        for start, end in _spans(page.text, how):
            number = seen[page.id] = seen.get(page.id, 0) + 1
            where = (page.id, page.document, start, end, page.number or "")
            chunks.append(Chunk(f"{page.id}:{number}", page.text[start:end], *where))
    return chunks


def _spans(text: str, how: Chunking) -> Iterator[tuple[int, int]]:
    if how.by == "page":
        yield 0, len(text)
    elif (
        how.by == "heading"
    ):  # from one heading to the next; a `#` inside a code fence is no heading
        fenced = [match.span() for match in _FENCE.finditer(text)]
        headings = [
            m.start()
            for m in _HEADING.finditer(text)
            if not any(a <= m.start() < b for a, b in fenced)
        ]
        for start, end in pairwise(sorted({0, *headings, len(text)})):
            yield from _windows(text, start, end, how)
    elif how.by == "sentence":
        yield from _sentences(text, how)
    else:
        yield from _windows(text, 0, len(text), how)


def _sentences(text: str, how: Chunking) -> Iterator[tuple[int, int]]:
    """Whole sentences up to the size; a longer sentence is cut. The overlap is made of whole sentences too."""
    edges = [0, *(match.end() for match in _SENTENCE_END.finditer(text)), len(text)]
    short = Chunking("fixed", how.size, 0)
    parts = [part for start, end in pairwise(edges) for part in _windows(text, start, end, short)]
    sizes = [len(_WORD.findall(text, *part)) for part in parts]
    first = 0
    while first < len(parts):
        last, size = first, sizes[first]
        while last + 1 < len(parts) and size + sizes[last + 1] <= how.size:
            last += 1
            size += sizes[last]
        yield parts[first][0], parts[last][1]
        first, shared = last + 1, 0
        room = min(how.overlap, how.size - sizes[first]) if first < len(parts) else 0
        while shared + sizes[first - 1] <= room:
            first -= 1
            shared += sizes[first]


def _windows(text: str, start: int, end: int, how: Chunking) -> Iterator[tuple[int, int]]:
    words = [match.span() for match in _WORD.finditer(text, start, end)]
    for first in range(0, max(len(words) - how.overlap, 1), how.size - how.overlap):
        if window := words[first : first + how.size]:
            yield window[0][0], window[-1][1]

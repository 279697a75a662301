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

Span = tuple[int, int]
# In a script without spaces, two characters count as a word.
_WORD = re.compile(rf"[{UNSPACED}]{{1,2}}|[^\s{UNSPACED}]+")
# A sentence ends at a mark with a blank after it, at a full-width mark, or at an empty line.
# The number of a list item, as in "1. Open the box", ends no sentence.
_SENTENCE_END = re.compile(r"[.!?؟।]+[\"'”’)\]]*(?=\s)(?<!\b\d\.)|[。！？]+[」』”’]*|\n\s*\n")
_HEADING = re.compile(r"^#{1,6}\s+\S.*$", re.MULTILINE)
_FENCE = re.compile(r"^(```|~~~).*?^\1\s*$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a page. `page` is the id that labels name, "" where the chunk names no page.

    `start` and `end` are offsets into the page's text; `number` is the page number.
    """

    id: str
    text: str
    page: str
    document: str
    start: int
    end: int
    number: str = ""


@dataclass(frozen=True, slots=True)
class Chunking:
    """One way to cut a page.

    "page" keeps it whole; "fixed" or "words" takes `size` words, of which `overlap` are shared with
    the next chunk; "sentence" takes whole sentences of at most `size` words; "heading" takes a
    Markdown section and cuts it where it is longer than `size` words.
    """

    by: ChunkBy = "page"
    size: int = 200
    overlap: int = 40

    @property
    def name(self) -> str:
        if self.by == "page":
            return "page"
        return f"{self.by} {self.size}/{self.overlap}"


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
            f"[retrieval] overlaps = {list(overlaps)}: expected less than chunk_sizes, "
            f"{list(sizes)}"
        )
    return list(dict.fromkeys(ways))


def _as_tuple(value: int | tuple[int, ...]) -> tuple[int, ...]:
    if isinstance(value, int):
        return (value,)
    return tuple(sorted(set(value)))


def cut_pages(pages: Iterable[Page], how: Chunking) -> list[Chunk]:
    """Every chunk of every page, in order; its id is its page's id and its number there."""
    chunks: list[Chunk] = []
    numbers: dict[str, int] = {}
    for page in pages:
        name = page.id or page.document  # a chunk without a page needs a unique id too
        for start, end in _cut_text(page.text, how):
            number = numbers.get(name, 0) + 1
            numbers[name] = number
            chunks.append(
                Chunk(
                    id=f"{name}:{number}",
                    text=page.text[start:end],
                    page=page.id,
                    document=page.document,
                    start=start,
                    end=end,
                    number=page.number or "",
                )
            )
    return chunks


def _cut_text(text: str, how: Chunking) -> Iterator[Span]:
    if how.by == "page":
        yield 0, len(text)
    elif how.by == "heading":
        for start, end in _sections(text):
            yield from _windows(text, start, end, how)
    elif how.by == "sentence":
        yield from _sentence_groups(text, how)
    else:
        yield from _windows(text, 0, len(text), how)


def _sections(text: str) -> Iterator[Span]:
    """The text from each heading to the next; a `#` inside a code fence is no heading."""
    fences = [match.span() for match in _FENCE.finditer(text)]
    headings = [
        match.start()
        for match in _HEADING.finditer(text)
        if not any(start <= match.start() < end for start, end in fences)
    ]
    # The text before the first heading is a section, too.
    return pairwise(sorted({0, *headings, len(text)}))


def _sentence_groups(text: str, how: Chunking) -> Iterator[Span]:
    """Whole sentences up to the size; a longer one is cut. The overlap is whole sentences too."""
    edges = [0, *(match.end() for match in _SENTENCE_END.finditer(text)), len(text)]
    without_overlap = Chunking("fixed", how.size, 0)
    parts = [
        part
        for start, end in pairwise(edges)
        for part in _windows(text, start, end, without_overlap)
    ]
    sizes = [len(_WORD.findall(text, *part)) for part in parts]
    first = 0
    while first < len(parts):
        last = first
        size = sizes[first]
        while last + 1 < len(parts) and size + sizes[last + 1] <= how.size:
            last += 1
            size += sizes[last]
        yield parts[first][0], parts[last][1]
        first = _step_back(sizes, last + 1, how)


def _step_back(sizes: list[int], first: int, how: Chunking) -> int:
    """The sentence that the next chunk begins with: earlier ones that fit into the overlap count."""
    if first == len(sizes):
        return first
    # The next new sentence must still fit into the chunk, or the loop would not end.
    room = min(how.overlap, how.size - sizes[first])
    shared = 0
    while shared + sizes[first - 1] <= room:
        first -= 1
        shared += sizes[first]
    return first


def _windows(text: str, start: int, end: int, how: Chunking) -> Iterator[Span]:
    spans = [match.span() for match in _WORD.finditer(text, start, end)]
    # Without the `- how.overlap`, the last window could hold only words that the one before it has.
    for first in range(0, max(len(spans) - how.overlap, 1), how.size - how.overlap):
        window = spans[first : first + how.size]
        if window:
            yield window[0][0], window[-1][1]

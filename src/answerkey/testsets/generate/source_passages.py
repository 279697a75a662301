"""The passages of documents, each with the titles that people gave it cut from its text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from urllib.parse import unquote, urlsplit

from answerkey.retrieval.corpus import Page
from answerkey.text import words

_FENCE = re.compile(r"^(```|~~~).*?^\1\s*$", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^(#{1,6})\s+(\S.*?)\s*#*\s*$", re.MULTILINE)
_MARKUP = re.compile(r"[*_`]+|\[([^\]]*)\]\([^)]*\)")
_FEWEST_WORDS = 8  # a shorter passage is a stub that says nothing


@dataclass(frozen=True, slots=True)
class SourcePassage:
    """A section, page or record. `text` is without `heading`; `path` are the titles above it."""

    id: str
    document: str
    text: str
    heading: str = ""
    path: tuple[str, ...] = field(default=())


def split_passages(pages: Sequence[Page]) -> list[SourcePassage]:
    """The sections of Markdown pages, and other pages whole; stubs are left out."""
    passages = [passage for page in pages for passage in _passages_of_page(page)]
    return [one for one in passages if len(words(one.text)) >= _FEWEST_WORDS]


def _passages_of_page(page: Page) -> Iterator[SourcePassage]:
    name = page.id or page.document
    # With the title in its text a passage would be found by its own query, word by word.
    if page.title:
        text = cut_title(page.text, page.title)
        yield SourcePassage(name, page.document, text, page.title, _link_path(page))
        return
    headings = _headings(page.text)
    if headings:
        yield from _sections(page, name, headings)
    else:
        yield SourcePassage(name, page.document, page.text)


def _headings(text: str) -> list[re.Match[str]]:
    """The Markdown headings; a `#` inside a code fence is none."""
    fences = [match.span() for match in _FENCE.finditer(text)]
    return [
        match
        for match in _HEADING.finditer(text)
        if not any(start <= match.start() < end for start, end in fences)
    ]


def _sections(page: Page, name: str, headings: list[re.Match[str]]) -> Iterator[SourcePassage]:
    before = page.text[: headings[0].start()].strip()
    if before:
        yield SourcePassage(name, page.document, before)
    path: list[tuple[int, str]] = []  # level and title of the headings above
    used: dict[str, int] = {}
    ends = [match.start() for match in headings[1:]] + [len(page.text)]
    for match, end in zip(headings, ends, strict=True):
        level = len(match[1])
        title = strip_markup(match[2])
        path = [(one, text) for one, text in path if one < level]
        section = f"{name}#{title}"
        # Two sections "Examples" of one page need ids of their own.
        used[section] = used.get(section, 0) + 1
        if used[section] > 1:
            section = f"{section} {used[section]}"
        yield SourcePassage(
            section,
            page.document,
            page.text[match.end() : end].strip(),
            title,
            tuple(text for _, text in path),
        )
        path.append((level, title))


def _link_path(page: Page) -> tuple[str, ...]:
    """A title for the document of a record, from its link: `…/docs/chain-of-thought` says it."""
    if "://" not in page.document:
        return ()
    last = PurePosixPath(unquote(urlsplit(page.document).path)).stem
    title = re.sub(r"[-_]+", " ", last).strip()
    return (title,) if title else ()


def cut_title(text: str, title: str) -> str:
    """The text without the title at its beginning, however often it is repeated there.

    >>> cut_title("Leave\\n\\nLeave\\nStaff have 28 days.", "Leave")
    'Staff have 28 days.'
    """
    title_words = words(title)
    rest = text.strip()
    while title_words:
        # A look at the beginning is enough, and a page may be long.
        beginning = rest[: 3 * len(title) + 20]
        if words(beginning)[: len(title_words)] != title_words:
            break
        shorter = _drop_words(rest, len(title_words))
        # A page that is nothing but its title keeps it.
        if not shorter:
            break
        rest = shorter
    return rest


def _drop_words(text: str, count: int) -> str:
    """The text after its first words; "" where there is none."""
    matches = list(re.finditer(r"\w+", text[:2_000]))
    if count >= len(matches):
        return ""
    return text[matches[count - 1].end() :].lstrip(" \t\r\n.:–—-#")


def strip_markup(markdown: str) -> str:
    """Text without emphasis, code marks and link targets, on one line."""
    return " ".join(_MARKUP.sub(lambda match: match[1] or "", markdown).split())

"""Queries that people wrote about a passage: headings, FAQ questions, captions, links, terms.

Questions cut from sentences of the text are not made. They repeat the words of the passage, and
retrieval settings chosen with them are the wrong ones (docs/how-to/test-sets.md has the figures).
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib.resources import files
from posixpath import dirname, join, normpath

from answerkey.testsets.generate.source_passages import SourcePassage, strip_markup
from answerkey.text import normalise, words

_LINK = re.compile(r"(?<!!)\[([^\]\n]{3,120})\]\(([^)\s]+)[^)]*\)")
_IMAGE = re.compile(r"!\[([^\]\n]{3,160})\]\([^)]*\)")
_TERM = re.compile(
    r"^\s*(?:[-*+]\s+)?\*\*([^*\n]{2,60}?):?\*\*\s*[:–—-]?\s+(\S.{20,})$", re.MULTILINE
)
_QUESTION = re.compile(
    r"^\s*(?:\*\*|__)?(?:Q\s*\d*\s*[:.)]\s*)?([^\n]{8,200}?\?)(?:\*\*|__)?\s*$", re.MULTILINE
)
_ANSWER_MARK = re.compile(r"^\s*(?:\*\*)?A\s*\d*\s*[:.)](?:\*\*)?\s*")
# One word is too vague to have a single right passage, and a paragraph in bold is no query.
_FEWEST_WORDS = 2
_MOST_WORDS = 30


class QueryKind(StrEnum):
    """The form in which people wrote the query."""

    HEADING = "heading"
    FAQ = "faq"
    CAPTION = "caption"
    LINK = "link"
    ALT_TEXT = "alt text"
    DEFINITION = "definition"


@dataclass(frozen=True, slots=True)
class WrittenQuery:
    """`text` was written about the passage with this id; `cut` is what the passage must lose.

    `answer` is the text below a FAQ question.
    """

    kind: QueryKind
    text: str
    passage: str
    cut: str = ""
    answer: str = ""


@dataclass(frozen=True, slots=True)
class WrittenQueries:
    """The queries to use, in the order of the passages, and how many texts were left out."""

    queries: tuple[WrittenQuery, ...]
    too_general: int
    of_several_passages: int
    repeated: int


def find_queries(passages: Sequence[SourcePassage], kinds: Sequence[str] = ()) -> WrittenQueries:
    """Every query of these kinds, () for all; one that fits several passages is left out."""
    # A link is written in one passage about another, so all targets are known first.
    targets = _link_targets(passages)
    queries: list[WrittenQuery] = []
    for passage in passages:
        queries += _heading(passage)
        queries += _questions(passage)
        queries += _captions(passage)
        queries += _terms(passage)
        queries += _images(passage)
        queries += _links(passage, targets)
    if kinds:
        queries = [query for query in queries if query.kind.value in kinds]
    usable = [query for query in queries if _is_usable(query.text)]
    passages_with: dict[str, set[str]] = {}
    for query in usable:
        passages_with.setdefault(normalise(query.text), set()).add(query.passage)
    # "Overview" above ten sections says nothing about which of them is meant.
    clear = [query for query in usable if len(passages_with[normalise(query.text)]) == 1]
    unique: dict[str, WrittenQuery] = {}
    for query in clear:
        unique.setdefault(normalise(query.text), query)
    return WrittenQueries(
        tuple(unique.values()),
        too_general=len(queries) - len(usable),
        of_several_passages=len(usable) - len(clear),
        repeated=len(clear) - len(unique),
    )


def _is_usable(text: str) -> bool:
    if not _FEWEST_WORDS <= len(words(text)) <= _MOST_WORDS:
        return False
    return normalise(text).strip(" .:") not in _generic()


def _heading(passage: SourcePassage) -> Iterator[WrittenQuery]:
    if not passage.heading:
        return
    # A heading that asks is answered by the section below it.
    if passage.heading.endswith("?"):
        yield WrittenQuery(QueryKind.FAQ, passage.heading, passage.id, answer=passage.text)
    else:
        yield WrittenQuery(
            QueryKind.HEADING, _with_subject(passage.path, passage.heading), passage.id
        )


def _with_subject(path: Sequence[str], title: str) -> str:
    """The title with the nearest one above it, which says what "Examples" is about."""
    if not path or set(words(path[-1])) <= set(words(title)):
        return title
    return f"{path[-1]}: {title}"


def _questions(passage: SourcePassage) -> Iterator[WrittenQuery]:
    """Lines that are a question, with the text up to the next one as the answer."""
    matches = list(_QUESTION.finditer(passage.text))
    starts = [match.start() for match in matches]
    for match, end in zip(matches, [*starts[1:], len(passage.text)], strict=False):
        answer = _ANSWER_MARK.sub("", passage.text[match.end() : end]).strip()
        if len(words(answer)) >= _FEWEST_WORDS:
            question = strip_markup(match[1])
            yield WrittenQuery(QueryKind.FAQ, question, passage.id, match[0], answer)


def _captions(passage: SourcePassage) -> Iterator[WrittenQuery]:
    for match in _caption_pattern().finditer(passage.text):
        yield WrittenQuery(QueryKind.CAPTION, strip_markup(match[1]), passage.id, match[0])


def _terms(passage: SourcePassage) -> Iterator[WrittenQuery]:
    for match in _TERM.finditer(passage.text):
        path = (*passage.path, *filter(None, (passage.heading,)))
        term = _with_subject(path, strip_markup(match[1]))
        # Only the term is cut: its explanation is what must be found.
        yield WrittenQuery(QueryKind.DEFINITION, term, passage.id, f"**{match[1]}")


def _images(passage: SourcePassage) -> Iterator[WrittenQuery]:
    for match in _IMAGE.finditer(passage.text):
        yield WrittenQuery(QueryKind.ALT_TEXT, strip_markup(match[1]), passage.id, match[1])


def _links(passage: SourcePassage, targets: Mapping[str, str]) -> Iterator[WrittenQuery]:
    """Link texts that lead to another passage: they are written about that one."""
    for match in _LINK.finditer(passage.text):
        address = match[2]
        if "://" not in address:
            file, mark, section = address.partition("#")
            folder = dirname(passage.document)
            if file:
                file = normpath(join(folder, file))
            else:
                file = passage.document
            address = f"{file}{mark}{section}"
        target = targets.get(address.casefold())
        # A link to its own section says nothing about another passage.
        if target and target != passage.id:
            yield WrittenQuery(QueryKind.LINK, strip_markup(match[1]), target)


def _link_targets(passages: Sequence[SourcePassage]) -> dict[str, str]:
    """The passage behind each address: the first of a document, and each section by its anchor."""
    targets: dict[str, str] = {}
    for passage in passages:
        # The first passage stands for the document, as a link without an anchor opens its top.
        targets.setdefault(passage.document.casefold(), passage.id)
        targets.setdefault(passage.id.casefold(), passage.id)
        if passage.heading:
            anchor = "-".join(words(passage.heading))
            targets.setdefault(f"{passage.document}#{anchor}".casefold(), passage.id)
    return targets


@cache
def _generic() -> frozenset[str]:
    return frozenset(_data()["generic"])


@cache
def _caption_pattern() -> re.Pattern[str]:
    names = "|".join(re.escape(name) for name in _data()["captions"])
    return re.compile(
        rf"^\s*(?:\*\*)?(?:{names})\s*\d+(?:\.\d+)*\s*[.:–-]\s*(.{{8,160}})$", re.I | re.M
    )


@cache
def _data() -> dict[str, list[str]]:
    path = files("answerkey.testsets").joinpath("data/written.toml")
    return tomllib.loads(path.read_text("utf-8"))

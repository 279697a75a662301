"""Does the text of each indexed chunk stand on the page of the PDF that it names?"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import Enum
from pathlib import Path

from answerkey.coerce.labels import document_stem, page_parts
from answerkey.config.declare import read_table
from answerkey.config.retrieval_tables import RetrievalTable
from answerkey.errors import InputError, SettingsError
from answerkey.retrieval.chunks import Chunk
from answerkey.retrieval.corpus import corpus_files, read_pdf
from answerkey.retrieval.search_index import Step, open_search_index
from answerkey.runs.suite import Suite
from answerkey.text import format_count, words

_RUN_LENGTH = 4  # words that must follow each other
_LEAST_SHARE = 0.5  # share of a chunk's runs that its page must hold
_LEAST_SHIFTED = 0.8  # share of the wrong chunks that one shift must explain
_HYPHEN_AT_LINE_END = re.compile(r"(?<=\w)[-\u00ad]\n(?=\w)")
PageKey = tuple[str, int]  # the stem of a document and a page number
WordRun = tuple[str, ...]


class ChunkPlace(Enum):
    """The place of a chunk's text."""

    RIGHT = "on the page it names"
    WRONG = "on another page"
    LOST = "on no page"
    UNREADABLE = "names no page of these PDFs"


@dataclass(frozen=True, slots=True)
class WrongPage:
    """A chunk that is not on its page; `found` is the page with most of it, "" where none has."""

    chunk: str
    page: str
    found: str
    share: float
    text: str


@dataclass(frozen=True, slots=True)
class Verification:
    """The chunks that are not on their page; `shift` added to the pages makes the wrong ones right.

    `wrong` chunks stand on another page, `lost` ones on no page; `unreadable` ones name no page of
    a PDF that is there.
    """

    chunks: int
    right: int
    wrong: tuple[WrongPage, ...]
    lost: tuple[WrongPage, ...]
    unreadable: tuple[WrongPage, ...]
    shift: int | None

    @property
    def is_right(self) -> bool:
        return self.right == self.chunks

    @property
    def sentence(self) -> str:
        share = self.right / self.chunks
        parts = [
            f"{self.right} of {format_count(self.chunks, 'chunk')} ({share:.1%}) "
            "stand on the page they name"
        ]
        if self.wrong:
            parts.append(f"{len(self.wrong)} on another page")
        if self.lost:
            parts.append(f"{len(self.lost)} on no page")
        if self.unreadable:
            parts.append(f"{len(self.unreadable)} name no page of these PDFs")
        if self.shift is not None:
            parts.append(f"with {self.shift:+d} added to their page, they match")
        return "; ".join(parts)

    def as_json(self) -> dict[str, object]:
        return {
            **asdict(self),
            "share": self.right / self.chunks,
            "passed": self.is_right,
            "sentence": self.sentence,
        }


def verify_suite(
    suite: Suite, originals: Path | None = None, step: Step = lambda _: None
) -> Verification:
    """The chunks of the suite's `[retrieval]` against the PDFs of `originals` or `documents`."""
    if not suite.retrieval:
        raise SettingsError(
            'the suite has no [retrieval] table: give documents = "docs" or index = … there'
        )
    settings = read_table(RetrievalTable, suite.retrieval, "[retrieval]", suite.folder)
    source = originals or settings.originals or settings.documents
    if source is None:
        raise SettingsError(
            '[retrieval] needs originals = "pdfs": the PDF file or folder that the chunks come from'
        )
    files = [file for file in corpus_files(source) if file.suffix.lower() == ".pdf"]
    if not files:
        raise InputError(
            f"{source} holds no PDF: give the PDFs that the chunks come from with originals or "
            "--pdf"
        )
    step(f"reading {format_count(len(files), 'PDF')}")
    pages = {
        (document_stem(file.name), number): text
        for file in files
        for number, text in enumerate(read_pdf(file), start=1)
    }
    step("reading the index")
    # Only texts are compared, so that no embedding model is loaded.
    return verify_chunks(open_search_index(settings, None, step).chunks, pages)


def verify_chunks(chunks: Sequence[Chunk], pages: Mapping[PageKey, str]) -> Verification:
    """Each chunk against the page it names. A text on several pages is right on each of them."""
    search = _PageSearch(pages)
    by_place: dict[ChunkPlace, list[WrongPage]] = {place: [] for place in ChunkPlace}
    shifts: Counter[int] = Counter()
    for chunk in chunks:
        place, best, share = search.locate(chunk)
        if best and share >= _LEAST_SHARE:
            found_page = f"{best[0]}#{best[1]}"
        else:
            found_page = ""
        by_place[place].append(WrongPage(chunk.id, chunk.page, found_page, share, chunk.text[:120]))
        key = search.page_key(chunk)
        # Page numbers can be shifted only inside one document.
        if place is ChunkPlace.WRONG and best and key and best[0] == key[0]:
            shifts[best[1] - key[1]] += 1
    wrong = by_place[ChunkPlace.WRONG]
    return Verification(
        chunks=len(chunks),
        right=len(by_place[ChunkPlace.RIGHT]),
        wrong=tuple(wrong),
        lost=tuple(by_place[ChunkPlace.LOST]),
        unreadable=tuple(by_place[ChunkPlace.UNREADABLE]),
        shift=_constant_shift(shifts, len(wrong)),
    )


def _constant_shift(shifts: Counter[int], wrong: int) -> int | None:
    if not shifts:
        return None
    shift, count = shifts.most_common(1)[0]
    # A single chunk shows no constant shift.
    if count > 1 and count >= _LEAST_SHIFTED * wrong:
        return shift
    return None


class _PageSearch:
    """Finds the pages that hold a text, by its runs of words."""

    def __init__(self, pages: Mapping[PageKey, str]) -> None:
        self._words = {key: _whole_words(text) for key, text in pages.items()}
        self._pages_with: dict[WordRun, list[PageKey]] = defaultdict(list)
        self._crossing: dict[PageKey, set[WordRun]] = {}  # runs that go on to the next page
        for key, page_words in self._words.items():
            for run in set(_word_runs(page_words)):
                self._pages_with[run].append(key)
            following = self._words.get((key[0], key[1] + 1), ())
            edge = page_words[1 - _RUN_LENGTH :] + following[: _RUN_LENGTH - 1]
            self._crossing[key] = set(_word_runs(edge))
        stems = {stem for stem, _ in self._words}
        self._only = next(iter(stems)) if len(stems) == 1 else None

    def locate(self, chunk: Chunk) -> tuple[ChunkPlace, PageKey | None, float]:
        """Whether the chunk is on its page; the page with most of its text, and how much."""
        runs = _word_runs(_whole_words(chunk.text))
        few_words = set(words(chunk.text))
        shares = self._shares(runs, few_words)
        best = max(shares, key=lambda page: shares[page], default=None)
        share = 0.0 if best is None else shares[best]
        key = self.page_key(chunk)
        if key is None or key not in self._words:
            return ChunkPlace.UNREADABLE, best, share
        own = shares.get(key, 0.0)
        after = shares.get((key[0], key[1] + 1), 0.0)
        # A chunk may begin at the end of its page and continue on the next one.
        begins_there = own + after >= _LEAST_SHARE and not self._crossing[key].isdisjoint(runs)
        # A chunk without words cannot be on a wrong page.
        if own >= _LEAST_SHARE or not few_words or begins_there:
            return ChunkPlace.RIGHT, best, share
        if best is None or share < _LEAST_SHARE:
            return ChunkPlace.LOST, best, share
        return ChunkPlace.WRONG, best, share

    def _shares(self, runs: list[WordRun], few_words: set[str]) -> dict[PageKey, float]:
        """The share of the text on each page; a short text is on the pages with all its words."""
        if runs:
            counts = Counter(page for run in runs for page in self._pages_with.get(run, ()))
            return {page: count / len(runs) for page, count in counts.items()}
        if not few_words:
            return {}
        return {
            page: 1.0 for page, page_words in self._words.items() if few_words <= set(page_words)
        }

    def page_key(self, chunk: Chunk) -> PageKey | None:
        """The document and page that a chunk names; None where it names no page number."""
        document, page = page_parts(chunk.page)
        # The id may be one of the user's own; the number is always that of the page.
        page = chunk.number or page
        if not re.fullmatch(r"\d{1,18}", page):
            return None
        if self._only is not None and not document:
            return self._only, int(page)
        named = document or chunk.document
        if named:
            stem = document_stem(named)
        else:
            stem = self._only
        return None if stem is None else (stem, int(page))


def _whole_words(text: str) -> WordRun:
    """The words, with those that were hyphenated at the end of a line in one piece."""
    return words(_HYPHEN_AT_LINE_END.sub("", text))


def _word_runs(page_words: WordRun) -> list[WordRun]:
    return [page_words[n : n + _RUN_LENGTH] for n in range(len(page_words) - _RUN_LENGTH + 1)]

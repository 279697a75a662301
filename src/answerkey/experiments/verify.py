"""Does the text of each indexed chunk stand on the page of the PDF that it names? Which do not, and the shift that fixes them."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
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

_RUN = 4  # words that must follow each other
_HELD = 0.5  # share of a chunk's runs that its page must hold
_MOST_SHIFTED = 0.8
_HYPHENATED = re.compile(r"(?<=\w)[-\u00ad]\n(?=\w)")
PageKey = tuple[str, int]
Run = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class WrongPage:
    """A chunk that is not on its page; `found` is the page that holds most of it, "" where none does."""

    chunk: str
    page: str
    found: str
    share: float
    text: str


@dataclass(frozen=True, slots=True)
class Verification:
    """`wrong` chunks stand on another page, `lost` ones on no page; `unreadable` names no page of a PDF that is there.
    `shift` is what to add to the page of every chunk so that the wrong ones are right."""

    chunks: int
    right: int
    wrong: tuple[WrongPage, ...]
    lost: tuple[WrongPage, ...]
    unreadable: tuple[WrongPage, ...]
    shift: int | None

    @property
    def passed(self) -> bool:
        return self.right == self.chunks

    @property
    def sentence(self) -> str:
        share = f"{self.right} of {format_count(self.chunks, 'chunk')}"
        found = f"{share} ({self.right / self.chunks:.1%}) stand on the page they name"
        parts = [
            f"{len(self.wrong)} on another page" if self.wrong else "",
            f"{len(self.lost)} on no page" if self.lost else "",
            f"{len(self.unreadable)} name no page of these PDFs" if self.unreadable else "",
            f"with {self.shift:+d} added to their page, they match"
            if self.shift is not None
            else "",
        ]
        return "; ".join([found, *filter(None, parts)])

    def as_json(self) -> dict[str, object]:
        return {
            **asdict(self),
            "share": self.right / self.chunks,
            "passed": self.passed,
            "sentence": self.sentence,
        }


def verify_suite(
    suite: Suite, originals: Path | None = None, step: Step = lambda _: None
) -> Verification:
    """The chunks of the suite's `[retrieval]` against the PDFs of `originals`, or of `documents` where it has none."""
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
            f"{source} holds no PDF: give the PDFs that the chunks come from with originals or --pdf"
        )
    step(f"reading {format_count(len(files), 'PDF')}")
    pages = {
        (document_stem(file.name), n): text
        for file in files
        for n, text in enumerate(read_pdf(file), start=1)
    }
    step("reading the index")
    return verify(open_search_index(settings, None, step).chunks, pages)


def verify(chunks: Sequence[Chunk], pages: Mapping[PageKey, str]) -> Verification:
    """Each chunk against the page it names. A text on several pages is right on each of them."""
    page_words = {key: _whole_words(text) for key, text in pages.items()}
    held: dict[Run, list[PageKey]] = defaultdict(
        list
    )  # the pages on which each run of words stands
    crossing: dict[PageKey, set[Run]] = {}  # the runs that go from a page to the next
    for key, found in page_words.items():
        for run in set(_runs(found)):
            held[run].append(key)
        following = page_words.get((key[0], key[1] + 1), ())
        crossing[key] = set(_runs(found[1 - _RUN :] + following[: _RUN - 1]))
    stems = {stem for stem, _ in page_words}
    only = next(iter(stems)) if len(stems) == 1 else None
    wrong, lost, unreadable = list[WrongPage](), list[WrongPage](), list[WrongPage]()
    shifts: Counter[int] = Counter()
    for chunk in chunks:
        key, runs, few = _key(chunk, only), _runs(_whole_words(chunk.text)), set(words(chunk.text))
        # What share of the text each page holds; a text of a few words is on the pages that hold them all.
        counts = Counter(page for run in runs for page in held.get(run, ()))
        shares = {page: count / len(runs) for page, count in counts.items()}
        if not runs:
            shares = {page: 1.0 for page, found in page_words.items() if few and few <= set(found)}
        best = max(shares, key=lambda page: shares[page], default=None)
        share = shares[best] if best is not None else 0.0
        place = f"{best[0]}#{best[1]}" if best and share >= _HELD else ""
        about = WrongPage(chunk.id, chunk.page, place, share, chunk.text[:120])
        if key is None or key not in page_words:
            unreadable.append(about)
            continue
        own, after = shares.get(key, 0.0), shares.get((key[0], key[1] + 1), 0.0)
        continued = own + after >= _HELD and not crossing[key].isdisjoint(runs)  # it begins there
        if own >= _HELD or not few or continued:
            continue
        if best is None or share < _HELD:
            lost.append(about)
            continue
        wrong.append(about)
        if best[0] == key[0]:
            shifts[best[1] - key[1]] += 1
    shift, often = shifts.most_common(1)[0] if shifts else (0, 0)
    constant = shift if often > 1 and often >= _MOST_SHIFTED * len(wrong) else None
    right = len(chunks) - len(wrong) - len(lost) - len(unreadable)
    return Verification(len(chunks), right, tuple(wrong), tuple(lost), tuple(unreadable), constant)


def _key(chunk: Chunk, only: str | None) -> PageKey | None:
    """The document and page that a chunk names; None where it names no page number."""
    document, page = page_parts(chunk.page)
    page = chunk.number or page
    stem = document_stem(document or chunk.document) if document or chunk.document else only
    if not re.fullmatch(r"\d{1,18}", page) or stem is None:
        return None
    return (only if only is not None and not document else stem), int(page)


def _whole_words(text: str) -> Run:
    """Words that were hyphenated at the end of a line are one word again."""
    return words(_HYPHENATED.sub("", text))


def _runs(found: Run) -> list[Run]:
    return [found[n : n + _RUN] for n in range(len(found) - _RUN + 1)]

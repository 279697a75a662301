"""Documents as pages, and pages cut into chunks of words.

Text, Markdown, PDF, JSON, JSONL and BEIR folders are read; each page knows its document and number, each chunk its page and
where in the page it stood.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from hashlib import sha256
from io import BytesIO
from itertools import pairwise
from pathlib import Path

from answerkey.cache import kept_file
from answerkey.coerce.decode import parse_json, read_lines, read_text
from answerkey.coerce.passages import as_passages
from answerkey.coerce.values import Place, is_list, is_mapping, valid_text
from answerkey.config.tables import ChunkBy, IdStyle, RetrievalTable
from answerkey.errors import InputError, SettingsError
from answerkey.text import UNSPACED

TEXT_ENDINGS = frozenset({".txt", ".text", ".md", ".markdown", ".rst"})
ENDINGS = TEXT_ENDINGS | {".pdf", ".jsonl"}
LISTS = (
    "chunks",
    "documents",
    "pages",
    "passages",
    "data",
)  # where the records of a JSON object may be


@dataclass(frozen=True, slots=True)
class Page:
    """`id` is what labels name: a page number, a document, or both. `number` is None where there are no pages."""

    id: str
    text: str
    document: str
    number: str | None = None


def read_corpus(path: Path, ids: IdStyle = "auto") -> list[Page]:
    """The pages of a file, of a folder with all below it, or of a BEIR folder. `ids` "auto": a record's own id; else
    the page number where a single document has pages, `document#page` where several have, and the document's name where
    it has no pages."""
    pages = [page for file in corpus_files(path) for page in _read_file(file, path)]
    if not pages:
        raise InputError(f"{path} holds no page of text")
    paged = {page.document for page in pages if page.number is not None and not page.id}
    style = ids if ids != "auto" else ("page" if len(paged) == 1 else "document#page")

    def name(page: Page) -> str:
        if style == "document" or page.number is None:
            return page.document
        return page.number if style == "page" else f"{page.document}#{page.number}"

    return [page if page.id and ids == "auto" else replace(page, id=name(page)) for page in pages]


def corpus_files(path: Path) -> list[Path]:
    """The files to read, sorted by name; of a BEIR folder the corpus alone."""
    if path.is_file():
        readable = ENDINGS | {".json"}  # of a folder it may be anything
        if path.suffix.lower() not in readable:
            raise InputError(
                f"{path}: cannot read {path.suffix or 'this'} files; give {', '.join(sorted(readable))}"
            )
        return [path]
    if not path.is_dir():
        raise InputError(f"no documents at {path}: give a file, a folder or a BEIR folder")
    if (path / "corpus.jsonl").is_file():
        return [path / "corpus.jsonl"]
    files = sorted(
        file for file in path.rglob("*") if file.suffix.lower() in ENDINGS and file.is_file()
    )
    if not files:
        raise InputError(f"{path} holds no document; expected {', '.join(sorted(ENDINGS))}")
    return files


def _read_file(file: Path, root: Path) -> Iterator[Page]:
    name = file.relative_to(root).as_posix() if root.is_dir() else file.name
    ending = file.suffix.lower()
    if ending in {".json", ".jsonl"}:
        yield from _read_records(file)
    elif ending == ".pdf":
        for number, text in enumerate(read_pdf(file), start=1):
            yield Page("", text, name, str(number))
    else:
        parts = read_text(file).split("\f")  # a form feed ends a page
        for number, text in enumerate(parts, start=1):
            yield Page("", text, name, str(number) if len(parts) > 1 else None)


def _read_records(file: Path) -> Iterator[Page]:
    """JSON objects, one per line or in one list, in any of the usual shapes: text, id or page, and optionally a title."""
    if file.suffix.lower() == ".jsonl":
        lines = ((Place(file.name, number), line) for number, line in read_lines(file))
        rows = ((place, parse_json(line, str(place), in_line=True)) for place, line in lines)
    else:
        found = parse_json(read_text(file), file.name)
        if is_mapping(found):
            found = next((found[name] for name in LISTS if name in found), found)
        if not is_list(found):
            under = f"alone or under {', '.join(LISTS)}"
            raise InputError(f'{file.name}: expected a list of {{"id": …, "text": …}}, {under}')
        rows = (
            (Place(file.name, number, "record"), row) for number, row in enumerate(found, start=1)
        )
    for place, row in rows:
        if not is_mapping(row):
            raise InputError(f'{place}: expected {{"id": …, "title": …, "text": …}}')
        if "text" not in row and "contents" in row:
            row = {**row, "text": row["contents"]}
        passage = as_passages(row, "text", place)[0]
        if not (name := passage.id or passage.page):
            raise InputError(
                f'{place}: no id and no page; expected {{"id": …, "title": …, "text": …}}'
            )
        title, text = str(row.get("title") or "").strip(), passage.text
        text = f"{title}\n{text}" if title and not text.startswith(title) else text
        yield Page(name, text, passage.document or name, passage.page)


def read_pdf(file: Path) -> list[str]:
    """The text of each page, in order; empty for a page without text, an error if no page has any."""
    try:
        raw = file.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read {file}: {error.strerror}") from None

    def make() -> bytes:
        from pypdf import PdfReader
        from pypdf.errors import DependencyError, FileNotDecryptedError

        logging.getLogger("pypdf").setLevel(
            logging.ERROR
        )  # it warns of every oddity that it copes with
        try:
            reader = PdfReader(BytesIO(raw))
            if reader.is_encrypted and not reader.decrypt(""):
                raise FileNotDecryptedError
            pages = [
                valid_text(page.extract_text() or "") for page in reader.pages
            ]  # damaged fonts give half characters
        except (
            FileNotDecryptedError,
            DependencyError,
        ):  # AES needs a package of its own: encrypted either way
            raise InputError(f"{file} is encrypted: save a copy without the password") from None
        except Exception as error:  # a damaged file can fail anywhere inside the reader
            reason = " ".join(str(error).split()) or type(error).__name__
            raise InputError(f"{file} is not a PDF that can be read: {reason}") from None
        if not any(page.strip() for page in pages):
            raise InputError(
                f"{file} has {len(pages)} pages and no text: it looks scanned; run it through OCR first"
            )
        return json.dumps(pages).encode()

    return json.loads(kept_file("pages", sha256(b"pdf-pages-1" + raw).hexdigest(), make))


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


def chunkings(settings: RetrievalTable) -> list[Chunking]:
    """Every way to cut that the settings ask for; pages have no size, and an overlap must be below its size."""
    several = bool(settings.chunk_sizes or settings.overlaps)
    by = (settings.by,) if isinstance(settings.by, str) else settings.by
    by = by or ("fixed" if several and settings.chunk_by == "page" else settings.chunk_by,)
    sizes, overlaps = (
        settings.chunk_sizes or (settings.chunk_size,),
        settings.overlaps or (settings.chunk_overlap,),
    )
    if not settings.overlaps:  # the default overlap must not rule out small sizes
        overlaps = (
            (min(settings.chunk_overlap, min(sizes) // 5),) if settings.chunk_sizes else overlaps
        )
    pairs = [(size, overlap) for size in sizes for overlap in overlaps if overlap < size]
    found = [
        Chunking(kind, *pair) for kind in by for pair in (pairs if kind != "page" else [(0, 0)])
    ]
    if not found:
        raise SettingsError(
            f"[retrieval] overlaps = {list(overlaps)}: expected less than chunk_sizes, {list(sizes)}"
        )
    return list(dict.fromkeys(found))


def cut(pages: Iterable[Page], how: Chunking) -> list[Chunk]:
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

"""Documents as pages: text, Markdown, PDF, JSON, JSONL and BEIR folders."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from io import BytesIO
from pathlib import Path

from answerkey.cache import kept_file
from answerkey.coerce.decode import parse_json, read_lines, read_text
from answerkey.coerce.passage_fields import PAGE_KEYS, collect_fields
from answerkey.coerce.passages import as_passages
from answerkey.coerce.values import Place, is_list, is_mapping, valid_text
from answerkey.config.retrieval_tables import IdStyle
from answerkey.errors import InputError
from answerkey.retrieval.page_ids import name_page
from answerkey.text import format_count

TEXT_ENDINGS = frozenset({".txt", ".text", ".md", ".markdown", ".rst"})
ENDINGS = TEXT_ENDINGS | {".pdf", ".jsonl"}
# The records of a JSON object may stand under one of these keys.
LISTS = ("chunks", "documents", "pages", "passages", "data")
# In a folder with this file is a run of ours, whose results are no documents.
_RUN_FILE = "run.json"
# A record's own id; `chunk_id` is not one, because labels name pages rather than chunks.
_OWN_ID_KEYS = ("id", "_id", "doc_id", "chunk_link")
_TITLE_KEYS = ("title", "heading", "chunk_heading")
_RECORD = '{"id": …, "title": …, "text": …}'


@dataclass(frozen=True, slots=True)
class Page:
    """`id` is the name that labels use, "" where there is none; `number` is None without pages.

    `title` is that of a JSON record; `text` begins with it.
    """

    id: str
    text: str
    document: str
    number: str | None = None
    title: str = ""


def read_corpus(path: Path, ids: IdStyle = "auto") -> list[Page]:
    """The pages of a file, of a folder with all below it, or of a BEIR folder.

    "auto" takes a record's own id; else the page number where a single document has pages
    and nothing else has an id, otherwise `document#page`, or the document's name without pages.
    """
    pages = [page for file in corpus_files(path) for page in _read_file(file, path)]
    if not pages:
        raise InputError(f"{path} holds no page of text")
    return name_pages(pages, ids)


def name_pages(pages: Sequence[Page], ids: IdStyle) -> list[Page]:
    """The pages with their ids in the given style.

    A chunk without a number (`N/A`) in a document that has pages names no page: its id is "".
    A record's own id counts for "auto" only.
    """
    by_place = [page for page in pages if ids != "auto" or not page.id]
    paged_documents = {page.document for page in by_place if page.number is not None}
    style = ids
    if ids == "auto":
        is_one_book = len(paged_documents) == 1 and not any(page.id for page in pages)
        style = "page" if is_one_book else "document#page"

    def id_of(page: Page) -> str:
        if page.id and ids == "auto":
            return page.id
        has_no_number = page.number is None and page.document in paged_documents
        if has_no_number and style != "document":
            return ""
        return name_page(page.document, page.number, style)

    return [replace(page, id=id_of(page)) for page in pages]


def corpus_files(path: Path) -> list[Path]:
    """The files to read, sorted by name; a BEIR folder has only its corpus. Run folders are left out."""
    if path.is_file():
        readable = ENDINGS | {".json"}  # in a folder, a JSON file may be anything
        if path.suffix.lower() not in readable:
            raise InputError(
                f"{path}: cannot read {path.suffix or 'this'} files; "
                f"give {', '.join(sorted(readable))}"
            )
        return [path]
    if not path.is_dir():
        raise InputError(f"no documents at {path}: give a file, a folder or a BEIR folder")
    # The queries of a BEIR folder are in a JSONL file as well, and are no documents.
    if (path / "corpus.jsonl").is_file():
        return [path / "corpus.jsonl"]
    run_folders = {manifest.parent for manifest in path.rglob(_RUN_FILE)}
    files = sorted(
        file
        for file in path.rglob("*")
        if file.suffix.lower() in ENDINGS
        and file.is_file()
        and run_folders.isdisjoint(file.parents)
    )
    if not files:
        raise InputError(f"{path} holds no document; expected {', '.join(sorted(ENDINGS))}")
    return files


def _read_file(file: Path, root: Path) -> Iterator[Page]:
    if root.is_dir():
        name = file.relative_to(root).as_posix()
    else:
        name = file.name
    ending = file.suffix.lower()
    if ending == ".jsonl":
        yield from _read_records(_jsonl_records(file))
    elif ending == ".json":
        yield from _read_records(_json_records(file))
    elif ending == ".pdf":
        for number, text in enumerate(read_pdf(file), start=1):
            yield Page("", text, name, str(number))
    else:
        yield from _read_plain_text(file, name)


def _read_plain_text(file: Path, name: str) -> Iterator[Page]:
    parts = read_text(file).split("\f")  # a form feed ends a page
    if len(parts) == 1:
        yield Page("", parts[0], name)
        return
    for number, text in enumerate(parts, start=1):
        yield Page("", text, name, str(number))


def _jsonl_records(file: Path) -> Iterator[tuple[Place, object]]:
    for number, line in read_lines(file):
        place = Place(file.name, number)
        yield place, parse_json(line, str(place), in_line=True)


def _json_records(file: Path) -> Iterator[tuple[Place, object]]:
    records = parse_json(read_text(file), file.name)
    if is_mapping(records):
        records = next((records[name] for name in LISTS if name in records), records)
    if not is_list(records):
        raise InputError(
            f'{file.name}: expected a list of {{"id": …, "text": …}}, '
            f"alone or under {', '.join(LISTS)}"
        )
    for number, record in enumerate(records, start=1):
        yield Place(file.name, number, "record"), record


def _read_records(records: Iterable[tuple[Place, object]]) -> Iterator[Page]:
    """JSON objects in the usual shapes: text, id or page, and optionally a title."""
    for place, record in records:
        if not is_mapping(record):
            raise InputError(f"{place}: expected {_RECORD}")
        # Collections made for Pyserini name the text `contents`.
        if "text" not in record and "contents" in record:
            record = {**record, "text": record["contents"]}
        passage = as_passages(record, "text", place)[0]
        name = passage.id or passage.page
        if not name and not _names_a_page(record):
            raise InputError(f"{place}: no id and no page; expected {_RECORD}")
        title = _title_of(record)
        text = _with_title(passage.text, title)
        has_place = passage.page or passage.document or _names_a_page(record)
        # Labels name pages rather than chunks: an id of its own counts, a `chunk_id` only without a page.
        if name and (_has_own_id(record) or not has_place):
            document = passage.document or _document_of_link(name)
            yield Page(name, text, document, passage.page, title)
        else:
            yield Page("", text, passage.document or "", passage.page, title)


def _title_of(record: Mapping[str, object]) -> str:
    titles = (str(record.get(key) or "").strip() for key in _TITLE_KEYS)
    return next(filter(None, titles), "")


def _document_of_link(name: str) -> str:
    """The page that a link such as `https://docs.example/setup#install` leads to; else the name."""
    if "://" not in name:
        return name
    return name.partition("#")[0]


def _has_own_id(record: Mapping[str, object]) -> bool:
    return any(record.get(key) not in (None, "") for key in _OWN_ID_KEYS)


def _names_a_page(record: Mapping[str, object]) -> bool:
    """Whether the record has a field for its page, even if it says `N/A`."""
    fields = collect_fields(record)
    return any(key in fields for key in PAGE_KEYS)


def _with_title(text: str, title: str) -> str:
    # Some exports repeat the title in the text; BM25 would count its words twice.
    if not title or text.startswith(title):
        return text
    return f"{title}\n{text}"


def read_pdf(file: Path) -> list[str]:
    """The text of each page, in order; an error if no page has any. Cached by content."""
    try:
        raw = file.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read {file}: {error.strerror}") from None

    def make() -> bytes:
        pages = _extract_pages(raw, file)
        if not any(page.strip() for page in pages):
            raise InputError(
                f"{file} has {format_count(len(pages), 'page')} and no text: it looks scanned; "
                "run it through OCR first"
            )
        return json.dumps(pages).encode()

    # Raise the number in the key when pages are read in another way.
    return json.loads(kept_file("pages", sha256(b"pdf-pages-1" + raw).hexdigest(), make))


def _extract_pages(raw: bytes, file: Path) -> list[str]:
    from pypdf import PdfReader
    from pypdf.errors import DependencyError, FileNotDecryptedError

    # pypdf warns of every oddity that it copes with.
    logging.getLogger("pypdf").setLevel(logging.ERROR)
    try:
        reader = PdfReader(BytesIO(raw))
        # Many PDFs have an empty password, only to forbid printing or editing.
        if reader.is_encrypted and not reader.decrypt(""):
            raise FileNotDecryptedError
        # Damaged fonts give half characters, which `valid_text` replaces.
        return [valid_text(page.extract_text() or "") for page in reader.pages]
    except (FileNotDecryptedError, DependencyError):
        # AES needs a package of its own: the file is encrypted either way.
        raise InputError(f"{file} is encrypted: save a copy without the password") from None
    except Exception as error:  # a damaged file can fail anywhere inside the reader
        reason = " ".join(str(error).split()) or type(error).__name__
        raise InputError(f"{file} is not a PDF that can be read: {reason}") from None
